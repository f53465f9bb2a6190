import CSQLite
@testable import Outbox
import Platform
import Testing

@Suite("Bonds on disks that fail")
struct BondDurabilityTests {
    private func open(_ directory: Directory, _ settings: OutboxSettings = .small()) async throws -> (Outbox, OpeningReport) {
        try await Outbox.open(directory: directory.path, executor: storage, settings: settings, random: SplitMix64(seed: 9))
    }

    private static let way = 0..<7

    /// One commit of a way on which everything happens to bonds that may.
    private static func walk(_ step: Int, _ outbox: Outbox) async throws {
        let changes: [Change] = switch step {
        case 0: [.storeBond(bond(1)), .adoptAddress(device: "C1", peer(1))]
        case 1: [.storeCache(bond(1).id, cache(1, 9_000)), .storeBond(bond(2, device: "C2"))]
        case 2: [.advanceSignCounter(bond(1).id, next: 900), .enqueue(batch(100, 5))]
        case 3: [.storeBond(bond(1, keys: 7)), .storeCache(bond(2).id, cache(2, 9_000))]
        case 4: [.adoptAddress(device: "C1", peer(3)), .removeBond(bond(1).id)]
        case 5: [.storeBond(bond(3)), .storeCache(bond(3).id, cache(3, 9_000))]
        default: [.forgetDevice("C1")]
        }
        try await outbox.commit(changes)
    }

    @Test("a power cut at any write or sync leaves the bonds as they were before the commit under way or after it", arguments: UInt64(1)...3)
    func cut(seed: UInt64) async throws {
        let good = Disk()
        let template = Directory()
        let first = try await Outbox.ready(template)
        await first.close()

        let walked = Directory()
        walked.copy(from: template)
        let whole = try await Outbox.open(walked)
        var sound = [try await Reach(of: whole)]
        for step in Self.way {
            try await Self.walk(step, whole)
            sound.append(try await Reach(of: whole))
        }
        await whole.close()
        #expect(Set(sound).count == sound.count)

        var operation = Int(seed)
        var ended = false
        while !ended {
            let directory = Directory()
            directory.copy(from: template)
            let disk = Disk()
            disk.cut(at: operation, seed: seed &* 7_919 &+ UInt64(operation))
            var reached = 0
            do {
                let (outbox, _) = try await open(directory, .small(disk))
                for step in Self.way {
                    try await Self.walk(step, outbox)
                    reached += 1
                }
                await outbox.close()
                ended = !disk.isCut
            } catch let error as OutboxError {
                #expect(disk.isCut && error.code == .diskFailed, "\(error)")
            }
            let (outbox, report) = try await open(directory, .small(good))
            #expect(report.movedAside == nil && report.damagedBonds == 0, "operation \(operation)")
            let found = try await Reach(of: outbox)
            #expect(sound[reached...min(reached + 1, Self.way.count)].contains(found), "operation \(operation) in step \(reached)")
            await outbox.close()
            operation += 3
        }
        #expect(operation > 50)
    }

    @Test("the bonds of a broken file are saved, and so are what was discovered and the adopted addresses; those that are not whole are not")
    func salvage() async throws {
        let directory = Directory()
        let first = try await Outbox.ready(directory)
        for number in UInt8(1)...3 {
            try await first.accept([.storeBond(bond(number)), .storeCache(bond(number).id, cache(number)), .adoptAddress(device: "C\(number)", peer(number))])
        }
        await first.close()
        // The books on the log are wrong, and with them a key, an attribute and an address.
        alter(directory, """
            UPDATE line SET next = next + 1; UPDATE long_term_key SET value = zeroblob(16) WHERE bond = 2 AND position = 1;
            UPDATE attribute_cache SET octets = x'00' WHERE bond = 3; UPDATE adopted SET address = address + 1 WHERE device = 'C1';
            """)
        var (outbox, report) = try await open(directory)
        #expect(report.movedAside != nil && report.salvagedBonds == 2 && report.damagedBonds == 0)
        let reach = try await Reach(of: outbox)
        #expect(reach.bonds == [bond(1), bond(3)] && reach.caches == [cache(1), nil] && reach.adopted == ["C2": peer(2), "C3": peer(3)])
        await outbox.close()
        (outbox, report) = try await open(directory)
        #expect(report.movedAside == nil)
        #expect(try await Reach(of: outbox) == reach)
        await outbox.close()
    }

