/// The books on a device's logs: checkpoints, settled ranges, and the one clear that is due.
extension Store {
    /// One life of one log of one device.
    struct Line {
        let id: Int64
        let log: UInt32
        let base: UInt64
        let next: UInt64
        let cleared: UInt64
    }

    func currentLine(_ device: String) throws(OutboxError) -> Line? {
        try database.first("SELECT id, log, base, next, cleared FROM line WHERE device = ?1 AND current = 1", .text(device)) { row in
            Line(id: row.integer(0), log: row.log(1), base: row.sequence(2), next: row.sequence(3), cleared: row.sequence(4))
        }
    }

    /// The newest line under a log's name, whether it has ended or not.
    func latestLine(_ device: String, log: UInt32) throws(OutboxError) -> Int64? {
        try database.first("SELECT max(id) FROM line WHERE device = ?1 AND log = ?2", .text(device), .log(log)) { $0.optionalInteger(0) } ?? nil
    }

    func assignments(_ device: String) throws(OutboxError) -> [Assignment] {
        try database.all("SELECT log, first, owner FROM assignment WHERE device = ?1 ORDER BY log, first", .text(device)) { row in
            Assignment(log: row.log(0), first: row.sequence(1), owner: row.text(2))
        }
    }

    func settledRanges(_ line: Int64) throws(OutboxError) -> RangeSet {
        RangeSet(try database.all("SELECT first, end, crc FROM settled WHERE line = ?1 ORDER BY first", .integer(line)) { row in
            RangeSet.Span(first: row.sequence(0), end: row.sequence(1), tag: row.crc(2))
        })
    }

    /// Adds ranges to what is settled of a line.
    func addSettled(_ spans: [RangeSet.Span], to line: Int64) throws(OutboxError) {
        let before = try settledRanges(line)
        var after = before
        for span in spans { after.insert(span) }
        for span in before.spans where !after.spans.contains(span) {
            try database.run("DELETE FROM settled WHERE line = ?1 AND first = ?2", .integer(line), .sequence(span.first))
        }
        for span in after.spans where !before.spans.contains(span) {
            try database.run(
                "INSERT INTO settled VALUES (?1, ?2, ?3, ?4)", .integer(line), .sequence(span.first), .sequence(span.end),
                .optional(span.tag.map { Int64($0) }))
        }
        try seal(line: line)
    }

    /// Moves the checkpoint.
    func setNext(_ next: UInt64, of line: Int64) throws(OutboxError) {
        try database.run("UPDATE line SET next = ?2 WHERE id = ?1", .integer(line), .sequence(next))
        try seal(line: line)
    }

    /// Notes how far the collar has cleared.
    private func setCleared(_ end: UInt64, of line: Int64) throws(OutboxError) {
        try database.run("UPDATE line SET cleared = ?2 WHERE id = ?1", .integer(line), .sequence(end))
        try seal(line: line)
    }

    /// Moves the device's pending clear to the end of the contiguous settled prefix (invariant I1), unless the collar has confirmed that far.
    func movePendingClear(_ device: String) throws(OutboxError) {
        guard let line = try currentLine(device) else { return }
        let (end, crc) = try settledRanges(line.id).prefix(from: line.base)
        guard end > line.cleared else { return }
        let standing = try pendingClear(device)
        if let standing, standing.line == line.id, standing.clear.through == end - 1 { return }
        try database.run(
            "INSERT OR REPLACE INTO pending_clear VALUES (?1, ?2, ?3, ?4, 0)", .text(device), .integer(line.id), .sequence(end - 1),
            .optional(crc.map { Int64($0) }))
    }

    func pendingClear(_ device: String) throws(OutboxError) -> (line: Int64, clear: PendingClear)? {
        try database.first("""
            SELECT pending_clear.line, log, through, crc, refusals FROM pending_clear JOIN line ON line.id = pending_clear.line
            WHERE pending_clear.device = ?1
            """, .text(device)) { row in
            (row.integer(0), PendingClear(log: row.log(1), through: row.sequence(2), crc: row.crc(3), refusals: row.small(4)))
        }
    }

    // MARK: Changes

