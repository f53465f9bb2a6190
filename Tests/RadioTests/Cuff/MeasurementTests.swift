import Platform
import Testing
@testable import Radio

@Suite("Blood pressure measurements")
struct MeasurementTests {
    private static let time = DateTimeValue(year: 2024, month: 6, day: 15, hours: 17, minutes: 17, seconds: 27)

    // MARK: What real cuffs sent

    /// One line of the recorded vectors.
    struct Vector: Sendable, CustomTestStringConvertible {
        let fields: [String]

        var octets: [UInt8] { hex(fields[0]) }
        var testDescription: String { fields[0] }

        static let all: [Vector] = {
            let path = #filePath.replacing("RadioTests/Cuff/MeasurementTests.swift", with: "Recordings/blood-pressure-vectors.csv")
            guard let text = contentsOfFile(path) else { preconditionFailure("the recorded vectors are missing: \(path)") }
            return text.split(separator: "\n").dropFirst().map { line in
                Vector(fields: line.split(separator: ",", omittingEmptySubsequences: false).map(String.init))
            }
        }()
    }

    @Test("the recorded vectors mean what they are known to mean", arguments: Vector.all)
    func recorded(vector: Vector) throws {
        let fields = vector.fields
        #expect(fields.count == 11)
        guard fields[1] != "error" else {
            #expect(cuffCode { () throws(CuffError) in _ = try CuffMeasurement(bloodPressureMeasurement: vector.octets) } == .malformedMeasurement)
            return
        }
        let measurement = try CuffMeasurement(bloodPressureMeasurement: vector.octets)
        func text(_ value: SFLOAT?) -> String { value.map { $0 == .nan ? "NaN" : $0.number?.description ?? "?" } ?? "" }
        #expect([measurement.systolic, measurement.diastolic, measurement.mean].map(text) == Array(fields[2...4]))
        #expect((measurement.unit == .kPa ? "kPa" : "mmHg") == fields[5])
        switch measurement.time {
        case .none: #expect(fields[6].isEmpty)
        case .civil(let time): #expect(time.description == fields[6])
        case .incomplete(let value):
            #expect(fields[6] == "unknown year; 17 April 20:41:59")
            #expect(value == DateTimeValue(year: 0, month: 4, day: 17, hours: 20, minutes: 41, seconds: 59))
        }
        #expect(text(measurement.pulse) == fields[7])
        #expect(measurement.user.map(String.init) ?? "" == fields[8])
        #expect(Self.names(measurement.status) == fields[9])
        #expect(measurement.isFailed == (fields[1] == "failed"))
        #expect(measurement.raw == vector.octets)
    }

    private static func names(_ status: MeasurementStatus?) -> String {
        guard let status else { return "" }
        var names: [String] = []
        if status.contains(.bodyMovement) { names.append("movement") }
        if status.contains(.cuffTooLoose) { names.append("cuff loose") }
        if status.contains(.irregularPulse) { names.append("irregular") }
        if status.pulseRateRange == .belowLowerLimit { names.append("pulse below range") }
        if status.contains(.improperPosition) { names.append("position") }
        return names.joined(separator: "|")
    }

    // MARK: Every combination of fields

    @Test("each of the 32 combinations of flags has its fields where they belong, and one octet less is an error")
    func everyFlag() throws {
        for flags: UInt8 in 0..<32 {
            let octets = CuffForge.measurement(
                systolic: 0xF0BD, diastolic: 0x0050, mean: 0x07FF, kPa: flags & 1 != 0, time: flags & 2 != 0 ? Self.time : nil,
                pulse: flags & 4 != 0 ? 0xF2A1 : nil, user: flags & 8 != 0 ? 2 : nil, status: flags & 16 != 0 ? 0x0015 : nil
            )
            #expect(octets[0] == flags)
            let measurement = try CuffMeasurement(bloodPressureMeasurement: octets)
            #expect(measurement.unit == (flags & 1 != 0 ? .kPa : .mmHg))
            #expect(measurement.systolic == .number(DecimalNumber(189, exponent: -1)))
            #expect(measurement.diastolic == .number(DecimalNumber(80)))
            #expect(measurement.mean == .nan)
            #expect(measurement.time.civil?.description == (flags & 2 != 0 ? "2024-06-15T17:17:27" : nil))
            #expect(measurement.pulse?.number?.description == (flags & 4 != 0 ? "67.3" : nil))
            #expect(measurement.user == (flags & 8 != 0 ? 2 : nil))
            #expect(measurement.status?.rawValue == (flags & 16 != 0 ? 0x0015 : nil))
            for length in 0..<octets.count {
                let short = Array(octets.prefix(length))
                #expect(cuffCode { () throws(CuffError) in _ = try CuffMeasurement(bloodPressureMeasurement: short) } == .malformedMeasurement)
            }
        }
    }

