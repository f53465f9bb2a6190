/// A service as discovered, primary or secondary (Core Vol 3 Part G 3.1).
public struct GATTService: Sendable, Hashable {
    public let uuid: BluetoothUUID
    /// The handle of its declaration.
    public let startHandle: AttributeHandle
    /// The last handle that belongs to it.
    public let endHandle: AttributeHandle

    public init(uuid: BluetoothUUID, startHandle: AttributeHandle, endHandle: AttributeHandle) {
        self.uuid = uuid
        self.startHandle = startHandle
        self.endHandle = endHandle
    }
}

/// What can be done with a characteristic (Core Vol 3 Part G 3.3.1.1).
public struct GATTProperties: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let broadcast = GATTProperties(rawValue: 0x01)
    public static let read = GATTProperties(rawValue: 0x02)
    public static let writeWithoutResponse = GATTProperties(rawValue: 0x04)
    public static let write = GATTProperties(rawValue: 0x08)
    public static let notify = GATTProperties(rawValue: 0x10)
    public static let indicate = GATTProperties(rawValue: 0x20)
    public static let authenticatedSignedWrites = GATTProperties(rawValue: 0x40)
    public static let extendedProperties = GATTProperties(rawValue: 0x80)
}

/// A characteristic as discovered (Core Vol 3 Part G 3.3).
public struct GATTCharacteristic: Sendable, Hashable {
    public let uuid: BluetoothUUID
    public let properties: GATTProperties
    /// The handle of its declaration.
    public let declarationHandle: AttributeHandle
    /// The handle of its value: the one to read, write and subscribe.
    public let valueHandle: AttributeHandle
    /// The last handle that belongs to it: before the next declaration, or the end of the service.
    public let endHandle: AttributeHandle

    public init(uuid: BluetoothUUID, properties: GATTProperties, declarationHandle: AttributeHandle, valueHandle: AttributeHandle,
                endHandle: AttributeHandle) {
        self.uuid = uuid
        self.properties = properties
        self.declarationHandle = declarationHandle
        self.valueHandle = valueHandle
        self.endHandle = endHandle
    }
}

/// A descriptor of a characteristic as discovered (Core Vol 3 Part G 3.3.3).
public struct GATTDescriptor: Sendable, Hashable {
    public let uuid: BluetoothUUID
    public let handle: AttributeHandle

    public init(uuid: BluetoothUUID, handle: AttributeHandle) {
        self.uuid = uuid
        self.handle = handle
    }
}

/// How a peer is to send a characteristic's value of itself.
public enum SubscriptionKind: Sendable, Hashable {
    /// Unconfirmed.
    case notifications
    /// One at a time, each confirmed by `GATTClient.confirmIndication()`.
    case indications
    /// Both, as the peer chooses for each value.
    case notificationsAndIndications

    /// The value of the Client Characteristic Configuration descriptor (Core Vol 3 Part G 3.3.3.3).
    var configuration: [UInt8] {
        switch self {
        case .notifications: [0x01, 0x00]
        case .indications: [0x02, 0x00]
        case .notificationsAndIndications: [0x03, 0x00]
        }
    }

    /// What the characteristic must have, each with its name in the specification.
    var properties: [(property: GATTProperties, name: String)] {
        switch self {
        case .notifications: [(.notify, "notify")]
        case .indications: [(.indicate, "indicate")]
        case .notificationsAndIndications: [(.notify, "notify"), (.indicate, "indicate")]
        }
    }
}

/// A service that another one includes (Core Vol 3 Part G 3.2).
public struct GATTIncludedService: Sendable, Hashable {
    /// The handle of the include's declaration.
    public let handle: AttributeHandle
    public let service: GATTService

    public init(handle: AttributeHandle, service: GATTService) {
        self.handle = handle
        self.service = service
    }
}

/// A value with the attribute that it was read from.
public struct GATTValue: Sendable, Hashable {
    public let handle: AttributeHandle
    public let value: [UInt8]
    /// Whether the value is known to be complete: a response may have been too short for it, and then `GATTClient.read(_:)` gets the whole.
    public let isWhole: Bool

    public init(handle: AttributeHandle, value: [UInt8], isWhole: Bool) {
        self.handle = handle
        self.value = value
        self.isWhole = isWhole
    }
}

/// What is to be written to one attribute in a queued write.
public struct GATTWrite: Sendable, Hashable {
    public let handle: AttributeHandle
    public let value: [UInt8]
    /// Where in the attribute's value it begins.
    public let offset: UInt16

    public init(_ value: [UInt8], to handle: AttributeHandle, offset: UInt16 = 0) {
        self.handle = handle
        self.value = value
        self.offset = offset
    }
}
