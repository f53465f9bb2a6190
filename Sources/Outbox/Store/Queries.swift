import Platform

/// What is read from the books.
extension Store {
    /// What the changes need of an entry.
    struct EntryRow {
        let id: Int64
        let state: EntryState
        let kind: DeviceKind
        let owner: String
        let device: String
        let log: UInt32
        let line: Int64?
        let first: UInt64
        let count: Int
        let tail: UInt16?
        let generation: Int
        let key: String
    }

    func row(_ id: EntryID) throws(OutboxError) -> EntryRow? {
        try database.first("""
            SELECT id, state, kind, owner, device, log, line, first, count, tail, generation, key FROM entry WHERE name = ?1
            """, .text(id.text)) { row in
            EntryRow(
                id: row.integer(0), state: EntryState(rawValue: row.small(1)) ?? .quarantined, kind: DeviceKind(rawValue: row.small(2)) ?? .collar,
                owner: row.text(3), device: row.text(4), log: row.log(5), line: row.optionalInteger(6), first: row.sequence(7),
                count: min(row.small(8), OutboxSettings.windowLimit), tail: row.crc(9), generation: row.small(10), key: row.text(11))
        }
    }

    func parts(_ entry: Int64) throws(OutboxError) -> [EntryPart] {
        try database.all("SELECT position, first, count, key, receipt FROM part WHERE entry = ?1 ORDER BY first", .integer(entry)) { row in
            EntryPart(index: row.small(0), range: PartRange(first: row.sequence(1), count: row.small(2)), key: row.text(3), receipt: row.optionalText(4))
        }
    }

    func body(_ entry: Int64) throws(OutboxError) -> [UInt8] {
        try database.first("SELECT bytes FROM body WHERE entry = ?1", .integer(entry)) { $0.blob(0) } ?? []
    }

    func heads(in state: EntryState) throws(OutboxError) -> [EntryHead] {
        let names = try database.all("SELECT name FROM entry WHERE state = ?1 ORDER BY id", .integer(Int64(state.rawValue))) { EntryID(trusted: $0.text(0)) }
        var heads: [EntryHead] = []
        for name in names {
            if let head = try head(name) { heads.append(head) }
        }
        return heads
    }

    func head(_ name: EntryID) throws(OutboxError) -> EntryHead? {
        guard let row = try row(name) else { return nil }
        let parts = try parts(row.id)
        return try database.first("""
            SELECT attempts, exhausted, failure, reason, received, (SELECT count(*) FROM gap WHERE gap.entry = entry.id),
                   (SELECT total(length(octets)) FROM reading WHERE reading.entry = entry.id) FROM entry WHERE id = ?1
            """, .integer(row.id)) { more in
            EntryHead(
                id: name, state: row.state, kind: row.kind, owner: row.owner, device: row.device, log: row.log, first: row.first, count: row.count,
                byteCount: row.kind == .cuff ? more.small(6) : row.count * OutboxSettings.windowSize, gapCount: more.small(5), attempts: more.small(0), exhausted: more.integer(1) != 0,
                lastFailure: more.optionalText(2), keyGeneration: row.generation, idempotencyKey: row.key, order: row.id,
                quarantineReason: more.optionalText(3), received: more.integer(4), parts: parts)
        }
    }

    /// The entry whole, if its bytes are those that were stored.
    func load(_ name: EntryID) throws(OutboxError) -> StoredEntry {
        guard let head = try head(name), head.kind == .collar else { throw OutboxError(.unknownEntry, "no entry of windows \(name)") }
        guard let (batch, digest) = try verified(name) else { throw OutboxError(.damagedEntry, "entry \(name): its digest does not match its bytes") }
        return StoredEntry(head: head, body: batch.body, gaps: batch.gaps, received: batch.received, clock: batch.clock, digest: digest)
    }

    /// What was enqueued as this entry, and the digest of its body; `nil` when a digest does not match.
    func verified(_ name: EntryID) throws(OutboxError) -> (batch: WindowBatch, digest: [UInt8])? {
        guard let row = try row(name), let (head, digest) = try verifiedHead(row, name) else { return nil }
        var batch = head
        batch.body = try body(row.id)
        guard batch.count == row.count, batch.body.count % OutboxSettings.windowSize == 0, SHA256.digest(batch.body) == digest else { return nil }
        return (batch, digest)
    }

