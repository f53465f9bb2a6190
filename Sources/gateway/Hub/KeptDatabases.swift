import Outbox
import Radio

/// What was discovered of one bonded device, as it is known at the beginning of a link.
struct KeptDatabase: Sendable {
    /// The bond that it is kept with: it goes with these keys.
    let bond: BondID
    /// `nil` when nothing is kept, or what is kept cannot be read.
    let cache: GATTDatabaseCache?
}

/// Where the discovered database of one device is kept between links. Without one, what a link needs is discovered on each.
struct DatabaseShelf: Sendable {
    /// What is kept; `nil` where nothing may be, as the device has no bond.
    let kept: @Sendable () async throws -> KeptDatabase?
    /// Keeps what was discovered, in place of what was before.
    let keep: @Sendable (GATTDatabaseCache, BondID) async throws -> Void
}

extension OutboxBonds {
    /// What is kept of a device that is bonded with this controller.
    func database(of device: String, with controller: BluetoothAddress) async throws -> KeptDatabase? {
        guard let bond = try await current(device, with: controller) else { return nil }
        let stored = try await store.attributeCache(of: bond)
        return KeptDatabase(bond: bond, cache: stored.flatMap { try? GATTDatabaseCache(parsing: $0.octets) })
    }

    /// Keeps what was discovered of a bonded device. A bond that was forgotten meanwhile takes it with it, and one that is too large is discovered on each link.
    func keep(_ cache: GATTDatabaseCache, of bond: BondID) async throws {
        let octets = cache.encoded()
        guard let hash = cache.database.hash, octets.count <= AttributeCache.limit else { return }
        _ = try await store.commit([.storeCache(bond, AttributeCache(hash: hash, octets: octets))])
    }
}

extension HubRadio {
    /// Where the discovered database of a device is kept: with its bond with the controller that is in use.
    nonisolated func shelf(of serial: String) -> DatabaseShelf {
        let store = store
        return DatabaseShelf(
            kept: { [weak self] in
                guard let controller = await self?.radio?.bondedController else { return nil }
                return try await store.database(of: serial, with: controller)
            },
            keep: { try await store.keep($0, of: $1) })
    }
}
