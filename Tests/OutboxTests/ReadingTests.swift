@testable import Outbox
import Platform
import Testing

private func reading(_ number: Int, owner: String = "ada", device: String = "BP-1", size: Int = 40) -> ReadingRecord {
    let octets = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
    return ReadingRecord(name: "reading-\(number)", owner: owner, device: device, received: 1_700_000_000 + Int64(number), octets: octets)
}

extension Outbox {
    /// Stores readings that must not be refused, each in a commit of its own as the hub does.
    fileprivate func store(_ readings: [ReadingRecord]) async throws -> [ChangeOutcome] {
        var outcomes: [ChangeOutcome] = []
        for reading in readings { outcomes += try await accept([.storeReading(reading)]) }
        return outcomes
    }

    fileprivate func queuedReadings() async throws -> [StoredReadings] {
        var found: [StoredReadings] = []
        for head in try snapshot().queued where head.kind == .cuff { found.append(try loadReadings(head.id)) }
        return found
    }

    /// Changes a row behind the outbox's back, once it is closed.
    fileprivate static func spoil(_ directory: Directory, _ sql: String) throws {
        let database = try Database("\(directory.path)/outbox.db", mode: .normal, vfs: nil)
        defer { database.close() }
        try database.run(sql)
        #expect(database.changes > 0)
    }
}

@Suite("Readings of cuffs")
struct ReadingTests {
    private func ready(_ directory: Directory, _ settings: OutboxSettings = .small(), owners: Set<String> = ["ada", "bob"]) async throws -> Outbox {
        let outbox = try await Outbox.open(directory, settings)
        _ = try await outbox.configureOwners(owners)
        return outbox
    }

    @Test("readings of one owner share an entry until 64 are in it, in their order and byte for byte, whatever cuff they came from")
    func sharing() async throws {
        let directory = Directory()
        var outbox = try await ready(directory)
        let readings = (0..<70).map { reading($0, device: "BP-\($0 % 3)", size: 1 + $0 * 10) }
        _ = try await outbox.store(readings)
        _ = try await outbox.store([reading(100, owner: "bob")])
        await outbox.close()
        outbox = try await Outbox.open(directory)
        let entries = try await outbox.queuedReadings()
        #expect(entries.map(\.readings) == [Array(readings[..<64]), Array(readings[64...]), [reading(100, owner: "bob")]])
        #expect(entries.map(\.isOpen) == [false, true, true])
        #expect(entries.map(\.head.count) == [64, 6, 1] && entries[0].head.byteCount == readings[..<64].reduce(0) { $0 + $1.octets.count })
        #expect(entries.allSatisfy { $0.head.idempotencyKey == $0.head.id.text && $0.head.kind == .cuff })
        await outbox.close()
    }

