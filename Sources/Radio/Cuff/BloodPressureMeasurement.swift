import Platform

/// The flags that Blood Pressure Measurement, Intermediate Cuff Pressure and their enhanced forms begin with (GATT Specification Supplement).
public struct MeasurementFlags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Pressures are in kPa; without it in mmHg.
    public static let kPa = MeasurementFlags(rawValue: 1 << 0)
    public static let timeStamp = MeasurementFlags(rawValue: 1 << 1)
    public static let pulseRate = MeasurementFlags(rawValue: 1 << 2)
    public static let userID = MeasurementFlags(rawValue: 1 << 3)
    public static let measurementStatus = MeasurementFlags(rawValue: 1 << 4)
    /// Enhanced forms: a second time, which is the one shown to people.
    public static let userFacingTime = MeasurementFlags(rawValue: 1 << 5)
    /// Enhanced forms: times count from 2000; without it from 1900.
    public static let epoch2000 = MeasurementFlags(rawValue: 1 << 6)
}

/// Where the formats of single models leave the standard.
public struct MeasurementQuirks: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Pulse rate and measurement status have their high octet first.
    public static let bigEndianPulseAndStatus = MeasurementQuirks(rawValue: 1 << 0)

    /// Those that have these names in a configuration.
    public init(_ names: [Name]) { self.init(names.map(\.quirk)) }

    /// The quirks by the names that a configuration has for them.
    public enum Name: String, Sendable, Hashable, CaseIterable {
        case bigEndianPulseAndStatus = "big-endian-pulse-and-status"

        public var quirk: MeasurementQuirks {
            switch self {
            case .bigEndianPulseAndStatus: .bigEndianPulseAndStatus
            }
        }

        /// Where it makes a cuff leave the standard, in words.
        public var explanation: String {
            switch self {
            case .bigEndianPulseAndStatus: "pulse rate and measurement status have their high octet first"
            }
        }
    }
}

extension CuffMeasurement {
    /// Reads Blood Pressure Measurement (0x2A35; Blood Pressure Service 1.1, 3.1).
    ///
    /// Bits that the standard keeps for later are kept as they came, and octets behind the last field that is known are ignored (Blood Pressure
    /// Profile 1.1, 4.4.1): a cuff newer than this gateway still measures.
    ///
    /// - Throws: `CuffError` with `.malformedMeasurement`.
    public init(bloodPressureMeasurement octets: [UInt8], quirks: MeasurementQuirks = []) throws(CuffError) {
        do throws(ATTMalformation) {
            var reader = ATTReader(octets[...])
            let flags = MeasurementFlags(rawValue: try reader.octet("flags"))
            let pressures = try Pressures(&reader)
            let time: CuffTime = flags.contains(.timeStamp) ? CuffTime(try DateTimeValue(&reader)) : .none
            let tail = try MeasurementTail(&reader, flags, quirks)
            self.init(flags, pressures, time, tail, octets)
        } catch {
            throw CuffError(.malformedMeasurement, "Blood Pressure Measurement", error)
        }
    }

    /// Reads Enhanced Blood Pressure Measurement (0x2B34; Blood Pressure Service 1.1, 3.4).
    ///
    /// Its times are counted seconds of the cuff's clock. The user-facing one is what the cuff shows; without it the time stamp is taken for that, as
    /// nothing tells how far the two are apart.
    ///
    /// - Throws: `CuffError` with `.malformedMeasurement`.
    public init(enhancedBloodPressureMeasurement octets: [UInt8], quirks: MeasurementQuirks = []) throws(CuffError) {
        do throws(ATTMalformation) {
            var reader = ATTReader(octets[...])
            let flags = MeasurementFlags(rawValue: try reader.octet("flags"))
            let pressures = try Pressures(&reader)
            let stamp = flags.contains(.timeStamp) ? try reader.number32("time stamp") : nil
            let tail = try MeasurementTail(&reader, flags, quirks)
            let shown = flags.contains(.userFacingTime) ? try reader.number32("user facing time") : nil
            self.init(flags, pressures, Self.time(shown ?? stamp, flags), tail, octets)
        } catch {
            throw CuffError(.malformedMeasurement, "Enhanced Blood Pressure Measurement", error)
        }
    }

