import CSQLite
import Glibc
@testable import Outbox
import Platform
import Testing

/// Windows without care for their content, for the tests that count space.
private func bulk(_ first: UInt64, _ count: Int, owner: String = "ada", gaps: [SequenceGap] = [], next: UInt64? = nil) -> WindowBatch {
    WindowBatch(
        device: "C1", owner: owner, log: 7, first: first, body: [UInt8](repeating: UInt8(truncatingIfNeeded: first), count: count * OutboxSettings.windowSize),
        gaps: gaps, received: 1_700_000_000, clock: "synced;device=set;offset=0", next: next ?? first + UInt64(count))
}

@Suite("Disk space")
struct SpaceTests {
    /// Fills every place there is with the largest of entries, under small bounds.
    private func fill(_ outbox: Outbox, _ settings: OutboxSettings) async throws {
        _ = try await outbox.configureOwners(["ada", "bob"])
        try await outbox.accept([
            .beginLog(device: "C1", log: 7, base: 0, formerEnd: nil), .assign(device: "C1", log: 7, from: 0, owner: "bob")
        ])
        var next: UInt64 = 0
        func largest(_ owner: String) -> WindowBatch {
            let damaged = (0..<128).map { gap(next + $0, 1, .damaged) }
            let behind = (0..<64).map { gap(next + 128 + $0, 1, .unreadable) }
            return bulk(next, 128, owner: owner, gaps: damaged + behind, next: next + 192)
        }
        func enqueue(_ owner: String) async throws -> EntryID {
            let id = try await outbox.accept(largest(owner))
            let parts = (0..<128).map { PartRange(first: next + UInt64($0), count: 1) }
            try await outbox.accept([.rekey(id), .split(id, parts)])
            next += 192
            return id
        }
        for number in 0..<UInt8(settings.bondCapacity) {
            let device = "C\(number)" + String(repeating: "x", count: 60)
            try await outbox.accept([.storeBond(bond(number, device: device)), .storeCache(bond(number).id, cache(number, AttributeCache.limit))])
            try await outbox.accept([.adoptAddress(device: device, peer(number))])
        }
        // Evidence first: entries whose windows are all rejected.
        while try await outbox.snapshot().evidence < settings.evidenceCapacity {
            let count = min(128, settings.evidenceCapacity - (try await outbox.snapshot().evidence))
            let id = try await outbox.accept(bulk(next, count, owner: "bob"))
            try await outbox.settle(id, rejected: (0..<count).map { .init(sequence: next + UInt64($0), code: String(repeating: "c", count: 100)) })
            next += UInt64(count)
        }
        var remaining = settings.sealedCapacity
        while remaining > 0 {
            let some = min(remaining, settings.collarPlaces)
            for _ in 0..<some { _ = try await enqueue("bob") }
            _ = try await outbox.configureOwners(["ada"])
            remaining -= some
            if remaining > 0 { _ = try await outbox.configureOwners(["ada"]) }
            if remaining > 0 { try await reconfigure(outbox) }
        }
        try await outbox.accept([.assign(device: "C1", log: 7, from: next, owner: "ada")])
        for _ in 0..<settings.quarantineCapacity {
            let id = try await enqueue("ada")
            try await outbox.accept([.quarantine(id, reason: String(repeating: "q", count: 300))])
        }
        for _ in 0..<settings.collarPlaces { _ = try await enqueue("ada") }
    }

    /// `bob` is configured again while all places are promised, so that what is sealed stays.
    private func reconfigure(_ outbox: Outbox) async throws { _ = try await outbox.configureOwners(["ada", "bob"], reserved: 20) }

    @Test("every place filled with the largest of entries fits the provision: no file grows", arguments: [OutboxSettings(), .small()])
    func largest(bounds: OutboxSettings) async throws {
        let directory = Directory()
        let disk = Disk()
        var settings = bounds
        settings.vfs = disk.name
        let outbox = try await Outbox.open(directory, settings)
        let sizes = [directory.size("outbox.db"), directory.size("outbox.db-wal")]
        try await fill(outbox, settings)
        let snapshot = try await outbox.snapshot()
        #expect(snapshot.queued.count == settings.collarPlaces && snapshot.quarantined.count == settings.quarantineCapacity)
        #expect(snapshot.sealed.count == settings.sealedCapacity && snapshot.evidence == settings.evidenceCapacity)
        #expect(snapshot.space.freePages > 0)
        #expect([directory.size("outbox.db"), directory.size("outbox.db-wal")] == sizes)
        await outbox.close()
        #expect([directory.size("outbox.db"), directory.size("outbox.db-wal")] == sizes)
    }

