import Outbox
import Platform
import Radio
import Testing
import Uplink
@testable import gateway

@Suite("Readings in the hub's own form")
struct StoredReadingTests {
    private func stored(_ measurement: CuffMeasurement, time: ReadingTime? = nil) -> StoredReading {
        StoredReading(CuffReadings.reading(0, measurement: measurement, time: time), cuff: CuffReadings.identity)
    }

    @Test("every kind of reading comes back as it was stored, and has a form in the record")
    func roundTrip() throws {
        for measurement in CuffReadings.allKinds {
            let reading = stored(measurement)
            #expect(try StoredContent(parsing: reading.encoded) == .reading(reading))
            #expect(try StoredReading(parsing: reading.encoded).encoded == reading.encoded)
            let delivery = ReadingsDelivery(id: "e", key: "k", owner: "anna", patient: "Patient/anna", readings: [reading.reading])
            #expect(throws: Never.self) { try ReadingsRequest(delivery) }
        }
    }

    @Test("special values become reasons, one for each, and numbers keep their digits")
    func values() {
        let expected: [BloodPressureReading.AbsentReason] = [.notANumber, .error, .positiveInfinity, .negativeInfinity, .error]
        for (special, reason) in zip(CuffReadings.specials, expected) {
            let reading = stored(CuffReadings.measurement(0, systolic: special, diastolic: special, mean: special, pulse: special)).reading
            #expect(reading.systolic == .absent(reason) && reading.diastolic == .absent(reason) && reading.mean == .absent(reason) && reading.pulse == .absent(reason))
        }
        let decimals = SFLOAT.number(DecimalNumber(1_200, exponent: -1))
        let reading = stored(CuffReadings.measurement(0, unit: .kPa, systolic: decimals)).reading
        #expect(reading.systolic == .number(DecimalNumber(1_200, exponent: -1)) && reading.unit == .kPa && reading.pulse == nil)
        #expect(stored(CuffReadings.measurement(0)).reading.unit == .mmHg)
        // No cuff has numbers like this.
        #expect(stored(CuffReadings.measurement(0, systolic: .number(DecimalNumber(.max, exponent: 127)))).reading.systolic == .absent(.error))
    }

    @Test("each bit of the status is its finding, and those that mean nothing are none")
    func findings() {
        func found(_ raw: UInt16) -> Set<BloodPressureReading.Finding> { stored(CuffReadings.measurement(0, status: MeasurementStatus(rawValue: raw))).reading.findings }
        #expect(found(1) == [.bodyMovement] && found(2) == [.cuffTooLoose] && found(4) == [.irregularPulse])
        #expect(found(8) == [.pulseAboveRange] && found(16) == [.pulseBelowRange] && found(24) == [] && found(32) == [.improperPosition])
        #expect(found(0xFFC0) == [] && found(0x27) == [.bodyMovement, .cuffTooLoose, .irregularPulse, .improperPosition])
        #expect(stored(CuffReadings.measurement(0)).reading.findings == [])
    }

    @Test("the remark says how the moment is known, and nothing when the cuff's clock was right")
    func remarks() throws {
        func remark(_ basis: ReadingTime.Basis, _ clock: CuffClock, device: CivilTime? = CuffReadings.civil(0), synchronised: Bool = true) -> String? {
            let received = WallTime(seconds: CuffReadings.moment, synchronised: synchronised)
            let time = ReadingTime(moment: CuffReadings.moment, zoneOffset: 0, basis: basis, device: device, clock: clock, received: received)
            return stored(CuffReadings.measurement(0), time: time).reading.timeRemark
        }
        #expect(remark(.cuffClock, .ahead(0)) == nil && remark(.cuffClock, .ahead(-60)) == nil)
        #expect(remark(.cuffClock, .unreadable) == "The time is the cuff's own; its clock could not be checked.")
        #expect(remark(.cuffClock, .unset) == "The time is the cuff's own; its clock showed no time when it was checked.")
        #expect(remark(.cuffClock, .unverified) == "The time is the cuff's own; it could not be checked, as the hub's clock was not set.")
        #expect(remark(.correctedCuffClock, .ahead(-259_200)) == "The cuff's clock showed 2024-06-15T17:17:27 and was 3 d behind; the time is corrected by that.")
        #expect(remark(.correctedCuffClock, .ahead(3_725)) == "The cuff's clock showed 2024-06-15T17:17:27 and was 1 h 2 min ahead; the time is corrected by that.")
        #expect(remark(.received, .unset, device: nil) == "The cuff gave no time; this is when the reading was received.")
        #expect(remark(.received, .unset, device: nil, synchronised: false) == "The cuff gave no time; this is when the reading was received. The hub's clock was not set then.")
        #expect(remark(.received, .ahead(-5)) == "The cuff's clock showed 2024-06-15T17:17:27, which cannot be; this is when the reading was received.")
    }

