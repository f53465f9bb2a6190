import Platform

/// Opening: finds the file, checks it, makes it or saves what can be saved, and provisions it.
struct Opening {
    /// SQLite's page cache in KiB: more than the pages of a usual transaction, less than its default of 2,000.
    private static let cacheSize = 512

    let files: Files
    let settings: OutboxSettings
    let random: any RandomNumberGenerator & Sendable
    let schema: Schema
    private(set) var report = OpeningReport()

    init(files: Files, settings: OutboxSettings, random: any RandomNumberGenerator & Sendable, schema: Schema) {
        self.files = files
        self.settings = settings
        self.random = random
        self.schema = schema
    }

    /// - Throws: `foreignFile` and `newerFile`, for which nothing is touched; otherwise what the disk answered.
    mutating func open() throws(OutboxError) -> Store {
        try files.remove(files.unfinished)
        try files.finishMove()
        // Left by a start that ended between the successor's name and the number.
        if try files.size(files.database) != nil { try archive() }
        if let cause = try examine() { try moveAside(cause) }
        if try files.size(files.database) == nil { try make() }
        let store: Store
        do throws(OutboxError) {
            store = try connect()
        } catch where error.code == .corrupt {
            try moveAside(error.what)
            try make()
            store = try connect()
        }
        try archive()
        provision(store.database)
        report.damaged = try store.damagedEntries()
        report.damagedBonds = try store.damagedBonds()
        return store
    }

    /// Looks at the file before SQLite does.
    ///
    /// - Returns: how it is broken, `nil` when it is not, or is not there.
    private func examine() throws(OutboxError) -> String? {
        guard let size = try files.size(files.database) else { return nil }
        if size == 0 { return "the file is empty" }
        let header = try files.header(files.database)
        guard header.count == 100, header.starts(with: Array("SQLite format 3".utf8) + [0]) else { return "the file is no database" }
        func number(at offset: Int) -> Int64 { header[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) } }
        guard number(at: 68) == Schema.applicationID else {
            throw OutboxError(.foreignFile, "\(files.database) has the application id \(number(at: 68)), not \(Schema.applicationID)")
        }
        try refuseNewer(number(at: 60), files.database)
        return nil
    }

    private func refuseNewer(_ version: Int64, _ path: String) throws(OutboxError) {
        guard version <= Int64(schema.version) else {
            throw OutboxError(.newerFile, "\(path) has version \(version); this release knows up to \(schema.version)")
        }
    }

    private mutating func moveAside(_ cause: String) throws(OutboxError) {
        try files.moveAside()
        report.movedAside = OpeningReport.MovedAside(path: files.broken, cause: cause)
    }

    /// Makes the database under a name of its own, with what can be saved of a broken one, and gives it its name when it is whole.
    ///
    /// A crash before that leaves no database, and the next start comes here again. A broken file that had a successor once is never
    /// asked again: its owners' boundaries may be out of date.
    private mutating func make() throws(OutboxError) {
        try files.remove(files.unfinished)
        try files.make(files.unfinished)
        do throws(OutboxError) {
            let database = try Database(files.unfinished, mode: .normal, vfs: settings.vfs)
            defer { database.close() }
            try database.script("""
                PRAGMA page_size = \(Provision.pageSize); PRAGMA auto_vacuum = NONE; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY;
                PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = FAST; PRAGMA cache_size = -\(Self.cacheSize);
                """)
            try schema.migrate(database, from: 0)
            try salvage(into: database)
            do throws(OutboxError) {
                try Provision(settings).fill(database)
            } catch where error.code == .diskFull {
                // A hub with a full disk starts: what it has can be sent. The next start tries again.
                report.unprovisioned = error
            }
        } catch {
            try? files.remove(files.unfinished)
            throw error
        }
        try files.publish()
        report.created = true
    }

    private mutating func salvage(into database: Database) throws(OutboxError) {
        guard let size = try files.size(files.broken) else { return }
        let target = Store(database, settings: settings, random: random)
        let salvage = try Salvage(from: files.broken, isEmpty: size == 0, settings: settings).move(into: target)
        report.salvaged = salvage.saved
        report.unsalvaged = salvage.lost
        report.salvagedBonds = salvage.bonds
        report.assignmentsLost = salvage.assignmentsLost
    }

    /// Numbers the broken file, whose successor stands, and lets the oldest ones go.
    private mutating func archive() throws(OutboxError) {
        guard let path = try files.archive() else { return }
        let cause = report.movedAside?.cause ?? "it was found broken by an earlier start"
        report.movedAside = OpeningReport.MovedAside(path: path, cause: cause)
        try files.trimAsides(to: settings.asideLimit)
    }

    private mutating func connect() throws(OutboxError) -> Store {
        let database = try Database(files.database, mode: .normal, vfs: settings.vfs)
        do throws(OutboxError) {
            // Exclusive before WAL: the index of the log is kept in memory, and no -shm file is made.
            try database.script("""
                PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = FAST; PRAGMA synchronous = FULL;
                PRAGMA journal_size_limit = -1; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -\(Self.cacheSize);
                """)
            let journal = try database.first("PRAGMA journal_mode = WAL") { $0.text(0) }
            guard journal == "wal" else { throw OutboxError(.inconsistent, "\(files.database): journal mode \(journal ?? "none") instead of wal") }
            try database.persistLog()
            let version = try database.number("PRAGMA user_version")
            try refuseNewer(version, files.database)
            let findings = try database.all("PRAGMA quick_check(8)") { $0.text(0) }
            guard findings == ["ok"] else { throw OutboxError(.corrupt, "\(files.database): \(findings.joined(separator: "; "))") }
            if let what = try schema.difference(in: database, version: Int(clamping: version)) {
                throw OutboxError(.corrupt, "\(files.database): \(what)")
            }
            // Without this, frames of the run before would stay and new ones lengthen the log.
            try database.restartLog()
            if version < schema.version {
                try schema.migrate(database, from: Int(clamping: version))
                report.migratedFrom = Int(version)
            }
            let store = Store(database, settings: settings, random: random)
            if let what = try store.brokenBooks() { throw OutboxError(.corrupt, "\(files.database): \(what)") }
            if schema.version >= Schema.cuffBooksVersion, try !store.cuffAssignmentsAreWhole() {
                throw OutboxError(.corrupt, "\(files.database): the assignments of cuffs do not match their digest")
            }
            return store
        } catch {
            database.close()
            throw error
        }
    }

    private mutating func provision(_ database: Database) {
        do throws(OutboxError) {
            let provision = Provision(settings)
            try provision.fill(database)
            let path = files.database + "-wal"
            let files = self.files
            try provision.fillLog(database) { () throws(OutboxError) in try files.size(path) ?? 0 }
        } catch {
            report.unprovisioned = error
        }
        // A pragma that only sets a number in memory.
        try? database.run("PRAGMA wal_autocheckpoint = \(settings.checkpointPages)")
    }
}
