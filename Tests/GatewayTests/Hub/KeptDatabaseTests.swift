import Outbox
import Platform
import Radio
import Simulation
import Synchronization
import Testing
@testable import gateway

@Suite("The collar's database between links")
struct KeptDatabaseTests {
    /// An agent with a collar, and the outbox that keeps what it discovers.
    private struct Bench: Sendable {
        let world: World
        let store: StoreKeeper
        let bonds: OutboxBonds
        let agent: CollarAgent
        /// Services that were discovered since `take`.
        let discoveries: Discoveries
        /// Links that were in use.
        let links: Counter
        /// How often something was given to keep.
        let keeps: Counter

        var bond: BondID {
            get async throws { try #require(try await bonds.current("C-1", with: controller(1))) }
        }

        /// What is kept, as it is stored.
        func kept() async throws -> AttributeCache? { try await store.attributeCache(of: await bond) }

        /// Lets the link end, and waits until the next one is in use and what it has shown is stored.
        func relink() async throws -> Bool {
            let before = links.count
            await world.collar.dropLink()
            let isLinked = try await world.wait(.seconds(300)) { links.count > before }
            try await world.loop.sleep(for: .seconds(2))
            return isLinked
        }
    }

    private final class Discoveries: Sendable {
        private let count = Mutex(0)
        func note() { count.withLock { $0 += 1 } }
        func take() -> Int {
            count.withLock { count in
                defer { count = 0 }
                return count
            }
        }
    }

    private struct Broken: Error {}

    private static func run(
        _ attribute: CollarTable.GenericAttribute = .caching, isBonded: Bool = true, shelf: DatabaseShelf? = nil,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) throws {
        var options = World.Options(seed: 5, backlog: 3)
        options.genericAttribute = attribute
        let world = try World(options, recording: try projectRecording())
        try world.loop.run {
            let loop = world.loop
            let store = StoreKeeper(
                loop: loop, storage: SlowDisk(loop: loop, seed: 1, slowest: .milliseconds(20)), directory: world.directory, owners: ["ann"], log: world.log,
                random: { SplitMix64(seed: 7) }, onChange: {})
            await store.open()
            let device = world.configuration().collars[0]
            let bonds = OutboxBonds(store: store, devices: [.collar(serial: "C-1", profile: CollarProfile(), address: address(1), pairing: PairingPolicy())])
            if isBonded { try await bonds.store(bond("C-1", at: address(1)), with: controller(1)) }
            let (linked, keeps) = (Counter(), Counter())
            let real = DatabaseShelf(
                kept: { try await bonds.database(of: "C-1", with: controller(1)) },
                keep: { cache, bond in
                    keeps.add()
                    try await bonds.keep(cache, of: bond)
                })
            let places = PlaceBroker(loop: loop, places: Places(.init(), owners: 1), onGranted: { _ in }, onLineChanged: {})
            let services = CollarAgent.Services(
                loop: loop, store: store, places: places, wallClock: WallClock { WallTime(seconds: 1_790_000_000, synchronised: true) }, log: world.log,
                isDraining: { true }, batchLimit: { _ in 128 }, databases: shelf ?? real,
                onEvent: { event in if case .linked = event { linked.add() } })
            let discoveries = Discoveries()
            let tamper: VirtualLinks.Tamper = { pdu in
                // The first page of services.
                if pdu.starts(with: [0x11]), pdu.count > 4, pdu[2] == 1 { discoveries.note() }
                return pdu
            }
            let links = VirtualLinks(loop: loop, collar: world.collar, tamper: tamper)
            let agent = CollarAgent(
                device: device, source: links, owners: ["ann"], sync: .init(batchWindows: 128, batchAge: .seconds(60)), services: services)
            let bench = Bench(world: world, store: store, bonds: bonds, agent: agent, discoveries: discoveries, links: linked, keeps: keeps)
            await world.collar.start()
            await agent.start()
            #expect(try await world.wait(.seconds(60)) { linked.count == 1 })
            try await loop.sleep(for: .seconds(2))
            try await body(bench)
            await agent.stop()
            await world.collar.stop()
            await store.close()
        }
    }

