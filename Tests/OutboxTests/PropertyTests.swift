@testable import Outbox
import Platform
import Testing

/// The books as a child would keep them: sets of numbers and lists.
private struct Model {
    struct Entry {
        let id: EntryID
        let device: String
        let owner: String
        /// Which life of which log; a life ends when the device begins another log.
        let life: Int
        let first: UInt64
        let count: Int
        let covered: ClosedRange<UInt64>
        let body: [UInt8]
        var attempts = 0
        var state = EntryState.queued
        var key: String
        var generation = 0
        var openParts: [EntryPart] = []
    }

    struct Device {
        var log: UInt32
        var life: Int
        var base: UInt64
        var next: UInt64
        var cleared: UInt64
        var owners: [(first: UInt64, owner: String)]
        func owner(of sequence: UInt64) -> String? { owners.last { $0.first <= sequence }?.owner }
    }

    var entries: [Entry] = []
    var devices: [String: Device] = [:]
    /// Sequences that a receipt or an operator settled, by life.
    var settled: [Int: Set<UInt64>] = [:]
    var configured: Set<String> = []

    func count(_ state: EntryState) -> Int { entries.count { $0.state == state } }

    func pending(_ device: Device) -> UInt64? {
        var end = device.base
        while settled[device.life, default: []].contains(end) { end += 1 }
        return end > device.cleared ? end - 1 : nil
    }

    mutating func close(_ index: Int) {
        let entry = entries.remove(at: index)
        settled[entry.life, default: []].formUnion(entry.covered)
    }
}

@Suite("The books against a simple model")
struct PropertyTests {