    @Test("each of the 128 combinations of flags of the enhanced form has its fields where they belong")
    func everyEnhancedFlag() throws {
        // 2024-06-15T17:17:27 counted from 1900 and from 2000.
        let since1900: UInt32 = 3_927_460_647, since2000: UInt32 = 771_787_047
        for flags: UInt8 in 0..<128 {
            var octets = [flags] + [0xF0BD, 0x0050, 0x005D].flatMap(CuffForge.u16)
            let shown = LittleEndian.bytes(flags & 64 != 0 ? since2000 : since1900)
            // Ten minutes off where both times are there: only one may be taken.
            let stamp = LittleEndian.bytes((flags & 64 != 0 ? since2000 : since1900) &- (flags & 32 != 0 ? 600 : 0))
            if flags & 2 != 0 { octets += stamp }
            if flags & 4 != 0 { octets += CuffForge.u16(72) }
            if flags & 8 != 0 { octets.append(255) }
            if flags & 16 != 0 { octets += CuffForge.u16(0x0004) }
            if flags & 32 != 0 { octets += shown }
            let measurement = try CuffMeasurement(enhancedBloodPressureMeasurement: octets)
            #expect(measurement.mean == .number(DecimalNumber(93)))
            #expect(measurement.time.civil?.description == (flags & 34 != 0 ? "2024-06-15T17:17:27" : nil))
            #expect(measurement.pulse?.number == (flags & 4 != 0 ? DecimalNumber(72) : nil))
            #expect(measurement.user == nil)
            #expect(measurement.status == (flags & 16 != 0 ? .irregularPulse : nil))
            for length in 0..<octets.count {
                let short = Array(octets.prefix(length))
                #expect(cuffCode { () throws(CuffError) in _ = try CuffMeasurement(enhancedBloodPressureMeasurement: short) } == .malformedMeasurement)
            }
        }
    }

    // MARK: Habits

    @Test("user 255 is a user that the cuff does not know")
    func unknownUser() throws {
        #expect(try CuffMeasurement(bloodPressureMeasurement: CuffForge.measurement(user: 255)).user == nil)
        #expect(try CuffMeasurement(bloodPressureMeasurement: CuffForge.measurement(user: 0)).user == 0)
    }

    @Test("a model that sends pulse and status with the high octet first is read by its quirk")
    func bigEndian() throws {
        let octets = CuffForge.measurement(pulse: UInt16(72).byteSwapped, status: UInt16(0x0004).byteSwapped)
        let measurement = try CuffMeasurement(bloodPressureMeasurement: octets, quirks: .bigEndianPulseAndStatus)
        #expect(measurement.pulse == .number(DecimalNumber(72)))
        #expect(measurement.status == .irregularPulse)
        #expect(try CuffMeasurement(bloodPressureMeasurement: octets).pulse != measurement.pulse)
    }

    @Test("a date that is none, as far as it goes, leaves the measurement as it is")
    func impossibleDate() throws {
        let dates = [(UInt16(2023), UInt8(2), UInt8(29), UInt8(0)), (2024, 13, 1, 0), (2024, 1, 0, 0), (65_535, 255, 255, 255), (2024, 1, 1, 24), (1_582, 10, 9, 0)]
        for (year, month, day, hour) in dates {
            let value = DateTimeValue(year: year, month: month, day: day, hours: hour, minutes: 0, seconds: 0)
            #expect(try CuffMeasurement(bloodPressureMeasurement: CuffForge.measurement(time: value)).time == .incomplete(value))
        }
    }

    @Test("octets behind the fields that are known, and bits without meaning, are ignored")
    func fromTheFuture() throws {
        var octets = CuffForge.measurement(pulse: 72) + [1, 2, 3]
        octets[0] |= 0xE0
        let measurement = try CuffMeasurement(bloodPressureMeasurement: octets)
        #expect(measurement.pulse == .number(DecimalNumber(72)))
    }

    @Test("a measurement is a failed one only when no pressure is a number")
    func failed() throws {
        #expect(try CuffMeasurement(bloodPressureMeasurement: CuffForge.measurement(systolic: 0x07FF, diastolic: 0x0800, mean: 0x0802)).isFailed)
        #expect(try !CuffMeasurement(bloodPressureMeasurement: CuffForge.measurement(systolic: 0x07FF, diastolic: 80, mean: 0x07FF)).isFailed)
    }