    @Test("on a full disk everything that is stored can be sent and removed, and room made for more, also after a clean stop and a start")
    func full() async throws {
        let directory = Directory()
        let disk = Disk()
        let settings = OutboxSettings.small(disk)
        var outbox = try await Outbox.open(directory, settings)
        try await fill(outbox, settings)
        disk.setFull(true)
        let queued = try await outbox.snapshot().queued
        try await settleParts(outbox, queued[0])
        await outbox.close()

        let (opened, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: settings, random: SplitMix64(seed: 3))
        outbox = opened
        #expect(report.unprovisioned == nil)
        for head in try await outbox.snapshot().queued { try await settleParts(outbox, head) }
        for head in try await outbox.snapshot().quarantined {
            try await outbox.accept([.release(head.id)])
            try await settleParts(outbox, head)
        }
        _ = try await outbox.configureOwners(["ada", "bob"])
        for head in try await outbox.snapshot().queued { try await settleParts(outbox, head) }
        #expect(try await outbox.snapshot().queued.isEmpty)
        let end = try #require(try await outbox.device("C1")?.current)
        #expect(end.settledEnd == end.next)
        // A device is paired anew, and another one in the place of a third.
        let names = try await outbox.adoptedAddresses().keys.sorted()
        try await outbox.accept([
            .storeBond(bond(0, device: names[0], keys: 1)), .storeCache(bond(0).id, cache(7, AttributeCache.limit)), .forgetDevice(names[1])
        ])
        try await outbox.accept([
            .storeBond(bond(9)), .storeCache(bond(9).id, cache(9, AttributeCache.limit)), .adoptAddress(device: "C9", peer(9))
        ])
        // Provisioned means: what fits the bounds can be read and stored even now.
        _ = try await outbox.accept(bulk(end.next, 128))
        await outbox.close()
    }

    @Test("a log that a crash left full is begun anew by the next start, also on a full disk")
    func fullLog() async throws {
        let directory = Directory()
        let first = try await Outbox.ready(directory)
        await first.close()
        let size = directory.size("outbox.db-wal")
        // As a crash leaves it in the middle of provisioning: every frame counts, and none is in the database.
        let database = try Database("\(directory.path)/outbox.db", mode: .evidence, vfs: nil)
        try database.script("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL")
        try database.persistLog()
        try database.restartLog()
        for _ in 0..<(size - 32) / 4_120 { try database.run("UPDATE meta SET value = value + 1 WHERE name = 'tick'") }
        database.close()
        #expect(directory.size("outbox.db-wal") == size)

        let disk = Disk()
        disk.setFull(true)
        let outbox = try await Outbox.open(directory, .small(disk))
        try await outbox.accept(batch(100, 128))
        #expect(directory.size("outbox.db-wal") == size)
        await outbox.close()
    }

    private func settleParts(_ outbox: Outbox, _ head: EntryHead) async throws {
        for part in head.parts where part.receipt == nil {
            try await outbox.accept([.settlePart(head.id, index: part.index, ReceiptRecord(receipt: "r", key: part.key))])
        }
    }