    @Test("a bond of which anything was altered on the disk is none, costs only itself, and gives its place to the next", arguments: [
        "UPDATE bond SET controller = controller + 1 WHERE id = 1", "UPDATE bond SET controller_random = 1 - controller_random WHERE id = 1",
        "UPDATE bond SET peer = peer + 1 WHERE id = 1", "UPDATE bond SET peer_random = 0 WHERE id = 1", "UPDATE bond SET peer = -1 WHERE id = 1",
        "UPDATE bond SET device = 'C9' WHERE id = 1", "UPDATE bond SET resolving = NULL WHERE id = 1", "UPDATE bond SET resolving = zeroblob(16) WHERE id = 1",
        "UPDATE bond SET resolving = zeroblob(15) WHERE id = 1", "UPDATE bond SET digest = zeroblob(32) WHERE id = 1", "UPDATE bond SET id = 7 WHERE id = 1",
        "UPDATE long_term_key SET bond = 8 WHERE bond = 1 AND position = 0", "UPDATE long_term_key SET kind = 4 WHERE bond = 1",
        "UPDATE long_term_key SET kind = 0 WHERE bond = 1 AND position = 0", "UPDATE long_term_key SET initiator = 1 - initiator WHERE bond = 1",
        "UPDATE long_term_key SET size = 7 WHERE bond = 1", "UPDATE long_term_key SET size = 700 WHERE bond = 1",
        "UPDATE long_term_key SET diversifier = -1 WHERE bond = 1", "UPDATE long_term_key SET random = random + 1 WHERE bond = 1 AND position = 1",
        "UPDATE long_term_key SET value = x'00' WHERE bond = 1", "UPDATE signature_key SET counter = counter - 1 WHERE bond = 1 AND position = 0",
        "UPDATE signature_key SET counter = -1 WHERE bond = 1", "UPDATE signature_key SET local = 1 WHERE bond = 1",
        "UPDATE signature_key SET authenticated = 0 WHERE bond = 1", "UPDATE signature_key SET value = zeroblob(16) WHERE bond = 1",
        "DELETE FROM signature_key WHERE bond = 1 AND position = 0", "DELETE FROM long_term_key WHERE bond = 1 AND position = 0"
    ])
    func altered(sql: String) async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        for number in UInt8(1)...3 { try await outbox.accept([.storeBond(bond(number, device: "C\(number)")), .storeCache(bond(number).id, cache(number))]) }
        let id = try await outbox.accept(batch(100, 5))
        await outbox.close()
        alter(directory, sql)
        var report: OpeningReport
        (outbox, report) = try await open(directory)
        #expect(report.movedAside == nil && report.damagedBonds == 1)
        #expect(try await outbox.bonds().map(\.id.peer) == [peer(2), peer(3)])
        #expect(try await outbox.attributeCache(of: bond(1).id) == nil)
        #expect(try await outbox.load(id).body == batch(100, 5).body)
        try await outbox.accept([.storeBond(bond(1, device: "C1"))])
        #expect(try await Set(outbox.bonds()) == Set((UInt8(1)...3).map { bond($0, device: "C\($0)") }))
        await outbox.close()
        (outbox, report) = try await open(directory)
        #expect(report.damagedBonds == 0)
        await outbox.close()
    }

    @Test("an adopted address that was altered on the disk is none, and gives its place to the next")
    func alteredAddress() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        try await outbox.accept((UInt8(1)...3).map { .adoptAddress(device: "C\($0)", peer($0)) })
        await outbox.close()
        alter(directory, "UPDATE adopted SET address = address + 1 WHERE device = 'C1'")
        let report: OpeningReport
        (outbox, report) = try await open(directory)
        #expect(report.damagedBonds == 1)
        #expect(try await outbox.adoptedAddresses() == ["C2": peer(2), "C3": peer(3)])
        try await outbox.accept([.adoptAddress(device: "C4", peer(4))])
        #expect(try await outbox.adoptedAddresses() == ["C2": peer(2), "C3": peer(3), "C4": peer(4)])
        await outbox.close()
    }
}

@Suite("From the outbox without bonds")
struct BondMigrationTests {
    /// A file as the release before wrote it: the tables of the first step, with an entry, made and provisioned.
    private func former(_ directory: Directory) async throws -> EntryID {
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        await outbox.close()
        // Not with the library alone: that would remove the log, and with it its disk space.
        let database = try Database("\(directory.path)/outbox.db", mode: .normal, vfs: nil)
        try database.script("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;")
        try database.persistLog()
        try database.script("""
            DROP TABLE bond; DROP TABLE long_term_key; DROP TABLE signature_key; DROP TABLE attribute_cache; DROP TABLE adopted;
            DROP TABLE reading; DROP TABLE open_entry; DROP TABLE delivered_reading; DROP TABLE cuff_assignment; DROP TABLE cuff_file; DROP TABLE cuff_clock;
            DELETE FROM meta WHERE name LIKE 'cuff-%'; PRAGMA user_version = 1;
            """)
        database.close()
        return id
    }

    @Test("the tables of the first step are those that the release before made")
    func steps() throws {
        let directory = Directory()
        for (name, schema) in [("old", Schema(steps: [Schema.present.steps[0]])), ("new", Schema.present)] {
            let database = try Database("\(directory.path)/\(name)", mode: .normal, vfs: nil)
            try schema.migrate(database, from: 0)
            let tables = try database.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") { $0.text(0) }
            #expect(tables.contains("entry") && tables.contains("bond") == (name == "new"))
            #expect(try database.number("PRAGMA user_version") == (name == "new" ? Int64(Schema.present.version) : 1))
            database.close()
        }
    }

    @Test("a file of the release before keeps its entries and its books and takes bonds, also on a full disk")
    func full() async throws {
        let directory = Directory()
        let id = try await former(directory)
        let disk = Disk()
        disk.setFull(true)
        let (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(disk), random: SplitMix64(seed: 2))
        #expect(report.migratedFrom == 1 && report.movedAside == nil && report.damagedBonds == 0)
        #expect(try await outbox.load(id).body == batch(100, 5).body)
        #expect(try await outbox.device("C1")?.current?.next == 105)
        try await outbox.accept([.storeBond(bond(1)), .adoptAddress(device: "C1", peer(1))])
        #expect(try await outbox.bonds() == [bond(1)])
        disk.setFull(false)
        await outbox.close()
    }

    @Test("a broken file of the release before gives its entries; it has no bonds")
    func broken() async throws {
        let directory = Directory()
        let id = try await former(directory)
        alter(directory, "UPDATE line SET next = next + 1")
        let (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 2))
        #expect(report.movedAside != nil && report.salvaged == 1 && report.salvagedBonds == 0)
        #expect(try await outbox.load(id).body == batch(100, 5).body)
        #expect(try await Reach(of: outbox) == Reach(bonds: [], caches: [], adopted: [:]))
        await outbox.close()
    }
}
