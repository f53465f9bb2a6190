@testable import Outbox
import Platform
import Testing

private let device = "BP-1"

private func mark(_ number: Int, listed: Bool = true) -> CuffFileMark {
    CuffFileMark(name: "2024010\(number)", digest: SHA256.digest([UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]), isListed: listed)
}

private func assign(_ owner: String, user: UInt32? = nil, since: Int64? = nil, device: String = device) -> Change {
    .assignCuff(device: device, user: user, owner: owner, since: since)
}

private func assignment(_ owner: String, user: UInt32? = nil, since: Int64? = nil, contacted: Bool) -> CuffAssignment {
    CuffAssignment(user: user, owner: owner, since: since, contacted: contacted)
}

private func record(_ number: Int, owner: String = "", device: String = device) -> ReadingRecord {
    ReadingRecord(name: "reading-\(number)", owner: owner, device: device, received: 1_700_000_000 + Int64(number), octets: Array("reading \(number)".utf8))
}

@Suite("The books on cuffs")
struct CuffTests {
    private func ready(_ directory: Directory, _ settings: OutboxSettings = .small()) async throws -> Outbox {
        let outbox = try await Outbox.open(directory, settings)
        _ = try await outbox.configureOwners(["ada", "bob"])
        return outbox
    }

    @Test("a cuff that nobody was assigned has empty books, and nothing of it is lost")
    func empty() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        #expect(try await outbox.cuff(device) == CuffBooks())
        await outbox.close()
    }

    @Test("assignments stay in their order, over restarts; the same owner again changes nothing; a first contact is over for all of them")
    func assignments() async throws {
        let directory = Directory()
        var outbox = try await ready(directory)
        try await outbox.accept([assign("ada"), assign("ada", since: 500), assign("bob", since: 1_000), assign("bob", since: 2_000)])
        try await outbox.accept([assign("ada", user: 2)])
        try await outbox.accept([assign("ada", user: 2, since: 7), assign("bob", user: .max, since: -5), assign("bob", device: "BP-2")])
        var expected = [
            assignment("ada", contacted: true), assignment("bob", since: 1_000, contacted: false), assignment("ada", user: 2, contacted: true),
            assignment("bob", user: .max, since: -5, contacted: false)
        ]
        #expect(try await outbox.cuff(device).assignments == expected)
        await outbox.close()
        outbox = try await Outbox.open(directory)
        #expect(try await outbox.cuff(device) == CuffBooks(assignments: expected))
        try await outbox.accept([.cuffContacted(device: device), .cuffContacted(device: "BP-3")])
        for index in expected.indices { expected[index].contacted = true }
        #expect(try await outbox.cuff(device).assignments == expected)
        #expect(try await outbox.cuff("BP-2").assignments == [assignment("bob", contacted: true)])
        await outbox.close()
    }

    @Test("an owner of the whole cuff comes back after its users had owners, and the other way round: that is a change")
    func shapes() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        try await outbox.accept([assign("ada"), assign("ada", user: 1), assign("bob", user: 2, since: 5)])
        try await outbox.accept([assign("ada", since: 9), assign("ada", since: 10)])
        #expect(try await outbox.cuff(device).assignments.last == assignment("ada", since: 9, contacted: false))
        try await outbox.accept([assign("bob", user: 2, since: 12)])
        #expect(try await outbox.cuff(device).assignments.last == assignment("bob", user: 2, since: 12, contacted: false))
        #expect(try await outbox.cuff(device).assignments.count == 5)
        await outbox.close()
    }

    @Test("the last setting of a cuff's clock is kept, over restarts, of so many cuffs as there is room for, and one that was altered is none")
    func clocks() async throws {
        let directory = Directory()
        var outbox = try await ready(directory)
        for setting in [CuffClockSetting(ahead: 7_200, setTo: 10), CuffClockSetting(ahead: -90, setTo: .max)] {
            try await outbox.accept([.noteCuffClock(device: device, setting)])
            #expect(try await outbox.cuff(device).clock == setting)
        }
        #expect(try await outbox.refusal(.noteCuffClock(device: "a\nb", CuffClockSetting(ahead: 1, setTo: 1))) == .malformed)
        await outbox.close()
        outbox = try await Outbox.open(directory)
        #expect(try await outbox.cuff(device) == CuffBooks(clock: CuffClockSetting(ahead: -90, setTo: .max)))
        for number in 1..<CuffClockSetting.limit { try await outbox.accept([.noteCuffClock(device: "other-\(number)", CuffClockSetting(ahead: 1, setTo: 1))]) }
        #expect(try await outbox.cuff(device).clock != nil)
        try await outbox.accept([.noteCuffClock(device: "one more", CuffClockSetting(ahead: 1, setTo: 1))])
        #expect(try await outbox.cuff(device).clock == nil)
        #expect(try await outbox.cuff("other-1").clock != nil)
        await outbox.close()
        alter(directory, "UPDATE cuff_clock SET ahead = 2 WHERE device = 'other-1'")
        outbox = try await Outbox.open(directory)
        #expect(try await outbox.cuff("other-1").clock == nil)
        await outbox.close()
    }

    @Test("what contradicts the formats, or names nobody who is configured, is refused and leaves nothing")
    func refused() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        #expect(try await outbox.refusal(assign("eve")) == .ownerNotConfigured)
        for (owner, serial) in [("", device), ("a\nb", device), ("ada", ""), ("ada", "a\nb"), ("ada", String(repeating: "x", count: 65))] {
            #expect(try await outbox.refusal(assign(owner, device: serial)) == .malformed)
        }
        var bad = [mark(1), mark(1), mark(1), mark(1)]
        bad[0].name = ""
        bad[1].name = String(repeating: "x", count: 65)
        bad[2].name = "a\tb"
        bad[3].digest.removeLast()
        for mark in bad { #expect(try await outbox.refusal(.markCuffFiles(device: device, stored: [mark], unlisted: [])) == .malformed) }
        let many = (0...CuffFileMark.limit).map { mark($0) }
        #expect(try await outbox.refusal(.markCuffFiles(device: device, stored: many, unlisted: [])) == .malformed)
        #expect(try await outbox.refusal(.markCuffFiles(device: device, stored: [], unlisted: many.map(\.name))) == .malformed)
        #expect(try await outbox.refusal(.markCuffFiles(device: "", stored: [], unlisted: [])) == .malformed)
        #expect(try await outbox.cuff(device) == CuffBooks())
        await outbox.close()
    }

    @Test("at most 64 assignments of a cuff are kept: one that has a successor goes first, and the newest of a user never does")
    func bounded() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        for user in UInt32(0)..<60 { try await outbox.accept([assign("ada", user: user)]) }
        for change in 0..<40 { try await outbox.accept([assign(change % 2 == 0 ? "bob" : "ada", user: 7, since: Int64(change))]) }
        let kept = try await outbox.cuff(device).assignments
        #expect(kept.count == CuffAssignment.limit)
        #expect(Set(kept.map(\.user)) == Set((UInt32(0)..<60).map { $0 }))
        #expect(kept.suffix(5).map(\.since) == [35, 36, 37, 38, 39] && kept.last?.owner == "ada")
        for user in UInt32(60)..<64 { try await outbox.accept([assign("ada", user: user)]) }
        #expect(try await outbox.refusal(assign("ada", user: 64)) == .malformed)
        // A change for a user who is there takes the place of their own.
        try await outbox.accept([assign("bob", user: 3, since: 9)])
        let after = try await outbox.cuff(device).assignments
        #expect(after.count == CuffAssignment.limit && after.last == assignment("bob", user: 3, since: 9, contacted: false))
        #expect(Set(after.map(\.user)).count == 64)
        await outbox.close()
    }

    @Test("marks stay in the order of storing; one that is stored again is the newest, and a name that was missing is unlisted until then")
    func marks() async throws {
        let directory = Directory()
        var outbox = try await ready(directory)
        try await outbox.accept([.markCuffFiles(device: device, stored: [mark(1), mark(2), mark(3)], unlisted: []), .markCuffFiles(device: "BP-2", stored: [mark(1)], unlisted: [])])
        try await outbox.accept([.markCuffFiles(device: device, stored: [mark(1)], unlisted: [mark(1).name, mark(2).name, "unknown"])])
        await outbox.close()
        outbox = try await Outbox.open(directory)
        #expect(try await outbox.cuff(device).marks == [mark(2, listed: false), mark(3), mark(1)])
        #expect(try await outbox.cuff("BP-2").marks == [mark(1)])
        // The same name with other octets is another file.
        let other = CuffFileMark(name: mark(3).name, digest: mark(4).digest, isListed: true)
        try await outbox.accept([.markCuffFiles(device: device, stored: [other], unlisted: [])])
        #expect(try await outbox.cuff(device).marks == [mark(2, listed: false), mark(3), mark(1), other])
        await outbox.close()
    }

    @Test("only so many marks are kept of a cuff, and of all together; the oldest are forgotten first")
    func forgotten() async throws {
        let directory = Directory()
        var settings = OutboxSettings.small()
        settings.fileMarkMemory = CuffFileMark.limit + 10
        let outbox = try await ready(directory, settings)
        try await outbox.accept([.markCuffFiles(device: device, stored: (0..<CuffFileMark.limit).map { mark($0) }, unlisted: [])])
        try await outbox.accept([.markCuffFiles(device: device, stored: [mark(2_000), mark(2_001)], unlisted: [])])
        var marks = try await outbox.cuff(device).marks
        #expect(marks.count == CuffFileMark.limit && marks.first == mark(2) && marks.last == mark(2_001))
        try await outbox.accept([.markCuffFiles(device: "BP-2", stored: (0..<20).map { mark($0) }, unlisted: [])])
        marks = try await outbox.cuff(device).marks
        #expect(marks.count == CuffFileMark.limit - 10 && marks.first == mark(12))
        #expect(try await outbox.cuff("BP-2").marks.count == 20)
        await outbox.close()
    }

    @Test("the fullest books on cuffs fit what was provisioned")
    func space() async throws {
        let directory = Directory()
        let outbox = try await ready(directory, OutboxSettings())
        let provisioned = try await outbox.snapshot().space
        func long(_ number: Int) -> CuffFileMark {
            CuffFileMark(name: "\(number)-" + String(repeating: "n", count: 58), digest: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32), isListed: true)
        }
        for cuff in 0..<4 {
            let serial = "\(cuff)" + String(repeating: "D", count: 63)
            for first in stride(from: 0, to: 2_048, by: 1_024) {
                try await outbox.accept([.markCuffFiles(device: serial, stored: (first..<first + 1_024).map(long), unlisted: [])])
            }
            for user in UInt32(0)..<64 { try await outbox.accept([assign(user % 2 == 0 ? "ada" : "bob", user: user, since: Int64(user), device: serial)]) }
            try await outbox.accept([.cuffContacted(device: serial), .markCuffFiles(device: serial, stored: [], unlisted: (1_024..<2_048).map { long($0).name })])
        }
        let space = try await outbox.snapshot().space
        #expect(space.pages == provisioned.pages && space.logBytes == provisioned.logBytes)
        await outbox.close()
    }

    // MARK: Broken files

    private func spoil(_ directory: Directory, _ sql: String) throws {
        let database = try Database("\(directory.path)/outbox.db", mode: .normal, vfs: nil)
        defer { database.close() }
        try database.run(sql)
        #expect(database.changes > 0)
    }

    private func filled(_ directory: Directory) async throws {
        let outbox = try await ready(directory)
        try await outbox.accept([assign("ada"), assign("bob", since: 1_000), .markCuffFiles(device: device, stored: [mark(1)], unlisted: [])])
        try await outbox.accept([.storeReading(record(0, owner: "ada"))])
        await outbox.close()
    }

    @Test("an assignment that was altered on the disk is not believed: the file is moved aside, and that the cuff has none is no first assignment", arguments: [
        "UPDATE cuff_assignment SET owner = 'bob' WHERE id = 1", "UPDATE cuff_assignment SET since = 0 WHERE since IS NULL", "UPDATE cuff_assignment SET user = 1 WHERE id = 1",
        "UPDATE cuff_assignment SET device = 'BP-9'", "UPDATE cuff_assignment SET contacted = 1 - contacted WHERE id = 2", "DELETE FROM cuff_assignment WHERE id = 2",
        "UPDATE cuff_assignment SET id = 9 WHERE id = 1", "DELETE FROM cuff_assignment"
    ])
    func altered(sql: String) async throws {
        let directory = Directory()
        try await filled(directory)
        try spoil(directory, sql)
        let (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 9))
        #expect(report.movedAside != nil && report.salvaged == 1 && report.assignmentsLost)
        #expect(try await outbox.cuff(device) == CuffBooks(assignmentsLost: true))
        #expect(try await outbox.cuff("BP-7").assignmentsLost)
        // From then on it is known again.
        _ = try await outbox.configureOwners(["ada", "bob"])
        try await outbox.accept([assign("bob", since: 5_000)])
        #expect(try await outbox.cuff(device) == CuffBooks(assignments: [assignment("bob", since: 5_000, contacted: false)]))
        await outbox.close()
    }

    @Test("from a file that is broken elsewhere the assignments come over if they are whole, and the marks do not: what they stand for may be lost")
    func salvaged() async throws {
        let directory = Directory()
        try await filled(directory)
        let before = try await Outbox.open(directory)
        try await before.accept([.beginLog(device: "C1", log: 7, base: 100, formerEnd: nil)])
        let books = try await before.cuff(device)
        await before.close()
        try spoil(directory, "UPDATE line SET next = next + 1")
        let (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 9))
        #expect(report.movedAside != nil && report.salvaged == 1 && !report.assignmentsLost)
        #expect(try await outbox.cuff(device) == CuffBooks(assignments: books.assignments))
        #expect(try await !outbox.cuff("BP-7").assignmentsLost)
        await outbox.close()
    }

    @Test("a file of the release before cuffs had books gets them, keeps its readings, and has lost no assignment")
    func migrated() async throws {
        let directory = Directory()
        let former = Schema(steps: Array(Schema.present.steps.prefix(3)))
        var (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 1), schema: former)
        _ = try await outbox.configureOwners(["ada"])
        try await outbox.accept([.storeReading(record(0, owner: "ada"))])
        await outbox.close()
        (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 1))
        #expect(report.migratedFrom == 3 && report.movedAside == nil)
        #expect(try await outbox.cuff(device) == CuffBooks())
        try await outbox.accept([assign("ada")])
        let head = try await outbox.snapshot().queued[0]
        #expect(try await outbox.loadReadings(head.id).readings == [record(0, owner: "ada")])
        await outbox.close()
    }

    @Test("a broken file of the release before cuffs had books gives its readings, and has lost no assignment of a cuff")
    func formerBroken() async throws {
        let directory = Directory()
        let former = Schema(steps: Array(Schema.present.steps.prefix(3)))
        var (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 1), schema: former)
        _ = try await outbox.configureOwners(["ada"])
        try await outbox.accept([.storeReading(record(0, owner: "ada")), .beginLog(device: "C1", log: 7, base: 100, formerEnd: nil)])
        await outbox.close()
        try spoil(directory, "UPDATE line SET next = next + 1")
        (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(), random: SplitMix64(seed: 1))
        #expect(report.movedAside != nil && report.salvaged == 1 && !report.assignmentsLost)
        #expect(try await outbox.cuff(device) == CuffBooks())
        await outbox.close()
    }

    @Test("a power cut at any write leaves each change whole or not made, and what was promised stands", arguments: UInt64(1)...2)
    func powerCut(seed: UInt64) async throws {
        let good = Disk()
        let template = Directory()
        let first = try await ready(template)
        try await first.accept([.setReadingAside(record(0), reason: "reading-user-unmapped"), .setReadingAside(record(1), reason: "reading-user-unmapped")])
        let id = try await first.snapshot().quarantined[0].id
        await first.close()
        // After each commit: assignments, marks, and whose the two readings are.
        let ways: [[Change]] = [
            [assign("ada")], [assign("bob", since: 1_000), .markCuffFiles(device: device, stored: [mark(1), mark(2)], unlisted: [])], [.cuffContacted(device: device)],
            [.giveReadings(id, owner: "bob", by: "uid 0", at: 1)], [.markCuffFiles(device: device, stored: [mark(1)], unlisted: [mark(2).name])]
        ]
        let changed = [assignment("ada", contacted: true), assignment("bob", since: 1_000, contacted: false)]
        let contacted = [assignment("ada", contacted: true), assignment("bob", since: 1_000, contacted: true)]
        let states: [(assignments: [CuffAssignment], marks: [CuffFileMark], owner: String)] = [
            ([], [], ""), ([assignment("ada", contacted: true)], [], ""), (changed, [mark(1), mark(2)], ""), (contacted, [mark(1), mark(2)], ""), (contacted, [mark(1), mark(2)], "bob"),
            (contacted, [mark(2, listed: false), mark(1)], "bob")
        ]
        var operation = 1
        var ended = false
        while !ended {
            let directory = Directory()
            directory.copy(from: template)
            let disk = Disk()
            disk.cut(at: operation, seed: seed &+ UInt64(operation))
            var reached = 0
            do {
                let outbox = try await Outbox.open(directory, .small(disk))
                for way in ways {
                    try await outbox.accept(way)
                    reached += 1
                }
                await outbox.close()
                ended = !disk.isCut
            } catch let error as OutboxError {
                #expect(disk.isCut, "\(error)")
            }
            let (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(good))
            #expect(report.movedAside == nil && report.damaged.isEmpty)
            let books = try await outbox.cuff(device)
            let stored = try await outbox.loadReadings(id)
            #expect(stored.readings.map(\.name) == ["reading-0", "reading-1"])
            let found = states.firstIndex { $0.assignments == books.assignments && $0.marks == books.marks && $0.owner == stored.head.owner }
            #expect(found == reached || found == reached + 1, "operation \(operation)")
            await outbox.close()
            operation += 1
        }
        #expect(operation > 10)
    }
}