    @Test("an outbox that could not be provisioned starts, says so, loses nothing when a write finds no room, and is provisioned later")
    func unprovisioned() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        await outbox.close()
        // The bounds were raised on a full disk.
        let disk = Disk()
        disk.setFull(true)
        var settings = OutboxSettings.small(disk)
        settings.places = 200
        settings.collarPlaces = 190
        var (opened, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: settings, random: SplitMix64(seed: 3))
        outbox = opened
        #expect(report.unprovisioned?.code == .diskFull)
        var next: UInt64 = 105
        var code: OutboxError.Code?
        while code == nil, next < 50_000 {
            let new = bulk(next, 128)
            code = await failure { try await outbox.commit([.enqueue(new)]) }
            if code == nil { next += 128 }
        }
        #expect(code == .diskFull)
        #expect(try await outbox.device("C1")?.current?.next == next)
        disk.setFull(false)
        try await outbox.settle(id)
        try await outbox.accept(bulk(next, 128))
        await outbox.close()
        (opened, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: settings, random: SplitMix64(seed: 3))
        #expect(report.unprovisioned == nil)
        #expect(try await opened.device("C1")?.pendingClear?.through == 104)
        #expect(directory.size("outbox.db") >= Provision(settings).pages * 4_096)
        #expect(Int64(directory.size("outbox.db-wal")) >= Provision(settings).logBytes)
        await opened.close()
    }

    @Test("on a full disk without an outbox nothing is made, and the next start with room makes it")
    func fullAtCreation() async throws {
        let directory = Directory()
        let disk = Disk()
        disk.setFull(true)
        #expect(await failure { try await Outbox.open(directory, .small(disk)) } == .diskFull)
        #expect(directory.names == ["outbox.lock"])
        disk.setFull(false)
        let outbox = try await Outbox.ready(directory, .small(disk))
        try await outbox.accept(batch(100, 5))
        await outbox.close()
    }

    @Test("a broken file on a full disk waits whole for the start that has room to save from it")
    func fullAtSalvage() async throws {
        let directory = Directory()
        let disk = Disk()
        let first = try await Outbox.ready(directory, .small(disk))
        let id = try await first.accept(batch(100, 5))
        await first.close()
        // The books on the log are wrong; the entry is right.
        var handle: OpaquePointer?
        sqlite3_open("\(directory.path)/outbox.db", &handle)
        #expect(sqlite3_exec(handle, "UPDATE line SET next = next + 1", nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
        let bytes = directory.read("outbox.db")
        disk.setFull(true)
        #expect(await failure { try await Outbox.open(directory, .small(disk)) } == .diskFull)
        #expect(directory.read("outbox.db.broken") == bytes)
        disk.setFull(false)
        let (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(disk), random: SplitMix64(seed: 3))
        #expect(report.created && directory.read("outbox.db.corrupt-1") == bytes)
        #expect(report.salvaged == 1)
        #expect(try await outbox.load(id).body == batch(100, 5).body)
        await outbox.close()
    }

    @Test("on a file system that is really full, entries are settled and removed, also after a stop and a start", .enabled(if: Directory.mayMount, "mounting is not permitted here"))
    func tmpfs() async throws {
        let directory = Directory()
        #expect(mount("outbox-test", directory.path, "tmpfs", 0, "size=6m") == 0)
        defer { umount2(directory.path, CInt(MNT_DETACH)) }
        let settings = OutboxSettings.small()
        var outbox = try await Outbox.open(directory, settings)
        try await fill(outbox, settings)
        guard let filler = fopen("\(directory.path)/filler", "wb") else { return #expect(Bool(false)) }
        setbuf(filler, nil)
        let block = [UInt8](repeating: 1, count: 4_096)
        while fwrite(block, 1, block.count, filler) == block.count {}
        #expect(errno == ENOSPC)
        fclose(filler)
        try await settleParts(outbox, try await outbox.snapshot().queued[0])
        await outbox.close()
        outbox = try await Outbox.open(directory, settings)
        for head in try await outbox.snapshot().queued { try await settleParts(outbox, head) }
        #expect(try await outbox.snapshot().queued.isEmpty)
        await outbox.close()
    }

    @Test("10,000 entries through a full queue leave the files as large as they were")
    func noGrowth() async throws {
        let directory = Directory()
        let disk = Disk()
        let outbox = try await Outbox.ready(directory, OutboxSettings(vfs: disk.name), base: 0)
        let sizes = [directory.size("outbox.db"), directory.size("outbox.db-wal")]
        var random = SplitMix64(seed: 11)
        var next: UInt64 = 0
        var held: [EntryID] = []
        func enqueue() -> Change {
            let count = [1, 7, 64, 128].randomElement(using: &random) ?? 1
            defer { next += UInt64(count) }
            return .enqueue(bulk(next, count))
        }
        for _ in 0..<16 {
            if case .enqueued(let id) = try await outbox.accept([enqueue()])[0] { held.append(id) }
        }
        for _ in 0..<10_000 {
            let done = held.remove(at: Int.random(in: 0..<held.count, using: &random))
            let outcomes = try await outbox.commit([.settle(done, ReceiptRecord(receipt: "r", key: done.text)), enqueue()])
            guard case .enqueued(let id) = outcomes[1] else { throw Unexpected(outcomes: outcomes) }
            held.append(id)
        }
        #expect(try await outbox.snapshot().queued.count == 16)
        #expect([directory.size("outbox.db"), directory.size("outbox.db-wal")] == sizes)
        await outbox.close()
        #expect([directory.size("outbox.db"), directory.size("outbox.db-wal")] == sizes)
    }

    @Test("what a window costs the card is known", arguments: [1, 8, 128])
    func cost(count: Int) async throws {
        let directory = Directory()
        let disk = Disk()
        let outbox = try await Outbox.ready(directory, OutboxSettings(vfs: disk.name), base: 0)
        var last = try await outbox.accept(bulk(0, count))
        let before = (bytes: disk.bytes, syncs: disk.syncs)
        let entries = 400
        for number in 1...entries {
            let receipt = ReceiptRecord(receipt: "r-0123456789abcdef", key: last.text)
            guard case .enqueued(let id) = try await outbox.accept([.settle(last, receipt), .enqueue(bulk(UInt64(number * count), count))])[1]
            else { return #expect(Bool(false)) }
            last = id
        }
        let bytes = (disk.bytes - before.bytes) / (entries * count)
        let syncs = Double(disk.syncs - before.syncs) / Double(entries * count)
        print("storage cost at \(count) windows an entry: \(bytes) bytes and \(syncs) syncs a window, receipts included")
        // One sync a commit, and three a checkpoint: less often than every tenth commit.
        #expect(syncs * Double(count) < 1.6)
        if count == 128 { #expect(bytes < 3 * OutboxSettings.windowSize) }
        await outbox.close()
    }
}
