/// A Long Term Key that a pairing gave (Core Vol 3 Part H 2.4.4), as the kernel hands it up and takes it back. Printing it never shows the key.
public struct LongTermKey: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// How the key came to be; the raw values are the kernel's, an open set.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let unauthenticatedLegacy = Kind(rawValue: 0)
        public static let authenticatedLegacy = Kind(rawValue: 1)
        public static let unauthenticatedP256 = Kind(rawValue: 2)
        public static let authenticatedP256 = Kind(rawValue: 3)
        /// Made with the published debug key: it protects nothing.
        public static let debugP256 = Kind(rawValue: 4)

        /// Whether somebody in the middle is excluded.
        public var isAuthenticated: Bool { self == .authenticatedLegacy || self == .authenticatedP256 }
    }

    /// The peer's identity address.
    public let address: BluetoothAddress
    public let kind: Kind
    /// For legacy keys: whether it is the key that this side uses as central.
    public let isInitiator: Bool
    /// 7 to 16 octets.
    public let encryptionSize: UInt8
    public let encryptedDiversifier: UInt16
    public let random: UInt64
    /// 16 octets, least significant first.
    public let value: [UInt8]

    /// `nil` for what the kernel would refuse, as one such key makes it refuse the whole list: an address that is no identity, a size that is none, a
    /// value that is not 16 octets.
    public init?(
        address: BluetoothAddress, kind: Kind, isInitiator: Bool, encryptionSize: UInt8, encryptedDiversifier: UInt16, random: UInt64, value: [UInt8]
    ) {
        guard address.isIdentity, (7...16).contains(encryptionSize), value.count == 16 else { return nil }
        self.address = address
        self.kind = kind
        self.isInitiator = isInitiator
        self.encryptionSize = encryptionSize
        self.encryptedDiversifier = encryptedDiversifier
        self.random = random
        self.value = value
    }

    /// The length of `octets`.
    public static let length = 36

    /// `struct mgmt_ltk_info`, for storage and for Load Long Term Keys.
    public var octets: [UInt8] {
        var octets: [UInt8] = []
        octets.append(address)
        octets += [kind.rawValue, isInitiator ? 1 : 0, encryptionSize]
        octets.append16(encryptedDiversifier)
        octets.append64(random)
        return octets + value
    }

    /// Reads back what `octets` gave; `nil` for anything else.
    public init?(octets: [UInt8]) {
        guard octets.count == Self.length else { return nil }
        var reader = OctetReader(octets[...])
        guard let address = reader.address(), let kind = reader.uint8(), let initiator = reader.uint8(), initiator <= 1,
              let size = reader.uint8(), let diversifier = reader.uint16(), let random = reader.uint64(), let value = reader.octets(16)
        else { return nil }
        self.init(
            address: address, kind: Kind(rawValue: kind), isInitiator: initiator == 1, encryptionSize: size, encryptedDiversifier: diversifier,
            random: random, value: value)
    }

    public var description: String { "long term key of \(address)" }
    public var customMirror: Mirror { Mirror(self, children: ["address": address.description]) }
}

/// An Identity Resolving Key (Core Vol 3 Part H 2.4.2.1): with it the kernel knows a bonded peer behind its private addresses. Printing it never shows the key.
public struct IdentityResolvingKey: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The peer's identity address.
    public let address: BluetoothAddress
    /// 16 octets, least significant first.
    public let value: [UInt8]

    /// `nil` for what the kernel would refuse: an address that is no identity, or a value that is not 16 octets.
    public init?(address: BluetoothAddress, value: [UInt8]) {
        guard address.isIdentity, value.count == 16 else { return nil }
        self.address = address
        self.value = value
    }

    /// The length of `octets`.
    public static let length = 23

    /// `struct mgmt_irk_info`, for storage and for Load Identity Resolving Keys.
    public var octets: [UInt8] {
        var octets: [UInt8] = []
        octets.append(address)
        return octets + value
    }

    /// Reads back what `octets` gave; `nil` for anything else.
    public init?(octets: [UInt8]) {
        guard octets.count == Self.length else { return nil }
        var reader = OctetReader(octets[...])
        guard let address = reader.address(), let value = reader.octets(16) else { return nil }
        self.init(address: address, value: value)
    }

    public var description: String { "identity resolving key of \(address)" }
    public var customMirror: Mirror { Mirror(self, children: ["address": address.description]) }
}

extension BluetoothAddress {
    /// Whether the address can name a device for good: public, or static random (Core Vol 6 Part B 1.3: the two topmost bits are set).
    public var isIdentity: Bool { kind == .public || octets[5] & 0xC0 == 0xC0 }

    /// Whether the address is a resolvable private one, which only the peer's Identity Resolving Key explains.
    public var isResolvablePrivate: Bool { kind == .random && octets[5] & 0xC0 == 0x40 }
}