    private init(_ flags: MeasurementFlags, _ pressures: Pressures, _ time: CuffTime, _ tail: MeasurementTail, _ octets: [UInt8]) {
        self.init(
            unit: flags.contains(.kPa) ? .kPa : .mmHg, systolic: pressures.systolic, diastolic: pressures.diastolic, mean: pressures.mean, time: time,
            pulse: tail.pulse, user: tail.user, status: tail.status, raw: octets
        )
    }

    /// Seconds from the beginning of 1900 or 2000 as a clock on the wall.
    private static func time(_ seconds: UInt32?, _ flags: MeasurementFlags) -> CuffTime {
        guard let seconds else { return .none }
        let epoch: Int64 = flags.contains(.epoch2000) ? 946_684_800 : -2_208_988_800
        return CivilTime(secondsSince1970: epoch + Int64(seconds)).map { .civil($0) } ?? .none
    }
}

/// Intermediate Cuff Pressure (0x2A36; Blood Pressure Service 1.1, 3.2): how far the cuff is inflated while it measures. It is shown, never recorded.
public struct IntermediateCuffPressure: Sendable, Hashable {
    public let unit: PressureUnit
    public let pressure: SFLOAT

    /// Reads the value. The two pressures behind the first one are not used in this form, and what follows them says nothing about the cuff's pressure.
    ///
    /// - Throws: `CuffError` with `.malformedMeasurement`.
    public init(parsing octets: [UInt8]) throws(CuffError) {
        do throws(ATTMalformation) {
            var reader = ATTReader(octets[...])
            let flags = MeasurementFlags(rawValue: try reader.octet("flags"))
            pressure = try Pressures(&reader).systolic
            unit = flags.contains(.kPa) ? .kPa : .mmHg
            _ = flags.contains(.timeStamp) ? try DateTimeValue(&reader) : nil
            _ = try MeasurementTail(&reader, flags, [])
        } catch {
            throw CuffError(.malformedMeasurement, "Intermediate Cuff Pressure", error)
        }
    }
}

/// The compound value at the beginning.
private struct Pressures {
    let systolic: SFLOAT
    let diastolic: SFLOAT
    let mean: SFLOAT

    init(_ reader: inout ATTReader) throws(ATTMalformation) {
        systolic = SFLOAT(rawValue: try reader.number16("systolic pressure"))
        diastolic = SFLOAT(rawValue: try reader.number16("diastolic pressure"))
        mean = SFLOAT(rawValue: try reader.number16("mean arterial pressure"))
    }
}

/// The fields behind the time stamp, which all forms share.
private struct MeasurementTail {
    /// The user of whom the cuff knows nothing.
    private static let unknownUser: UInt8 = 255

    let pulse: SFLOAT?
    let user: UInt32?
    let status: MeasurementStatus?

    init(_ reader: inout ATTReader, _ flags: MeasurementFlags, _ quirks: MeasurementQuirks) throws(ATTMalformation) {
        let swaps = quirks.contains(.bigEndianPulseAndStatus)
        var number: UInt16
        if flags.contains(.pulseRate) {
            number = try reader.number16("pulse rate")
            pulse = SFLOAT(rawValue: swaps ? number.byteSwapped : number)
        } else {
            pulse = nil
        }
        let user = flags.contains(.userID) ? try reader.octet("user ID") : nil
        self.user = user.flatMap { $0 == Self.unknownUser ? nil : UInt32($0) }
        if flags.contains(.measurementStatus) {
            number = try reader.number16("measurement status")
            status = MeasurementStatus(rawValue: swaps ? number.byteSwapped : number)
        } else {
            status = nil
        }
    }
}

extension ATTReader {
    mutating func number32(_ field: StaticString) throws(ATTMalformation) -> UInt32 {
        let low = try number16(field)
        return UInt32(low) | UInt32(try number16(field)) << 16
    }
}
