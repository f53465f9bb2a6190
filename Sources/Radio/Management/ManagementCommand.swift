/// What a device on the kernel's list is there for (Add Device).
public enum DeviceAction: UInt8, Sendable, Hashable {
    /// Its advertisements are reported while the controller waits for others.
    case report = 0
    /// It may connect to this side.
    case allowIncoming = 1
    /// A link is made whenever it can be heard, again and again and without a timeout.
    case autoConnect = 2
}

/// What a user could do on this side during a pairing (Core Vol 3 Part H 2.3.2).
public enum IOCapability: UInt8, Sendable, Hashable {
    case displayOnly = 0
    case displayYesNo = 1
    case keyboardOnly = 2
    case noInputNoOutput = 3
    case keyboardDisplay = 4
}

/// How Set Secure Connections is set.
public enum SecureConnectionsMode: UInt8, Sendable, Hashable {
    case off = 0
    case on = 1
    /// Pairings without Secure Connections are refused.
    case only = 2
}

/// A command of BlueZ's management interface, as far as this hub uses it. `octets` are its parameters.
public enum ManagementCommand: Sendable, Hashable {
    // About no controller in particular.
    case readVersion
    case readSupportedCommands
    case readIndexList
    /// The list with the kind of each controller, unconfigured ones included.
    case readExtendedIndexList

    // About one controller.
    case readControllerInformation
    case setPowered(Bool)
    /// Whether others can find this side. The hub only ever turns it off.
    case setDiscoverable(Bool)
    case setConnectable(Bool)
    case setBondable(Bool)
    case setLowEnergy(Bool)
    /// May be turned off only while the controller is without power.
    case setBREDR(Bool)
    case setAdvertising(Bool)
    case setSecureConnections(SecureConnectionsMode)
    case setIOCapability(IOCapability)
    /// Replaces all that were loaded before.
    case loadLongTermKeys([LongTermKey])
    /// Replaces all that were loaded before.
    case loadIdentityResolvingKeys([IdentityResolvingKey])
    /// One device for each command: with more than one, and for an entry that it does not like, the kernel may do something else than it answers.
    case loadConnectionParameters(BluetoothAddress, ConnectionParameters)
    case setDefaultSystemConfiguration([SystemConfigurationValue])
    case getConnections
    case getConnectionInformation(BluetoothAddress)

    // About one device.
    case addDevice(BluetoothAddress, DeviceAction)
    /// `nil` removes all.
    case removeDevice(BluetoothAddress?)
    /// Answered when the link is down.
    case disconnect(BluetoothAddress)
    /// Answered when the pairing has come to its end.
    case pairDevice(BluetoothAddress, IOCapability)
    case cancelPairDevice(BluetoothAddress)
    /// Forgets the keys; ends the link too when asked.
    case unpairDevice(BluetoothAddress, disconnect: Bool)
    case userConfirmationReply(BluetoothAddress, accept: Bool)
    /// `nil` refuses. A passkey has at most six decimal digits.
    case userPasskeyReply(BluetoothAddress, UInt32?)

    /// Looks for LE devices of both kinds of addresses; ends by itself after about 10 s.
    case startDiscovery
    case stopDiscovery

    /// A command that is not among these.
    case other(ManagementOpcode, [UInt8])

    public var opcode: ManagementOpcode {
        switch self {
        case .readVersion: .readVersion
        case .readSupportedCommands: .readSupportedCommands
        case .readIndexList: .readIndexList
        case .readExtendedIndexList: .readExtendedIndexList
        case .readControllerInformation: .readControllerInformation
        case .setPowered: .setPowered
        case .setDiscoverable: .setDiscoverable
        case .setConnectable: .setConnectable
        case .setBondable: .setBondable
        case .setLowEnergy: .setLowEnergy
        case .setBREDR: .setBREDR
        case .setAdvertising: .setAdvertising
        case .setSecureConnections: .setSecureConnections
        case .setIOCapability: .setIOCapability
        case .loadLongTermKeys: .loadLongTermKeys
        case .loadIdentityResolvingKeys: .loadIdentityResolvingKeys
        case .loadConnectionParameters: .loadConnectionParameters
        case .setDefaultSystemConfiguration: .setDefaultSystemConfiguration
        case .getConnections: .getConnections
        case .getConnectionInformation: .getConnectionInformation
        case .addDevice: .addDevice
        case .removeDevice: .removeDevice
        case .disconnect: .disconnect
        case .pairDevice: .pairDevice
        case .cancelPairDevice: .cancelPairDevice
        case .unpairDevice: .unpairDevice
        case .userConfirmationReply(_, let accept): accept ? .userConfirmationReply : .userConfirmationNegativeReply
        case .userPasskeyReply(_, let passkey): passkey == nil ? .userPasskeyNegativeReply : .userPasskeyReply
        case .startDiscovery: .startDiscovery
        case .stopDiscovery: .stopDiscovery
        case .other(let opcode, _): opcode
        }
    }