    /// The longest that there can be of everything: each text of characters that JSON writes in two.
    private var longest: StoredReading {
        let text = String(repeating: "\"", count: 600)
        let number = SFLOAT.number(DecimalNumber(-65_535, exponent: -8))
        let measurement = CuffReadings.measurement(0, unit: .mmHg, systolic: number, diastolic: number, mean: number, pulse: number, user: .max, status: MeasurementStatus(rawValue: 0b10_1111))
        let time = ReadingTime(
            moment: -12_212_553_600, zoneOffset: -50_400, basis: .received, device: CuffReadings.civil(0), clock: .ahead(.min), received: WallTime(seconds: .min, synchronised: false))
        let reading = CuffReading(device: String(text.prefix(64)), measurement: measurement, time: time, id: String(repeating: "n", count: 96))
        var stored = StoredReading(reading, cuff: CuffIdentity(manufacturer: text, model: text))
        // Above and below the range at once is no status; it would be the longest list.
        stored.reading.findings = Set(BloodPressureReading.Finding.allCases)
        stored.reading.systolic = .absent(.positiveInfinity)
        stored.reading.diastolic = .absent(.negativeInfinity)
        stored.reading.mean = .absent(.negativeInfinity)
        stored.reading.pulse = .absent(.negativeInfinity)
        stored.reading.moment = .min
        return stored
    }

    @Test("the longest reading that there can be has its place in the outbox, with every remark")
    func size() throws {
        var remarks = [longest.reading.timeRemark]
        let civil = CuffReadings.civil(0)
        for clock in [CuffClock.unreadable, .unset, .unverified, .ahead(.max), .ahead(.min), .ahead(-253_402_300_799)] {
            for basis in ReadingTime.Basis.allCases {
                for device in [nil, civil] {
                    for synchronised in [true, false] {
                        let time = ReadingTime(moment: 0, zoneOffset: 0, basis: basis, device: device, clock: clock, received: WallTime(seconds: 0, synchronised: synchronised))
                        remarks.append(stored(CuffReadings.measurement(0), time: time).reading.timeRemark)
                    }
                }
            }
        }
        for remark in remarks {
            var reading = longest
            reading.reading.timeRemark = remark
            #expect(reading.encoded.count <= OutboxSettings.readingSize, "\(reading.encoded.count) with \(remark ?? "none")")
            #expect(try StoredReading(parsing: reading.encoded) == reading)
        }
        // It is close: nothing in it is cut for no reason.
        #expect(longest.encoded.count > 650)
    }

    @Test("what a cuff says of itself is cut and cleaned to what a record can hold")
    func texts() throws {
        func cuff(_ manufacturer: String?, _ model: String?) -> BloodPressureReading.Cuff {
            StoredReading(CuffReadings.reading(0), cuff: CuffIdentity(manufacturer: manufacturer, model: model)).reading.cuff
        }
        #expect(cuff(nil, nil) == .init(serial: "BP-1") && cuff("", " \u{0}\u{7F}\n") == .init(serial: "BP-1"))
        #expect(cuff("Ex\u{0}am\nple", "B\u{1B}1").manufacturer == "Example" && cuff("a", "B\u{1B}1").model == "B1")
        let long = cuff(String(repeating: "ü", count: 300), String(repeating: "👩🏽‍⚕️", count: 50))
        #expect(long.manufacturer == String(repeating: "ü", count: 32) && (long.model?.utf8.count ?? 0) <= 64 && long.model?.hasPrefix("👩🏽‍⚕️") == true)
        #expect(StoredReading(CuffReadings.reading(0), cuff: nil).reading.cuff == .init(serial: "BP-1"))
        #expect(StoredReading(CuffReadings.reading(0), cuff: CuffReadings.identity).reading.cuff == .init(serial: "BP-1", manufacturer: "Example", model: "B1"))
    }

    @Test("an offset that a record has no place for becomes the nearest that it has; the moment stays")
    func zones() {
        for (given, expected) in [(7_200, 7_200), (3_208, 3_180), (-59, 0), (60_000, 50_400), (-60_000, -50_400), (Int.max, 50_400), (Int.min, -50_400)] {
            let time = ReadingTime(moment: 9, zoneOffset: given, basis: .cuffClock, device: nil, clock: .ahead(0), received: WallTime(seconds: 9, synchronised: true))
            let reading = stored(CuffReadings.measurement(0), time: time).reading
            #expect(reading.zoneOffset == expected && reading.moment == 9)
        }
    }

    @Test("the record in the outbox has the reading's name, and the outbox takes the longest of it")
    func record() {
        let reading = stored(CuffReadings.measurement(0))
        let record = reading.record(owner: "anna", received: 7)
        #expect(record == ReadingRecord(name: reading.reading.id, owner: "anna", device: "BP-1", received: 7, octets: reading.encoded))
    }

    // MARK: What cannot be read

