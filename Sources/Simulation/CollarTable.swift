/// The UUIDs of the collar profile; firmware may use others.
public struct CollarUUIDs: Sendable, Hashable {
    public var service: BluetoothUUID
    public var betaMetrics: BluetoothUUID
    public var rawWindows: BluetoothUUID
    public var controlPoint: BluetoothUUID

    public init(service: BluetoothUUID, betaMetrics: BluetoothUUID, rawWindows: BluetoothUUID, controlPoint: BluetoothUUID) {
        self.service = service
        self.betaMetrics = betaMetrics
        self.rawWindows = rawWindows
        self.controlPoint = controlPoint
    }

    /// Those of the reference profile, version 1: 6f1e0001 to 6f1e0004, -2c4b-4d1e-9f3a-8a5b7c9d1e20.
    public static let reference = CollarUUIDs(service: reference(1), betaMetrics: reference(2), rawWindows: reference(3), controlPoint: reference(4))

    private static func reference(_ number: UInt8) -> BluetoothUUID {
        let tail: [UInt8] = [0x20, 0x1E, 0x9D, 0x7C, 0x5B, 0x8A, 0x3A, 0x9F, 0x1E, 0x4D, 0x4B, 0x2C]
        guard let uuid = BluetoothUUID(littleEndian: tail + [number, 0x00, 0x1E, 0x6F]) else { preconditionFailure("sixteen bytes are a UUID") }
        return uuid
    }
}

/// The collar's attributes, and the handles that its logic uses.
public struct CollarTable: Sendable {
    public let table: GATTTable
    /// Value handle of Beta Metrics.
    public let betaMetrics: UInt16
    /// Value handle of Raw Windows.
    public let rawWindows: UInt16
    /// Value handle of the Control Point.
    public let controlPoint: UInt16
    /// Value handle of the Battery Level.
    public let battery: UInt16
    /// Value handle of Service Changed; `nil` without the GATT service.
    public let serviceChanged: UInt16?

    /// What the collar has of the GATT service (Core, Vol 3, Part G, 7).
    public enum GenericAttribute: Sendable, Hashable {
        /// It has none.
        case none
        /// Service Changed.
        case serviceChanged
        /// Service Changed, Client Supported Features and Database Hash.
        case caching
    }

    /// - Parameters:
    ///   - hardware: the Hardware Revision String, which most collars lack.
    ///   - profileHandle: where the collar's own service begins, 0x0030 or behind it.
    public init(
        serial: String, firmware: String, hardware: String? = nil, uuids: CollarUUIDs = .reference, genericAttribute: GenericAttribute = .serviceChanged,
        profileHandle: UInt16 = 0x0030
    ) {
        var table = GATTTable()
        table.addService(BluetoothUUID(0x1800))
        table.addCharacteristic(BluetoothUUID(0x2A00), .read, value: Array("Collar".utf8))
        table.addCharacteristic(BluetoothUUID(0x2A01), .read, value: [0, 0])
        if genericAttribute == .none {
            serviceChanged = nil
        } else {
            table.addService(BluetoothUUID(0x1801))
            serviceChanged = table.addCharacteristic(BluetoothUUID(0x2A05), .indicate)
        }
        var hash: UInt16?
        if genericAttribute == .caching {
            table.addCharacteristic(BluetoothUUID(0x2B29), [.read, .write], value: [0], write: .open)
            hash = table.addCharacteristic(BluetoothUUID(0x2B2A), .read, value: [UInt8](repeating: 0, count: 16))
        }
        table.addService(BluetoothUUID(0x180A), at: 0x0010)
        table.addCharacteristic(BluetoothUUID(0x2A25), .read, value: Array(serial.utf8))
        table.addCharacteristic(BluetoothUUID(0x2A26), .read, value: Array(firmware.utf8))
        if let hardware { table.addCharacteristic(BluetoothUUID(0x2A27), .read, value: Array(hardware.utf8)) }
        table.addService(BluetoothUUID(0x180F), at: 0x0020)
        battery = table.addCharacteristic(BluetoothUUID(0x2A19), [.read, .notify], value: [100])
        table.addService(uuids.service, at: profileHandle)
        betaMetrics = table.addCharacteristic(uuids.betaMetrics, [.read, .notify], value: [UInt8](repeating: 0, count: 20), description: "Beta Metrics")
        let windows = table.addCharacteristic(uuids.rawWindows, .notify, subscribe: .encrypted, description: "Raw Windows")
        rawWindows = windows
        controlPoint = table.addCharacteristic(
            uuids.controlPoint, [.write, .indicate], write: .encrypted, subscribe: .encrypted, requestsAfter: [windows])
        if let hash, let index = table.index(of: hash) { table.setValue(table.databaseHash, at: index) }
        self.table = table
    }
}
