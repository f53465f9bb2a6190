/// The number of a command of BlueZ's management interface. An open set: the kernel may support what is not named here.
public struct ManagementOpcode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let readVersion = ManagementOpcode(rawValue: 0x0001)
    public static let readSupportedCommands = ManagementOpcode(rawValue: 0x0002)
    public static let readIndexList = ManagementOpcode(rawValue: 0x0003)
    public static let readControllerInformation = ManagementOpcode(rawValue: 0x0004)
    public static let setPowered = ManagementOpcode(rawValue: 0x0005)
    public static let setDiscoverable = ManagementOpcode(rawValue: 0x0006)
    public static let setConnectable = ManagementOpcode(rawValue: 0x0007)
    public static let setBondable = ManagementOpcode(rawValue: 0x0009)
    public static let setLowEnergy = ManagementOpcode(rawValue: 0x000D)
    public static let loadLongTermKeys = ManagementOpcode(rawValue: 0x0013)
    public static let disconnect = ManagementOpcode(rawValue: 0x0014)
    public static let getConnections = ManagementOpcode(rawValue: 0x0015)
    public static let setIOCapability = ManagementOpcode(rawValue: 0x0018)
    public static let pairDevice = ManagementOpcode(rawValue: 0x0019)
    public static let cancelPairDevice = ManagementOpcode(rawValue: 0x001A)
    public static let unpairDevice = ManagementOpcode(rawValue: 0x001B)
    public static let userConfirmationReply = ManagementOpcode(rawValue: 0x001C)
    public static let userConfirmationNegativeReply = ManagementOpcode(rawValue: 0x001D)
    public static let userPasskeyReply = ManagementOpcode(rawValue: 0x001E)
    public static let userPasskeyNegativeReply = ManagementOpcode(rawValue: 0x001F)
    public static let startDiscovery = ManagementOpcode(rawValue: 0x0023)
    public static let stopDiscovery = ManagementOpcode(rawValue: 0x0024)
    public static let setAdvertising = ManagementOpcode(rawValue: 0x0029)
    public static let setBREDR = ManagementOpcode(rawValue: 0x002A)
    public static let setSecureConnections = ManagementOpcode(rawValue: 0x002D)
    public static let loadIdentityResolvingKeys = ManagementOpcode(rawValue: 0x0030)
    public static let getConnectionInformation = ManagementOpcode(rawValue: 0x0031)
    public static let addDevice = ManagementOpcode(rawValue: 0x0033)
    public static let removeDevice = ManagementOpcode(rawValue: 0x0034)
    public static let loadConnectionParameters = ManagementOpcode(rawValue: 0x0035)
    public static let readExtendedIndexList = ManagementOpcode(rawValue: 0x003C)
    public static let setDefaultSystemConfiguration = ManagementOpcode(rawValue: 0x004C)

    private static let names: [ManagementOpcode: String] = [
        .readVersion: "Read Management Version Information",
        .readSupportedCommands: "Read Management Supported Commands",
        .readIndexList: "Read Controller Index List",
        .readControllerInformation: "Read Controller Information",
        .setPowered: "Set Powered",
        .setDiscoverable: "Set Discoverable",
        .setConnectable: "Set Connectable",
        .setBondable: "Set Bondable",
        .setLowEnergy: "Set Low Energy",
        .loadLongTermKeys: "Load Long Term Keys",
        .disconnect: "Disconnect",
        .getConnections: "Get Connections",
        .setIOCapability: "Set IO Capability",
        .pairDevice: "Pair Device",
        .cancelPairDevice: "Cancel Pair Device",
        .unpairDevice: "Unpair Device",
        .userConfirmationReply: "User Confirmation Reply",
        .userConfirmationNegativeReply: "User Confirmation Negative Reply",
        .userPasskeyReply: "User Passkey Reply",
        .userPasskeyNegativeReply: "User Passkey Negative Reply",
        .startDiscovery: "Start Discovery",
        .stopDiscovery: "Stop Discovery",
        .setAdvertising: "Set Advertising",
        .setBREDR: "Set BR/EDR",
        .setSecureConnections: "Set Secure Connections",
        .loadIdentityResolvingKeys: "Load Identity Resolving Keys",
        .getConnectionInformation: "Get Connection Information",
        .addDevice: "Add Device",
        .removeDevice: "Remove Device",
        .loadConnectionParameters: "Load Connection Parameters",
        .readExtendedIndexList: "Read Extended Controller Index List",
        .setDefaultSystemConfiguration: "Set Default System Configuration",
    ]

    /// The name in the interface's description, or the number.
    public var description: String { Self.names[self] ?? "management command 0x\(hexadecimalDigits(UInt64(rawValue), count: 4))" }
}