@Suite("Readings that an operator gives to an owner")
struct GivenReadingsTests {
    private func ready(_ directory: Directory) async throws -> Outbox {
        let outbox = try await Outbox.open(directory)
        _ = try await outbox.configureOwners(["ada", "bob"])
        return outbox
    }

    private func give(_ id: EntryID, _ owner: String = "bob") -> Change { .giveReadings(id, owner: owner, by: "uid 0", at: 7) }

    @Test("they are queued as the owner's, frozen, under a key that was never used, and the audit says what was done")
    func given() async throws {
        let directory = Directory()
        var outbox = try await ready(directory)
        for number in 0..<3 { try await outbox.accept([.setReadingAside(record(number), reason: "reading-user-unmapped")]) }
        let id = try await outbox.snapshot().quarantined[0].id
        let outcomes = try await outbox.accept([give(id)])
        guard case .audited(let line) = outcomes[0] else { throw Unexpected(outcomes: outcomes) }
        #expect(line.act == "gave quarantined entry \(id) to bob: 3 readings, owner unknown" && line.by == "uid 0" && line.at == 7)
        await outbox.close()
        outbox = try await Outbox.open(directory)
        let snapshot = try await outbox.snapshot()
        let entry = try await outbox.loadReadings(id)
        #expect(snapshot.quarantined.isEmpty && snapshot.queued.map(\.id) == [id])
        #expect(entry.readings == (0..<3).map { record($0, owner: "bob") } && !entry.isOpen)
        #expect(entry.head.idempotencyKey != id.text && entry.head.quarantineReason == nil && entry.head.keyGeneration == 0)
        #expect(try await outbox.auditTrail() == [line])
        // What the cuff sends again is known.
        #expect(try await outbox.commit([.storeReading(record(1, owner: "bob")), .setReadingAside(record(2), reason: "reading-user-unmapped")]) == [.readingKnown, .readingKnown])
        try await outbox.accept([.settleReadings(id, ReadingsReceiptRecord(key: entry.head.idempotencyKey, accepted: [0, 1, 2]))])
        await outbox.close()
    }

