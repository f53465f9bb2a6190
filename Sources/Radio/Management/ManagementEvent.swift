/// What was heard of a device that advertises.
public struct Advertisement: Sendable, Hashable {
    /// What the kernel knows besides the data.
    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        public static let notConnectable = Flags(rawValue: 1 << 2)
        public static let initiatedConnection = Flags(rawValue: 1 << 3)
        /// The data are those of a scan response.
        public static let scanResponse = Flags(rawValue: 1 << 5)
    }

    /// The identity address where the kernel could resolve it.
    public let address: BluetoothAddress
    /// dBm; `nil` when not known.
    public let rssi: Int8?
    public let flags: Flags
    /// Advertising data as it came (Core Vol 3 Part C 11): hostile until parsed.
    public let data: [UInt8]

    public init(address: BluetoothAddress, rssi: Int8?, flags: Flags, data: [UInt8]) {
        self.address = address
        self.rssi = rssi
        self.flags = flags
        self.data = data
    }
}

/// An event of BlueZ's management interface that is no answer to a command.
public enum ManagementEvent: Sendable, Hashable {
    case controllerError(UInt8)
    case indexAdded
    case indexRemoved
    case newSettings(ManagementSettings)
    case newLongTermKey(LongTermKey, store: Bool)
    /// `randomAddress` is the private address that the key explained, all zero when there was none.
    case newIdentityResolvingKey(IdentityResolvingKey, randomAddress: [UInt8], store: Bool)
    /// `parameters` is `nil` when what the peer asked for is no allowed combination.
    case newConnectionParameters(BluetoothAddress, ConnectionParameters?, store: Bool)
    case deviceConnected(BluetoothAddress, flags: UInt32, data: [UInt8])
    case deviceDisconnected(BluetoothAddress, DisconnectReason)
    case connectFailed(BluetoothAddress, ManagementStatus)
    /// `justWorks`: only whether to pair at all is asked, there is no number to compare.
    case userConfirmationRequest(BluetoothAddress, justWorks: Bool, value: UInt32)
    case userPasskeyRequest(BluetoothAddress)
    case passkeyNotify(BluetoothAddress, passkey: UInt32, entered: UInt8)
    case authenticationFailed(BluetoothAddress, ManagementStatus)
    case deviceUnpaired(BluetoothAddress)
    case deviceFound(Advertisement)
    case discovering(Bool)
    case deviceAdded(BluetoothAddress, DeviceAction?)
    case deviceRemoved(BluetoothAddress)
    /// One that nothing here reads: of another code, or about a device that is none of LE's.
    case other(ManagementEventCode, [UInt8])
}

