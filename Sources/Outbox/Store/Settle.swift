/// Step 5: receipt, settled range, pending clear and the free place, in one transaction. And what happens to an entry before it.
extension Store {
    func settle(_ id: EntryID, _ receipt: ReceiptRecord) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id), row.kind == .collar else { return try settledBefore(id, key: receipt.key) }
        guard try parts(row.id).isEmpty else {
            return .refused(Refusal(.wrongKey, "entry \(id) is split; only receipts for its parts settle it"))
        }
        guard try verifiedHead(row, id) != nil else { return .refused(.damaged(id)) }
        guard receipt.key == row.key else { return .refused(Refusal(.wrongKey, "entry \(id) was sent as \(row.key), not as \(receipt.key)")) }
        if let refusal = try keepRejected(receipt, of: row, within: PartRange(first: row.first, count: row.count)) { return .refused(refusal) }
        try remember(receipt, for: id)
        return .settled(try close(row))
    }

    func settlePart(_ id: EntryID, index: Int, _ receipt: ReceiptRecord) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id), row.kind == .collar else { return try settledBefore(id, key: receipt.key) }
        let parts = try parts(row.id)
        guard let part = parts.first(where: { $0.index == index }) else {
            return .refused(Refusal(.unknownPart, "entry \(id) has no part \(index)"))
        }
        if part.receipt != nil { return .settledBefore }
        guard try verifiedHead(row, id) != nil else { return .refused(.damaged(id)) }
        guard receipt.key == part.key else { return .refused(Refusal(.wrongKey, "part \(index) was sent as \(part.key), not as \(receipt.key)")) }
        if let refusal = try keepRejected(receipt, of: row, within: part.range) { return .refused(refusal) }
        try remember(receipt, for: id)
        try database.run(
            "UPDATE part SET receipt = ?3 WHERE entry = ?1 AND position = ?2", .integer(row.id), .integer(Int64(index)),
            .text(receipt.receipt.bounded(256)))
        let remaining = parts.count { $0.receipt == nil } - 1
        return remaining > 0 ? .partSettled(remaining: remaining) : .settled(try close(row))
    }

    func attemptFailed(_ id: EntryID, code: String, exhausted: Bool) throws(OutboxError) -> ChangeOutcome {
        try database.run(
            "UPDATE entry SET attempts = min(attempts + 1, 1000000), exhausted = ?2, failure = ?3 WHERE name = ?1", .text(id.text),
            .integer(exhausted ? 1 : 0), .text(code.bounded(64)))
        return database.changes == 1 ? .done : .refused(.unknown(id))
    }

    func rekey(_ id: EntryID) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id) else { return .refused(.unknown(id)) }
        guard row.generation == 0 else { return .refused(Refusal(.keySpent, "entry \(id) has had its one new key")) }
        let key = try newName()
        try database.run("UPDATE entry SET generation = 1, key = ?2 WHERE id = ?1", .integer(row.id), .text(key))
        try database.run(
            "UPDATE part SET key = ?2 || '.' || position WHERE entry = ?1 AND receipt IS NULL", .integer(row.id), .text(key))
        return .rekeyed(key)
    }

    func split(_ id: EntryID, _ ranges: [PartRange]) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id) else { return .refused(.unknown(id)) }
        let old = try parts(row.id)
        let open = old.isEmpty ? [PartRange(first: row.first, count: row.count)] : old.filter { $0.receipt == nil }.map(\.range)
        guard Self.cover(ranges, open) else {
            return .refused(Refusal(.malformed, "the parts do not cover just the windows of entry \(id) that have no receipt"))
        }
        try database.run("DELETE FROM part WHERE entry = ?1 AND receipt IS NULL", .integer(row.id))
        // Numbers go on behind those that were used, so that a key never stands for another body than before.
        var index = try nextPart(row)
        for range in ranges {
            try database.run(
                "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?5, NULL)", .integer(row.id), .integer(Int64(index)), .sequence(range.first),
                .integer(Int64(range.count)), .text("\(row.key).\(index)"))
            index += 1
        }
        try database.run("UPDATE entry SET parts = ?2 WHERE id = ?1", .integer(row.id), .integer(Int64(index)))
        return .split(try parts(row.id).filter { $0.receipt == nil })
    }

    // MARK: Steps

    /// Ends an entry: everything it tells of is settled, its device's clear moves, its place is free. The caller has verified the head.
    func close(_ row: EntryRow) throws(OutboxError) -> PendingClear? {
        if let line = row.line {
            try addSettled([RangeSet.Span(first: row.first, end: row.first + UInt64(row.count), tag: row.tail)], to: line)
        }
        let gaps = try database.all("SELECT line, first, count FROM gap WHERE entry = ?1 AND line IS NOT NULL AND reason <> 'damaged'", .integer(row.id)) {
            ($0.integer(0), RangeSet.Span(first: $0.sequence(1), end: $0.sequence(1) + $0.sequence(2), tag: nil))
        }
        for (line, span) in gaps { try addSettled([span], to: line) }
        if row.kind == .cuff { try rememberReadings(of: row.id) }
        try remove(row.id)
        try movePendingClear(row.device)
        try prune(row.device)
        return try pendingClear(row.device)?.clear
    }

    func remove(_ entry: Int64) throws(OutboxError) {
        try database.run("DELETE FROM part WHERE entry = ?1", .integer(entry))
        try database.run("DELETE FROM gap WHERE entry = ?1", .integer(entry))
        try database.run("DELETE FROM body WHERE entry = ?1", .integer(entry))
        try database.run("DELETE FROM reading WHERE entry = ?1", .integer(entry))
        try database.run("DELETE FROM open_entry WHERE entry = ?1", .integer(entry))
        try database.run("DELETE FROM entry WHERE id = ?1", .integer(entry))
    }

    /// Keeps the windows that the backend did not take, before their entry goes.
    private func keepRejected(_ receipt: ReceiptRecord, of row: EntryRow, within range: PartRange) throws(OutboxError) -> Refusal? {
        guard !receipt.rejected.isEmpty else { return nil }
        let sequences = Set(receipt.rejected.map(\.sequence))
        guard sequences.count == receipt.rejected.count,
              sequences.allSatisfy({ $0 >= range.first && $0 - range.first < UInt64(range.count) })
        else { return Refusal(.malformed, "rejected sequences are doubled or outside \(range.first)+\(range.count)") }
        guard try evidenceCount() + receipt.rejected.count <= settings.evidenceCapacity else {
            return Refusal(.evidenceFull, "\(receipt.rejected.count) rejected windows do not fit beside those kept; \(settings.evidenceCapacity) are allowed")
        }
        let body = try body(row.id)
        let size = OutboxSettings.windowSize
        for rejection in receipt.rejected {
            let start = Int(rejection.sequence - row.first) * size
            let window = start + size <= body.count ? Array(body[start..<start + size]) : []
            try database.run(
                "INSERT INTO evidence (device, owner, log, sequence, code, receipt, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", .text(row.device),
                .text(row.owner), .log(row.log), .sequence(rejection.sequence), .text(rejection.code.bounded(64)),
                .text(receipt.receipt.bounded(64)), .blob(window))
        }
        return nil
    }

    func remember(_ receipt: ReceiptRecord, for id: EntryID) throws(OutboxError) {
        try database.run(
            "INSERT INTO receipt (entry, key, receipt) VALUES (?1, ?2, ?3)", .text(id.text), .text(receipt.key.bounded(64)),
            .text(receipt.receipt.bounded(256)))
        try database.run("DELETE FROM receipt WHERE id <= ?1", .integer(database.lastRow - Int64(settings.receiptMemory)))
    }

    func settledBefore(_ id: EntryID, key: String) throws(OutboxError) -> ChangeOutcome {
        let known = try database.number("SELECT count(*) FROM receipt WHERE entry = ?1 AND key = ?2", .text(id.text), .text(key))
        return known > 0 ? .settledBefore : .refused(.unknown(id))
    }

    private func nextPart(_ row: EntryRow) throws(OutboxError) -> Int {
        Int(clamping: try database.number("SELECT parts FROM entry WHERE id = ?1", .integer(row.id)))
    }

    /// Whether `ranges`, in order, divide just the windows of `open` and each stays within one of them.
    private static func cover(_ ranges: [PartRange], _ open: [PartRange]) -> Bool {
        var remaining = open[...]
        for range in ranges {
            guard let head = remaining.first, range.count > 0, range.first == head.first, range.count <= head.count else { return false }
            remaining.removeFirst()
            if range.count < head.count {
                remaining.insert(PartRange(first: head.first + UInt64(range.count), count: head.count - range.count), at: remaining.startIndex)
            }
        }
        return remaining.isEmpty && !ranges.isEmpty
    }
}

extension Refusal {
    static func unknown(_ id: EntryID) -> Refusal { Refusal(.unknownEntry, "no entry \(id)") }
    static func damaged(_ id: EntryID) -> Refusal { Refusal(.damaged, "entry \(id) is not what was stored: nothing it says can be settled") }
}

extension String {
    /// At most `limit` bytes of it, whole characters: texts from outside must not outgrow the provision.
    func bounded(_ limit: Int) -> String {
        if utf8.count <= limit { return self }
        var text = self
        while text.utf8.count > limit { text.removeLast() }
        return text
    }
}
