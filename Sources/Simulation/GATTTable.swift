import Platform

/// The attributes of a server in the order of their handles.
public struct GATTTable: Sendable {
    /// What a client must be, to be let in.
    public enum Access: Sendable, Hashable {
        case denied
        case open
        /// An encrypted link.
        case encrypted
    }

    /// What stands behind an attribute.
    enum Role: Sendable, Hashable {
        /// The bytes that are there.
        case value
        /// A Client Characteristic Configuration of the given value handle; `allowed` are the bits it has.
        case configuration(of: UInt16, allowed: UInt16)
        /// Each write is a request to the collar, accepted once both are subscribed to.
        case request(subscriptions: [UInt16])
    }

    struct Attribute: Sendable {
        let handle: UInt16
        let type: BluetoothUUID
        var value: [UInt8]
        let read: Access
        let write: Access
        let role: Role
        /// Last handle of the group that this attribute opens.
        var groupEnd: UInt16
    }

    /// Characteristic properties (Core, Vol 3, Part G, 3.3.1.1).
    public struct Properties: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let read = Properties(rawValue: 0x02)
        public static let write = Properties(rawValue: 0x08)
        public static let notify = Properties(rawValue: 0x10)
        public static let indicate = Properties(rawValue: 0x20)
    }

    private(set) var attributes: [Attribute] = []
    private var nextHandle: UInt16 = 1
    private var service: Int?

    public init() {}

    /// Opens a primary service. Handles may be left free before it.
    public mutating func addService(_ uuid: BluetoothUUID, at handle: UInt16? = nil) {
        if let handle { nextHandle = max(nextHandle, handle) }
        service = attributes.count
        add(.primaryService, uuid.bytes, read: .open)
    }

    /// Adds a characteristic to the last service: its declaration, its value, a description when there is one, and a client
    /// configuration when it notifies or indicates.
    ///
    /// - Parameters:
    ///   - subscribe: who may write the client configuration.
    ///   - requestsAfter: makes each write a request, allowed once these values and this one are subscribed to.
    /// - Returns: the handle of the value.
    @discardableResult
    public mutating func addCharacteristic(
        _ uuid: BluetoothUUID, _ properties: Properties, value: [UInt8] = [], write: Access = .denied, subscribe: Access = .open,
        description: String? = nil, requestsAfter: [UInt16]? = nil
    ) -> UInt16 {
        let handle = nextHandle + 1
        var declaration = [properties.rawValue]
        declaration.append(littleEndian: handle)
        add(.characteristic, declaration + uuid.bytes, read: .open)
        add(uuid, value, read: properties.contains(.read) ? .open : .denied, write: write, role: requestsAfter.map { .request(subscriptions: $0 + [handle]) } ?? .value)
        // Before the configuration, so that a client that takes any descriptor for it is found out.
        if let description { add(.userDescription, Array(description.utf8), read: .open) }
        let allowed: UInt16 = (properties.contains(.notify) ? 1 : 0) | (properties.contains(.indicate) ? 2 : 0)
        if allowed != 0 {
            add(.clientConfiguration, [0, 0], read: .open, write: subscribe, role: .configuration(of: handle, allowed: allowed))
        }
        return handle
    }

    /// The Database Hash as it is read, least significant octet first (Core, Vol 3, Part G, 7.3.1).
    var databaseHash: [UInt8] {
        var message: [UInt8] = []
        for attribute in attributes {
            let isDeclaration = [.primaryService, .secondaryService, .characteristic].contains(attribute.type)
            guard isDeclaration || [.userDescription, .clientConfiguration].contains(attribute.type) else { continue }
            message.append(littleEndian: attribute.handle)
            message += attribute.type.bytes
            // Of a descriptor its place counts, not what is written to it.
            if isDeclaration { message += attribute.value }
        }
        return AESCMAC.tag(key: [UInt8](repeating: 0, count: 16), message: message).reversed()
    }

    /// The position of a handle among the attributes.
    func index(of handle: UInt16) -> Int? {
        var low = 0
        var high = attributes.count
        while low < high {
            let middle = (low + high) / 2
            if attributes[middle].handle < handle { low = middle + 1 } else { high = middle }
        }
        return low < attributes.count && attributes[low].handle == handle ? low : nil
    }

    mutating func setValue(_ value: [UInt8], at index: Int) { attributes[index].value = value }

    private mutating func add(_ type: BluetoothUUID, _ value: [UInt8], read: Access, write: Access = .denied, role: Role = .value) {
        attributes.append(Attribute(handle: nextHandle, type: type, value: value, read: read, write: write, role: role, groupEnd: nextHandle))
        if let service { attributes[service].groupEnd = nextHandle }
        nextHandle += 1
    }
}
