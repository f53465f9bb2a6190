import CSQLite
@testable import Outbox
import Platform
import Testing

/// All that a start finds, to compare one with another.
private struct Books: Equatable {
    var queued: [StoredEntry] = []
    var quarantined: [EntryID] = []
    var sealed: [EntryID] = []
    var evidence: [EvidenceRecord] = []
    var owners: Set<String> = []
    var devices: [DeviceRecord] = []

    init(of outbox: Outbox) async throws {
        let snapshot = try await outbox.snapshot()
        for head in snapshot.queued { queued.append(try await outbox.load(head.id)) }
        quarantined = snapshot.quarantined.map(\.id)
        sealed = snapshot.sealed.map(\.id)
        evidence = try await outbox.evidence()
        owners = snapshot.owners
        for serial in snapshot.devices {
            if let record = try await outbox.device(serial) { devices.append(record) }
        }
    }
}

extension Books {
    /// The same but for the names of entries, which are drawn anew when a commit is made again.
    func isLike(_ other: Books) -> Bool {
        queued.map(\.body) == other.queued.map(\.body) && queued.map(\.head.attempts) == other.queued.map(\.head.attempts)
            && quarantined.count == other.quarantined.count && sealed.count == other.sealed.count && owners == other.owners
            && evidence.map(\.window) == other.evidence.map(\.window) && devices == other.devices
            && queued.map { $0.head.parts.map { $0.receipt == nil } } == other.queued.map { $0.head.parts.map { $0.receipt == nil } }
    }
}

@Suite("Power cuts and failing disks")
struct PowerCutTests {
    /// The way of a few windows with everything that may happen on it, one commit a step. The names of entries follow from the seed, so every run is the same.
    private static let way = 0..<14

    /// One commit of the way. A switch, as closures in a list that take an actor do not compile with Swift 6.0.
    private static func walk(_ step: Int, _ outbox: Outbox) async throws {
        switch step {
        case 0:
            try await outbox.commit([.enqueue(batch(105, 6))])
        case 1:
            try await outbox.commit([.enqueue(batch(112, 128 - 8, gaps: [gap(111, 1)]))])
        case 2:
            let queued = try await outbox.snapshot().queued
            try await outbox.commit([
                .settle(queued[0].id, ReceiptRecord(receipt: "r0", key: queued[0].id.text)), .enqueue(batch(232, 10))
            ])
        case 3:
            try await outbox.commit([.cleared(device: "C1", log: 7, through: 104)])
        case 4:
            let head = try await outbox.snapshot().queued[0]
            try await outbox.commit([.attemptFailed(head.id, code: "http-413", exhausted: false), .split(head.id, [PartRange(first: 105, count: 2), PartRange(first: 107, count: 4)])])
        case 5:
            let head = try await outbox.snapshot().queued[0]
            try await outbox.commit([.settlePart(head.id, index: 1, ReceiptRecord(receipt: "p1", key: "\(head.id).1"))])
        case 6:
            let head = try await outbox.snapshot().queued[1]
            try await outbox.commit([.quarantine(head.id, reason: "refused"), .enqueue(batch(242, 3))])
        case 7:
            let head = try await outbox.snapshot().queued[0]
            let receipt = ReceiptRecord(receipt: "p0", key: "\(head.id).0", rejected: [.init(sequence: 106, code: "conflict")])
            try await outbox.commit([.settlePart(head.id, index: 0, receipt)])
        case 8:
            _ = try await outbox.configureOwners(["bob"])
        case 9:
            _ = try await outbox.configureOwners(["ada", "bob"])
        case 10:
            let head = try await outbox.snapshot().quarantined[0]
            try await outbox.commit([.release(head.id), .rekey(head.id)])
        default:
            let head = try await outbox.snapshot().queued[0]
            try await outbox.commit([.settle(head.id, ReceiptRecord(receipt: "r-\(head.id)", key: head.idempotencyKey))])
        }
    }

    /// A closed outbox with one entry, made once, and what is in it.
    private static func template() async throws -> Directory {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        try await outbox.accept(batch(100, 5))
        await outbox.close()
        return directory
    }

    /// Walks the whole way on a sound disk: the books after every commit, in order.
    private static func record(_ template: Directory, _ settings: OutboxSettings) async throws -> [Books] {
        let directory = Directory()
        directory.copy(from: template)
        let outbox = try await Outbox.open(directory, settings, seed: 2)
        var books = [try await Books(of: outbox)]
        for step in way {
            try await Self.walk(step, outbox)
            books.append(try await Books(of: outbox))
        }
        await outbox.close()
        return books
    }

