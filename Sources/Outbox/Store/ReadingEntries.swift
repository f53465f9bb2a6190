import Platform

/// Entries of readings: up to 64 of one owner, open until they are first sent.
///
/// They lie in the table of entries like those of windows, without device, log and line, and their readings in a table of their own. What is looked up by name
/// is found by a scan: there are rarely more than a few, and `quick_check` does not compare an index with its table.
extension Store {
    func storeReading(_ record: ReadingRecord) throws(OutboxError) -> ChangeOutcome {
        if let refusal = record.malformation(needsOwner: true) { return .refused(refusal) }
        if try isKnown(record.name) { return .readingKnown }
        guard try isConfigured(record.owner) else { return .refused(Refusal(.ownerNotConfigured, "\(record.owner) is not a configured owner")) }
        if let entry = try openEntry(.queued, owner: record.owner, reason: nil) { return .readingStored(try append([record], to: entry)) }
        if let refusal = try noPlace(for: .cuff) { return .refused(refusal) }
        return .readingStored(try append([record], to: try makeEntry(.queued, owner: record.owner, reason: nil)))
    }

    func setReadingAside(_ record: ReadingRecord, reason: String) throws(OutboxError) -> ChangeOutcome {
        if let refusal = record.malformation(needsOwner: false) { return .refused(refusal) }
        if try isKnown(record.name) { return .readingKnown }
        guard let entry = try quarantineEntry(for: record, reason: reason) else { return .refused(fullQuarantine) }
        return .readingStored(try append([record], to: entry))
    }