extension ManagementEvent {
    /// Reads an event's parameters.
    ///
    /// - Returns: `nil` when they are too short or contradict themselves. What follows the known fields is left alone: later kernels may say more.
    init?(_ code: ManagementEventCode, parsing parameters: ArraySlice<UInt8>) {
        // Events about devices start with an address, and that of a BR/EDR device is in order, if nothing for us.
        func addressed(at offset: Int, _ read: (inout OctetReader, BluetoothAddress) -> ManagementEvent?) -> ManagementEvent? {
            guard parameters.count >= offset + 7 else { return nil }
            var reader = OctetReader(parameters.dropFirst(offset))
            guard let address = reader.address() else { return .other(code, Array(parameters)) }
            return read(&reader, address)
        }
        let event: ManagementEvent?
        var reader = OctetReader(parameters)
        switch code {
        case .controllerError:
            event = reader.uint8().map { .controllerError($0) }
        case .indexAdded:
            event = .indexAdded
        case .indexRemoved:
            event = .indexRemoved
        case .extendedIndexAdded, .extendedIndexRemoved:
            // Kind 0 is a configured primary controller; a bus follows.
            guard let kind = reader.uint8(), reader.uint8() != nil else { return nil }
            event = kind != 0 ? .other(code, Array(parameters)) : code == .extendedIndexAdded ? .indexAdded : .indexRemoved
        case .newSettings:
            event = reader.uint32().map { .newSettings(ManagementSettings(rawValue: $0)) }
        case .newLongTermKey:
            event = addressed(at: 1) { _, _ in
                guard parameters.count >= 1 + LongTermKey.length, let hint = reader.uint8(), let octets = reader.octets(LongTermKey.length) else { return nil }
                // A key for an address that will not come back is of no use to anybody, and not wrong.
                return LongTermKey(octets: octets).map { .newLongTermKey($0, store: hint != 0) } ?? .other(code, [])
            }
        case .newIdentityResolvingKey:
            event = addressed(at: 7) { _, _ in
                guard let hint = reader.uint8(), let random = reader.octets(6), let octets = reader.octets(IdentityResolvingKey.length) else { return nil }
                return IdentityResolvingKey(octets: octets).map { .newIdentityResolvingKey($0, randomAddress: random, store: hint != 0) } ?? .other(code, [])
            }
        case .newConnectionParameter:
            event = addressed(at: 0) { reader, address in
                guard let hint = reader.uint8(), let minimum = reader.uint16(), let maximum = reader.uint16(), let latency = reader.uint16(),
                      let timeout = reader.uint16()
                else { return nil }
                let parameters = ConnectionParameters(
                    minimumInterval: minimum, maximumInterval: maximum, latency: latency, supervisionTimeout: timeout)
                return .newConnectionParameters(address, parameters, store: hint != 0)
            }
        case .deviceConnected:
            event = addressed(at: 0) { reader, address in
                guard let flags = reader.uint32(), let data = Self.data(&reader) else { return nil }
                return .deviceConnected(address, flags: flags, data: data)
            }
        case .deviceDisconnected:
            event = addressed(at: 0) { reader, address in
                reader.uint8().map { .deviceDisconnected(address, DisconnectReason(rawValue: $0)) }
            }
        case .connectFailed, .authenticationFailed:
            event = addressed(at: 0) { reader, address in
                guard let status = reader.uint8().map(ManagementStatus.init(rawValue:)) else { return nil }
                return code == .connectFailed ? .connectFailed(address, status) : .authenticationFailed(address, status)
            }
        case .userConfirmationRequest:
            event = addressed(at: 0) { reader, address in
                guard let hint = reader.uint8(), let value = reader.uint32() else { return nil }
                return .userConfirmationRequest(address, justWorks: hint != 0, value: value)
            }
        case .userPasskeyRequest:
            event = addressed(at: 0) { _, address in .userPasskeyRequest(address) }
        case .passkeyNotify:
            event = addressed(at: 0) { reader, address in
                guard let passkey = reader.uint32(), let entered = reader.uint8() else { return nil }
                return .passkeyNotify(address, passkey: passkey, entered: entered)
            }
        case .deviceUnpaired:
            event = addressed(at: 0) { _, address in .deviceUnpaired(address) }
        case .deviceFound:
            event = addressed(at: 0) { reader, address in
                guard let rssi = reader.uint8(), let flags = reader.uint32(), let data = Self.data(&reader) else { return nil }
                return .deviceFound(Advertisement(
                    address: address, rssi: rssi == 127 ? nil : Int8(bitPattern: rssi), flags: .init(rawValue: flags), data: data))
            }
        case .discovering:
            guard reader.uint8() != nil, let on = reader.uint8() else { return nil }
            event = .discovering(on != 0)
        case .deviceAdded:
            event = addressed(at: 0) { reader, address in reader.uint8().map { .deviceAdded(address, DeviceAction(rawValue: $0)) } }
        case .deviceRemoved:
            event = addressed(at: 0) { _, address in .deviceRemoved(address) }
        default:
            event = .other(code, reader.remainder())
        }
        guard let event else { return nil }
        self = event
    }

    /// Data behind their length.
    private static func data(_ reader: inout OctetReader) -> [UInt8]? {
        guard let length = reader.uint16() else { return nil }
        return reader.octets(Int(length))
    }
}