    @Test("no order of changes, with starts in between, parts the outbox from the model", arguments: UInt64(1)...12)
    func random(seed: UInt64) async throws {
        let directory = Directory()
        // Some on the disk as it is; most on one that only counts its syncs, as they take nearly all the time.
        let disk = seed > 3 ? Disk() : nil
        let settings = OutboxSettings(
            places: 5, collarPlaces: 4, quarantineCapacity: 2, sealedCapacity: 3, evidenceCapacity: 1_000, receiptMemory: 8, auditMemory: 8,
            checkpointPages: 8, changeLimit: 4, asideLimit: 2, vfs: disk?.name)
        var random = SplitMix64(seed: seed)
        var outbox = try await Outbox.open(directory, settings, seed: seed)
        var model = Model()
        var lives = 0
        // Logs have random names on a collar; here at least no order.
        var log: UInt32 { UInt32(lives) &* 0x9E37_79B1 }
        model.configured = ["ada", "bob"]
        _ = try await outbox.configureOwners(model.configured)

        for step in 0..<220 {
            let serial = Bool.random(using: &random) ? "C1" : "C2"
            let choice = Int.random(in: 0..<20, using: &random)
            guard var device = model.devices[serial] else {
                lives += 1
                let base = UInt64.random(in: 0..<1_000, using: &random)
                model.devices[serial] = Model.Device(log: log, life: lives, base: base, next: base, cleared: base, owners: [(base, "ada")])
                try await outbox.accept([
                    .beginLog(device: serial, log: log, base: base, formerEnd: nil),
                    .assign(device: serial, log: log, from: base, owner: "ada")
                ])
                continue
            }
            let target = model.entries.indices.randomElement(using: &random)
            switch choice {
            case 0..<7:
                try await enqueue(&model, serial, &device, outbox, &random)
            case 7..<11:
                guard let index = target, model.entries[index].openParts.isEmpty else { break }
                let entry = model.entries[index]
                let rejected = entry.count > 0 && Int.random(in: 0..<4, using: &random) == 0 ? [ReceiptRecord.Rejection(sequence: entry.first, code: "conflict")] : []
                try await outbox.accept([.settle(entry.id, ReceiptRecord(receipt: "r\(step)", key: entry.key, rejected: rejected))])
                model.close(index)
            case 11:
                guard let index = target else { break }
                try await outbox.accept([.attemptFailed(model.entries[index].id, code: "http-503", exhausted: false)])
                model.entries[index].attempts += 1
            case 12:
                guard let index = target else { break }
                let refused = try await outbox.refusal(.quarantine(model.entries[index].id, reason: "refused"))
                if model.entries[index].state != .queued {
                    #expect(refused == .notQueued)
                } else if model.count(.quarantined) >= 2 {
                    #expect(refused == .quarantineFull)
                } else {
                    #expect(refused == nil)
                    model.entries[index].state = .quarantined
                }
            case 13:
                guard let index = target, model.entries[index].state != .queued else { break }
                let entry = model.entries[index]
                let refused = try await outbox.refusal(.release(entry.id))
                if !model.configured.contains(entry.owner) {
                    #expect(refused == .ownerNotConfigured)
                } else if model.count(.queued) >= 4 {
                    #expect(refused == .noPlace)
                } else {
                    #expect(refused == nil)
                    if entry.state == .quarantined { model.entries[index].attempts = 0 }
                    model.entries[index].state = .queued
                }
            case 14:
                guard let index = target else { break }
                try await parts(&model, index, outbox, &random)
            case 15:
                guard let through = model.pending(device) else { break }
                let confirmed = UInt64.random(in: device.cleared...through, using: &random)
                try await outbox.accept([.cleared(device: serial, log: device.log, through: confirmed)])
                device.cleared = confirmed + 1
                model.devices[serial] = device
            case 16:
                let owner = Bool.random(using: &random) ? "ada" : "bob"
                let from = max(device.next, device.owners.last?.first ?? 0) + UInt64.random(in: 0..<4, using: &random)
                try await outbox.accept([.assign(device: serial, log: device.log, from: from, owner: owner)])
                device.owners.removeAll { $0.first == from }
                device.owners.append((from, owner))
                model.devices[serial] = device
            case 17:
                try await configure(&model, outbox, &random)
            case 18:
                guard Int.random(in: 0..<3, using: &random) == 0 else { break }
                lives += 1
                let same = Bool.random(using: &random)
                let base = UInt64.random(in: 0..<1_000, using: &random)
                let next = same ? device.log : log
                try await outbox.accept([
                    same ? .restartLog(device: serial, log: next, base: base) : .beginLog(device: serial, log: next, base: base, formerEnd: nil),
                    .assign(device: serial, log: next, from: base, owner: "bob")
                ])
                model.devices[serial] = Model.Device(log: next, life: lives, base: base, next: base, cleared: base, owners: [(base, "bob")])
            default:
                await outbox.close()
                let (opened, report) = try await Outbox.open(directory: directory.path, executor: storage, settings: settings, random: SplitMix64(seed: seed ^ UInt64(step)))
                #expect(report == OpeningReport())
                outbox = opened
            }
            try await compare(outbox, model)
        }
        await outbox.close()
    }

    private func enqueue(_ model: inout Model, _ serial: String, _ device: inout Model.Device, _ outbox: Outbox, _ random: inout SplitMix64) async throws {
        let skipped = Int.random(in: 0..<4, using: &random) == 0 ? UInt64.random(in: 1..<4, using: &random) : 0
        let first = device.next + skipped
        guard let owner = device.owner(of: first) else { return }
        let room = device.owners.first { $0.first > first }.map { Int($0.first - first) } ?? 6
        let count = min(Int.random(in: 1...6, using: &random), room)
        let new = batch(first, count, gaps: skipped > 0 ? [gap(device.next, skipped, log: device.log)] : [], device: serial, owner: owner, log: device.log)
        // Windows of one life differ from those of another in nothing that matters here.
        let outcome = try await outbox.commit([.enqueue(new)])[0]
        switch outcome {
        case .enqueued(let id):
            #expect(model.configured.contains(owner) && model.count(.queued) < 4)
            model.entries.append(Model.Entry(
                id: id, device: serial, owner: owner, life: device.life, first: first, count: count, covered: device.next...first + UInt64(count) - 1,
                body: new.body, key: id.text))
            device.next = first + UInt64(count)
            model.devices[serial] = device
        case .refused(let refusal):
            let expected: Refusal.Code = model.configured.contains(owner) ? .noPlace : .ownerNotConfigured
            #expect(refusal.code == expected && (expected != .noPlace || model.count(.queued) >= 4))
        default: Issue.record("\(outcome)")
        }
    }