    @Test("nothing joins an entry that was frozen to be sent")
    func frozen() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        _ = try await outbox.store([reading(0), reading(1)])
        let first = try await outbox.queuedReadings()[0]
        try await outbox.accept([.freeze(first.head.id), .freeze(first.head.id)])
        _ = try await outbox.store([reading(2)])
        let entries = try await outbox.queuedReadings()
        #expect(entries.map { $0.readings.map(\.name) } == [["reading-0", "reading-1"], ["reading-2"]])
        #expect(entries.map(\.isOpen) == [false, true])
        await outbox.close()
    }

    @Test("a name is stored once: while it is queued, set aside, and after it was delivered, also over restarts")
    func repeats() async throws {
        let directory = Directory()
        var outbox = try await ready(directory)
        _ = try await outbox.store([reading(0), reading(1)])
        #expect(try await outbox.commit([.storeReading(reading(0))]) == [.readingKnown])
        let entry = try await outbox.queuedReadings()[0]
        try await outbox.accept([.settleReadings(entry.head.id, ReadingsReceiptRecord(key: entry.head.idempotencyKey, accepted: [0, 1]))])
        try await outbox.accept([.setReadingAside(reading(2, owner: ""), reason: "reading-user-unmapped")])
        await outbox.close()
        outbox = try await Outbox.open(directory)
        let known = try await outbox.commit([.storeReading(reading(1)), .storeReading(reading(2)), .setReadingAside(reading(0), reason: "x")])
        #expect(known == [.readingKnown, .readingKnown, .readingKnown])
        #expect(try await outbox.snapshot().queued.isEmpty)
        await outbox.close()
    }

    @Test("what is remembered of delivered readings is bounded, and the oldest is forgotten first")
    func memory() async throws {
        let directory = Directory()
        var settings = OutboxSettings.small()
        settings.readingMemory = 3
        let outbox = try await ready(directory, settings)
        for number in 0..<5 {
            _ = try await outbox.store([reading(number)])
            let entry = try await outbox.queuedReadings()[0]
            try await outbox.accept([.settleReadings(entry.head.id, ReadingsReceiptRecord(key: entry.head.idempotencyKey, accepted: [0]))])
        }
        let outcomes = try await outbox.store((0..<5).map { reading($0) })
        #expect(outcomes.map { $0 == .readingKnown } == [false, false, true, true, true])
        await outbox.close()
    }

    @Test("cuffs may use every place, also those that collars may not; then a reading is refused, and leaves nothing")
    func places() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        _ = try await outbox.configureOwners(["ada", "bob", "eve"])
        for first in [UInt64(100), 101, 102] { try await outbox.accept(batch(first, 1)) }
        #expect(try await outbox.refusal(.enqueue(batch(103, 1))) == .noPlace)
        _ = try await outbox.store([reading(0)])
        #expect(try await outbox.refusal(.storeReading(reading(1, owner: "bob"))) == .noPlace)
        // The open entry takes it all the same.
        _ = try await outbox.store([reading(2)])
        #expect(try await outbox.snapshot().freePlaces == 0)
        #expect(try await outbox.commit([.storeReading(reading(0))]) == [.readingKnown])
        let windows = try await outbox.snapshot().queued[0].id
        try await outbox.settle(windows)
        _ = try await outbox.store([reading(1, owner: "bob")])
        await outbox.close()
    }

    @Test("what contradicts the formats is refused")
    func malformed() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        var records = [reading(0), reading(0), reading(0), reading(0), reading(0), reading(0, size: 0), reading(0, size: 769)]
        records[0].name = ""
        records[1].name = String(repeating: "a", count: 97)
        records[2].name = "a\nb"
        records[3].device = ""
        records[4].owner = ""
        for record in records { #expect(try await outbox.refusal(.storeReading(record)) == .malformed) }
        #expect(try await outbox.refusal(.storeReading(reading(0, owner: "nobody"))) == .ownerNotConfigured)
        #expect(try await outbox.snapshot().queued.isEmpty)
        await outbox.close()
    }

    @Test("a receipt ends the entry; one reading that conflicts is set aside, the others are not")
    func settled() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        _ = try await outbox.store((0..<4).map { reading($0) })
        let entry = try await outbox.queuedReadings()[0]
        let id = entry.head.id, key = entry.head.idempotencyKey
        #expect(try await outbox.refusal(.settleReadings(id, ReadingsReceiptRecord(key: "another", accepted: [0, 1, 2, 3]))) == .wrongKey)
        for (accepted, conflicting) in [([0, 1, 2], []), ([0, 1, 2, 3, 4], []), ([0, 1, 2, 2], []), ([0, 1, 2], [2]), ([], [0, 1, 2, -1])] as [([Int], [Int])] {
            #expect(try await outbox.refusal(.settleReadings(id, ReadingsReceiptRecord(key: key, accepted: accepted, conflicting: conflicting))) == .malformed)
        }
        #expect(try await outbox.refusal(.settle(id, ReceiptRecord(receipt: "r", key: key))) == .unknownEntry)
        let receipt = ReadingsReceiptRecord(key: key, accepted: [0, 1, 3], conflicting: [2])
        #expect(try await outbox.accept([.settleReadings(id, receipt)]) == [.settled(nil)])
        #expect(try await outbox.commit([.settleReadings(id, receipt)]) == [.settledBefore])
        let snapshot = try await outbox.snapshot()
        #expect(snapshot.queued.isEmpty && snapshot.quarantined.map(\.quarantineReason) == ["reading-conflict"])
        #expect(try await outbox.loadReadings(snapshot.quarantined[0].id).readings == [reading(2)])
        for number in 0..<4 { #expect(try await outbox.commit([.storeReading(reading(number))]) == [.readingKnown]) }
        await outbox.close()
    }

    @Test("an entry that is too large goes in parts, each with its receipt, and ends with the last")
    func parts() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        _ = try await outbox.store((0..<5).map { reading($0) })
        let id = try await outbox.queuedReadings()[0].head.id
        try await outbox.accept([.freeze(id), .split(id, [PartRange(first: 0, count: 3), PartRange(first: 3, count: 2)])])
        #expect(try await outbox.refusal(.settleReadings(id, ReadingsReceiptRecord(key: id.text, accepted: [0, 1, 2, 3, 4]))) == .wrongKey)
        #expect(try await outbox.refusal(.settleReadings(id, ReadingsReceiptRecord(key: "\(id).0", accepted: [0, 1, 3]))) == .malformed)
        let first = ReadingsReceiptRecord(key: "\(id).0", accepted: [0, 2], conflicting: [1])
        #expect(try await outbox.accept([.settleReadings(id, first)]) == [.partSettled(remaining: 1)])
        #expect(try await outbox.commit([.settleReadings(id, first)]) == [.settledBefore])
        #expect(try await outbox.loadReadings(id).readings.count == 5)
        #expect(try await outbox.refusal(.setAside(4, of: id, reason: "x")) == .malformed)
        #expect(try await outbox.accept([.settleReadings(id, ReadingsReceiptRecord(key: "\(id).1", accepted: [3, 4]))]) == [.settled(nil)])
        #expect(try await outbox.snapshot().queued.isEmpty)
        await outbox.close()
    }

    @Test("one reading for which the whole was refused is set aside; the rest has another key and its order")
    func setAside() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        _ = try await outbox.store((0..<3).map { reading($0) })
        let id = try await outbox.queuedReadings()[0].head.id
        try await outbox.accept([.freeze(id)])
        #expect(try await outbox.refusal(.setAside(3, of: id, reason: "http-412")) == .malformed)
        let outcomes = try await outbox.accept([.setAside(1, of: id, reason: "http-412")])
        let rest = try await outbox.loadReadings(id)
        #expect(rest.readings == [reading(0), reading(2)] && !rest.isOpen)
        #expect(outcomes == [.rekeyed(rest.head.idempotencyKey)] && rest.head.idempotencyKey != id.text)
        try await outbox.accept([.setAside(0, of: id, reason: "http-412")])
        #expect(try await outbox.accept([.setAside(0, of: id, reason: "http-412")]) == [.done])
        let snapshot = try await outbox.snapshot()
        #expect(snapshot.queued.isEmpty && snapshot.quarantined.count == 1)
        #expect(try await outbox.loadReadings(snapshot.quarantined[0].id).readings == [reading(1), reading(0), reading(2)])
        await outbox.close()
    }

    @Test("readings of nobody share entries by their reason, are never sent, and an operator's word ends them")
    func nobodys() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        for number in 0..<25 { try await outbox.accept([.setReadingAside(reading(number, owner: ""), reason: "reading-user-unmapped")]) }
        try await outbox.accept([.setReadingAside(reading(30, owner: ""), reason: "reading-unreadable")])
        #expect(try await outbox.refusal(.setReadingAside(reading(31, owner: ""), reason: "another")) == .quarantineFull)
        let quarantined = try await outbox.snapshot().quarantined
        #expect(quarantined.map(\.count) == [25, 1])
        #expect(try await outbox.refusal(.release(quarantined[0].id, by: "root", at: 1)) == .ownerNotConfigured)
        let outcomes = try await outbox.accept([.settleQuarantined(quarantined[0].id, by: "root", at: 1)])
        guard case .audited(let line) = outcomes[0] else { throw Unexpected(outcomes: outcomes) }
        #expect(line.act.contains("25 readings, owner unknown"))
        #expect(try await outbox.commit([.setReadingAside(reading(3, owner: ""), reason: "reading-user-unmapped")]) == [.readingKnown])
        await outbox.close()
    }

    @Test("readings of an owner who goes are sealed, and come back with their owner")
    func sealed() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        _ = try await outbox.store([reading(0), reading(1, owner: "bob")])
        #expect(try await outbox.configureOwners(["bob"]).sealed == 1)
        #expect(try await outbox.refusal(.storeReading(reading(2))) == .ownerNotConfigured)
        #expect(try await outbox.configureOwners(["ada", "bob"]).unsealed == 1)
        _ = try await outbox.store([reading(2)])
        #expect(try await outbox.queuedReadings().map { $0.readings.map(\.name) } == [["reading-0", "reading-2"], ["reading-1"]])
        await outbox.close()
    }

    @Test("a changed byte anywhere in an entry of readings is found: it is not sent, settles nothing, and is reported", arguments: [
        "UPDATE reading SET octets = x'00' WHERE position = 1", "UPDATE reading SET name = 'another' WHERE position = 0", "UPDATE reading SET device = 'BP-2' WHERE position = 0",
        "UPDATE reading SET received = received + 1", "UPDATE entry SET owner = 'bob'", "UPDATE entry SET kind = 0", "DELETE FROM reading WHERE position = 1",
        "UPDATE entry SET count = 1", "UPDATE reading SET position = 5 - position"
    ])
    func damaged(sql: String) async throws {
        let directory = Directory()
        var outbox = try await ready(directory)
        _ = try await outbox.store([reading(0), reading(1)])
        let id = try await outbox.queuedReadings()[0].head.id
        await outbox.close()
        try Outbox.spoil(directory, sql)
        let (opened, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 9))
        outbox = opened
        #expect(report.damaged == [id])
        let code = await failure { try await outbox.loadReadings(id) }
        #expect(code == (sql.contains("kind") ? .unknownEntry : .damagedEntry))
        let refusal = try await outbox.refusal(.settleReadings(id, ReadingsReceiptRecord(key: id.text, accepted: [0, 1])))
        #expect(refusal == (sql.contains("kind") ? .unknownEntry : .damaged))
        try await outbox.accept([.quarantine(id, reason: "damaged")])
        await outbox.close()
    }

    @Test("readings come over from a broken file, with their attempts, and are frozen")
    func salvaged() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        try await outbox.accept(batch(100, 5))
        _ = try await outbox.store([reading(0), reading(1)])
        let id = try await outbox.queuedReadings()[0].head.id
        try await outbox.accept([.attemptFailed(id, code: "timed-out", exhausted: false)])
        await outbox.close()
        try Outbox.spoil(directory, "UPDATE line SET next = next + 1")
        let (opened, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 9))
        outbox = opened
        #expect(report.movedAside != nil && report.salvaged == 2 && report.unsalvaged == 0)
        let entry = try await outbox.loadReadings(id)
        #expect(entry.readings == [reading(0), reading(1)] && !entry.isOpen && entry.head.attempts == 1)
        #expect(try await outbox.commit([.storeReading(reading(1))]) == [.readingKnown])
        await outbox.close()
    }

    @Test("the largest readings in every place, in quarantine and under seal fit what was provisioned")
    func space() async throws {
        let directory = Directory()
        let outbox = try await ready(directory, owners: ["ada", "bob", "eve", "dan", "kim", "lee"])
        func fill(_ owner: String, _ first: Int) async throws {
            for number in first..<first + 64 {
                var record = reading(number, owner: owner, device: String(repeating: "D", count: 64), size: 768)
                record.name = "\(number)-" + String(repeating: "n", count: 90)
                try await outbox.accept([.storeReading(record)])
            }
        }
        let provisioned = try await outbox.snapshot().space.logBytes
        var first = 100
        for owner in ["ada", "bob"] {
            try await fill(owner, first)
            first += 100
        }
        for head in try await outbox.snapshot().queued { try await outbox.accept([.quarantine(head.id, reason: "refused")]) }
        for owner in ["eve", "dan"] {
            try await fill(owner, first)
            first += 100
        }
        _ = try await outbox.configureOwners(["ada", "bob", "kim", "lee"])
        for owner in ["ada", "bob", "kim", "lee"] {
            try await fill(owner, first)
            first += 100
        }
        let snapshot = try await outbox.snapshot()
        #expect(snapshot.queued.count == 4 && snapshot.quarantined.count == 2 && snapshot.sealed.count == 2)
        #expect(snapshot.space.pages == snapshot.space.provision.pages && snapshot.space.freePages > 0)
        #expect(snapshot.space.logBytes == provisioned)
        // The longest change: all of an entry conflicts.
        let head = snapshot.queued[0]
        try await outbox.accept([.settleQuarantined(snapshot.quarantined[0].id, by: "root", at: 1)])
        try await outbox.accept([.settleReadings(head.id, ReadingsReceiptRecord(key: head.idempotencyKey, accepted: [], conflicting: Array(0..<64)))])
        let after = try await outbox.snapshot().space
        #expect(after.logBytes == provisioned && after.pages == after.provision.pages)
        await outbox.close()
    }

    @Test("a file of the release before gets the new tables and keeps what it holds")
    func migrated() async throws {
        let directory = Directory()
        let former = Schema(steps: Array(Schema.present.steps.prefix(2)))
        var (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 1), schema: former)
        await outbox.close()
        (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 1))
        #expect(report.migratedFrom == 2 && report.movedAside == nil)
        _ = try await outbox.configureOwners(["ada"])
        _ = try await outbox.store([reading(0)])
        #expect(try await outbox.queuedReadings().count == 1)
        await outbox.close()
    }

    @Test("a power cut at any write loses no reading whose commit returned, and leaves an outbox that starts", arguments: UInt64(1)...2)
    func powerCut(seed: UInt64) async throws {
        let good = Disk()
        let template = Directory()
        let first = try await ready(template)
        _ = try await first.store([reading(0)])
        await first.close()
        var operation = 1
        var ended = false
        while !ended {
            let directory = Directory()
            directory.copy(from: template)
            let disk = Disk()
            disk.cut(at: operation, seed: seed &+ UInt64(operation))
            var promised: [ReadingRecord] = [reading(0)]
            var delivered: Set<String> = []
            do {
                let outbox = try await Outbox.open(directory, .small(disk))
                for number in 1..<4 {
                    try await outbox.commit([.storeReading(reading(number))])
                    promised.append(reading(number))
                }
                let entry = try await outbox.queuedReadings()[0]
                try await outbox.commit([.freeze(entry.head.id)])
                try await outbox.commit([.storeReading(reading(4))])
                promised.append(reading(4))
                delivered = Set(entry.readings.map(\.name))
                try await outbox.commit([.settleReadings(entry.head.id, ReadingsReceiptRecord(key: entry.head.idempotencyKey, accepted: [0, 1, 2], conflicting: [3]))])
                await outbox.close()
                ended = !disk.isCut
            } catch let error as OutboxError {
                #expect(disk.isCut, "\(error)")
            }
            let outbox = try await Outbox.open(directory, .small(good))
            let snapshot = try await outbox.snapshot()
            var stored: [ReadingRecord] = []
            for head in snapshot.queued + snapshot.quarantined { stored += try await outbox.loadReadings(head.id).readings }
            #expect(Set(stored.map(\.name)).count == stored.count)
            for reading in promised {
                #expect(stored.contains(reading) || delivered.contains(reading.name), "operation \(operation)")
                #expect(try await outbox.commit([.storeReading(reading)]) == [.readingKnown])
            }
            await outbox.close()
            operation += 1
        }
        #expect(operation > 10)
    }
}
