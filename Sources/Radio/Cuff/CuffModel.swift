/// How a cuff is spoken to.
public enum CuffDriver: String, Sendable, Hashable, CaseIterable {
    /// The Bluetooth SIG's Blood Pressure Service: `CuffConnection`.
    case standard = "standard"
    /// The BP2 family's own protocol: `BP2Connection`.
    case bp2 = "bp2"

    /// The service that a cuff of this driver advertises or has.
    public var service: BluetoothUUID {
        switch self {
        case .standard: CuffUUID.bloodPressure
        case .bp2: BP2Connection.service
        }
    }

    /// The numbers that its cuffs may give their users: an octet of which the last value means an unknown user (Blood Pressure Service 1.1, 3.1.1.6),
    /// or the 32 bits of the BP2 family, in which 0 means none.
    public var users: ClosedRange<UInt32> {
        switch self {
        case .standard: 0...254
        case .bp2: 1...UInt32.max
        }
    }
}

/// What is known about a kind of cuff. All that models have of their own stands in `CuffModel.table` and in the configuration, nothing of it in code paths.
public struct CuffModel: Sendable, Hashable {
    /// What people call it, and how the configuration names it.
    public let name: String
    /// What its name begins with, as it advertises it or says it in Device Name or Model Number. One without any is found by nobody, and only chosen.
    public let namePrefixes: [String]
    /// Services by which it is recognised in advertisements, beside its driver's.
    public let serviceUUIDs: [BluetoothUUID]
    public let driver: CuffDriver
    /// What its links need unless the configuration says otherwise.
    public let security: RadioDevice.Security
    /// Where its measurements leave the standard.
    public let quirks: MeasurementQuirks
    /// Whether it sends the readings of its memory again on every link, so that a reading without a time is known by its octets alone.
    public let replaysMemory: Bool
    /// Whether a reading can say which user it is of.
    public let tellsUsers: Bool
    /// How it is paired, in sentences for people.
    public let pairing: String
    /// What it keeps of its readings and when it deletes them, in sentences for people.
    public let memory: String
    /// How much is known, and from where, in sentences for people.
    public let knowledge: String

    /// - Parameter security: `nil` for what cuffs of the driver need as a rule.
    public init(
        name: String, namePrefixes: [String] = [], serviceUUIDs: [BluetoothUUID] = [], driver: CuffDriver, security: RadioDevice.Security? = nil,
        quirks: MeasurementQuirks = [], replaysMemory: Bool = false, tellsUsers: Bool = true, pairing: String = "", memory: String = "", knowledge: String = ""
    ) {
        self.name = name
        self.namePrefixes = namePrefixes
        self.serviceUUIDs = serviceUUIDs
        self.driver = driver
        // A standard cuff wants a bond, and may switch off when it is linked and not paired at once.
        self.security = security ?? (driver == .standard ? .encrypted : .none)
        self.quirks = quirks
        self.replaysMemory = replaysMemory
        self.tellsUsers = tellsUsers
        self.pairing = pairing
        self.memory = memory
        self.knowledge = knowledge
    }

    /// The model of a cuff by what it calls itself: the first of the driver whose prefix one of the names has, else any cuff of the driver.
    ///
    /// - Parameter names: its Device Name and Model Number, as far as it has them.
    public static func identified(by names: [String], driver: CuffDriver, in table: [CuffModel] = table) -> CuffModel {
        table.first { model in
            model.driver == driver && model.namePrefixes.contains { prefix in names.contains { $0.hasPrefix(prefix) } }
        } ?? general(driver)
    }
}