    func assign(device: String, log: UInt32, from first: UInt64, owner: String) throws(OutboxError) -> ChangeOutcome {
        guard let line = try currentLine(device), line.log == log else {
            return .refused(Refusal(.unknownLog, "\(device) is not known to write log \(log)"))
        }
        let standing = try assignments(device).filter { $0.log == log }
        if standing.contains(where: { $0.first == first && $0.owner == owner }) { return .done }
        if let what = WindowBatch.badText(owner, "owner", limit: 128) { return .refused(Refusal(.malformed, what)) }
        // What is stored has its owner for good; and nothing that is assigned may be taken between two boundaries.
        let fits = standing.allSatisfy { $0.first <= first } || standing.allSatisfy { $0.first > first }
        guard first >= line.next, first < OutboxSettings.sequenceLimit, fits else {
            return .refused(Refusal(.assignmentInPast, "\(device) is stored up to \(line.next); sequence \(first) has its owner already"))
        }
        try database.run("INSERT OR REPLACE INTO assignment VALUES (?1, ?2, ?3, ?4)", .text(device), .log(log), .sequence(first), .text(owner))
        try sealAssignments()
        return .done
    }

    func beginLog(device: String, log: UInt32, base: UInt64, formerEnd: UInt64?) throws(OutboxError) -> ChangeOutcome {
        if let refusal = Self.badStart(device: device, base: base) { return .refused(refusal) }
        if let former = try currentLine(device) {
            guard former.log != log else { return .refused(Refusal(.logExists, "\(device) writes log \(log) already")) }
            if let formerEnd, formerEnd > former.next, formerEnd < OutboxSettings.sequenceLimit {
                // A device that formats for ever must not fill the disk with its books.
                let open = try database.number("SELECT count(*) FROM unreported WHERE device = ?1", .text(device))
                guard open < OutboxSettings.unreportedLimit else {
                    return .refused(Refusal(.unreportedFull, "\(device) has \(open) former logs that no entry has reported"))
                }
                try database.run(
                    "INSERT INTO unreported VALUES (?1, ?2, ?3, ?4, ?5)", .integer(former.id), .text(device), .log(former.log), .sequence(former.next),
                    .sequence(formerEnd - former.next))
            }
            try end(former, of: device)
        }
        try insertLine(device, log: log, base: base)
        try prune(device)
        return .done
    }

    func restartLog(device: String, log: UInt32, base: UInt64) throws(OutboxError) -> ChangeOutcome {
        if let refusal = Self.badStart(device: device, base: base) { return .refused(refusal) }
        guard let former = try currentLine(device), former.log == log else {
            return .refused(Refusal(.unknownLog, "\(device) is not known to write log \(log)"))
        }
        try end(former, of: device)
        // Their boundaries counted in the former life's sequences and would give the new one's windows to the wrong person.
        try database.run("DELETE FROM assignment WHERE device = ?1 AND log = ?2", .text(device), .log(log))
        try sealAssignments()
        try insertLine(device, log: log, base: base)
        try prune(device)
        return .done
    }

    func cleared(device: String, log: UInt32, through: UInt64) throws(OutboxError) -> ChangeOutcome {
        guard let line = try currentLine(device), line.log == log else { return .done }
        if let pending = try pendingClear(device), pending.line == line.id, pending.clear.through == through {
            try database.run("DELETE FROM pending_clear WHERE device = ?1", .text(device))
        }
        let end = try settledRanges(line.id).prefix(from: line.base).end
        let confirmed = min(through < OutboxSettings.sequenceLimit ? through + 1 : through, end)
        if confirmed > line.cleared { try setCleared(confirmed, of: line.id) }
        return .done
    }

    func clearRefused(device: String, log: UInt32, through: UInt64) throws(OutboxError) -> ChangeOutcome {
        guard let pending = try pendingClear(device), pending.clear.log == log, pending.clear.through == through else { return .done }
        try database.run("UPDATE pending_clear SET refusals = min(refusals + 1, 1000) WHERE device = ?1", .text(device))
        return .done
    }

    func logEnded(device: String, log: UInt32) throws(OutboxError) -> ChangeOutcome {
        guard let pending = try pendingClear(device), pending.clear.log == log else { return .done }
        try database.run("DELETE FROM pending_clear WHERE device = ?1", .text(device))
        // Only a prefix that grows further makes a new one.
        try setCleared(pending.clear.through + 1, of: pending.line)
        return .done
    }

    // MARK: Lines

