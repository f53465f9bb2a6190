import Outbox
import Radio

/// The radio's bonds in the outbox: what the radio knows as one thing of a device is there an adopted address, and the keys of each controller.
struct OutboxBonds: BondStore {
    let store: StoreKeeper
    /// The devices that the radio links, with the addresses in the configuration.
    let devices: [RadioDevice]

    func bonds(with controller: BluetoothAddress) async throws -> [Radio.Bond] {
        let (stored, adopted) = try await store.bonds()
        guard let controller = IdentityAddress(controller) else { return [] }
        return devices.compactMap { device in
            let learned = adopted[device.id].map { BluetoothAddress($0) }
            guard let address = learned ?? device.address else { return nil }
            let keys = Self.find(device.id, at: address, with: controller, in: stored)
            // Where nothing is kept but what the configuration says there is nothing to tell.
            guard keys != nil || learned != nil else { return nil }
            return Radio.Bond(
                device: device.id, address: address, longTermKeys: keys?.longTermKeys.compactMap { LongTermKey($0, of: address) } ?? [],
                identityResolvingKey: keys?.identityResolvingKey.flatMap { IdentityResolvingKey(address: address, value: $0.octets) })
        }
    }

    /// The bond that is in use between a device and a controller; `nil` when there is none.
    func current(_ device: String, with controller: BluetoothAddress) async throws -> BondID? {
        let (stored, adopted) = try await store.bonds()
        let configured = devices.first { $0.id == device }?.address
        guard let address = adopted[device].map({ BluetoothAddress($0) }) ?? configured, let controller = IdentityAddress(controller) else { return nil }
        return Self.find(device, at: address, with: controller, in: stored)?.id
    }

    private static func find(_ device: String, at address: BluetoothAddress, with controller: IdentityAddress, in stored: [StoredBond]) -> StoredBond? {
        stored.first { $0.device == device && $0.id.controller == controller && BluetoothAddress($0.id.peer) == address }
    }

    func store(_ bond: Radio.Bond, with controller: BluetoothAddress) async throws {
        guard let peer = IdentityAddress(bond.address), let own = IdentityAddress(controller) else { throw BondRefused(what: "\(bond.address) is no lasting address") }
        let id = BondID(controller: own, peer: peer)
        let (stored, adopted) = try await store.bonds()
        // A bond has its place by the two addresses: this one would take another device's.
        let others = Set(stored.filter { $0.id.peer == peer }.map(\.device) + adopted.filter { $0.value == peer }.map(\.key)).subtracting([bond.device])
        if let other = others.first(where: { other in devices.contains { $0.id == other } }) {
            throw BondRefused(what: "\(bond.address) is the address of \(other); forget that device first if it is not")
        }
        // Nobody can forget those that are configured no more.
        var changes = others.sorted().map { Change.forgetDevice($0) }
        // The device's former keys with this controller, under another address.
        changes += stored.filter { $0.device == bond.device && $0.id.controller == own && $0.id.peer != peer }.map { .removeBond($0.id) }
        let configured = devices.first { $0.id == bond.device }?.address
        if bond.address != configured {
            changes.append(.adoptAddress(device: bond.device, peer))
        } else if adopted[bond.device] != nil {
            // The configuration is right again.
            changes.append(.forgetDevice(bond.device))
        }
        if !bond.longTermKeys.isEmpty {
            let keys = try bond.longTermKeys.map { key throws(BondRefused) in try BondLongTermKey(key) }
            let identity = bond.identityResolvingKey.flatMap { KeyOctets($0.value) }
            changes.append(.storeBond(StoredBond(id: id, device: bond.device, longTermKeys: keys, identityResolvingKey: identity)))
        }
        guard let refusal = try await store.commit(changes).lazy.compactMap(\.refusal).first else { return }
        // Half of it is worth nothing: what was known of the device before stands again.
        var former = [Change.forgetDevice(bond.device)]
        if let address = adopted[bond.device] { former.append(.adoptAddress(device: bond.device, address)) }
        former += stored.filter { $0.device == bond.device }.map { .storeBond($0) }
        _ = try await store.commit(former)
        throw BondRefused(what: "\(refusal)")
    }

    func removeBond(of device: String, with controller: BluetoothAddress) async throws {
        guard let controller = IdentityAddress(controller) else { return }
        let bonds = try await store.bonds().bonds.filter { $0.device == device && $0.id.controller == controller }
        guard !bonds.isEmpty else { return }
        _ = try await store.commit(bonds.map { .removeBond($0.id) })
    }

    func forget(_ device: String) async throws {
        _ = try await store.commit([.forgetDevice(device)])
    }
}

/// A bond that the outbox does not take.
struct BondRefused: Error, CustomStringConvertible {
    let what: String
    var description: String { what }
}

extension ChangeOutcome {
    fileprivate var refusal: Refusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }
}

extension IdentityAddress {
    init?(_ address: BluetoothAddress) { self.init(octets: address.octets, isRandom: address.kind == .random) }
}

extension BluetoothAddress {
    init(_ identity: IdentityAddress) {
        guard let address = BluetoothAddress(octets: identity.octets, kind: identity.isRandom ? .random : .public) else { preconditionFailure("an identity address has six octets") }
        self = address
    }
}

extension BondLongTermKey {
    init(_ key: LongTermKey) throws(BondRefused) {
        guard let kind = Kind(rawValue: key.kind.rawValue), let value = KeyOctets(key.value) else { throw BondRefused(what: "a key of kind \(key.kind.rawValue) is not kept") }
        self.init(
            kind: kind, isInitiator: key.isInitiator, encryptionSize: key.encryptionSize, encryptedDiversifier: key.encryptedDiversifier, random: key.random,
            value: value)
    }
}

extension LongTermKey {
    init?(_ key: BondLongTermKey, of address: BluetoothAddress) {
        self.init(
            address: address, kind: Kind(rawValue: key.kind.rawValue), isInitiator: key.isInitiator, encryptionSize: key.encryptionSize,
            encryptedDiversifier: key.encryptedDiversifier, random: key.random, value: key.value.octets)
    }
}