    @Test("intermediate cuff pressure is read beside what it does not use")
    func intermediate() throws {
        for flags: UInt8 in 0..<32 {
            var octets = CuffForge.measurement(
                systolic: 151, diastolic: 0x07FF, mean: 0x07FF, kPa: flags & 1 != 0, time: flags & 2 != 0 ? Self.time : nil,
                pulse: flags & 4 != 0 ? 70 : nil, user: flags & 8 != 0 ? 1 : nil, status: flags & 16 != 0 ? 0 : nil
            )
            let pressure = try IntermediateCuffPressure(parsing: octets)
            #expect(pressure.pressure == .number(DecimalNumber(151)) && pressure.unit == (flags & 1 != 0 ? .kPa : .mmHg))
            octets.removeLast()
            #expect(cuffCode { () throws(CuffError) in _ = try IntermediateCuffPressure(parsing: octets) } == .malformedMeasurement)
        }
    }

    // MARK: The other values

    @Test("the features are bits of two octets")
    func feature() throws {
        #expect(try BloodPressureFeature(parsing: [0x45, 0x01]) == [.bodyMovementDetection, .irregularPulseDetection, .endToEndCRC, .userFacingTime])
        #expect(cuffCode { () throws(CuffError) in _ = try BloodPressureFeature(parsing: [1]) } == .malformedFeature)
    }

    @Test("date and time are written as they are read")
    func dateTime() throws {
        let octets = hex("E8 07 06 0F 11 11 1B")
        #expect(try DateTimeValue(parsing: octets) == Self.time)
        #expect(Self.time.encoded == octets)
        let civil = try #require(Self.time.civil)
        #expect(DateTimeValue(civil) == Self.time)
        for wrong in [Array(octets.dropLast()), octets + [0], []] {
            #expect(cuffCode { () throws(CuffError) in _ = try DateTimeValue(parsing: wrong) } == .malformedTime)
        }
    }

    @Test("current time has the day of the week from Monday to Sunday")
    func currentTime() throws {
        let saturday = try #require(Self.time.civil)
        let octets = CurrentTimeValue(saturday).encoded
        #expect(octets == hex("E8 07 06 0F 11 11 1B 06 00 02"))
        let value = try CurrentTimeValue(parsing: octets)
        #expect(value.time == Self.time && value.dayOfWeek == 6 && value.reason == .externalReference)
        let days = try (17...23).map { try #require(CivilTime(year: 2024, month: 6, day: $0, hour: 23, minute: 59, second: 59)) }
        #expect(days.map { CurrentTimeValue($0).dayOfWeek } == [1, 2, 3, 4, 5, 6, 7])
        #expect(cuffCode { () throws(CuffError) in _ = try CurrentTimeValue(parsing: hex("E8 07")) } == .malformedTime)
    }

    @Test("record access: what is written, and what is answered")
    func recordAccess() throws {
        #expect(RecordAccessRequest.report(.all).encoded == [1, 1])
        #expect(RecordAccessRequest.report(.from(sequence: 0x1234)).encoded == [1, 3, 1, 0x34, 0x12])
        #expect(RecordAccessRequest.count(.all).encoded == [4, 1])
        #expect(RecordAccessRequest.abort.encoded == [3, 0])
        #expect(try RecordAccessAnswer(parsing: [5, 0, 0x19, 0]) == .count(25))
        #expect(try RecordAccessAnswer(parsing: [6, 0, 1, 6]) == .response(opcode: 1, result: .noRecordsFound))
        for wrong in [[], [6, 0, 1], [6, 1, 1, 1], [7, 0, 1, 1], [6, 0, 1, 1, 1]] as [[UInt8]] {
            #expect(cuffCode { () throws(CuffError) in _ = try RecordAccessAnswer(parsing: wrong) } == .malformedAnswer)
        }
    }

    @Test("no octets make a parser trap")
    func hostile() {
        var random = SplitMix64(seed: 4)
        for _ in 0..<50_000 {
            let length = Int(random.next() % 40)
            let octets = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let quirks: MeasurementQuirks = length % 2 == 0 ? [] : .bigEndianPulseAndStatus
            _ = try? CuffMeasurement(bloodPressureMeasurement: octets, quirks: quirks).time.civil?.secondsSince1970
            _ = try? CuffMeasurement(enhancedBloodPressureMeasurement: octets, quirks: quirks)
            _ = try? IntermediateCuffPressure(parsing: octets)
            _ = try? BloodPressureFeature(parsing: octets)
            _ = try? DateTimeValue(parsing: octets).civil
            _ = try? CurrentTimeValue(parsing: octets)
            _ = try? RecordAccessAnswer(parsing: octets)
            var assembler = BloodPressureRecordAssembler(hasCRC: length % 3 == 0)
            for _ in 0..<3 { _ = try? assembler.take(octets)?.measurement() }
        }
    }
}