    private func insertLine(_ device: String, log: UInt32, base: UInt64) throws(OutboxError) {
        try database.run(
            "INSERT INTO line (device, log, base, next, cleared, current) VALUES (?1, ?2, ?3, ?3, ?3, 1)", .text(device), .log(log), .sequence(base))
        try seal(line: database.lastRow)
    }

    private func end(_ line: Line, of device: String) throws(OutboxError) {
        try database.run("UPDATE line SET current = 0 WHERE id = ?1", .integer(line.id))
        try seal(line: line.id)
        try database.run("DELETE FROM pending_clear WHERE device = ?1", .text(device))
    }

    private static func badStart(device: String, base: UInt64) -> Refusal? {
        if let what = WindowBatch.badText(device, "device", limit: 64) { return Refusal(.malformed, what) }
        return base < OutboxSettings.sequenceLimit ? nil : Refusal(.malformed, "base \(base)")
    }

    /// Forgets ended lines that nothing refers to any more, with what was booked on them.
    func prune(_ device: String) throws(OutboxError) {
        let unused = try database.all("""
            SELECT id, log FROM line WHERE device = ?1 AND current = 0
            AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.line = line.id)
            AND NOT EXISTS (SELECT 1 FROM gap WHERE gap.line = line.id)
            AND NOT EXISTS (SELECT 1 FROM unreported WHERE unreported.line = line.id)
            """, .text(device)) { ($0.integer(0), $0.log(1)) }
        for (id, log) in unused {
            try database.run("DELETE FROM settled WHERE line = ?1", .integer(id))
            try database.run("DELETE FROM line WHERE id = ?1", .integer(id))
            if try latestLine(device, log: log) == nil {
                try database.run("DELETE FROM assignment WHERE device = ?1 AND log = ?2", .text(device), .log(log))
                try sealAssignments()
            }
        }
    }

    // MARK: Seals

    /// Renews the digest over the books on a line.
    private func seal(line: Int64) throws(OutboxError) {
        try database.run("UPDATE line SET seal = ?2 WHERE id = ?1", .integer(line), .blob(try digest(line: line)))
    }

    private func digest(line: Int64) throws(OutboxError) -> [UInt8] {
        let fields = try database.first("SELECT device, log, base, next, cleared, current FROM line WHERE id = ?1", .integer(line)) {
            (device: $0.text(0), log: $0.log(1), numbers: [$0.sequence(2), $0.sequence(3), $0.sequence(4), $0.sequence(5)])
        }
        guard let fields else { return [] }
        return Fingerprint.of(line: fields.device, log: fields.log, numbers: fields.numbers, settled: try settledRanges(line))
    }

    /// What is wrong with the books by their digests; `nil` when nothing is.
    func brokenBooks() throws(OutboxError) -> String? {
        let lines = try database.all("SELECT id, device, seal FROM line") { (id: $0.integer(0), device: $0.text(1), seal: $0.blob(2)) }
        for line in lines {
            if try digest(line: line.id) != line.seal { return "the books on \(line.device) do not match their digest" }
            guard let pending = try pendingClear(line.device), pending.line == line.id, let current = try currentLine(line.device) else { continue }
            let end = try settledRanges(current.id).prefix(from: current.base).end
            if pending.line != current.id || pending.clear.through >= end { return "the pending clear of \(line.device) is beyond what is settled" }
        }
        let digest = try database.first("SELECT value FROM meta WHERE name = 'assignments-digest'") { $0.blob(0) } ?? []
        let assignments = try allAssignments()
        if !assignments.isEmpty || !digest.isEmpty, Fingerprint.of(assignments: assignments) != digest { return "the assignments do not match their digest" }
        return nil
    }

    /// Every assignment of every device, in the order of the table.
    func allAssignments() throws(OutboxError) -> [(device: String, assignment: Assignment)] {
        try database.all("SELECT device, log, first, owner FROM assignment ORDER BY device, log, first") { row in
            (row.text(0), Assignment(log: row.log(1), first: row.sequence(2), owner: row.text(3)))
        }
    }

    /// Renews the digest by which the table of assignments proves to be whole after a salvage.
    func sealAssignments() throws(OutboxError) {
        let digest = Fingerprint.of(assignments: try allAssignments())
        try database.run("UPDATE meta SET value = ?1 WHERE name = 'assignments-digest'", .blob(digest))
    }
}
