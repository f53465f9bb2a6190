import Platform

/// Date Time (0x2A08) as a cuff keeps it: a clock on the wall of which some fields may be unknown (GATT Specification Supplement, "Date Time").
public struct DateTimeValue: Sendable, Hashable {
    /// The length in octets.
    public static let length = 7

    /// 1582...9999; 0 when the cuff does not know it.
    public let year: UInt16
    /// 1...12; 0 when the cuff does not know it.
    public let month: UInt8
    /// 1...31; 0 when the cuff does not know it.
    public let day: UInt8
    /// 0...23
    public let hours: UInt8
    /// 0...59
    public let minutes: UInt8
    /// 0...59
    public let seconds: UInt8

    /// The fields as they are, whether or not they make a time.
    public init(year: UInt16, month: UInt8, day: UInt8, hours: UInt8, minutes: UInt8, seconds: UInt8) {
        self.year = year
        self.month = month
        self.day = day
        self.hours = hours
        self.minutes = minutes
        self.seconds = seconds
    }

    /// The time that all fields together say.
    public init(_ time: CivilTime) {
        // CivilTime holds each of them within its bounds.
        self.init(
            year: UInt16(time.year), month: UInt8(time.month), day: UInt8(time.day), hours: UInt8(time.hour), minutes: UInt8(time.minute),
            seconds: UInt8(time.second)
        )
    }

    /// Reads the 7 octets. Fields beyond their bounds are kept: a measurement is not lost for the nonsense that its clock shows.
    ///
    /// - Throws: `CuffError` with `.malformedTime` for another length.
    public init(parsing octets: [UInt8]) throws(CuffError) {
        do throws(ATTMalformation) {
            var reader = ATTReader(octets[...])
            try self.init(&reader)
            try reader.end()
        } catch {
            throw CuffError(.malformedTime, "Date Time", error)
        }
    }

    init(_ reader: inout ATTReader) throws(ATTMalformation) {
        self.init(
            year: try reader.number16("year"), month: try reader.octet("month"), day: try reader.octet("day"), hours: try reader.octet("hours"),
            minutes: try reader.octet("minutes"), seconds: try reader.octet("seconds")
        )
    }

    /// The 7 octets.
    public var encoded: [UInt8] {
        [UInt8(truncatingIfNeeded: year), UInt8(truncatingIfNeeded: year >> 8), month, day, hours, minutes, seconds]
    }

    /// The time, when every field is known and together they are one.
    public var civil: CivilTime? {
        CivilTime(year: Int(year), month: Int(month), day: Int(day), hour: Int(hours), minute: Int(minutes), second: Int(seconds))
    }
}
