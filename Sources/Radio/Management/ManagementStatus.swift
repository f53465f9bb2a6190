/// How the kernel answered a management command; an open set.
public struct ManagementStatus: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let success = ManagementStatus(rawValue: 0x00)
    public static let unknownCommand = ManagementStatus(rawValue: 0x01)
    public static let notConnected = ManagementStatus(rawValue: 0x02)
    public static let failed = ManagementStatus(rawValue: 0x03)
    public static let connectFailed = ManagementStatus(rawValue: 0x04)
    public static let authenticationFailed = ManagementStatus(rawValue: 0x05)
    public static let notPaired = ManagementStatus(rawValue: 0x06)
    public static let noResources = ManagementStatus(rawValue: 0x07)
    public static let timeout = ManagementStatus(rawValue: 0x08)
    public static let alreadyConnected = ManagementStatus(rawValue: 0x09)
    public static let busy = ManagementStatus(rawValue: 0x0A)
    public static let rejected = ManagementStatus(rawValue: 0x0B)
    public static let notSupported = ManagementStatus(rawValue: 0x0C)
    public static let invalidParameters = ManagementStatus(rawValue: 0x0D)
    public static let disconnected = ManagementStatus(rawValue: 0x0E)
    public static let notPowered = ManagementStatus(rawValue: 0x0F)
    public static let cancelled = ManagementStatus(rawValue: 0x10)
    public static let invalidIndex = ManagementStatus(rawValue: 0x11)
    public static let rfkilled = ManagementStatus(rawValue: 0x12)
    public static let alreadyPaired = ManagementStatus(rawValue: 0x13)
    public static let permissionDenied = ManagementStatus(rawValue: 0x14)

    private static let names = [
        "Success", "Unknown Command", "Not Connected", "Failed", "Connect Failed", "Authentication Failed", "Not Paired", "No Resources",
        "Timeout", "Already Connected", "Busy", "Rejected", "Not Supported", "Invalid Parameters", "Disconnected", "Not Powered",
        "Cancelled", "Invalid Index", "RFKilled", "Already Paired", "Permission Denied",
    ]

    /// The name in the interface's description, or the number.
    public var description: String {
        Int(rawValue) < Self.names.count ? Self.names[Int(rawValue)] : "management status 0x\(hexadecimalDigits(UInt64(rawValue), count: 2))"
    }
}

/// Why a link ended, as Device Disconnected says it; an open set.
public struct DisconnectReason: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let unspecified = DisconnectReason(rawValue: 0)
    /// The supervision timeout has passed.
    public static let connectionTimeout = DisconnectReason(rawValue: 1)
    public static let localHost = DisconnectReason(rawValue: 2)
    public static let remote = DisconnectReason(rawValue: 3)
    public static let authenticationFailure = DisconnectReason(rawValue: 4)
    public static let localHostSuspended = DisconnectReason(rawValue: 5)

    public var description: String {
        switch self {
        case .unspecified: "for no stated reason"
        case .connectionTimeout: "by the supervision timeout"
        case .localHost: "by this hub"
        case .remote: "by the peer"
        case .authenticationFailure: "after an authentication failure"
        case .localHostSuspended: "because this machine was suspended"
        default: "for reason \(rawValue)"
        }
    }
}
