/// The tables, and how older ones become the present ones.
struct Schema: Sendable {
    /// `PRAGMA application_id`: "Gtwy".
    static let applicationID: Int64 = 0x4774_7779

    /// This release's.
    static let present = Schema(steps: [first, second, third, fourth])
    /// The version that first has books on cuffs.
    static let cuffBooksVersion = 4

    /// One step a version. A step is never changed once a release had it; a new table is a new step at the end.
    let steps: [String]

    /// `PRAGMA user_version`: the number of steps that made the file.
    var version: Int { steps.count }

    /// Runs the steps that the file does not have yet, all in one transaction.
    func migrate(_ database: Database, from found: Int) throws(OutboxError) {
        try database.transaction { () throws(OutboxError) in
            for step in steps.dropFirst(found) { try database.script(step) }
            try database.script("PRAGMA application_id = \(Self.applicationID); PRAGMA user_version = \(version);")
        }
    }

    /// Compares the tables of a file with those that its version has. `quick_check` takes a table for sound whose definition was altered.
    ///
    /// - Returns: what differs; `nil` when nothing does.
    func difference(in database: Database, version: Int) throws(OutboxError) -> String? {
        func definitions(_ database: Database) throws(OutboxError) -> [String] {
            try database.all("SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1") { $0.text(0) }
        }
        let model = try Database(":memory:", mode: .normal, vfs: nil)
        defer { model.close() }
        try Schema(steps: Array(steps.prefix(version))).migrate(model, from: 0)
        return try definitions(model) == definitions(database) ? nil : "its tables are not those of version \(version)"
    }

    /// Sequences are unwrapped, 64 bits. A *line* is one life of one log of one device: a log that begins anew under its old name is another
    /// line, so that what is stored of the former settles nothing of the new. Bodies have a table of their own: counting an attempt
    /// must not rewrite 40 KB.
    private static let first = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
        CREATE TABLE owner (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
        CREATE TABLE line (
            id INTEGER PRIMARY KEY, device TEXT NOT NULL, log INTEGER NOT NULL,
            base INTEGER NOT NULL, next INTEGER NOT NULL CHECK (next >= base), cleared INTEGER NOT NULL,
            current INTEGER NOT NULL CHECK (current IN (0, 1)), seal BLOB
        ) STRICT;
        CREATE UNIQUE INDEX line_current ON line (device) WHERE current = 1;
        CREATE TABLE assignment (
            device TEXT NOT NULL, log INTEGER NOT NULL, first INTEGER NOT NULL, owner TEXT NOT NULL,
            PRIMARY KEY (device, log, first)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE settled (
            line INTEGER NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL CHECK (end > first), crc INTEGER,
            PRIMARY KEY (line, first)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE pending_clear (
            device TEXT PRIMARY KEY, line INTEGER NOT NULL, through INTEGER NOT NULL, crc INTEGER, refusals INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE unreported (
            line INTEGER PRIMARY KEY, device TEXT NOT NULL, log INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, state INTEGER NOT NULL, kind INTEGER NOT NULL,
            owner TEXT NOT NULL, device TEXT NOT NULL, log INTEGER NOT NULL, line INTEGER,
            first INTEGER NOT NULL, count INTEGER NOT NULL, next INTEGER NOT NULL, received INTEGER NOT NULL, clock TEXT NOT NULL,
            tail INTEGER, digest BLOB NOT NULL, fingerprint BLOB NOT NULL,
            attempts INTEGER NOT NULL, exhausted INTEGER NOT NULL, failure TEXT,
            generation INTEGER NOT NULL, key TEXT NOT NULL, parts INTEGER NOT NULL DEFAULT 0, reason TEXT
        ) STRICT;
        CREATE TABLE body (entry INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
        CREATE TABLE gap (
            entry INTEGER NOT NULL, position INTEGER NOT NULL, log INTEGER NOT NULL, line INTEGER,
            first INTEGER NOT NULL, count INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (entry, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE part (
            entry INTEGER NOT NULL, position INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL,
            key TEXT NOT NULL, receipt TEXT, PRIMARY KEY (entry, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE receipt (id INTEGER PRIMARY KEY, entry TEXT NOT NULL, key TEXT NOT NULL, receipt TEXT NOT NULL) STRICT;
        CREATE TABLE evidence (
            id INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL, owner TEXT NOT NULL, log INTEGER NOT NULL,
            sequence INTEGER NOT NULL, code TEXT NOT NULL, receipt TEXT NOT NULL, bytes BLOB NOT NULL
        ) STRICT;
        CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL) STRICT;
        CREATE TABLE filler (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
        INSERT INTO meta VALUES ('tick', 0), ('assignments-lost', 0), ('assignments-digest', NULL);
        """

    /// How devices are reached. A bond is found by a scan of its few rows: `quick_check` does not compare an index with its table, and a flipped byte in one
    /// would bring forgotten keys back beside the new ones.
    private static let second = """
        CREATE TABLE bond (
            id INTEGER PRIMARY KEY, controller INTEGER NOT NULL, controller_random INTEGER NOT NULL, peer INTEGER NOT NULL, peer_random INTEGER NOT NULL,
            device TEXT NOT NULL, resolving BLOB, digest BLOB NOT NULL
        ) STRICT;
        CREATE TABLE long_term_key (
            bond INTEGER NOT NULL, position INTEGER NOT NULL, kind INTEGER NOT NULL, initiator INTEGER NOT NULL, size INTEGER NOT NULL,
            diversifier INTEGER NOT NULL, random INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (bond, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE signature_key (
            bond INTEGER NOT NULL, position INTEGER NOT NULL, local INTEGER NOT NULL, authenticated INTEGER NOT NULL, counter INTEGER NOT NULL,
            value BLOB NOT NULL, PRIMARY KEY (bond, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE attribute_cache (bond INTEGER PRIMARY KEY, hash BLOB NOT NULL, octets BLOB NOT NULL, digest BLOB NOT NULL) STRICT;
        CREATE TABLE adopted (
            device TEXT PRIMARY KEY, address INTEGER NOT NULL, random INTEGER NOT NULL, digest BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// Readings of cuffs. An entry of them is open while `open_entry` names it. What was delivered is remembered by a mark of its name.
    private static let third = """
        CREATE TABLE reading (
            entry INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, received INTEGER NOT NULL, octets BLOB NOT NULL,
            PRIMARY KEY (entry, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE open_entry (entry INTEGER PRIMARY KEY) STRICT;
        CREATE TABLE delivered_reading (id INTEGER PRIMARY KEY, mark BLOB NOT NULL) STRICT;
        """

    /// Books on cuffs: whose their readings are, and which files of those of the BP2 family are read. Numbers of rows are never used again, so that they keep the
    /// order of storing.
    private static let fourth = """
        CREATE TABLE cuff_assignment (
            id INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL, user INTEGER, owner TEXT NOT NULL, since INTEGER,
            contacted INTEGER NOT NULL CHECK (contacted IN (0, 1))
        ) STRICT;
        CREATE TABLE cuff_file (
            id INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL, name TEXT NOT NULL, digest BLOB NOT NULL,
            listed INTEGER NOT NULL CHECK (listed IN (0, 1))
        ) STRICT;
        CREATE TABLE cuff_clock (
            id INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL UNIQUE, ahead INTEGER NOT NULL, set_to INTEGER NOT NULL, digest BLOB NOT NULL
        ) STRICT;
        INSERT INTO meta VALUES ('cuff-assignments-lost', 0), ('cuff-assignments-digest', NULL);
        """
}
