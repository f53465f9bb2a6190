import Platform

/// A blood-pressure reading as it is sent. Everything in it was fixed when it was stored.
public struct BloodPressureReading: Sendable, Hashable {
    /// A measured value, or why there is none.
    public enum Value: Sendable, Hashable {
        /// Exactly as the cuff sent it.
        case number(DecimalNumber)
        case absent(AbsentReason)
    }

    /// Why a value is absent (FHIR R4, value set data-absent-reason; for the special values of the Personal Health Device guide, "MderFLOATs and
    /// SFLOATs").
    public enum AbsentReason: String, Sendable, Hashable, CaseIterable {
        case notANumber = "not-a-number"
        case positiveInfinity = "positive-infinity"
        case negativeInfinity = "negative-infinity"
        /// The value has no form at the cuff's resolution, or one that is kept for later.
        case error = "error"
    }

    /// The unit that the cuff gave pressures in.
    public enum Unit: Sendable, Hashable {
        case mmHg
        case kPa
    }

    /// What the cuff noticed: the bits of MDC_BLOOD_PRESSURE_MEASUREMENT_STATUS, counted as IEEE 11073-10407 does.
    public enum Finding: Int, Sendable, Hashable, CaseIterable {
        case bodyMovement = 0
        case cuffTooLoose = 1
        case irregularPulse = 2
        case pulseAboveRange = 3
        case pulseBelowRange = 4
        case improperPosition = 5
    }

    /// The reading's stable name: letters, digits and hyphens. It becomes the identifier that keeps it from being stored twice.
    public var id: String
    public var unit: Unit
    public var systolic: Value
    public var diastolic: Value
    /// Mean arterial pressure.
    public var mean: Value
    /// Beats per minute; `nil` when the cuff does not say.
    public var pulse: Value?
    public var findings: Set<Finding>
    /// Seconds since 1970, UTC.
    public var moment: Int64
    /// Seconds east of UTC of the place's clocks at that moment.
    public var zoneOffset: Int
    /// How the moment is known, in words for whoever reads the record; `nil` when the cuff's clock was right.
    public var timeRemark: String?
    /// The cuff.
    public var cuff: Cuff

    /// The device that measured.
    public struct Cuff: Sendable, Hashable {
        public var serial: String
        public var manufacturer: String?
        public var model: String?

        public init(serial: String, manufacturer: String? = nil, model: String? = nil) {
            self.serial = serial
            self.manufacturer = manufacturer
            self.model = model
        }
    }

    public init(
        id: String, unit: Unit, systolic: Value, diastolic: Value, mean: Value, pulse: Value? = nil, findings: Set<Finding> = [], moment: Int64,
        zoneOffset: Int, timeRemark: String? = nil, cuff: Cuff
    ) {
        self.id = id
        self.unit = unit
        self.systolic = systolic
        self.diastolic = diastolic
        self.mean = mean
        self.pulse = pulse
        self.findings = findings
        self.moment = moment
        self.zoneOffset = zoneOffset
        self.timeRemark = timeRemark
        self.cuff = cuff
    }
}

/// One request's worth of readings of one owner, fixed when it is first sent.
public struct ReadingsDelivery: Sendable, Hashable {
    /// The most readings of one request.
    public static let limit = 64

    /// The entry's id in the queue.
    public var id: String
    /// The idempotency key that this request goes under, unquoted.
    public var key: String
    /// The key of the owner whom the readings belong to.
    public var owner: String
    /// The owner's FHIR Patient, e.g. `Patient/anna` or an absolute URL.
    public var patient: String
    /// 1 to `limit` of them, each name once.
    public var readings: [BloodPressureReading]

    public init(id: String, key: String, owner: String, patient: String, readings: [BloodPressureReading]) {
        self.id = id
        self.key = key
        self.owner = owner
        self.patient = patient
        self.readings = readings
    }
}