    @Test("what an owner's receipt has settled stays theirs; the rest is given")
    func partly() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        for number in 0..<4 { try await outbox.accept([.storeReading(record(number, owner: "ada"))]) }
        let id = try await outbox.snapshot().queued[0].id
        try await outbox.accept([.freeze(id), .split(id, [PartRange(first: 0, count: 2), PartRange(first: 2, count: 2)])])
        try await outbox.accept([.settleReadings(id, ReadingsReceiptRecord(key: "\(id).0", accepted: [0, 1])), .quarantine(id, reason: "http-413"), give(id)])
        let entry = try await outbox.loadReadings(id)
        #expect(entry.readings == [record(2, owner: "bob"), record(3, owner: "bob")] && entry.head.parts.isEmpty)
        for number in 0..<4 { #expect(try await outbox.commit([.storeReading(record(number, owner: "ada"))]) == [.readingKnown]) }
        await outbox.close()
    }

    @Test("it is refused, and leaves everything as it was, where it cannot be right")
    func refused() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        _ = try await outbox.configureOwners(["ada", "bob", "eve"])
        try await outbox.accept([.setReadingAside(record(0), reason: "reading-user-unmapped")])
        let id = try await outbox.snapshot().quarantined[0].id
        #expect(try await outbox.refusal(give(id, "nobody")) == .ownerNotConfigured)
        #expect(try await outbox.refusal(give(id, "")) == .malformed)
        let unknown = try #require(EntryID(String(repeating: "0", count: 32)))
        #expect(try await outbox.refusal(give(unknown)) == .unknownEntry)
        let windows = try await outbox.accept(batch(100, 1))
        #expect(try await outbox.refusal(give(windows)) == .malformed)
        for (number, owner) in ["ada", "bob", "eve"].enumerated() { try await outbox.accept([.storeReading(record(number + 10, owner: owner))]) }
        #expect(try await outbox.refusal(give(id)) == .noPlace)
        let queued = try await outbox.snapshot().queued
        #expect(try await outbox.refusal(give(queued[1].id)) == .notQuarantined)
        try await outbox.settle(windows)
        await outbox.close()
        let database = try Database("\(directory.path)/outbox.db", mode: .normal, vfs: nil)
        try database.run("UPDATE reading SET octets = x'00' WHERE name = 'reading-0'")
        database.close()
        outbox = try await Outbox.open(directory)
        #expect(try await outbox.refusal(give(id)) == .damaged)
        #expect(try await outbox.snapshot().quarantined.map(\.id) == [id])
        await outbox.close()
    }

    @Test("readings that are set aside lie together by cuff, owner and reason, so that what is given is one cuff's")
    func together() async throws {
        let directory = Directory()
        let outbox = try await Outbox.open(directory: directory.path, executor: storage, settings: OutboxSettings(), random: SplitMix64(seed: 4)).0
        _ = try await outbox.configureOwners(["ada"])
        for (number, serial, owner, reason) in [(0, "BP-1", "", "a"), (1, "BP-2", "", "a"), (2, "BP-1", "", "b"), (3, "BP-1", "ada", "a"), (4, "BP-1", "", "a")] {
            try await outbox.accept([.setReadingAside(record(number, owner: owner, device: serial), reason: reason)])
        }
        var names: [[String]] = []
        for head in try await outbox.snapshot().quarantined { names.append(try await outbox.loadReadings(head.id).readings.map(\.name)) }
        #expect(names == [["reading-0", "reading-4"], ["reading-1"], ["reading-2"], ["reading-3"]])
        await outbox.close()
    }

    @Test("nothing joins an entry that was altered on the disk: its digest is not renewed over what it has become")
    func altered() async throws {
        let directory = Directory()
        var outbox = try await ready(directory)
        try await outbox.accept([.storeReading(record(0, owner: "ada"))])
        let id = try await outbox.snapshot().queued[0].id
        await outbox.close()
        let database = try Database("\(directory.path)/outbox.db", mode: .normal, vfs: nil)
        try database.run("UPDATE reading SET octets = x'00' WHERE name = 'reading-0'")
        database.close()
        outbox = try await Outbox.open(directory)
        let outcomes = try await outbox.accept([.storeReading(record(1, owner: "ada"))])
        guard case .readingStored(let other) = outcomes[0] else { throw Unexpected(outcomes: outcomes) }
        #expect(other != id)
        #expect(await failure { try await outbox.loadReadings(id) } == .damagedEntry)
        #expect(try await outbox.loadReadings(other).readings == [record(1, owner: "ada")])
        await outbox.close()
    }

    @Test("readings of nobody come over from a broken file as nobody's, with their reason, and can be given")
    func salvaged() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        _ = try await outbox.configureOwners(["ada", "bob"])
        for number in 0..<2 { try await outbox.accept([.setReadingAside(record(number), reason: "reading-user-unmapped (user 3)")]) }
        let id = try await outbox.snapshot().quarantined[0].id
        await outbox.close()
        let database = try Database("\(directory.path)/outbox.db", mode: .normal, vfs: nil)
        try database.run("UPDATE line SET next = next + 1")
        database.close()
        outbox = try await Outbox.open(directory)
        _ = try await outbox.configureOwners(["ada", "bob"])
        let head = try #require(try await outbox.snapshot().quarantined.first)
        #expect(head.id == id && head.owner == "" && head.quarantineReason == "reading-user-unmapped (user 3)")
        // What comes later does not join what may have been changed.
        try await outbox.accept([.setReadingAside(record(2), reason: "reading-user-unmapped (user 3)"), give(id)])
        #expect(try await outbox.loadReadings(id).readings == [record(0, owner: "bob"), record(1, owner: "bob")])
        await outbox.close()
    }

    @Test("the readings of nobody are not released, and the refusal says what to do")
    func released() async throws {
        let directory = Directory()
        let outbox = try await ready(directory)
        try await outbox.accept([.setReadingAside(record(0), reason: "reading-user-unmapped")])
        let id = try await outbox.snapshot().quarantined[0].id
        guard case .refused(let refusal) = try await outbox.commit([.release(id, by: "uid 0", at: 1)])[0] else { throw Unexpected(outcomes: []) }
        #expect(refusal.code == .ownerNotConfigured && refusal.what.contains("give them to an owner"))
        await outbox.close()
    }
}