    /// The same without the body, which is left empty: enough to trust the owner and the ranges.
    func verifiedHead(_ row: EntryRow, _ name: EntryID) throws(OutboxError) -> (batch: WindowBatch, digest: [UInt8])? {
        let fixed = try database.first("SELECT next, received, clock, digest, fingerprint FROM entry WHERE id = ?1", .integer(row.id)) {
            (next: $0.sequence(0), received: $0.integer(1), clock: $0.text(2), digest: $0.blob(3), fingerprint: $0.blob(4))
        }
        let gaps = try database.all("SELECT log, first, count, reason, line FROM gap WHERE entry = ?1 ORDER BY position", .integer(row.id)) { row in
            (GapReason(rawValue: row.text(3)).map { SequenceGap(log: row.log(0), first: row.sequence(1), count: row.sequence(2), reason: $0) },
             row.optionalInteger(4))
        }
        guard let fixed, gaps.allSatisfy({ $0.0 != nil }) else { return nil }
        let batch = WindowBatch(
            device: row.device, owner: row.owner, log: row.log, first: row.first, body: [], gaps: gaps.compactMap(\.0),
            received: fixed.received, clock: fixed.clock, next: fixed.next)
        let frame = Fingerprint.Frame(
            name: name.text, kind: row.kind, count: row.count, tail: row.tail, digest: fixed.digest, lines: [row.line] + gaps.map(\.1))
        return Fingerprint.of(batch, frame) == fixed.fingerprint ? (batch, fixed.digest) : nil
    }

    /// The stored entries, wherever they lie, whose digest does not match.
    func damagedEntries() throws(OutboxError) -> [EntryID] {
        var damaged: [EntryID] = []
        let names = try database.all("SELECT name FROM entry ORDER BY id") { EntryID(trusted: $0.text(0)) }
        for name in names {
            guard let row = try row(name) else { continue }
            let isWhole = row.kind == .cuff ? try verifiedReadings(row, name) != nil : try verified(name) != nil
            if !isWhole { damaged.append(name) }
        }
        return damaged
    }

    func device(_ serial: String) throws(OutboxError) -> DeviceRecord? {
        let assignments = try assignments(serial)
        let line = try currentLine(serial)
        let lost = try lostAssignments()
        if line == nil, assignments.isEmpty { return lost ? DeviceRecord(unknown: serial) : nil }
        var current: DeviceLog?
        if let line {
            let end = try settledRanges(line.id).prefix(from: line.base).end
            current = DeviceLog(log: line.log, base: line.base, next: line.next, settledEnd: end, clearedEnd: line.cleared)
        }
        let unreported = try database.all("SELECT log, first, count FROM unreported WHERE device = ?1 ORDER BY line", .text(serial)) {
            SequenceGap(log: $0.log(0), first: $0.sequence(1), count: $0.sequence(2), reason: .reformatted)
        }
        return DeviceRecord(
            serial: serial, current: current, assignments: assignments, assignmentsLost: lost && assignments.isEmpty,
            pendingClear: try pendingClear(serial)?.clear, unreported: unreported)
    }

    func lostAssignments() throws(OutboxError) -> Bool {
        try database.number("SELECT value FROM meta WHERE name = 'assignments-lost'") != 0
    }

    func evidenceCount() throws(OutboxError) -> Int { Int(clamping: try database.number("SELECT count(*) FROM evidence")) }

    func evidence() throws(OutboxError) -> [EvidenceRecord] {
        try database.all("SELECT id, device, owner, log, sequence, code, receipt, bytes FROM evidence ORDER BY id") { row in
            EvidenceRecord(
                number: row.integer(0), device: row.text(1), owner: row.text(2), log: row.log(3), sequence: row.sequence(4), code: row.text(5),
                receipt: row.text(6), window: row.blob(7))
        }
    }

    func auditLines() throws(OutboxError) -> [AuditLine] {
        try database.all("SELECT at, actor, act FROM audit ORDER BY id") { AuditLine(at: $0.integer(0), by: $0.text(1), act: $0.text(2)) }
    }

    func snapshot(logBytes: Int64) throws(OutboxError) -> OutboxSnapshot {
        let queued = try heads(in: .queued)
        let free = settings.places - queued.count
        let collars = queued.count { $0.kind == .collar }
        return OutboxSnapshot(
            queued: queued, quarantined: try heads(in: .quarantined), sealed: try heads(in: .sealed), evidence: try evidenceCount(),
            freePlaces: free, freeCollarPlaces: min(free, settings.collarPlaces - collars),
            devices: try database.all("SELECT device FROM line UNION SELECT device FROM assignment ORDER BY 1") { $0.text(0) },
            owners: Set(try database.all("SELECT key FROM owner") { $0.text(0) }),
            space: SpaceReport(
                pages: Int(clamping: try database.number("PRAGMA page_count")), freePages: Int(clamping: try database.number("PRAGMA freelist_count")),
                logBytes: logBytes, provision: Provision(settings)))
    }
}

extension DeviceRecord {
    /// A device without books after a broken file was replaced: whose it was cannot be known.
    init(unknown serial: String) {
        self.init(serial: serial, current: nil, assignments: [], assignmentsLost: true, pendingClear: nil, unreported: [])
    }
}
