import Glibc
@testable import Outbox
import Platform
import Testing

@Suite("Bonds")
struct BondTests {
    @Test("a bond is found again whole after a start, with what was discovered and the address that was adopted")
    func lasting() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let secure = Bond(
            id: BondID(controller: controller(), peer: peer(2)), device: "C2",
            longTermKeys: [BondLongTermKey(
                kind: .unauthenticatedP256, isInitiator: true, encryptionSize: 16, encryptedDiversifier: 0, random: 0, value: key(7))])
        try await outbox.accept([.storeBond(bond(1)), .storeBond(secure), .storeCache(bond(1).id, cache(1, 16_384)), .adoptAddress(device: "C1", peer(1))])
        let before = try await Reach(of: outbox)
        #expect(before.bonds == [bond(1), secure] && before.caches == [cache(1, 16_384), nil] && before.adopted == ["C1": peer(1)])
        await outbox.close()
        outbox = try await Outbox.open(directory)
        #expect(try await Reach(of: outbox) == before)
        #expect(try await outbox.adoptedAddress("C1") == peer(1))
        #expect(try await outbox.adoptedAddress("C2") == nil)
        await outbox.close()
    }

    @Test("the bonds of two controllers with one device are two bonds")
    func controllers() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let other = bond(1, controller: controller(2), keys: 3)
        try await outbox.accept([.storeBond(bond(1)), .storeBond(other)])
        try await outbox.accept([.removeBond(bond(1).id)])
        #expect(try await outbox.bonds() == [other])
        await outbox.close()
    }

    @Test("a new pairing takes the place of the former one; what was discovered goes with its keys, and stays when they stay")
    func replaced() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        try await outbox.accept([.storeBond(bond(1)), .storeBond(bond(2)), .storeCache(bond(1).id, cache(1))])
        var more = bond(1)
        more.identityResolvingKey = nil
        try await outbox.accept([.storeBond(more)])
        #expect(try await outbox.bonds() == [more, bond(2)])
        #expect(try await outbox.attributeCache(of: more.id) == cache(1))
        let new = bond(1, keys: 5)
        try await outbox.accept([.storeBond(new)])
        #expect(try await outbox.bonds() == [new, bond(2)])
        #expect(try await outbox.attributeCache(of: new.id) == nil)
        await outbox.close()
    }

    @Test("a counter of a signature key never goes back, and one that was used is refused")
    func counters() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        try await outbox.accept([.storeBond(bond(1)), .advanceSignCounter(bond(1).id, next: 70)])
        await outbox.close()
        outbox = try await Outbox.open(directory)
        #expect(try await outbox.bonds() == [bond(1, counter: 70)])
        #expect(try await outbox.refusal(.advanceSignCounter(bond(1).id, next: 69)) == .counterInPast)
        #expect(try await outbox.refusal(.advanceSignCounter(bond(3).id, next: 69)) == .unknownBond)
        // The same keys, as they were noted before the counters moved; then other keys.
        try await outbox.accept([.storeBond(bond(1))])
        #expect(try await outbox.bonds() == [bond(1, counter: 70)])
        try await outbox.accept([.storeBond(bond(1, keys: 9, counter: 0))])
        #expect(try await outbox.bonds() == [bond(1, keys: 9, counter: 0)])
        var unsigned = bond(1)
        unsigned.signatureKeys = []
        try await outbox.accept([.storeBond(unsigned)])
        #expect(try await outbox.refusal(.advanceSignCounter(bond(1).id, next: 99)) == .unknownBond)
        await outbox.close()
    }

    @Test("one bond too many is refused and touches none; a place that is free again is taken")
    func bounded() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        for number in UInt8(1)...3 { try await outbox.accept([.storeBond(bond(number)), .adoptAddress(device: "C\(number)", peer(number))]) }
        let before = try await Reach(of: outbox)
        let outcomes = try await outbox.commit([.storeBond(bond(4)), .adoptAddress(device: "C4", peer(4)), .enqueue(batch(100, 5))])
        guard case .refused(let bonds) = outcomes[0], case .refused(let addresses) = outcomes[1], case .enqueued = outcomes[2]
        else { throw Unexpected(outcomes: outcomes) }
        #expect("\(bonds)" == "bonds-full: all 3 places for bonds are taken; forget a device that is not used any more")
        #expect("\(addresses)" == "adoptions-full: all 3 places for adopted addresses are taken; forget a device that is not used any more")
        #expect(try await Reach(of: outbox) == before)
        // Those that are there may change.
        try await outbox.accept([.storeBond(bond(3, keys: 1)), .adoptAddress(device: "C3", peer(9))])
        try await outbox.accept([.removeBond(bond(1).id), .storeBond(bond(4))])
        #expect(try await outbox.bonds().map(\.id.peer) == [peer(2), peer(3), peer(4)])
        await outbox.close()
    }

    @Test("one address is one device's: another is refused until the first is forgotten")
    func oneAddress() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        try await outbox.accept([.adoptAddress(device: "C1", peer(1)), .adoptAddress(device: "C1", peer(1))])
        #expect(try await outbox.refusal(.adoptAddress(device: "C2", peer(1))) == .addressTaken)
        try await outbox.accept([.forgetDevice("C1"), .adoptAddress(device: "C2", peer(1))])
        #expect(try await outbox.adoptedAddresses() == ["C2": peer(1)])
        await outbox.close()
    }

    @Test("forgetting a device takes its bonds with every controller, what was discovered and its address, and leaves its entries, its books and other devices")
    func forgotten() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        let second = bond(1, controller: controller(2))
        try await outbox.accept([.storeBond(bond(1)), .storeBond(second), .storeCache(bond(1).id, cache(1)), .adoptAddress(device: "C1", peer(1))])
        try await outbox.accept([.storeBond(bond(2, device: "C2")), .storeCache(bond(2).id, cache(2)), .adoptAddress(device: "C2", peer(2))])
        let record = try await outbox.device("C1")
        #expect(try await outbox.accept([.forgetDevice("C1")]) == [.forgot([bond(1).id, second.id])])
        let reach = try await Reach(of: outbox)
        #expect(reach.bonds == [bond(2, device: "C2")] && reach.caches == [cache(2)] && reach.adopted == ["C2": peer(2)])
        #expect(try await outbox.load(id).body == batch(100, 5).body)
        #expect(try await outbox.device("C1") == record)
        #expect(try await outbox.accept([.forgetDevice("C1")]) == [.forgot([])])
        #expect(try await outbox.accept([.removeBond(bond(1).id)]) == [.forgot([])])
        // A bond that was made for another serial number, with the address that this device has.
        try await outbox.accept([.storeBond(bond(3, device: "?")), .adoptAddress(device: "C1", peer(3))])
        #expect(try await outbox.accept([.forgetDevice("C1")]) == [.forgot([bond(3).id])])
        await outbox.close()
    }

    @Test("what contradicts itself is refused, and says why")
    func malformed() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        func altered(_ alter: (inout Bond) -> Void) -> Bond {
            var bond = bond(1)
            alter(&bond)
            return bond
        }
        func longTermKey(_ kind: BondLongTermKey.Kind, _ initiator: Bool, size: UInt8 = 16) -> BondLongTermKey {
            BondLongTermKey(kind: kind, isInitiator: initiator, encryptionSize: size, encryptedDiversifier: 0, random: 0, value: key(1))
        }
        let bonds = [
            altered { $0.longTermKeys = [] },
            altered { $0.longTermKeys = [longTermKey(.authenticatedP256, true), longTermKey(.unauthenticatedLegacy, false)] },
            altered { $0.longTermKeys = [longTermKey(.authenticatedLegacy, true), longTermKey(.unauthenticatedLegacy, true)] },
            altered { $0.longTermKeys += [longTermKey(.authenticatedLegacy, true)] },
            altered { $0.longTermKeys = [longTermKey(.authenticatedP256, true, size: 6)] },
            altered { $0.longTermKeys = [longTermKey(.authenticatedP256, true, size: 17)] },
            altered { $0.signatureKeys += $0.signatureKeys.prefix(1) },
            Bond(id: bond(1).id, device: "", longTermKeys: bond(1).longTermKeys),
            Bond(id: bond(1).id, device: "C1\n", longTermKeys: bond(1).longTermKeys)
        ]
        for bond in bonds { #expect(try await outbox.refusal(.storeBond(bond)) == .malformed, "\(bond)") }
        guard case .refused(let refusal) = try await outbox.commit([.storeBond(bonds[4])])[0] else { return #expect(Bool(false)) }
        #expect("\(refusal)" == "malformed: bond of C0:FF:EE:12:34:01/random with controller 00:00:5E:00:00:01/public: an encryption size of 6; 7 to 16 are allowed")
        #expect(try await outbox.refusal(.storeCache(bond(1).id, cache(1))) == .unknownBond)
        try await outbox.accept([.storeBond(bond(1))])
        #expect(try await outbox.refusal(.storeCache(bond(1).id, cache(1, 16_385))) == .malformed)
        #expect(try await outbox.refusal(.storeCache(bond(1).id, AttributeCache(hash: [1], octets: []))) == .malformed)
        #expect(try await outbox.refusal(.adoptAddress(device: "ä", peer(1))) == .malformed)
        await outbox.close()
    }

    @Test("only lasting addresses are identities")
    func identities() {
        #expect(IdentityAddress(octets: [1, 2, 3, 4, 5, 0xC6], isRandom: true)?.description == "C6:05:04:03:02:01/random")
        #expect(IdentityAddress(octets: [1, 2, 3, 4, 5, 0x46], isRandom: true) == nil)
        #expect(IdentityAddress(octets: [1, 2, 3, 4, 5, 0x06], isRandom: true) == nil)
        #expect(IdentityAddress(octets: [1, 2, 3, 4, 5, 0x46], isRandom: false)?.octets == [1, 2, 3, 4, 5, 0x46])
        #expect(IdentityAddress(octets: [1, 2, 3, 4, 5], isRandom: false) == nil)
    }

    @Test("no way to print a bond shows a key")
    func secret() throws {
        #expect(KeyOctets([UInt8](repeating: 1, count: 15)) == nil)
        let secret = try #require(KeyOctets([UInt8](repeating: 213, count: 16)))
        var bond = bond(1)
        bond.longTermKeys = [BondLongTermKey(
            kind: .authenticatedP256, isInitiator: true, encryptionSize: 16, encryptedDiversifier: 0, random: 0, value: secret)]
        bond.identityResolvingKey = secret
        bond.signatureKeys = [BondSignatureKey(isLocal: true, isAuthenticated: true, counter: 0, value: secret)]
        var dumped = ""
        dump(bond, to: &dumped)
        dump(Change.storeBond(bond), to: &dumped)
        for text in [dumped, "\(bond)", String(reflecting: bond), "\(Change.storeBond(bond))", "\(secret)", String(reflecting: secret)] {
            #expect(!text.contains("213") && text.contains("key"))
        }
    }

    @Test("the keys of a forgotten bond are nowhere in the database, not on its free pages either")
    func erased() async throws {
        let directory = Directory()
        // Enough bonds for several pages of each table, so that pages become free.
        var settings = OutboxSettings.small()
        settings.bondCapacity = 80
        settings.changeLimit = 80
        let outbox = try await Outbox.open(directory, settings)
        let bonds = (1...80).map { number in bond(UInt8(number), device: number == 1 ? "C1" : "C2") }
        try await outbox.accept(bonds.map { .storeBond($0) })
        await outbox.close()
        func isThere(_ key: KeyOctets) -> Bool {
            let bytes = directory.read("outbox.db")
            return bytes.withUnsafeBytes { bytes in
                (0...bytes.count - 16).contains { bytes[$0] == key.octets[0] && memcmp(bytes.baseAddress! + $0, key.octets, 16) == 0 }
            }
        }
        let last = try #require(bonds.last)
        let keys = last.longTermKeys.map(\.value) + last.signatureKeys.map(\.value) + [try #require(last.identityResolvingKey)]
        #expect(keys.allSatisfy(isThere))
        let again = try await Outbox.open(directory, settings)
        try await again.accept([.forgetDevice("C2")])
        #expect(try await again.bonds() == [bonds[0]])
        await again.close()
        #expect(!keys.contains(where: isThere))
        #expect(isThere(bonds[0].longTermKeys[0].value))
    }
}
