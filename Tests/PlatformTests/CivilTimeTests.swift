import Platform
import Testing

@Suite("Civil time")
struct CivilTimeTests {
    @Test("known moments", arguments: [
        ("1970-01-01T00:00:00", Int64(0)), ("1969-12-31T23:59:59", -1), ("2000-02-29T12:00:00", 951_825_600), ("1900-01-01T00:00:00", -2_208_988_800),
        ("2024-06-15T17:17:27", 1_718_471_847), ("9999-12-31T23:59:59", 253_402_300_799), ("1583-01-01T00:00:00", -12_212_553_600)
    ])
    func known(text: String, seconds: Int64) throws {
        let time = try #require(CivilTime(secondsSince1970: seconds))
        #expect(time.description == text)
        #expect(time.secondsSince1970 == seconds)
    }

    @Test("every day of nine centuries follows the one before it")
    func days() throws {
        var previous = try #require(CivilTime(year: 1_583, month: 1, day: 1, hour: 0, minute: 0, second: 0))
        let first = previous.secondsSince1970
        for day in 1..<(900 * 366) {
            let time = try #require(CivilTime(secondsSince1970: first + Int64(day) * 86_400))
            let follows = time.day == previous.day + 1 && time.month == previous.month && time.year == previous.year
                || time.day == 1 && (time.month == previous.month + 1 && time.year == previous.year || time.month == 1 && time.year == previous.year + 1)
            guard follows, time.secondsSince1970 == first + Int64(day) * 86_400, time.daysSinceMonday == (previous.daysSinceMonday + 1) % 7 else {
                Issue.record("\(time) does not follow \(previous)")
                return
            }
            previous = time
        }
    }

    @Test("there is no such time", arguments: [
        (2023, 2, 29, 0, 0, 0), (1900, 2, 29, 0, 0, 0), (2024, 4, 31, 0, 0, 0), (2024, 0, 1, 0, 0, 0), (2024, 13, 1, 0, 0, 0), (2024, 1, 0, 0, 0, 0),
        (2024, 1, 1, 24, 0, 0), (2024, 1, 1, 0, 60, 0), (2024, 1, 1, 0, 0, 60), (1582, 12, 31, 0, 0, 0), (10_000, 1, 1, 0, 0, 0), (2024, 1, 1, -1, 0, 0)
    ])
    func none(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        #expect(CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second) == nil)
    }

    @Test("moments outside the calendar's years are none", arguments: [Int64.min, .max, -12_212_553_601, 253_402_300_800])
    func outside(seconds: Int64) {
        #expect(CivilTime(secondsSince1970: seconds) == nil)
        #expect(TimeZoneRules.fixed(0).civil(at: seconds) == nil)
    }

    @Test("a zone's clocks say which moment it is, also where they are changed")
    func zone() throws {
        // Central Europe in 2024: summer from 31 March 01:00 to 27 October 01:00 UTC.
        let rules = TimeZoneRules { (1_711_846_800..<1_729_990_800).contains($0) ? 7_200 : 3_600 }
        func moment(_ month: Int, _ day: Int, _ hour: Int, _ minute: Int) throws -> Int64 {
            rules.moment(of: try #require(CivilTime(year: 2024, month: month, day: day, hour: hour, minute: minute, second: 0)))
        }
        #expect(try moment(1, 1, 1, 0) == 1_704_067_200)
        #expect(try moment(6, 15, 19, 17) == 1_718_471_820)
        #expect(try moment(3, 31, 1, 59) == 1_711_846_740)
        #expect(try moment(3, 31, 3, 0) == 1_711_846_800)
        // Skipped: counted on.
        #expect(try moment(3, 31, 2, 30) == 1_711_848_600)
        // Comes twice: the first one.
        #expect(try moment(10, 27, 2, 30) == 1_729_989_000)
        #expect(try moment(10, 27, 3, 0) == 1_729_994_400)
        #expect(rules.civil(at: 1_711_848_600)?.description == "2024-03-31T03:30:00")
    }
}

@Suite("Decimal numbers")
struct DecimalNumberTests {
    @Test("are written as they are", arguments: [
        (Int64(189), Int8(-1), "18.9"), (120, 0, "120"), (1_200, -1, "120.0"), (0, 0, "0"), (0, 3, "0"), (0, -2, "0.00"), (-5, -2, "-0.05"), (12, 1, "120"),
        (-2_048, -8, "-0.00002048"), (.min, 0, "-9223372036854775808")
    ])
    func text(coefficient: Int64, exponent: Int8, text: String) {
        #expect(DecimalNumber(coefficient, exponent: exponent).description == text)
    }

    @Test("that were written differently are different")
    func equality() {
        #expect(DecimalNumber(120) != DecimalNumber(1_200, exponent: -1))
    }
}