    private func parts(_ model: inout Model, _ index: Int, _ outbox: Outbox, _ random: inout SplitMix64) async throws {
        let entry = model.entries[index]
        if let part = entry.openParts.randomElement(using: &random) {
            try await outbox.accept([.settlePart(entry.id, index: part.index, ReceiptRecord(receipt: "p", key: part.key))])
            model.entries[index].openParts.removeAll { $0.index == part.index }
            if model.entries[index].openParts.isEmpty { model.close(index) }
        } else if Bool.random(using: &random), entry.count > 1 {
            let cut = Int.random(in: 1..<entry.count, using: &random)
            let ranges = [PartRange(first: entry.first, count: cut), PartRange(first: entry.first + UInt64(cut), count: entry.count - cut)]
            guard case .split(let made) = try await outbox.accept([.split(entry.id, ranges)])[0] else { throw Unexpected(outcomes: []) }
            model.entries[index].openParts = made
        } else if entry.generation == 0 {
            guard case .rekeyed(let key) = try await outbox.accept([.rekey(entry.id)])[0] else { throw Unexpected(outcomes: []) }
            model.entries[index].key = key
            model.entries[index].generation = 1
        } else {
            #expect(try await outbox.refusal(.rekey(entry.id)) == .keySpent)
        }
    }

    private func configure(_ model: inout Model, _ outbox: Outbox, _ random: inout SplitMix64) async throws {
        let owners: Set<String> = [["ada"], ["bob"], ["ada", "bob"]].randomElement(using: &random) ?? []
        var next = model
        next.configured = owners
        for index in next.entries.indices where next.entries[index].state == .queued && !owners.contains(next.entries[index].owner) {
            next.entries[index].state = .sealed
        }
        for index in next.entries.indices where next.entries[index].state == .sealed && owners.contains(next.entries[index].owner) && next.count(.queued) < 4 {
            next.entries[index].state = .queued
        }
        let failed = await failure { try await outbox.configureOwners(owners) }
        if next.count(.sealed) > 3 {
            #expect(failed == .sealedFull)
        } else {
            #expect(failed == nil)
            model = next
        }
    }

    private func compare(_ outbox: Outbox, _ model: Model) async throws {
        let snapshot = try await outbox.snapshot()
        for (heads, state) in [(snapshot.queued, EntryState.queued), (snapshot.quarantined, .quarantined), (snapshot.sealed, .sealed)] {
            let expected = model.entries.filter { $0.state == state }
            #expect(heads.map(\.id) == expected.map(\.id))
            #expect(heads.map(\.attempts) == expected.map(\.attempts))
            #expect(heads.map(\.idempotencyKey) == expected.map(\.key))
            #expect(heads.map(\.owner) == expected.map(\.owner))
        }
        if let entry = model.entries.last { #expect(try await outbox.load(entry.id).body == entry.body) }
        for (serial, device) in model.devices {
            let record = try #require(try await outbox.device(serial))
            #expect(record.current?.log == device.log && record.current?.next == device.next)
            #expect(record.pendingClear?.through == model.pending(device))
            // Invariant I1, said once more without the model's arithmetic.
            if let clear = record.pendingClear {
                let settled = model.settled[device.life, default: []]
                #expect(clear.log == device.log && (device.base...clear.through).allSatisfy { settled.contains($0) })
            }
        }
    }
}
