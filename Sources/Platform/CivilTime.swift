/// A date and a time of day in the proleptic Gregorian calendar, of whatever zone: what a clock on the wall shows.
public struct CivilTime: Sendable, Hashable, CustomStringConvertible {
    public let year: Int
    /// 1...12
    public let month: Int
    /// From 1 to the last day of the month.
    public let day: Int
    /// 0...23
    public let hour: Int
    /// 0...59
    public let minute: Int
    /// 0...59
    public let second: Int

    /// The years that are taken: those of four digits (RFC 3339 has no others), from the first whole year of the calendar on.
    public static let years = 1_583...9_999

    /// - Returns: `nil` when there is no such day or no such time of day.
    public init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard Self.years.contains(year), (1...12).contains(month), day >= 1, day <= Self.days(inMonth: month, of: year),
              (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// What a clock shows that counts seconds from the beginning of 1970 in its own zone.
    ///
    /// - Returns: `nil` outside `years`.
    public init?(secondsSince1970 seconds: Int64) {
        let (days, inDay) = Self.floorDivision(seconds, by: 86_400)
        // Year 9999 ends before day 3,000,000; the calendar below cannot overflow within this.
        guard abs(days) < 3_000_000 else { return nil }
        // Years begin in March here, so that the leap day is a year's last; an era is 400 years.
        let (era, dayOfEra) = Self.floorDivision(days + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.init(
            year: Int(400 * era + yearOfEra + (month <= 2 ? 1 : 0)), month: Int(month), day: Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1),
            hour: Int(inDay / 3_600), minute: Int(inDay / 60 % 60), second: Int(inDay % 60)
        )
    }

    /// Seconds from the beginning of 1970 in the same zone, without leap seconds.
    public var secondsSince1970: Int64 {
        let shifted = Int64(month <= 2 ? year - 1 : year)
        let monthFromMarch = Int64(month + 9) % 12
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
        return days * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
    }

    /// The days since Monday, which is 0.
    public var daysSinceMonday: Int {
        // 1970 began on a Thursday.
        Int(Self.floorDivision(Self.floorDivision(secondsSince1970, by: 86_400).quotient + 3, by: 7).remainder)
    }

    /// RFC 3339 without a zone, e.g. `2024-06-15T17:17:27`.
    public var description: String {
        "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))T\(Self.digits(hour, 2)):\(Self.digits(minute, 2)):\(Self.digits(second, 2))"
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Rounds down, so that the remainder is never negative.
    private static func floorDivision(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
