import CSQLite
@testable import Outbox
import Testing

/// A static random address of a device that nobody else has.
func peer(_ number: UInt8) -> IdentityAddress { address([number, 0x34, 0x12, 0xEE, 0xFF, 0xC0], random: true) }

/// A controller's public address.
func controller(_ number: UInt8 = 1) -> IdentityAddress { address([number, 0, 0, 0x5E, 0, 0], random: false) }

private func address(_ octets: [UInt8], random: Bool) -> IdentityAddress {
    guard let address = IdentityAddress(octets: octets, isRandom: random) else { fatalError("no identity address") }
    return address
}

/// A key that nobody else has and that is easy to find in a file.
func key(_ number: UInt8) -> KeyOctets {
    guard let key = KeyOctets((0..<16).map { 0xA0 ^ number &+ $0 &* 11 }) else { fatalError("no key") }
    return key
}

/// The bond of a device, with every kind of key in it.
func bond(_ number: UInt8, device: String = "C1", controller: IdentityAddress = controller(), keys: UInt8 = 0, counter: UInt32 = 5) -> Bond {
    let legacy = { (initiator: Bool) in
        BondLongTermKey(
            kind: .authenticatedLegacy, isInitiator: initiator, encryptionSize: 16, encryptedDiversifier: 0xBEEF, random: .max - UInt64(number),
            value: key(number &+ keys &+ (initiator ? 100 : 50)))
    }
    return Bond(
        id: BondID(controller: controller, peer: peer(number)), device: device, longTermKeys: [legacy(true), legacy(false)],
        identityResolvingKey: key(number &+ keys &+ 20), signatureKeys: [
            BondSignatureKey(isLocal: true, isAuthenticated: true, counter: counter, value: key(number &+ keys &+ 30)),
            BondSignatureKey(isLocal: false, isAuthenticated: false, counter: 9, value: key(number &+ keys &+ 40))
        ])
}

/// What was discovered of a device.
func cache(_ number: UInt8, _ count: Int = 300) -> AttributeCache {
    AttributeCache(hash: [UInt8](repeating: number, count: 16), octets: (0..<count).map { UInt8(truncatingIfNeeded: $0) &+ number })
}

/// Changes a closed outbox as another program would, with the library alone.
func alter(_ directory: Directory, _ sql: String, sourceLocation: SourceLocation = #_sourceLocation) {
    var handle: OpaquePointer?
    sqlite3_open("\(directory.path)/outbox.db", &handle)
    #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, sourceLocation: sourceLocation)
    sqlite3_close(handle)
}

/// All that is known of how devices are reached.
struct Reach: Hashable {
    var bonds: [Bond]
    var caches: [AttributeCache?]
    var adopted: [String: IdentityAddress]

    init(bonds: [Bond], caches: [AttributeCache?], adopted: [String: IdentityAddress]) {
        self.bonds = bonds
        self.caches = caches
        self.adopted = adopted
    }

    init(of outbox: Outbox) async throws {
        bonds = try await outbox.bonds()
        caches = []
        for bond in bonds { caches.append(try await outbox.attributeCache(of: bond.id)) }
        adopted = try await outbox.adoptedAddresses()
    }
}
