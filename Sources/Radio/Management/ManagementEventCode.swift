/// The number of an event of BlueZ's management interface; an open set.
public struct ManagementEventCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let commandComplete = ManagementEventCode(rawValue: 0x0001)
    public static let commandStatus = ManagementEventCode(rawValue: 0x0002)
    public static let controllerError = ManagementEventCode(rawValue: 0x0003)
    public static let indexAdded = ManagementEventCode(rawValue: 0x0004)
    public static let indexRemoved = ManagementEventCode(rawValue: 0x0005)
    public static let newSettings = ManagementEventCode(rawValue: 0x0006)
    public static let newLongTermKey = ManagementEventCode(rawValue: 0x000A)
    public static let deviceConnected = ManagementEventCode(rawValue: 0x000B)
    public static let deviceDisconnected = ManagementEventCode(rawValue: 0x000C)
    public static let connectFailed = ManagementEventCode(rawValue: 0x000D)
    public static let userConfirmationRequest = ManagementEventCode(rawValue: 0x000F)
    public static let userPasskeyRequest = ManagementEventCode(rawValue: 0x0010)
    public static let authenticationFailed = ManagementEventCode(rawValue: 0x0011)
    public static let deviceFound = ManagementEventCode(rawValue: 0x0012)
    public static let discovering = ManagementEventCode(rawValue: 0x0013)
    public static let deviceUnpaired = ManagementEventCode(rawValue: 0x0016)
    public static let passkeyNotify = ManagementEventCode(rawValue: 0x0017)
    public static let newIdentityResolvingKey = ManagementEventCode(rawValue: 0x0018)
    public static let deviceAdded = ManagementEventCode(rawValue: 0x001A)
    public static let deviceRemoved = ManagementEventCode(rawValue: 0x001B)
    public static let newConnectionParameter = ManagementEventCode(rawValue: 0x001C)
    public static let extendedIndexAdded = ManagementEventCode(rawValue: 0x0020)
    public static let extendedIndexRemoved = ManagementEventCode(rawValue: 0x0021)

    private static let names: [ManagementEventCode: String] = [
        .commandComplete: "Command Complete",
        .commandStatus: "Command Status",
        .controllerError: "Controller Error",
        .indexAdded: "Index Added",
        .indexRemoved: "Index Removed",
        .newSettings: "New Settings",
        .newLongTermKey: "New Long Term Key",
        .deviceConnected: "Device Connected",
        .deviceDisconnected: "Device Disconnected",
        .connectFailed: "Connect Failed",
        .userConfirmationRequest: "User Confirmation Request",
        .userPasskeyRequest: "User Passkey Request",
        .authenticationFailed: "Authentication Failed",
        .deviceFound: "Device Found",
        .discovering: "Discovering",
        .deviceUnpaired: "Device Unpaired",
        .passkeyNotify: "Passkey Notify",
        .newIdentityResolvingKey: "New Identity Resolving Key",
        .deviceAdded: "Device Added",
        .deviceRemoved: "Device Removed",
        .newConnectionParameter: "New Connection Parameter",
        .extendedIndexAdded: "Extended Index Added",
        .extendedIndexRemoved: "Extended Index Removed",
    ]

    /// The name in the interface's description, or the number.
    public var description: String { Self.names[self] ?? "management event 0x\(hexadecimalDigits(UInt64(rawValue), count: 4))" }
}
