import Platform
import Testing
@testable import Radio

@Suite("When a reading was taken")
struct ReadingTimeTests {
    private static let zone = TimeZoneRules.fixed(7_200)
    /// 2024-06-15T17:17:27 in the zone.
    private static let now = WallTime(seconds: 1_718_464_647, synchronised: true)

    private func civil(_ hour: Int, _ minute: Int, _ second: Int = 27, day: Int = 15, year: Int = 2024) throws -> CivilTime {
        try #require(CivilTime(year: year, month: 6, day: day, hour: hour, minute: minute, second: second))
    }

    private func place(_ time: CuffTime, _ clock: CuffClock, setTo: CivilTime? = nil, _ received: WallTime = now) -> ReadingTime {
        ReadingTime(placing: time, clock: clock, setTo: setTo, received: received, zone: Self.zone)
    }

    @Test("a clock is compared with local time, and not by a hub that does not know the time")
    func clock() throws {
        let unsynchronised = WallTime(seconds: 100, synchronised: false)
        #expect(CuffClock(shown: try civil(17, 17), now: Self.now, zone: Self.zone) == .ahead(0))
        #expect(CuffClock(shown: try civil(17, 12), now: Self.now, zone: Self.zone) == .ahead(-300))
        #expect(CuffClock(shown: nil, now: Self.now, zone: Self.zone) == .unset)
        #expect(CuffClock(shown: try civil(17, 17), now: unsynchronised, zone: Self.zone) == .unverified)
    }

    @Test("a clock that is off by more than a minute is set, by a hub that knows the time")
    func shouldBeSet() {
        let unsynchronised = WallTime(seconds: 100, synchronised: false)
        let clocks: [(CuffClock, Bool)] = [
            (.ahead(60), false), (.ahead(61), true), (.ahead(-60), false), (.ahead(-61), true), (.ahead(.min), true), (.unset, true), (.unreadable, false),
            (.unverified, false)
        ]
        for (clock, expected) in clocks {
            #expect(clock.shouldBeSet(now: Self.now) == expected)
            #expect(!clock.shouldBeSet(now: unsynchronised))
        }
    }

    @Test("a right clock is taken as it is, a wrong one is corrected, and both say so")
    func placed() throws {
        let right = place(.civil(try civil(16, 0)), .ahead(3))
        #expect(right.moment == Self.now.seconds - 77 * 60 && right.basis == .cuffClock && right.zoneOffset == 7_200)
        let reset = try civil(1, 0, day: 1, year: 2010)
        let ahead = reset.secondsSince1970 - (try civil(17, 17)).secondsSince1970
        let corrected = place(.civil(try civil(0, 50, day: 1, year: 2010)), .ahead(ahead))
        #expect(corrected.moment == Self.now.seconds - 600 && corrected.basis == .correctedCuffClock)
        #expect(corrected.device?.year == 2010 && corrected.clock == .ahead(ahead))
    }

    @Test("without a time of the cuff, or with one that lies ahead, the moment of receipt stands")
    func received() throws {
        let incomplete = DateTimeValue(year: 0, month: 4, day: 17, hours: 20, minutes: 41, seconds: 59)
        #expect(place(.none, .ahead(0)).basis == .received)
        #expect(place(.incomplete(incomplete), .unset).moment == Self.now.seconds)
        #expect(place(.civil(try civil(17, 18)), .ahead(0)).basis == .cuffClock)
        #expect(place(.civil(try civil(17, 19)), .unreadable).basis == .received)
        #expect(place(.civil(try civil(17, 17)), .ahead(-86_400)).basis == .received)
        let far = try #require(CivilTime(year: 1_583, month: 1, day: 1, hour: 0, minute: 0, second: 0))
        #expect(place(.civil(far), .ahead(1_000_000)).basis == .received)
        for seconds in [Int64.min, .max] { #expect(place(.civil(far), .ahead(seconds)).basis == .received) }
    }

    @Test("a hub that does not know the time believes the cuff")
    func unsynchronised() throws {
        let reading = place(.civil(try civil(17, 17)), .unverified, WallTime(seconds: 100, synchronised: false))
        #expect(reading.basis == .cuffClock && reading.moment == Self.now.seconds && !reading.received.synchronised)
    }

    @Test("of a clock that was set on this link, readings before and after have their own time each")
    func setMeanwhile() throws {
        let setTo = try civil(17, 10)
        let old = place(.civil(try civil(12, 0)), .ahead(-3_600), setTo: setTo)
        #expect(old.moment == Self.now.seconds - 4 * 3_600 - 17 * 60 && old.basis == .correctedCuffClock)
        let new = place(.civil(try civil(17, 15)), .ahead(-3_600), setTo: setTo)
        #expect(new.moment == Self.now.seconds - 120 && new.basis == .cuffClock && new.clock == .ahead(0))
    }
}

@Suite("The name of a reading")
struct ReadingIdentityTests {
    private func name(_ octets: [UInt8], device: String = "BP-1 07", replays: Bool = false, nonce: UInt8 = 1) throws -> String {
        let measurement = try CuffMeasurement(bloodPressureMeasurement: octets)
        return ReadingIdentity.name(device: device, measurement: measurement, replaysMemory: replays, nonce: [UInt8](repeating: nonce, count: 16))
    }

    @Test("a reading with a time that is sent again has its name again, from letters, digits and hyphens")
    func stable() throws {
        let octets = CuffForge.measurement(time: CuffForge.time(minute: 61), pulse: 70)
        let first = try name(octets)
        #expect(try name(octets, nonce: 2) == first)
        #expect(first.hasPrefix("BP107-20240601T010100-") && first.utf8.count == 22 + 32)
        #expect(first.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D })
    }

    @Test("another value, time or cuff makes another reading, also where serial numbers look alike")
    func different() throws {
        let time = CuffForge.time()
        let octets = CuffForge.measurement(time: time)
        let names = [
            try name(octets), try name(CuffForge.measurement(systolic: 121, time: time)), try name(CuffForge.measurement(time: CuffForge.time(minute: 1))),
            try name(octets, device: "BP107"), try name(octets, device: "BP-1 08"), try name(octets, device: "é")
        ]
        #expect(Set(names).count == names.count)
    }

    @Test("a reading without a time is new each time, unless the model replays its memory")
    func undated() throws {
        let octets = CuffForge.measurement(pulse: 70)
        #expect(try name(octets) != name(octets, nonce: 2))
        #expect(try name(octets, replays: true) == name(octets, replays: true, nonce: 2))
        let unset = CuffForge.measurement(time: DateTimeValue(year: 0, month: 0, day: 0, hours: 1, minutes: 0, seconds: 0))
        #expect(try name(unset) != name(unset, nonce: 2))
        let yearless = CuffForge.measurement(time: DateTimeValue(year: 0, month: 4, day: 17, hours: 20, minutes: 41, seconds: 59))
        #expect(try name(yearless) == name(yearless, nonce: 2))
    }
}