    @Test("it is discovered once, stored with the bond, and used on the links that follow without being stored again")
    func once() throws {
        try Self.run { bench async throws in
            #expect(bench.discoveries.take() == 1)
            let kept = try #require(try await bench.kept())
            let parsed = try GATTDatabaseCache(parsing: kept.octets)
            #expect(parsed.database.hash == kept.hash)
            for _ in 0..<3 { #expect(try await bench.relink()) }
            #expect(bench.discoveries.take() == 0)
            #expect(try await bench.kept() == kept)
            #expect(bench.keeps.count == 1)
        }
    }

    @Test("octets that are no database, and one under another hash, cost a discovery and are replaced", arguments: [true, false])
    func unreadable(isGarbage: Bool) throws {
        try Self.run { bench async throws in
            let good = try #require(try await bench.kept())
            var other = good.hash
            other[0] ^= 1
            let stale = GATTDatabaseCache(GATTDatabase(hash: other, services: []))
            let bad = isGarbage ? AttributeCache(hash: good.hash, octets: [1, 2, 3]) : AttributeCache(hash: other, octets: try #require(stale).encoded())
            _ = try await bench.store.commit([.storeCache(try await bench.bond, bad)])
            _ = bench.discoveries.take()
            #expect(try await bench.relink())
            #expect(bench.discoveries.take() == 1)
            #expect(try await bench.kept() == good)
            #expect(try await bench.relink())
            #expect(bench.discoveries.take() == 0)
        }
    }

    @Test("a collar whose hash stayed when its attributes moved is found out, discovered, and kept anew")
    func lyingHash() throws {
        try Self.run { bench async throws in
            let good = try #require(try await bench.kept())
            // Service after service begins where it did, and every value is elsewhere.
            let database = try GATTDatabaseCache(parsing: good.octets).database
            let moved = database.services.map { entry in
                guard entry.service.uuid == CollarProfile().service else { return entry }
                let shifted = entry.characteristics.dropFirst().map { item in
                    let old = item.characteristic
                    let new = GATTCharacteristic(
                        uuid: old.uuid == CollarProfile().windows ? CollarProfile().control : CollarProfile().windows, properties: GATTProperties(rawValue: 0xFF),
                        declarationHandle: old.declarationHandle, valueHandle: old.valueHandle, endHandle: old.endHandle)
                    return GATTDatabase.Characteristic(new, descriptors: item.descriptors)
                }
                return GATTDatabase.Service(entry.service, isPrimary: true, included: [], characteristics: Array(entry.characteristics.prefix(1)) + shifted)
            }
            let lie = try #require(GATTDatabaseCache(GATTDatabase(hash: good.hash, services: moved)))
            _ = try await bench.store.commit([.storeCache(try await bench.bond, AttributeCache(hash: good.hash, octets: lie.encoded()))])
            _ = bench.discoveries.take()
            #expect(try await bench.relink())
            #expect(bench.discoveries.take() == 1)
            #expect(try await bench.kept() == good)
            #expect(try await bench.relink())
            #expect(bench.discoveries.take() == 0)
        }
    }

    @Test("without a bond nothing is kept; the link works", arguments: [true, false])
    func noBond(isForgotten: Bool) throws {
        try Self.run(isBonded: isForgotten) { bench async throws in
            if isForgotten {
                #expect(try await bench.kept() != nil)
                try await bench.bonds.forget("C-1")
            }
            #expect(try await bench.relink())
            #expect(bench.discoveries.take() == 2)
            #expect(try await bench.bonds.database(of: "C-1", with: controller(1)) == nil)
        }
    }

    @Test("a new pairing drops what was discovered under the former keys")
    func repaired() throws {
        try Self.run { bench async throws in
            #expect(try await bench.kept() != nil)
            try await bench.bonds.store(bond("C-1", at: address(1), keys: 9), with: controller(1))
            #expect(try await bench.kept() == nil)
            #expect(try await bench.relink())
            #expect(try await bench.kept() != nil)
        }
    }

    @Test("a collar without a hash is discovered on each link, and nothing is kept", arguments: [CollarTable.GenericAttribute.none, .serviceChanged])
    func noHash(attribute: CollarTable.GenericAttribute) throws {
        try Self.run(attribute) { bench async throws in
            #expect(try await bench.relink())
            #expect(bench.discoveries.take() == 2)
            #expect(try await bench.kept() == nil)
        }
    }

    @Test("what was kept with one controller is not used with another")
    func otherController() throws {
        try Self.run { bench async throws in
            #expect(try await bench.bonds.database(of: "C-1", with: controller(2)) == nil)
            try await bench.bonds.store(bond("C-1", at: address(1), keys: 2), with: controller(2))
            let other = try #require(try await bench.bonds.database(of: "C-1", with: controller(2)))
            #expect(other.cache == nil)
            #expect(try await bench.kept() != nil)
        }
    }

    @Test("a storage that cannot say or keep anything does not keep the link from working")
    func storageFault() throws {
        let broken = DatabaseShelf(kept: { throw Broken() }, keep: { _, _ in throw Broken() })
        try Self.run(shelf: broken) { bench async throws in
            #expect(try await bench.relink())
            #expect(bench.discoveries.take() == 2)
        }
        let id = BondID(controller: try #require(IdentityAddress(controller(1))), peer: try #require(IdentityAddress(address(1))))
        let full = DatabaseShelf(kept: { KeptDatabase(bond: id, cache: nil) }, keep: { _, _ in throw Broken() })
        try Self.run(shelf: full) { bench async throws in
            #expect(try await bench.relink())
            #expect(bench.discoveries.take() == 2)
        }
    }
}
