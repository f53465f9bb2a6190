/// What a controller can do, or what is switched on (the bits of Read Controller Information and New Settings). Bits without a name are kept.
public struct ManagementSettings: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let powered = ManagementSettings(rawValue: 1 << 0)
    public static let connectable = ManagementSettings(rawValue: 1 << 1)
    public static let fastConnectable = ManagementSettings(rawValue: 1 << 2)
    public static let discoverable = ManagementSettings(rawValue: 1 << 3)
    public static let bondable = ManagementSettings(rawValue: 1 << 4)
    public static let linkLevelSecurity = ManagementSettings(rawValue: 1 << 5)
    public static let secureSimplePairing = ManagementSettings(rawValue: 1 << 6)
    public static let brEDR = ManagementSettings(rawValue: 1 << 7)
    public static let highSpeed = ManagementSettings(rawValue: 1 << 8)
    public static let lowEnergy = ManagementSettings(rawValue: 1 << 9)
    public static let advertising = ManagementSettings(rawValue: 1 << 10)
    public static let secureConnections = ManagementSettings(rawValue: 1 << 11)
    public static let debugKeys = ManagementSettings(rawValue: 1 << 12)
    public static let privacy = ManagementSettings(rawValue: 1 << 13)
    public static let configuration = ManagementSettings(rawValue: 1 << 14)
    public static let staticAddress = ManagementSettings(rawValue: 1 << 15)
}

/// The number that the kernel gives a controller while it is there: `hci0` has 0.
public struct ControllerIndex: RawRepresentable, Sendable, Hashable, Comparable, CustomStringConvertible {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// What is about no controller in particular (`HCI_DEV_NONE`).
    public static let none = ControllerIndex(rawValue: 0xFFFF)

    public static func < (left: ControllerIndex, right: ControllerIndex) -> Bool { left.rawValue < right.rawValue }

    public var description: String { self == .none ? "no controller" : "hci\(rawValue)" }
}
