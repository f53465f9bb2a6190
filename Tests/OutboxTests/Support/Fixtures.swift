import Outbox
import Platform
import Synchronization
import Testing

/// Storage threads that all tests share.
private let threads: [StorageThread] = (0..<4).map { _ in
    guard let thread = try? StorageThread() else { fatalError("no thread") }
    return thread
}

private let turn = Atomic<Int>(0)

/// One of them, in turn: real syncs take their time, and one test need not wait for another's.
var storage: StorageThread { threads[turn.add(1, ordering: .relaxed).newValue % threads.count] }

extension OutboxSettings {
    /// Small bounds, so that a test can fill them and make many files.
    static func small(_ disk: Disk? = nil) -> OutboxSettings {
        OutboxSettings(
            places: 4, collarPlaces: 3, quarantineCapacity: 2, sealedCapacity: 2, evidenceCapacity: 8, receiptMemory: 8, readingMemory: 64, fileMarkMemory: 64, auditMemory: 8, bondCapacity: 3, adoptionCapacity: 3,
            checkpointPages: 8, changeLimit: 4, asideLimit: 2, vfs: disk?.name)
    }
}

extension Outbox {
    /// Opens in a directory of the test.
    static func open(_ directory: Directory, _ settings: OutboxSettings = .small(), seed: UInt64 = 1) async throws -> Outbox {
        try await open(directory: directory.path, executor: storage, settings: settings, random: SplitMix64(seed: seed)).0
    }

    /// Opens for one owner, `ada`, with one collar, `C1`, that writes log 7 from `base` on.
    static func ready(_ directory: Directory, _ settings: OutboxSettings = .small(), base: UInt64 = 100) async throws -> Outbox {
        let outbox = try await open(directory, settings)
        _ = try await outbox.configureOwners(["ada"])
        try await outbox.accept([
            .beginLog(device: "C1", log: 7, base: base, formerEnd: nil), .assign(device: "C1", log: 7, from: base, owner: "ada")
        ])
        return outbox
    }

    /// Commits what must not be refused.
    @discardableResult
    func accept(_ changes: [Change], sourceLocation: SourceLocation = #_sourceLocation) async throws -> [ChangeOutcome] {
        let outcomes = try commit(changes)
        for case .refused(let refusal) in outcomes { Issue.record("refused: \(refusal)", sourceLocation: sourceLocation) }
        return outcomes
    }

    /// Enqueues a batch that must not be refused.
    @discardableResult
    func accept(_ batch: WindowBatch, sourceLocation: SourceLocation = #_sourceLocation) async throws -> EntryID {
        let outcomes = try await accept([.enqueue(batch)], sourceLocation: sourceLocation)
        guard case .enqueued(let id) = outcomes[0] else { throw Unexpected(outcomes: outcomes) }
        return id
    }

    /// Commits one change that must be refused, and says with what.
    func refusal(_ change: Change) async throws -> Refusal.Code? {
        guard case .refused(let refusal) = try commit([change])[0] else { return nil }
        return refusal.code
    }

    /// Settles an entry with a receipt for its present key.
    @discardableResult
    func settle(_ id: EntryID, rejected: [ReceiptRecord.Rejection] = []) async throws -> ChangeOutcome {
        let key = try load(id).head.idempotencyKey
        return try await accept([.settle(id, ReceiptRecord(receipt: "r-\(key)", key: key, rejected: rejected))])[0]
    }
}

/// The code of the `OutboxError` that `body` throws; `nil` when it throws none.
func failure<Result>(_ body: () async throws -> Result) async -> OutboxError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? OutboxError)?.code
    }
}

struct Unexpected: Error { let outcomes: [ChangeOutcome] }

/// The bytes of a window that nobody else has: its sequence, and samples that follow from log and sequence.
func window(_ sequence: UInt64, log: UInt32 = 7) -> [UInt8] {
    var bytes: [UInt8] = []
    for shift in stride(from: UInt32(0), through: 24, by: 8) { bytes.append(UInt8(truncatingIfNeeded: SequenceNumber.wire(sequence) >> shift)) }
    bytes += [0, 0, 0, 0, UInt8(truncatingIfNeeded: sequence), UInt8(truncatingIfNeeded: sequence >> 8)]
    var random = SplitMix64(seed: sequence << 8 ^ UInt64(log))
    while bytes.count < OutboxSettings.windowSize { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
    return bytes
}

/// The CRC that `window` carries.
func crc(_ sequence: UInt64) -> UInt16 { UInt16(truncatingIfNeeded: sequence) }

/// A batch of `count` windows from `first` on, with gaps of the same log.
func batch(
    _ first: UInt64, _ count: Int, gaps: [SequenceGap] = [], next: UInt64? = nil, device: String = "C1", owner: String = "ada", log: UInt32 = 7
) -> WindowBatch {
    var body: [UInt8] = []
    for sequence in first..<first + UInt64(count) { body += window(sequence, log: log) }
    let end = gaps.filter { $0.log == log }.map { $0.first &+ $0.count }.max() ?? 0
    return WindowBatch(
        device: device, owner: owner, log: log, first: first, body: body, gaps: gaps, received: 1_700_000_000, clock: "synced;device=set;offset=0",
        next: next ?? max(end, first + UInt64(count)))
}

func gap(_ first: UInt64, _ count: UInt64, _ reason: GapReason = .overwritten, log: UInt32 = 7) -> SequenceGap {
    SequenceGap(log: log, first: first, count: count, reason: reason)
}