    /// The device that the command is about, if it is about one.
    public var address: BluetoothAddress? {
        switch self {
        case .loadConnectionParameters(let address, _), .getConnectionInformation(let address), .addDevice(let address, _), .disconnect(let address),
             .pairDevice(let address, _), .cancelPairDevice(let address), .unpairDevice(let address, _), .userConfirmationReply(let address, _),
             .userPasskeyReply(let address, _):
            address
        case .removeDevice(let address):
            address
        default:
            nil
        }
    }
}

extension ManagementCommand {
    /// Both kinds of LE address, as Start Discovery and Stop Discovery take it.
    private static let lowEnergyDiscovery: UInt8 = 1 << BluetoothAddress.Kind.public.rawValue | 1 << BluetoothAddress.Kind.random.rawValue
    /// The most entries that fit the kernel's count beside a header.
    private static let listLimit = 1_000

    /// The parameters as the kernel takes them.
    public var octets: [UInt8] {
        var octets: [UInt8] = []
        if let address { octets.append(address) }
        switch self {
        case .readVersion, .readSupportedCommands, .readIndexList, .readExtendedIndexList, .readControllerInformation, .getConnections,
             .getConnectionInformation, .disconnect, .cancelPairDevice, .userConfirmationReply:
            break
        case .setPowered(let on), .setConnectable(let on), .setBondable(let on), .setLowEnergy(let on), .setBREDR(let on), .setAdvertising(let on):
            octets.append(on ? 1 : 0)
        case .setDiscoverable(let on):
            octets.append(on ? 1 : 0)
            // No timeout.
            octets.append16(0)
        case .setSecureConnections(let mode):
            octets.append(mode.rawValue)
        case .setIOCapability(let capability), .pairDevice(_, let capability):
            octets.append(capability.rawValue)
        case .loadLongTermKeys(let keys):
            let keys = keys.prefix(Self.listLimit)
            octets.append16(UInt16(keys.count))
            octets += keys.flatMap(\.octets)
        case .loadIdentityResolvingKeys(let keys):
            let keys = keys.prefix(Self.listLimit)
            octets.append16(UInt16(keys.count))
            octets += keys.flatMap(\.octets)
        case .loadConnectionParameters(_, let parameters):
            octets = [1, 0] + octets + parameters.octets
        case .setDefaultSystemConfiguration(let values):
            for entry in values.prefix(Self.listLimit) {
                octets.append16(entry.parameter)
                octets.append(2)
                octets.append16(entry.value)
            }
        case .addDevice(_, let action):
            octets.append(action.rawValue)
        case .removeDevice(let address):
            // Removing all is said with no address, of the type that LE does not have.
            if address == nil { octets = [UInt8](repeating: 0, count: 7) }
        case .unpairDevice(_, let disconnect):
            octets.append(disconnect ? 1 : 0)
        case .userPasskeyReply(_, let passkey):
            if let passkey { octets.append32(passkey) }
        case .startDiscovery, .stopDiscovery:
            octets.append(Self.lowEnergyDiscovery)
        case .other(_, let parameters):
            octets = parameters
        }
        return octets
    }

    /// The whole packet: opcode, index, length, parameters.
    public func packet(for index: ControllerIndex) -> [UInt8] {
        let parameters = octets
        var packet: [UInt8] = []
        packet.append16(opcode.rawValue)
        packet.append16(index.rawValue)
        packet.append16(UInt16(truncatingIfNeeded: parameters.count))
        return packet + parameters
    }
}
