import Outbox
import Platform
import Uplink

/// The outbox as the uplink's queue: entries become deliveries, outcomes become changes.
struct OutboxDeliveryQueue: DeliveryQueue {
    let store: StoreKeeper
    let log: Log
    /// Told on the loop which device's range was settled, so that its clear can be sent.
    let onSettled: @Sendable (_ device: String) -> Void

    func load(_ id: String, part: Int?) async throws -> Delivery? {
        guard let id = EntryID(id) else { return nil }
        do {
            return try Self.delivery(try await store.load(id), part: part)
        } catch let error as OutboxError where error.code == .unknownEntry {
            return nil
        } catch let error as OutboxError where error.code == .damagedEntry {
            // The windows are still on the collar: nothing of a quarantined range is cleared.
            throw UplinkError.unsendable("\(error)")
        }
    }

    func record(_ outcome: DeliveryOutcome) async throws {
        guard let id = EntryID(outcome.id) else { throw OutboxError(.unknownEntry, "\(outcome.id) names no entry") }
        switch outcome {
        case .settled(_, let receipt):
            let head = try await head(id)
            try await settle(.settle(id, ReceiptRecord(receipt, near: head.first)), head)
        case .partSettled(_, let index, let receipt):
            let head = try await head(id)
            try await settle(.settlePart(id, index: index, ReceiptRecord(receipt, near: head.first)), head)
        case .attemptFailed(_, let code, let exhausted):
            try await make(.attemptFailed(id, code: code, exhausted: exhausted))
        case .rekey:
            try await make(.rekey(id))
        case .split(_, let parts):
            let first = try await head(id).first
            try await make(.split(id, parts.map { PartRange(first: first + UInt64($0.offset), count: $0.count) }))
        case .quarantine(_, let code, _):
            try await make(.quarantine(id, reason: code))
        }
    }

    /// The entry, or one part of it, as it is sent.
    ///
    /// The gaps around the windows travel with the part at the front; a damaged window is named by the part that holds it.
    static func delivery(_ entry: StoredEntry, part index: Int?) throws -> Delivery? {
        let head = entry.head
        var key = head.idempotencyKey
        var start = head.first
        var count = head.count
        if let index {
            guard let part = head.parts.first(where: { $0.index == index }) else { return nil }
            key = part.key
            start = part.range.first
            count = part.range.count
        }
        let range = start..<start + UInt64(count)
        let gaps = entry.gaps.flatMap { gap -> [SequenceGap] in
            guard gap.reason == .damaged else { return start == head.first ? [gap] : [] }
            let inside = max(gap.first, range.lowerBound)..<max(max(gap.first, range.lowerBound), min(gap.first + gap.count, range.upperBound))
            return inside.isEmpty ? [] : [SequenceGap(log: gap.log, first: inside.lowerBound, count: UInt64(inside.count), reason: .damaged)]
        }
        let damaged = gaps.filter { $0.reason == .damaged }.flatMap { gap in (0..<gap.count).map { SequenceNumber.wire(gap.first + $0) } }
        let offset = Int(start - head.first) * OutboxSettings.windowSize
        let whole = count == head.count
        return Delivery(
            id: head.id.text, key: key, owner: head.owner, device: head.device, log: head.log, first: SequenceNumber.wire(start), count: count,
            body: whole ? entry.body : Array(entry.body[offset..<offset + count * OutboxSettings.windowSize]),
            gaps: gaps.map(DeliveryGap.init), damaged: Set(damaged), received: entry.received, clock: entry.clock)
    }

    private func settle(_ change: Change, _ head: EntryHead) async throws {
        try await make(change)
        onSettled(head.device)
    }

    private func head(_ id: EntryID) async throws -> EntryHead {
        guard let head = await store.snapshot?.queued.first(where: { $0.id == id }) else {
            throw OutboxError(.unknownEntry, "entry \(id.text) is not queued")
        }
        return head
    }

    private func make(_ change: Change) async throws {
        for case .refused(let refusal) in try await store.commit([change]) { throw ChangeRefused(refusal: refusal) }
    }
}

extension DeliveryGap {
    /// The gap with the numbers of the wire. A gap of more windows than 32 bits count cannot be: the wire counts in 32 bits.
    init(_ gap: SequenceGap) {
        let reason: Reason =
            switch gap.reason {
            case .overwritten: .overwritten
            case .clearedElsewhere: .clearedElsewhere
            case .reformatted: .reformatted
            case .unreadable: .unreadable
            case .withheld: .withheld
            case .damaged: .damaged
            }
        self.init(log: gap.log, first: SequenceNumber.wire(gap.first), count: Int(clamping: gap.count), reason: reason)
    }
}

extension ReceiptRecord {
    /// The receipt with unwrapped sequences.
    init(_ receipt: Receipt, near first: UInt64) {
        self.init(
            receipt: receipt.id, key: receipt.key,
            rejected: receipt.rejected.map { Rejection(sequence: SequenceNumber.unwrap($0.sequence, near: first), code: $0.code) })
    }
}

extension QueuedEntry {
    /// The entry as the retry machine sees it.
    init(_ head: EntryHead) {
        self.init(
            id: head.id.text, owner: head.owner, count: head.count, attempts: head.attempts, exhausted: head.exhausted, keyGeneration: head.keyGeneration,
            parts: head.parts.map { Part(index: $0.index, offset: Int($0.range.first - head.first), count: $0.range.count, settled: $0.receipt != nil) })
    }
}