    @Test("octets that are no reading are kept with what is known about them, under a name of their own, and come back", arguments: [0, 1, 38, 160, 161, 5_000])
    func unreadable(count: Int) throws {
        let octets = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let serial = String(repeating: "\"", count: 64)
        let unreadable = UnreadableReading(octets, serial: serial, received: .min, code: String(repeating: "c", count: 64))
        #expect(unreadable.count == count && unreadable.octets == Array(octets.prefix(160)))
        #expect(try StoredContent(parsing: unreadable.encoded) == .unreadable(unreadable))
        #expect(unreadable.encoded.count <= OutboxSettings.readingSize && unreadable.name.utf8.count <= 96)
        #expect(unreadable.record.owner == "" && unreadable.record.octets == unreadable.encoded && unreadable.record.name == unreadable.name)
        // The same octets of the same cuff again, whenever; and others.
        #expect(UnreadableReading(octets, serial: serial, received: 5, code: "x").name == unreadable.name)
        #expect(UnreadableReading(octets + [0], serial: serial, received: 5, code: "x").name != unreadable.name)
        #expect(UnreadableReading(octets, serial: "BP-2", received: 5, code: "x").name != unreadable.name)
    }

    @Test("what is wrong with stored octets is named, and a later release's are told apart", arguments: [
        ("", .notJSON), ("[]", .notJSON), ("7", .notJSON), ("{", .notJSON), ("{}", .member), ("{\"v\":\"1\"}", .member), ("{\"v\":1.0}", .member), ("{\"v\":2}", .version),
        ("{\"v\":1}", .member), ("{\"v\":1,\"v\":1}", .notJSON), ("{\"v\":1,\"unreadable\":7}", .member)
    ] as [(String, StoredReadingError.Code)])
    func refused(text: String, code: StoredReadingError.Code) {
        do throws(StoredReadingError) {
            _ = try StoredContent(parsing: Array(text.utf8))
            Issue.record("taken")
        } catch {
            #expect(error.code == code && !error.what.isEmpty)
        }
    }

    @Test("a member that is missing, or is not what it should be, is refused; those that may be missing are nothing then")
    func members() throws {
        let whole = stored(CuffReadings.measurement(0, pulse: .nan, user: 3, status: .bodyMovement), time: CuffReadings.time(0, clock: .unset))
        guard case .object(let object) = try JSONValue(parsing: whole.encoded) else { throw StoredReadingError(code: .notJSON, what: "") }
        let optional: Set<String> = ["pulse", "found", "remark", "maker", "model", "user"]
        #expect(object.count == 15)
        for (name, _) in object.members {
            var less = object
            less[name] = nil
            let without = try? StoredReading(parsing: Array(JSONValue.object(less).encoded().utf8))
            #expect((without != nil) == optional.contains(name), "\(name)")
            for wrong in [JSONValue.null, .bool(true), .real(1.5), .integer(-99_999), .string("?"), .array([.integer(1)]), .array([.integer(1), .integer(9)]), .array([.integer(70_000), .integer(0)]),
                          .array([.real(0.5), .integer(0)]), .array([.integer(0), .integer(0), .integer(0)]), .object([:])] {
                if case .string = wrong, ["id", "remark", "serial", "maker", "model"].contains(name) { continue }
                if case .integer = wrong, name == "at" { continue }
                if case .array(let items) = wrong, name == "found", items.allSatisfy({ (0...5).contains($0.integer ?? 9) }) { continue }
                var other = object
                other[name] = wrong
                #expect(throws: StoredReadingError.self, "\(name): \(wrong)") { try StoredReading(parsing: Array(JSONValue.object(other).encoded().utf8)) }
            }
        }
    }

    @Test("hostile octets never end the process: they are refused, or are a reading that can be written again", arguments: UInt64(1)...8)
    func fuzzed(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var samples = CuffReadings.allKinds.map { stored($0).encoded } + [longest.encoded, UnreadableReading([1, 2, 3], serial: "BP-1", received: 1, code: "x").encoded]
        samples.append([])
        let digits = Array("0123456789-.eE[]{},:\"\\u null true".utf8)
        for _ in 0..<4_000 {
            var octets = samples[Int(random.next() % UInt64(samples.count))]
            for _ in 0...(random.next() % 6) {
                let place = octets.isEmpty ? 0 : Int(random.next() % UInt64(octets.count))
                switch random.next() % 5 {
                case 0: if !octets.isEmpty { octets[place] = UInt8(truncatingIfNeeded: random.next()) }
                case 1: if !octets.isEmpty { octets[place] = digits[Int(random.next() % UInt64(digits.count))] }
                case 2: octets.insert(digits[Int(random.next() % UInt64(digits.count))], at: place)
                case 3: if !octets.isEmpty { octets.remove(at: place) }
                default: octets = Array(octets.prefix(place))
                }
            }
            do throws(StoredReadingError) {
                let content = try StoredContent(parsing: octets)
                guard case .reading(let reading) = content else { continue }
                let back = try StoredReading(parsing: reading.encoded)
                #expect(back == reading)
                // Whatever it is, it is sent or refused.
                _ = try? ReadingsRequest(ReadingsDelivery(id: "e", key: "k", owner: "anna", patient: "Patient/anna", readings: [reading.reading]))
            } catch {
                #expect(!error.what.isEmpty)
            }
        }
    }
}