    func freeze(_ id: EntryID) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id), row.kind == .cuff else { return .refused(.unknown(id)) }
        try database.run("DELETE FROM open_entry WHERE entry = ?1", .integer(row.id))
        return .done
    }

    func settleReadings(_ id: EntryID, _ receipt: ReadingsReceiptRecord) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id), row.kind == .cuff else { return try settledBefore(id, key: receipt.key) }
        let parts = try parts(row.id)
        let part = parts.first { $0.key == receipt.key }
        guard parts.isEmpty ? receipt.key == row.key : part != nil else {
            return .refused(Refusal(.wrongKey, "entry \(id) was not sent as \(receipt.key)"))
        }
        if part?.receipt != nil { return .settledBefore }
        guard let readings = try verifiedReadings(row, id) else { return .refused(.damaged(id)) }
        let range = part?.range ?? PartRange(first: 0, count: row.count)
        let places = receipt.accepted + receipt.conflicting
        guard places.count == range.count, Set(places) == Set(Int(range.first)..<Int(range.first) + range.count) else {
            return .refused(Refusal(.malformed, "the receipt is not about just the readings that were sent"))
        }
        // Copied before the entry goes: it must stay what was stored for as long as another part of it is to be sent.
        if !receipt.conflicting.isEmpty, try !copy(receipt.conflicting.sorted().map { readings[$0] }, reason: receipt.reason) { return .refused(fullQuarantine) }
        try remember(ReceiptRecord(receipt: receipt.key, key: receipt.key), for: id)
        if let part {
            try database.run("UPDATE part SET receipt = ?3 WHERE entry = ?1 AND position = ?2", .integer(row.id), .integer(Int64(part.index)), .text(receipt.key))
            let remaining = parts.count { $0.receipt == nil } - 1
            if remaining > 0 { return .partSettled(remaining: remaining) }
        }
        return .settled(try close(row))
    }

    func setAside(_ position: Int, of id: EntryID, reason: String) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id), row.kind == .cuff else { return .refused(.unknown(id)) }
        guard row.state == .queued else { return .refused(Refusal(.notQueued, "entry \(id) is not in the queue")) }
        guard try parts(row.id).allSatisfy({ $0.receipt == nil }) else {
            return .refused(Refusal(.malformed, "a part of entry \(id) has its receipt; set the rest aside"))
        }
        guard var readings = try verifiedReadings(row, id) else { return .refused(.damaged(id)) }
        guard readings.indices.contains(position) else { return .refused(Refusal(.malformed, "entry \(id) has no reading \(position)")) }
        guard try copy([readings.remove(at: position)], reason: reason) else { return .refused(fullQuarantine) }
        guard !readings.isEmpty else {
            try remove(row.id)
            return .done
        }
        // What is left is another content, and gets another key.
        try database.run("DELETE FROM reading WHERE entry = ?1", .integer(row.id))
        try database.run("DELETE FROM part WHERE entry = ?1", .integer(row.id))
        try write(readings, from: 0, to: row.id)
        try seal(row.id)
        let key = try newName()
        try database.run("UPDATE entry SET key = ?2 WHERE id = ?1", .integer(row.id), .text(key))
        return .rekeyed(key)
    }

    // MARK: Queries

    func loadReadings(_ name: EntryID) throws(OutboxError) -> StoredReadings {
        guard let row = try row(name), row.kind == .cuff, let head = try head(name) else { throw OutboxError(.unknownEntry, "no entry of readings \(name)") }
        guard let readings = try verifiedReadings(row, name) else { throw OutboxError(.damagedEntry, "entry \(name): its digest does not match its bytes") }
        let open = try database.number("SELECT count(*) FROM open_entry WHERE entry = ?1", .integer(row.id))
        return StoredReadings(head: head, readings: readings, isOpen: open > 0)
    }

    /// The readings of an entry if they are those that were stored.
    func verifiedReadings(_ row: EntryRow, _ name: EntryID) throws(OutboxError) -> [ReadingRecord]? {
        let readings = try readings(row.id, owner: row.owner)
        let stored = try database.first("SELECT fingerprint FROM entry WHERE id = ?1", .integer(row.id)) { $0.blob(0) }
        guard readings.count == row.count, row.count > 0, stored == Fingerprint.of(readings, name: name.text, owner: row.owner) else { return nil }
        return readings
    }

    /// Names that were delivered, or settled by an operator: a cuff that sends them again sends nothing new.
    func rememberReadings(of entry: Int64) throws(OutboxError) {
        // One that conflicts lies in another entry meanwhile; it is known by that as well.
        try remember(readings: try database.all("SELECT name FROM reading WHERE entry = ?1 ORDER BY position", .integer(entry)) { $0.text(0) })
    }

    func remember(readings names: [String]) throws(OutboxError) {
        if names.isEmpty { return }
        for name in names { try database.run("INSERT INTO delivered_reading (mark) VALUES (?1)", .blob(Self.mark(name))) }
        try database.run("DELETE FROM delivered_reading WHERE id <= ?1", .integer(database.lastRow - Int64(settings.readingMemory)))
    }

    private func isKnown(_ name: String) throws(OutboxError) -> Bool {
        let stored = try database.number("SELECT count(*) FROM reading WHERE name = ?1", .text(name))
        let delivered = try database.number("SELECT count(*) FROM delivered_reading WHERE mark = ?1", .blob(Self.mark(name)))
        return stored + delivered > 0
    }

    private static func mark(_ name: String) -> [UInt8] { Array(SHA256.digest(Array(name.utf8)).prefix(16)) }

    private func readings(_ entry: Int64, owner: String) throws(OutboxError) -> [ReadingRecord] {
        try database.all("SELECT name, device, received, octets FROM reading WHERE entry = ?1 ORDER BY position", .integer(entry)) { row in
            ReadingRecord(name: row.text(0), owner: owner, device: row.text(1), received: row.integer(2), octets: row.blob(3))
        }
    }

    // MARK: Writing

    /// The entry that further readings of this kind join.
    private func openEntry(_ state: EntryState, owner: String, device: String = "", reason: String?) throws(OutboxError) -> Int64? {
        let candidates = try database.all("""
            SELECT entry.id, entry.name FROM entry JOIN open_entry ON open_entry.entry = entry.id
            WHERE entry.state = ?1 AND entry.kind = ?2 AND entry.owner = ?3 AND entry.device = ?4 AND entry.reason IS ?5 AND entry.count < ?6 ORDER BY entry.id
            """, .integer(Int64(state.rawValue)), .integer(Int64(DeviceKind.cuff.rawValue)), .text(owner), .text(device), .optional(reason),
            .integer(Int64(OutboxSettings.readingLimit))) { (id: $0.integer(0), name: EntryID(trusted: $0.text(1))) }
        for candidate in candidates {
            // What joins an entry renews its digest: one that is damaged would be taken for whole from then on.
            if let row = try row(candidate.name), try verifiedReadings(row, candidate.name) != nil { return candidate.id }
            try database.run("DELETE FROM open_entry WHERE entry = ?1", .integer(candidate.id))
        }
        return nil
    }

    private func quarantineEntry(for reading: ReadingRecord, reason: String) throws(OutboxError) -> Int64? {
        let reason = reason.bounded(128)
        if let entry = try openEntry(.quarantined, owner: reading.owner, device: reading.device, reason: reason) { return entry }
        guard try entries(in: .quarantined) < settings.quarantineCapacity else { return nil }
        return try makeEntry(.quarantined, owner: reading.owner, device: reading.device, reason: reason)
    }

    private var fullQuarantine: Refusal { Refusal(.quarantineFull, "all \(settings.quarantineCapacity) places in quarantine are taken") }

    /// An entry without readings; one is appended within the same change.
    private func makeEntry(_ state: EntryState, owner: String, device: String = "", reason: String?) throws(OutboxError) -> Int64 {
        let name = try newName()
        try database.run("""
            INSERT INTO entry (name, state, kind, owner, device, log, line, first, count, next, received, clock, tail, digest, fingerprint,
                               attempts, exhausted, generation, key, reason)
            VALUES (?1, ?2, ?3, ?4, ?6, 0, NULL, 0, 0, 0, 0, '', NULL, x'', x'', 0, 0, 0, ?1, ?5)
            """, .text(name), .integer(Int64(state.rawValue)), .integer(Int64(DeviceKind.cuff.rawValue)), .text(owner), .optional(reason), .text(device))
        let entry = database.lastRow
        try database.run("INSERT INTO open_entry VALUES (?1)", .integer(entry))
        return entry
    }

    private func append(_ records: [ReadingRecord], to entry: Int64) throws(OutboxError) -> EntryID {
        let count = Int(clamping: try database.number("SELECT count(*) FROM reading WHERE entry = ?1", .integer(entry)))
        try write(records, from: count, to: entry)
        return try seal(entry)
    }

    func write(_ records: [ReadingRecord], from first: Int, to entry: Int64) throws(OutboxError) {
        for (place, record) in records.enumerated() {
            try database.run(
                "INSERT INTO reading VALUES (?1, ?2, ?3, ?4, ?5, ?6)", .integer(entry), .integer(Int64(first + place)), .text(record.name),
                .text(record.device), .integer(record.received), .blob(record.octets))
        }
    }

    /// Renews what an entry says of its readings.
    @discardableResult
    func seal(_ entry: Int64) throws(OutboxError) -> EntryID {
        let fixed = try database.first("SELECT name, owner FROM entry WHERE id = ?1", .integer(entry)) { (name: $0.text(0), owner: $0.text(1)) }
        guard let fixed else { throw OutboxError(.inconsistent, "an entry of readings has gone within its change") }
        let readings = try readings(entry, owner: fixed.owner)
        try database.run(
            "UPDATE entry SET count = ?2, received = ?3, digest = ?4, fingerprint = ?5 WHERE id = ?1", .integer(entry), .integer(Int64(readings.count)),
            .integer(readings.first?.received ?? 0), .blob(SHA256.digest(readings.flatMap(\.octets))), .blob(Fingerprint.of(readings, name: fixed.name, owner: fixed.owner)))
        if readings.count >= OutboxSettings.readingLimit { try database.run("DELETE FROM open_entry WHERE entry = ?1", .integer(entry)) }
        return EntryID(trusted: fixed.name)
    }

    /// Copies readings into quarantine.
    ///
    /// - Returns: whether there was room for all of them.
    private func copy(_ readings: [ReadingRecord], reason: String) throws(OutboxError) -> Bool {
        for reading in readings {
            guard let entry = try quarantineEntry(for: reading, reason: reason) else { return false }
            _ = try append([reading], to: entry)
        }
        return true
    }

    /// Writes an entry of readings taken from a broken file. It is frozen: whether it was sent is not known.
    func take(_ readings: [ReadingRecord], _ head: EntryHead) throws(OutboxError) {
        try database.run("""
            INSERT INTO entry (name, state, kind, owner, device, log, line, first, count, next, received, clock, tail, digest, fingerprint,
                               attempts, exhausted, generation, key)
            VALUES (?1, 0, ?2, ?3, '', 0, NULL, 0, 0, 0, 0, '', NULL, x'', x'', 0, 0, 0, ?1)
            """, .text(head.id.text), .integer(Int64(DeviceKind.cuff.rawValue)), .text(head.owner))
        let entry = database.lastRow
        try write(readings, from: 0, to: entry)
        try seal(entry)
    }
}

extension ReadingRecord {
    /// What is wrong with the reading by itself.
    fileprivate func malformation(needsOwner: Bool) -> Refusal? {
        if let what = WindowBatch.badText(name, "name", limit: 96) ?? WindowBatch.badText(device, "device", limit: 64) { return Refusal(.malformed, what) }
        if needsOwner || !owner.isEmpty, let what = WindowBatch.badText(owner, "owner", limit: 128) { return Refusal(.malformed, what) }
        guard (1...OutboxSettings.readingSize).contains(octets.count) else {
            return Refusal(.malformed, "a reading of \(octets.count) bytes; 1 to \(OutboxSettings.readingSize) are allowed")
        }
        return nil
    }
}
