import Platform

/// Step 3: the entry and the checkpoint, in one transaction.
extension Store {
    func enqueue(_ batch: WindowBatch) throws(OutboxError) -> ChangeOutcome {
        if let refusal = batch.malformation { return .refused(refusal) }
        guard let line = try currentLine(batch.device), line.log == batch.log else {
            return .refused(Refusal(.unknownLog, "\(batch.device) is not known to write log \(batch.log)"))
        }
        if let refusal = batch.coverage(from: line.next) { return .refused(refusal) }
        if let refusal = try ownership(of: batch, checkpoint: line.next) { return .refused(refusal) }
        if let refusal = try noPlace(for: .collar) { return .refused(refusal) }

        let name = try newName()
        try insert(batch, name: name, kind: .collar, line: line.id)
        try reportRests(batch)
        try setNext(batch.next, of: line.id)
        return .enqueued(EntryID(trusted: name))
    }

    /// Writes the rows of an entry as it is at first.
    func insert(_ batch: WindowBatch, name: String, kind: DeviceKind, line: Int64?) throws(OutboxError) {
        var gapLines: [Int64?] = []
        for gap in batch.gaps { gapLines.append(gap.log == batch.log ? line : try latestLine(batch.device, log: gap.log)) }
        let frame = Fingerprint.Frame(
            name: name, kind: kind, count: batch.count, tail: batch.tail, digest: SHA256.digest(batch.body), lines: [line] + gapLines)
        try database.run("""
            INSERT INTO entry (name, state, kind, owner, device, log, line, first, count, next, received, clock, tail, digest, fingerprint,
                               attempts, exhausted, generation, key)
            VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0, 0, 0, ?1)
            """,
            .text(name), .integer(Int64(kind.rawValue)), .text(batch.owner), .text(batch.device), .log(batch.log), .optional(line),
            .sequence(batch.first), .integer(Int64(batch.count)), .sequence(batch.next), .integer(batch.received), .text(batch.clock),
            .optional(batch.tail.map { Int64($0) }), .blob(frame.digest), .blob(Fingerprint.of(batch, frame)))
        let id = database.lastRow
        try database.run("INSERT INTO body VALUES (?1, ?2)", .integer(id), .blob(batch.body))
        for (position, gap) in batch.gaps.enumerated() {
            try database.run(
                "INSERT INTO gap VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", .integer(id), .integer(Int64(position)), .log(gap.log),
                .optional(gapLines[position]), .sequence(gap.first), .sequence(gap.count), .text(gap.reason.rawValue))
        }
    }

    /// Rests of former logs that the batch reports whole are reported now.
    private func reportRests(_ batch: WindowBatch) throws(OutboxError) {
        for gap in batch.gaps where gap.log != batch.log {
            try database.run(
                "DELETE FROM unreported WHERE device = ?1 AND log = ?2 AND first >= ?3 AND first + count <= ?4",
                .text(batch.device), .log(gap.log), .sequence(gap.first), .sequence(gap.first + gap.count))
        }
    }

    /// Invariant I4: each window has the owner that its device had when it was recorded, and it can be sent as that owner.
    private func ownership(of batch: WindowBatch, checkpoint: UInt64) throws(OutboxError) -> Refusal? {
        let assignments = try assignments(batch.device).filter { $0.log == batch.log }
        func owner(of sequence: UInt64) -> String? { assignments.last { $0.first <= sequence }?.owner }
        // Only windows are somebody's. Gaps carry no data; whoever owns the device at their edge may report them.
        let last = batch.count > 0 ? batch.first + UInt64(batch.count) - 1 : batch.next
        let first = batch.count > 0 ? batch.first : checkpoint
        let inside = assignments.filter { $0.first > first && $0.first <= last }.map { Optional($0.owner) }
        let owners = [owner(of: first)] + inside
        let fits = batch.count > 0 ? owners.allSatisfy { $0 == batch.owner } : owners.contains(batch.owner)
        guard fits else {
            let names = owners.map { $0 ?? "nobody" }.joined(separator: ", ")
            return Refusal(.wrongOwner, "windows from \(first) of \(batch.device) belong to \(names), not to \(batch.owner)")
        }
        return try isConfigured(batch.owner) ? nil : Refusal(.ownerNotConfigured, "\(batch.owner) is not a configured owner")
    }
}

extension WindowBatch {
    /// The CRC of the last window: its bytes 8 and 9 (collar profile, section Window).
    var tail: UInt16? {
        guard count > 0 else { return nil }
        let start = body.count - OutboxSettings.windowSize
        return UInt16(body[start + 8]) | UInt16(body[start + 9]) << 8
    }

    /// What is wrong with the batch by itself.
    var malformation: Refusal? {
        func bad(_ what: String) -> Refusal { Refusal(.malformed, what) }
        if let what = Self.badText(device, "device", limit: 64) ?? Self.badText(owner, "owner", limit: 128) ?? Self.badText(clock, "clock", limit: 128) {
            return bad(what)
        }
        guard body.count % OutboxSettings.windowSize == 0 else { return bad("a body of \(body.count) bytes is no whole number of windows") }
        guard count <= OutboxSettings.windowLimit else { return bad("\(count) windows; \(OutboxSettings.windowLimit) are allowed") }
        guard count > 0 || !gaps.isEmpty else { return bad("neither windows nor gaps") }
        guard gaps.count <= OutboxSettings.gapLimit else { return bad("\(gaps.count) gaps; \(OutboxSettings.gapLimit) are allowed") }
        let limit = OutboxSettings.sequenceLimit
        guard first < limit, next < limit, next >= first + UInt64(count) else { return bad("range \(first)+\(count) with next \(next)") }
        for gap in gaps {
            guard gap.count > 0, gap.count < limit, gap.first < limit - gap.count else { return bad("gap \(gap.first)+\(gap.count)") }
            if gap.reason == .damaged {
                guard gap.log == log, gap.first >= first, gap.first + gap.count <= first + UInt64(count) else {
                    return bad("damaged windows \(gap.first)+\(gap.count) outside the body")
                }
            }
        }
        return nil
    }

    /// Body and gaps cover just what lies between the checkpoint and `next`.
    func coverage(from checkpoint: UInt64) -> Refusal? {
        var pieces = gaps.filter { $0.log == log && $0.reason != .damaged }.map { ($0.first, $0.first + $0.count) }
        if count > 0 { pieces.append((first, first + UInt64(count))) }
        pieces.sort { $0 < $1 }
        var reached = checkpoint
        for (start, end) in pieces {
            if start < checkpoint { return Refusal(.staleCheckpoint, "starts at \(start); the checkpoint is \(checkpoint)") }
            if start < reached { return Refusal(.overlap, "\(start) is covered twice") }
            if start > reached { return Refusal(.hole, "nothing covers \(reached) to \(start - 1)") }
            reached = end
        }
        if reached < next { return Refusal(.hole, "nothing covers \(reached) to \(next - 1)") }
        if reached > next { return Refusal(.malformed, "next is \(next), but the batch reaches \(reached)") }
        if count == 0, first < checkpoint || first > next { return Refusal(.malformed, "first \(first) outside \(checkpoint) to \(next)") }
        return nil
    }

    private static func badText(_ text: String, _ name: String, limit: Int) -> String? {
        let bytes = text.utf8
        if bytes.isEmpty || bytes.count > limit { return "\(name) of \(bytes.count) bytes; 1 to \(limit) are allowed" }
        // These texts go into headers; a line break there would be another header.
        return bytes.allSatisfy { (32...126).contains($0) } ? nil : "\(name) has characters other than visible ASCII"
    }
}
