import Platform

/// The unit that a cuff gives pressures in.
public enum PressureUnit: Sendable, Hashable {
    case mmHg
    case kPa
}

/// What a cuff noticed during a measurement (GATT Specification Supplement, "Blood Pressure Measurement", Measurement Status).
public struct MeasurementStatus: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let bodyMovement = MeasurementStatus(rawValue: 1 << 0)
    public static let cuffTooLoose = MeasurementStatus(rawValue: 1 << 1)
    public static let irregularPulse = MeasurementStatus(rawValue: 1 << 2)
    public static let improperPosition = MeasurementStatus(rawValue: 1 << 5)

    /// Bits 3 and 4, one number of which 3 means nothing yet.
    public enum PulseRateRange: UInt16, Sendable, Hashable {
        case within = 0
        case aboveUpperLimit = 1
        case belowLowerLimit = 2
        case reserved = 3
    }

    /// Whether the pulse rate is within the cuff's limits.
    public var pulseRateRange: PulseRateRange { PulseRateRange(rawValue: rawValue >> 3 & 3) ?? .reserved }
}

/// When a cuff says that it measured, by its own clock.
public enum CuffTime: Sendable, Hashable {
    /// It does not say.
    case none
    /// A date and time of which a field is unknown or nonsense.
    case incomplete(DateTimeValue)
    /// What its clock showed. Cuffs keep local time.
    case civil(CivilTime)

    /// The time, when it is one.
    public var civil: CivilTime? {
        if case .civil(let time) = self { time } else { nil }
    }

    init(_ value: DateTimeValue) {
        self = value.civil.map { .civil($0) } ?? .incomplete(value)
    }
}

/// One measurement as a cuff sent it, whatever it was sent in.
public struct CuffMeasurement: Sendable, Hashable {
    public let unit: PressureUnit
    public let systolic: SFLOAT
    public let diastolic: SFLOAT
    /// Mean arterial pressure.
    public let mean: SFLOAT
    /// When, by the cuff's clock.
    public let time: CuffTime
    /// Beats per minute; `nil` when the cuff does not say.
    public let pulse: SFLOAT?
    /// Which of the cuff's users; `nil` when the cuff does not say, or says that it does not know (255 in the standard's formats).
    public let user: UInt32?
    /// What the cuff noticed; `nil` when it does not say.
    public let status: MeasurementStatus?
    /// The octets that it was read from.
    public let raw: [UInt8]

    public init(
        unit: PressureUnit, systolic: SFLOAT, diastolic: SFLOAT, mean: SFLOAT, time: CuffTime, pulse: SFLOAT?, user: UInt32?,
        status: MeasurementStatus?, raw: [UInt8]
    ) {
        self.unit = unit
        self.systolic = systolic
        self.diastolic = diastolic
        self.mean = mean
        self.time = time
        self.pulse = pulse
        self.user = user
        self.status = status
        self.raw = raw
    }

    /// Whether the measurement failed: none of the pressures is a number. There is nothing to record then.
    public var isFailed: Bool { systolic.number == nil && diastolic.number == nil && mean.number == nil }
}
