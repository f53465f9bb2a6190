import Outbox
import Platform
import Uplink

/// The outbox as the uplink's queue: entries become deliveries, outcomes become changes.
struct OutboxDeliveryQueue: DeliveryQueue {
    let store: StoreKeeper
    let log: Log
    /// Told on the loop which device's range was settled, so that its clear can be sent.
    let onSettled: @Sendable (_ device: String) -> Void

    func load(_ id: String, part: Int?) async throws -> Shipment? {
        guard let id = EntryID(id) else { return nil }
        do {
            if await queued(id)?.kind == .cuff { return try await readings(id, part: part).map(Shipment.readings) }
            return try Self.delivery(try await store.load(id), part: part).map(Shipment.windows)
        } catch let error as OutboxError where error.code == .unknownEntry {
            return nil
        } catch let error as OutboxError where error.code == .damagedEntry {
            // Windows are still on the collar: nothing of a quarantined range is cleared. Of readings this is the only copy, and it is kept.
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
        case .readingsSettled(_, let key, let part, let receipt):
            let offset = try await offset(of: part, in: id)
            let record = ReadingsReceiptRecord(key: key, accepted: receipt.accepted.map { $0 + offset }, conflicting: receipt.conflicting.map { $0 + offset })
            try await make(.settleReadings(id, record))
        case .readingSetAside(_, nil, let position, let code, _):
            try await make(.setAside(position, of: id, reason: code))
        case .readingSetAside(_, let part?, let position, let code, _):
            guard let key = try await head(id).parts.first(where: { $0.index == part })?.key else { throw OutboxError(.unknownEntry, "entry \(id) has no part \(part)") }
            // To the backend it is settled: nothing of this part is sent any more.
            try await make(.settleReadings(id, ReadingsReceiptRecord(key: key, accepted: [], conflicting: [position], reason: code)))
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

    /// An entry of readings as it is sent: from the first time on nothing joins it, which is committed before.
    private func readings(_ id: EntryID, part: Int?) async throws -> ReadingsDelivery? {
        var stored = try await store.loadReadings(id)
        if stored.isOpen {
            try await make(.freeze(id))
            stored = try await store.loadReadings(id)
        }
        return try Self.delivery(stored, part: part)
    }

    /// - Throws: `UplinkError.unsendableReading` for the first one that this release cannot read.
    static func delivery(_ entry: StoredReadings, part index: Int?) throws(UplinkError) -> ReadingsDelivery? {
        let head = entry.head
        var key = head.idempotencyKey
        var range = entry.readings.indices
        if let index {
            guard let part = head.parts.first(where: { $0.index == index }), let first = Int(exactly: part.range.first) else { return nil }
            key = part.key
            range = (first..<first + part.range.count).clamped(to: range)
        }
        var readings: [BloodPressureReading] = []
        for (place, record) in entry.readings[range].enumerated() {
            do throws(StoredReadingError) {
                guard case .reading(let stored) = try StoredContent(parsing: record.octets), stored.reading.id == record.name else {
                    throw StoredReadingError(code: .member, what: "it is no reading, or not the one of this name")
                }
                readings.append(stored.reading)
            } catch {
                throw .unsendableReading(place: place, error.description)
            }
        }
        return ReadingsDelivery(id: head.id.text, key: key, owner: head.owner, patient: "", readings: readings)
    }

    /// The number of readings before a part.
    private func offset(of part: Int?, in id: EntryID) async throws -> Int {
        guard let part else { return 0 }
        guard let range = try await head(id).parts.first(where: { $0.index == part })?.range else { throw OutboxError(.unknownEntry, "entry \(id) has no part \(part)") }
        return Int(clamping: range.first)
    }

    private func settle(_ change: Change, _ head: EntryHead) async throws {
        try await make(change)
        onSettled(head.device)
    }

    private func head(_ id: EntryID) async throws -> EntryHead {
        guard let head = await queued(id) else {
            throw OutboxError(.unknownEntry, "entry \(id.text) is not queued")
        }
        return head
    }

    private func queued(_ id: EntryID) async -> EntryHead? {
        await store.snapshot?.queued.first { $0.id == id }
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
            id: head.id.text, owner: head.owner, endpoint: head.kind == .cuff ? .readings : .rawWindows, count: head.count, attempts: head.attempts, exhausted: head.exhausted, keyGeneration: head.keyGeneration,
            parts: head.parts.map { Part(index: $0.index, offset: Int($0.range.first - head.first), count: $0.range.count, settled: $0.receipt != nil) })
    }
}
