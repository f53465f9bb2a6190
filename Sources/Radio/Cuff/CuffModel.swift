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
}

/// What is known about a kind of cuff. All that models have of their own stands in `CuffModel.table`, nothing of it in code paths.
public struct CuffModel: Sendable, Hashable {
    /// What people call it.
    public let name: String
    /// What its advertised name begins with; any name with none.
    public let namePrefixes: [String]
    public let driver: CuffDriver
    /// Where its measurements leave the standard.
    public let quirks: MeasurementQuirks
    /// Whether it sends the readings of its memory again on every link, so that a reading without a time is known by its octets alone.
    public let replaysMemory: Bool
    /// How much is known, in a sentence for people.
    public let knowledge: String

    public init(
        name: String, namePrefixes: [String] = [], driver: CuffDriver, quirks: MeasurementQuirks = [], replaysMemory: Bool = false, knowledge: String
    ) {
        self.name = name
        self.namePrefixes = namePrefixes
        self.driver = driver
        self.quirks = quirks
        self.replaysMemory = replaysMemory
        self.knowledge = knowledge
    }

    /// The built-in models; the first that fits counts, and the last of each driver fits every cuff that has its service.
    public static let table = [
        CuffModel(
            name: "Beurer BM85", namePrefixes: ["BM85"], driver: .standard, quirks: .bigEndianPulseAndStatus,
            knowledge: "Public reports: pulse and status have their high octet first."
        ),
        CuffModel(
            name: "American Health Gate AHG-427B", namePrefixes: ["AHG-427B", "AHG427B"], driver: .standard,
            knowledge: "No public protocol: it works as far as it keeps the standard service, and that is all that is known."
        ),
        CuffModel(
            name: "Viatom BP2, BP2A, BP2W, LP-BP2W", namePrefixes: ["BP2", "Checkme BP2", "LP-BP2"], driver: .bp2, replaysMemory: true,
            knowledge: "Public descriptions of the protocol: it keeps a ring of 50 readings and deletes nothing when it is read."
        ),
        CuffModel(name: "a cuff of the Blood Pressure Service", driver: .standard, knowledge: "What the standard says."),
        CuffModel(name: "a cuff of the BP2 family", driver: .bp2, replaysMemory: true, knowledge: "Public descriptions of the protocol.")
    ]

    /// The model of a cuff by what it advertises.
    ///
    /// A name alone is nobody's word: the cuff must have the service of the model's driver.
    /// - Returns: `nil` when it has the service of no driver.
    public static func matching(name: String?, services: Set<BluetoothUUID>, in table: [CuffModel] = table) -> CuffModel? {
        table.first { model in
            let fits = model.namePrefixes.isEmpty || model.namePrefixes.contains { name?.hasPrefix($0) == true }
            return fits && services.contains(model.driver.service)
        }
    }
}
