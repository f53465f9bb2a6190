import Platform

/// The numbers by which a cuff's attributes are found (Bluetooth Assigned Numbers).
enum CuffUUID {
    static let genericAccess = BluetoothUUID.uuid16(0x1800)
    static let bloodPressure = BluetoothUUID.uuid16(0x1810)
    static let currentTimeService = BluetoothUUID.uuid16(0x1805)
    static let deviceInformation = BluetoothUUID.uuid16(0x180A)
    static let battery = BluetoothUUID.uuid16(0x180F)

    static let deviceName = BluetoothUUID.uuid16(0x2A00)
    static let measurement = BluetoothUUID.uuid16(0x2A35)
    static let intermediatePressure = BluetoothUUID.uuid16(0x2A36)
    static let feature = BluetoothUUID.uuid16(0x2A49)
    static let enhancedMeasurement = BluetoothUUID.uuid16(0x2B34)
    static let record = BluetoothUUID.uuid16(0x2B36)
    static let recordAccess = BluetoothUUID.uuid16(0x2A52)
    static let dateTime = BluetoothUUID.uuid16(0x2A08)
    static let currentTime = BluetoothUUID.uuid16(0x2A2B)
    static let batteryLevel = BluetoothUUID.uuid16(0x2A19)
    static let serialNumber = BluetoothUUID.uuid16(0x2A25)
    static let modelNumber = BluetoothUUID.uuid16(0x2A24)
    static let manufacturer = BluetoothUUID.uuid16(0x2A29)
    static let firmwareRevision = BluetoothUUID.uuid16(0x2A26)
}

/// What a request to a cuff may take.
public struct CuffTiming: Sendable, Hashable {
    /// Without a record or an answer for this long, a request counts as lost.
    public var answer: Duration

    public init(answer: Duration = .seconds(30)) { self.answer = answer }
}

/// Who a cuff is, as far as it says.
public struct CuffIdentity: Sendable, Hashable {
    /// The serial number; many cuffs have none to tell.
    public let serial: String?
    public let manufacturer: String?
    public let model: String?
    public let firmware: String?
    /// Percent, 0...100; `nil` when the cuff does not know it.
    public let battery: UInt8?
    /// Its Device Name, where that was asked for.
    public let name: String?

    public init(
        serial: String? = nil, manufacturer: String? = nil, model: String? = nil, firmware: String? = nil, battery: UInt8? = nil, name: String? = nil
    ) {
        self.serial = serial
        self.manufacturer = manufacturer
        self.model = model
        self.firmware = firmware
        self.battery = battery
        self.name = name
    }
}

extension CuffIdentity {
    /// The characteristics that say who a cuff is.
    static let characteristics: Set = [
        CuffUUID.serialNumber, CuffUUID.manufacturer, CuffUUID.modelNumber, CuffUUID.firmwareRevision, CuffUUID.batteryLevel,
        CuffUUID.deviceName
    ]

    /// Reads the values of these characteristics; what makes no sense is as if it were not there.
    init(_ values: [BluetoothUUID: [UInt8]]) {
        func text(_ uuid: BluetoothUUID) -> String? { values[uuid].flatMap(CollarConnection.text) }
        let battery = values[CuffUUID.batteryLevel]
        self.init(
            serial: text(CuffUUID.serialNumber), manufacturer: text(CuffUUID.manufacturer), model: text(CuffUUID.modelNumber),
            firmware: text(CuffUUID.firmwareRevision), battery: battery?.count == 1 ? battery?.first.flatMap { $0 <= 100 ? $0 : nil } : nil,
            name: text(CuffUUID.deviceName))
    }
}

/// What became of a cuff's clock when a link was opened.
public struct CuffClockCheck: Sendable, Hashable {
    /// What the hub did about it.
    public enum Setting: Sendable, Hashable {
        /// It was right, there was none, or the hub does not know the time itself.
        case notNeeded
        /// It shows the time that was written, read back; from this local time on.
        case set(CivilTime)
        /// The cuff refused the write; real ones answer 0x80.
        case refused
        /// The cuff took the write and shows another time all the same.
        case kept
    }

    /// What it was before.
    public let found: CuffClock
    public let setting: Setting

    public init(found: CuffClock, setting: Setting) {
        self.found = found
        self.setting = setting
    }

    /// The local time from which on the cuff's readings have the new clock's time; `nil` when it was not set.
    public var setTo: CivilTime? {
        if case .set(let time) = setting { time } else { nil }
    }
}

/// What is known about a cuff once its link is open.
public struct CuffOpening: Sendable, Hashable {
    public let identity: CuffIdentity
    /// What is known of it: as configured, or by what it calls itself.
    public let model: CuffModel
    public let clock: CuffClockCheck
    /// What it can notice, and which optional parts of the service it has.
    public let feature: BloodPressureFeature
    /// Whether its memory can be asked for with `CuffConnection.fetchRecords(from:)`.
    public let hasRecords: Bool
}

/// What a cuff's connection tells on its own, in the order of the air.
public enum CuffEvent: Sendable, Hashable {
    /// A measurement. The cuff holds it until it is confirmed, and sends no other one before.
    case measurement(CuffMeasurement, CuffConfirmation)
    /// An indication that is no measurement. Its octets are to be kept aside before it is confirmed, so that it costs nothing but itself.
    case unreadable([UInt8], CuffError, CuffConfirmation)
    /// A stored record that was asked for; the cuff keeps it.
    case record(BloodPressureRecord, CuffMeasurement)
    /// How far the cuff is inflated: it measures. Never stored.
    case pressure(IntermediateCuffPressure)
    /// The cuff sent what its profile does not have it send. It was ignored; each kind is told once per connection.
    case irregular(CuffError)
    /// The connection has ended; the last event, told once. A cuff that has sent everything hangs up at once: what was confirmed is whole.
    case closed(CuffError)
}

/// Names one indication, for it to be confirmed.
public struct CuffConfirmation: Sendable, Hashable {
    let number: UInt64
}
