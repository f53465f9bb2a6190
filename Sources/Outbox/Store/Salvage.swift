/// Takes what is certain out of a broken outbox: entries, bonds and adopted addresses whose digests are right, and the
/// assignments of collars and of cuffs if they are whole.
///
/// Checkpoints, settled ranges and marks of files are not taken: a wrong one would clear what was never delivered, or never read it. The devices are read again from what
/// they still hold, and the backend removes the duplicates. The broken file is not changed.
struct Salvage {
    struct Result {
        var saved = 0
        var lost = 0
        var bonds = 0
        var assignmentsLost = true
    }

    private let source: Store?

    /// Opens the broken file, if SQLite can. An empty one is left alone: SQLite would delete the write-ahead log beside it.
    init(from path: String, isEmpty: Bool, settings: OutboxSettings) {
        source = isEmpty ? nil : try? Self.open(path, settings)
    }

    private static func open(_ path: String, _ settings: OutboxSettings) throws(OutboxError) -> Store {
        let database = try Database(path, mode: .evidence, vfs: settings.vfs)
        try database.script("PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;")
        try database.persistLog()
        return Store(database, settings: settings, random: SystemRandomNumberGenerator())
    }

    func move(into target: Store) throws(OutboxError) -> Result {
        var result = Result()
        guard let source else {
            try target.noteLostAssignments()
            try target.noteLostCuffAssignments()
            return result
        }
        defer { source.database.close() }
        if let assignments = source.wholeAssignments() {
            try target.database.transaction { () throws(OutboxError) in try target.take(assignments) }
            result.assignmentsLost = false
        } else {
            try target.noteLostAssignments()
        }
        if let assignments = source.wholeCuffAssignments() {
            try target.database.transaction { () throws(OutboxError) in try target.take(assignments) }
        } else {
            try target.noteLostCuffAssignments()
            result.assignmentsLost = true
        }
        try target.database.transaction { () throws(OutboxError) in
            for owner in source.readableOwners() { try target.database.run("INSERT OR IGNORE INTO owner VALUES (?1)", .text(owner)) }
        }
        for number in source.entryNumbers() {
            guard let found = source.salvageable(number) else {
                result.lost += 1
                continue
            }
            try target.database.transaction { () throws(OutboxError) in try target.take(found) }
            result.saved += 1
        }
        result.bonds = try target.takeReach(from: source)
        return result
    }
}

/// An entry taken from a broken file.
struct SalvagedEntry {
    enum Content {
        case windows(WindowBatch)
        case readings([ReadingRecord])
    }

    let content: Content
    let head: EntryHead
}

extension Store {
    // MARK: The broken file: whatever fails costs only itself

    func wholeAssignments() -> [(device: String, assignment: Assignment)]? {
        guard let digest = try? database.first("SELECT value FROM meta WHERE name = 'assignments-digest'", read: { $0.blob(0) }),
              let lost = try? lostAssignments(), !lost, let assignments = try? allAssignments()
        else { return nil }
        if digest.isEmpty, assignments.isEmpty { return [] }
        return Fingerprint.of(assignments: assignments) == digest ? assignments : nil
    }

    func readableOwners() -> [String] { (try? database.all("SELECT key FROM owner") { $0.text(0) }) ?? [] }

    /// The row numbers of entries, found from both ends and from both tables: a scan ends at the first broken page.
    func entryNumbers() -> [Int64] {
        var numbers: Set<Int64> = []
        for sql in ["SELECT id FROM entry ORDER BY id", "SELECT id FROM entry ORDER BY id DESC", "SELECT entry FROM body ORDER BY entry",
                    "SELECT entry FROM body ORDER BY entry DESC"] {
            numbers.formUnion(database.asFarAsReadable(sql) { $0.integer(0) })
        }
        return numbers.sorted()
    }

    func salvageable(_ number: Int64) -> SalvagedEntry? {
        guard let name = try? database.first("SELECT name FROM entry WHERE id = ?1", .integer(number), read: { $0.text(0) }),
              let id = EntryID(name), let row = try? row(id), let head = try? head(id)
        else { return nil }
        switch row.kind {
        case .collar:
            guard let found = try? verified(id) else { return nil }
            return SalvagedEntry(content: .windows(found.batch), head: head)
        case .cuff:
            guard let readings = try? verifiedReadings(row, id) else { return nil }
            return SalvagedEntry(content: .readings(readings), head: head)
        }
    }

    // MARK: The new file

    func take(_ assignments: [(device: String, assignment: Assignment)]) throws(OutboxError) {
        for (device, assignment) in assignments {
            try database.run(
                "INSERT INTO assignment VALUES (?1, ?2, ?3, ?4)", .text(device), .log(assignment.log), .sequence(assignment.first), .text(assignment.owner))
        }
        try sealAssignments()
    }

    /// Writes the entry without a line: it will be delivered, but settles nothing, as the books that it belonged to are gone.
    func take(_ found: SalvagedEntry) throws(OutboxError) {
        let head = found.head
        if try database.number("SELECT count(*) FROM entry WHERE name = ?1", .text(head.id.text)) > 0 { return }
        switch found.content {
        case .windows(let batch): try insert(batch, name: head.id.text, kind: head.kind, line: nil)
        case .readings(let readings): try take(readings, head)
        }
        guard let row = try row(head.id) else { return }
        // The key is outside the fingerprint, as it changes once; one that is broken is replaced by the first.
        let key = EntryID(head.idempotencyKey) == nil ? head.id.text : head.idempotencyKey
        try database.run("""
            UPDATE entry SET state = ?2, attempts = ?3, exhausted = ?4, failure = ?5, generation = ?6, key = ?7, reason = ?8 WHERE name = ?1
            """, .text(head.id.text), .integer(Int64(head.state.rawValue)), .integer(Int64(head.attempts)), .integer(head.exhausted ? 1 : 0),
            .optional(head.lastFailure), .integer(Int64(head.keyGeneration)), .text(key), .optional(head.quarantineReason))
        // Parts that are not whole are forgotten: the entry is sent again as one, and what the backend has already it removes.
        guard head.partsAreWhole else { return }
        for part in head.parts {
            try database.run(
                "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?5, ?6)", .integer(row.id), .integer(Int64(part.index)), .sequence(part.range.first),
                .integer(Int64(part.range.count)), .text(part.key), .optional(part.receipt))
        }
        let used = (head.parts.map(\.index).max() ?? -1) + 1
        try database.run("UPDATE entry SET parts = ?2 WHERE id = ?1", .integer(row.id), .integer(Int64(used)))
    }

    func noteLostAssignments() throws(OutboxError) {
        try database.run("UPDATE meta SET value = 1 WHERE name = 'assignments-lost'")
    }
}

extension EntryHead {
    /// Whether the parts divide just the windows of the entry.
    fileprivate var partsAreWhole: Bool {
        var reached = first
        for part in parts {
            guard part.range.first == reached, part.range.count > 0, part.range.count <= OutboxSettings.windowLimit else { return false }
            reached += UInt64(part.range.count)
        }
        return !parts.isEmpty && reached == first + UInt64(count)
    }
}

extension Database {
    /// The rows up to the first that cannot be read.
    func asFarAsReadable<Row>(_ sql: String, read: (Statement) -> Row) -> [Row] {
        var rows: [Row] = []
        guard let statement = try? Statement(sql, in: self), var more = try? statement.start([]) else { return rows }
        while more {
            rows.append(read(statement))
            more = (try? statement.next()) ?? false
        }
        return rows
    }
}
