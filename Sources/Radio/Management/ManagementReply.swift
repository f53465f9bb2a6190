/// What Read Controller Information says.
public struct ControllerInformation: Sendable, Hashable, CustomStringConvertible {
    /// Least significant octet first, all zero while the controller has none.
    public let address: [UInt8]
    /// The version of the Core specification as HCI numbers it: 6 is 4.0, 9 is 5.0.
    public let bluetoothVersion: UInt8
    /// The manufacturer's number among the assigned ones.
    public let manufacturer: UInt16
    public let supported: ManagementSettings
    public internal(set) var current: ManagementSettings

    public init(address: [UInt8], bluetoothVersion: UInt8, manufacturer: UInt16, supported: ManagementSettings, current: ManagementSettings) {
        self.address = address
        self.bluetoothVersion = bluetoothVersion
        self.manufacturer = manufacturer
        self.supported = supported
        self.current = current
    }

    /// The controller's public address.
    public var publicAddress: BluetoothAddress? { BluetoothAddress(octets: address, kind: .public) }

    public var description: String {
        let name = publicAddress?.description ?? "no address"
        return "\(name), HCI version \(bluetoothVersion), manufacturer \(manufacturer), settings 0x\(hexadecimalDigits(UInt64(current.rawValue), count: 8))"
    }
}

/// What the kernel's management interface can do.
public struct ManagementVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let version: UInt8
    public let revision: UInt16

    public init(version: UInt8, revision: UInt16) {
        self.version = version
        self.revision = revision
    }

    public static func < (left: Self, right: Self) -> Bool { (left.version, left.revision) < (right.version, right.revision) }

    /// Whether loading connection parameters changes a link that is up.
    public var updatesLiveLinks: Bool { self >= ManagementVersion(version: 1, revision: 23) }

    public var description: String { "\(version).\(revision)" }
}

/// The answer to a command that succeeded, by its opcode.
public enum ManagementReply: Sendable, Hashable {
    case version(ManagementVersion)
    case supportedCommands(Set<ManagementOpcode>)
    /// Controllers that can be used, whether they come from the plain or from the extended list: configured primary ones.
    case controllers([ControllerIndex])
    case information(ControllerInformation)
    case settings(ManagementSettings)
    /// The LE links that are up.
    case connections([BluetoothAddress])
    /// RSSI and transmit power in dBm; `nil` when not known.
    case connectionInformation(BluetoothAddress, rssi: Int8?, transmitPower: Int8?)
    /// Parameters that nothing here reads: of a command that answers with nothing, with the address asked about, or with something else.
    case octets([UInt8])

    /// Reads the parameters of a Command Complete without their status.
    ///
    /// - Returns: `nil` when they cannot be an answer to that command.
    init?(to opcode: ManagementOpcode, parsing parameters: ArraySlice<UInt8>) {
        var reader = OctetReader(parameters)
        switch opcode {
        case .readVersion:
            guard let version = reader.uint8(), let revision = reader.uint16() else { return nil }
            self = .version(ManagementVersion(version: version, revision: revision))
        case .readSupportedCommands:
            guard let commands = reader.uint16(), let events = reader.uint16(), reader.count >= 2 * (Int(commands) + Int(events)) else { return nil }
            self = .supportedCommands(Set((0..<commands).compactMap { _ in reader.uint16().map(ManagementOpcode.init(rawValue:)) }))
        case .readIndexList:
            guard let count = reader.uint16(), reader.count >= 2 * Int(count) else { return nil }
            self = .controllers((0..<count).compactMap { _ in reader.uint16().map(ControllerIndex.init(rawValue:)) })
        case .readExtendedIndexList:
            guard let count = reader.uint16(), reader.count >= 4 * Int(count) else { return nil }
            self = .controllers((0..<count).compactMap { _ in
                guard let index = reader.uint16(), let kind = reader.uint8(), reader.uint8() != nil else { return nil }
                return kind == 0 ? ControllerIndex(rawValue: index) : nil
            })
        case .readControllerInformation:
            guard let address = reader.octets(6), let version = reader.uint8(), let manufacturer = reader.uint16(), let supported = reader.uint32(),
                  let current = reader.uint32()
            else { return nil }
            self = .information(ControllerInformation(
                address: address, bluetoothVersion: version, manufacturer: manufacturer, supported: ManagementSettings(rawValue: supported),
                current: ManagementSettings(rawValue: current)))
        case .setPowered, .setDiscoverable, .setConnectable, .setBondable, .setLowEnergy, .setBREDR, .setAdvertising, .setSecureConnections:
            guard let settings = reader.uint32() else { return nil }
            self = .settings(ManagementSettings(rawValue: settings))
        case .getConnections:
            guard let count = reader.uint16(), reader.count >= 7 * Int(count) else { return nil }
            // A link that is none of LE's is nobody's here.
            self = .connections((0..<count).compactMap { _ in reader.address() })
        case .getConnectionInformation:
            guard let address = reader.address(), let rssi = reader.uint8(), let power = reader.uint8(), reader.uint8() != nil else { return nil }
            self = .connectionInformation(address, rssi: Self.decibels(rssi), transmitPower: Self.decibels(power))
        default:
            self = .octets(reader.remainder())
        }
    }

    /// 127 stands for what the controller does not know.
    private static func decibels(_ octet: UInt8) -> Int8? { octet == 127 ? nil : Int8(bitPattern: octet) }
}