    @Test("a power cut at any write or sync of the way loses nothing that was stored, and the next start finds it", arguments: UInt64(1)...4)
    func cut(seed: UInt64) async throws {
        // Starts are checked on a disk that behaves, and only counts its syncs.
        let good = Disk()
        let template = try await Self.template()
        let sound = try await Self.record(template, .small(good))
        var operation = Int(seed)
        var ended = false
        // Each seed takes every fourth operation, together they take all.
        while !ended {
            let directory = Directory()
            directory.copy(from: template)
            let disk = Disk()
            disk.cut(at: operation, seed: seed &* 7_919 &+ UInt64(operation))
            var reached = 0
            do {
                let outbox = try await Outbox.open(directory, .small(disk), seed: 2)
                for step in Self.way {
                    try await Self.walk(step, outbox)
                    reached += 1
                }
                await outbox.close()
                ended = !disk.isCut
            } catch let error as OutboxError {
                #expect(disk.isCut, "\(error)")
                #expect(error.code == .diskFailed, "\(error)")
            }
            let (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(good))
            #expect(report.movedAside == nil && report.damaged.isEmpty && !report.created, "operation \(operation)")
            let found = try await Books(of: outbox)
            if ended {
                #expect(found == sound[Self.way.count])
            } else {
                // The commit under way is there whole or not at all; those before it stand.
                let possible = sound[reached...min(reached + 1, Self.way.count)]
                #expect(possible.contains(found), "operation \(operation) in step \(reached)")
            }
            await outbox.close()
            operation += 4
        }
        #expect(operation > 100)
    }

    @Test("a power cut while the outbox is made leaves a directory in which the next start makes it", arguments: UInt64(1)...4)
    func cutAtCreation(seed: UInt64) async throws {
        let good = Disk()
        var operation = Int(seed)
        var ended = false
        while !ended {
            let directory = Directory()
            let disk = Disk()
            disk.cut(at: operation, seed: seed &* 104_729 &+ UInt64(operation))
            do {
                let outbox = try await Outbox.ready(directory, .small(disk))
                await outbox.close()
                ended = !disk.isCut
            } catch let error as OutboxError {
                #expect(disk.isCut && error.code == .diskFailed, "\(error)")
            }
            let (outbox, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: .small(good))
            #expect(report.movedAside == nil && report.unprovisioned == nil, "operation \(operation)")
            #expect(directory.names.filter { $0 != "outbox.lock" } == ["outbox.db", "outbox.db-wal"])
            let space = try await outbox.snapshot().space
            #expect(space.pages >= space.provision.pages && space.logBytes >= space.provision.logBytes)
            // Provisioned is more than a size: nothing grows any more.
            good.setFull(true)
            _ = try await outbox.configureOwners(["ada", "bob"])
            try await outbox.accept([.beginLog(device: "C2", log: 9, base: 0, formerEnd: nil), .assign(device: "C2", log: 9, from: 0, owner: "ada")])
            for first in [UInt64(0), 128, 256] { try await outbox.accept(batch(first, 128, device: "C2", log: 9)) }
            good.setFull(false)
            await outbox.close()
            // Nearly all of the work is the same: filling.
            operation += operation < 80 ? 4 : 41
        }
        #expect(operation > 300)
    }

    // SQLITE_IOERR_WRITE and SQLITE_IOERR_FSYNC, macros that Swift does not see, and a full disk.
    @Test("an operation that fails once costs that commit and nothing else", arguments: [SQLITE_IOERR | 3 << 8, SQLITE_IOERR | 4 << 8, SQLITE_FULL])
    func failsOnce(code: CInt) async throws {
        // Starts are checked on a disk that behaves, and only counts its syncs.
        let good = Disk()
        let template = try await Self.template()
        let sound = try await Self.record(template, .small(good))
        var operation = 1
        var ended = false
        while !ended {
            let directory = Directory()
            directory.copy(from: template)
            let disk = Disk()
            var outbox = try await Outbox.open(directory, .small(disk), seed: 2)
            disk.fail(at: operation, code: code)
            let before = disk.operations
            var failures = 0
            for index in Self.way {
                do {
                    try await Self.walk(index, outbox)
                } catch let error as OutboxError {
                    failures += 1
                    #expect(error.code == (code == SQLITE_FULL ? .diskFull : .diskFailed) && error.isRecoverable)
                    // What a hub does: it opens again, and looks whether the commit was made after all.
                    await outbox.close()
                    outbox = try await Outbox.open(directory, .small(disk), seed: 2)
                    let found = try await Books(of: outbox)
                    #expect(found.isLike(sound[index]) || found.isLike(sound[index + 1]), "operation \(operation) in step \(index)")
                    if found.isLike(sound[index]) { try await Self.walk(index, outbox) }
                }
            }
            let found = try await Books(of: outbox)
            #expect(found.isLike(sound[Self.way.count]), "operation \(operation)")
            #expect(failures <= 1)
            ended = disk.operations - before < operation
            await outbox.close()
            operation += 5
        }
        #expect(operation > 50)
    }
}
