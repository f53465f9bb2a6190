/// Which bond: that of one controller with one device.
///
/// Keys are made between two identities. Another controller has another identity, so its keys with the same device are other keys, and the kernel
/// takes them for each controller alone; a controller that comes back finds its own.
public struct BondID: Sendable, Hashable, CustomStringConvertible {
    /// The hub's controller.
    public let controller: IdentityAddress
    /// The device.
    public let peer: IdentityAddress

    /// - Parameters:
    ///   - controller: the identity address of the hub's controller.
    ///   - peer: the device's.
    public init(controller: IdentityAddress, peer: IdentityAddress) {
        self.controller = controller
        self.peer = peer
    }

    public var description: String { "\(peer) with controller \(controller)" }
}

/// What a pairing left: the keys of one controller with one device. Printing it shows no key.
public struct Bond: Sendable, Hashable {
    /// Between whom.
    public let id: BondID
    /// The serial number of the device that the pairing was made for.
    public let device: String
    /// One of Secure Connections, or one or two of legacy pairing, for different directions.
    public var longTermKeys: [BondLongTermKey]
    /// By which the device is known behind its private addresses, if it gave one.
    public var identityResolvingKey: KeyOctets?
    /// At most one for each side.
    public var signatureKeys: [BondSignatureKey]

    /// Nothing is checked here; `Change.storeBond` refuses what contradicts itself.
    public init(
        id: BondID, device: String, longTermKeys: [BondLongTermKey], identityResolvingKey: KeyOctets? = nil, signatureKeys: [BondSignatureKey] = []
    ) {
        self.id = id
        self.device = device
        self.longTermKeys = longTermKeys
        self.identityResolvingKey = identityResolvingKey
        self.signatureKeys = signatureKeys
    }
}

/// A Long Term Key (Core Vol 3 Part H 2.4.4).
public struct BondLongTermKey: Sendable, Hashable {
    /// How it was made; the raw values are those of BlueZ's management API. A debug key is none of them: everybody knows it.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        case unauthenticatedLegacy = 0
        case authenticatedLegacy = 1
        case unauthenticatedP256 = 2
        case authenticatedP256 = 3

        var isLegacy: Bool { self == .unauthenticatedLegacy || self == .authenticatedLegacy }
    }

    /// How it was made.
    public let kind: Kind
    /// Of a legacy key: whether it is used when this side is the central.
    public let isInitiator: Bool
    /// The octets of it that count, 7 to 16.
    public let encryptionSize: UInt8
    /// EDIV; 0 with Secure Connections.
    public let encryptedDiversifier: UInt16
    /// Rand; 0 with Secure Connections.
    public let random: UInt64
    /// The key.
    public let value: KeyOctets

    /// Nothing is checked here.
    public init(kind: Kind, isInitiator: Bool, encryptionSize: UInt8, encryptedDiversifier: UInt16, random: UInt64, value: KeyOctets) {
        self.kind = kind
        self.isInitiator = isInitiator
        self.encryptionSize = encryptionSize
        self.encryptedDiversifier = encryptedDiversifier
        self.random = random
        self.value = value
    }
}

/// A Connection Signature Resolving Key with its sign counter (Core Vol 3 Part H 2.4.2.2, 2.4.5).
public struct BondSignatureKey: Sendable, Hashable {
    /// Whether this side signs with it; otherwise the device does.
    public let isLocal: Bool
    /// Whether somebody in the middle of the pairing is excluded.
    public let isAuthenticated: Bool
    /// Of a local key the first counter that was not used, of the device's the first that is not yet seen.
    public var counter: UInt32
    /// The key.
    public let value: KeyOctets

    public init(isLocal: Bool, isAuthenticated: Bool, counter: UInt32, value: KeyOctets) {
        self.isLocal = isLocal
        self.isAuthenticated = isAuthenticated
        self.counter = counter
        self.value = value
    }
}

/// The 16 octets of a key. No way to print it shows them.
public struct KeyOctets: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// In the order in which the key came.
    public let octets: [UInt8]

    /// `nil` unless there are 16.
    public init?(_ octets: [UInt8]) {
        guard octets.count == 16 else { return nil }
        self.octets = octets
    }

    public var description: String { "<key>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The attributes of a bonded device as they were discovered, under the Database Hash that it had then (Core Vol 3 Part G 7.3).
public struct AttributeCache: Sendable, Hashable {
    /// The Database Hash, 16 octets.
    public let hash: [UInt8]
    /// What was discovered, in the caller's form.
    public let octets: [UInt8]

    /// Nothing is checked here; `Change.storeCache` refuses what is too long.
    public init(hash: [UInt8], octets: [UInt8]) {
        self.hash = hash
        self.octets = octets
    }

    /// The most octets of one.
    public static let limit = 16_384
    /// The length of `hash`.
    public static let hashLength = 16
}

extension Bond {
    /// What is wrong with the bond by itself.
    var malformation: Refusal? {
        func bad(_ what: String) -> Refusal { Refusal(.malformed, "bond of \(id): \(what)") }
        if let what = WindowBatch.badText(device, "device", limit: 64) { return bad(what) }
        switch longTermKeys.count {
        case 1: break
        case 2:
            guard longTermKeys.allSatisfy(\.kind.isLegacy), longTermKeys[0].isInitiator != longTermKeys[1].isInitiator else {
                return bad("two long term keys that are not the two directions of legacy pairing")
            }
        default: return bad("\(longTermKeys.count) long term keys; 1 or 2 are allowed")
        }
        for key in longTermKeys where !(7...16).contains(key.encryptionSize) { return bad("an encryption size of \(key.encryptionSize); 7 to 16 are allowed") }
        guard Set(signatureKeys.map(\.isLocal)).count == signatureKeys.count else { return bad("two signature keys of one side") }
        return nil
    }
}
