import CSQLite
import Glibc

/// One connection to one SQLite file: opened once, closed once, its statements kept and reset.
final class Database {
    /// How the file is opened.
    enum Mode {
        /// As the outbox uses it: made when missing.
        case normal
        /// To look at a broken file: nothing is made, and closing changes nothing.
        case evidence
    }

    let path: String
    let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    private var closed = false

    /// - Throws: `OutboxError` with the reason why SQLite cannot open the file.
    init(_ path: String, mode: Mode, vfs: String?) throws(OutboxError) {
        self.path = path
        var flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        if mode == .normal { flags |= SQLITE_OPEN_CREATE }
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, flags, vfs)
        guard code == SQLITE_OK, let handle else {
            let system = handle.map { sqlite3_system_errno($0) } ?? 0
            sqlite3_close_v2(handle)
            throw Database.error("open \(path)", code: code, system: system, message: String(cString: sqlite3_errstr(code)))
        }
        self.handle = handle
        // The file may have been prepared to attack its reader: no schema of it runs functions of ours or writes through a side door.
        csqlite_harden(handle)
        if mode == .evidence { csqlite_no_checkpoint_on_close(handle) }
    }

    deinit { close() }

    /// Closes the connection; a second time does nothing. SQLite copies the write-ahead log into the database first.
    func close() {
        guard !closed else { return }
        closed = true
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    /// Runs a statement that gives no rows (or whose rows do not matter).
    func run(_ sql: String, _ values: SQLValue...) throws(OutboxError) {
        let statement = try statement(sql)
        if try statement.start(values) { statement.reset() }
    }

    /// The first row, as `read` makes it; `nil` when there is none.
    func first<Row>(_ sql: String, _ values: SQLValue..., read: (Statement) -> Row) throws(OutboxError) -> Row? {
        let statement = try statement(sql)
        guard try statement.start(values) else { return nil }
        let row = read(statement)
        statement.reset()
        return row
    }

    /// All rows.
    func all<Row>(_ sql: String, _ values: SQLValue..., read: (Statement) -> Row) throws(OutboxError) -> [Row] {
        let statement = try statement(sql)
        var rows: [Row] = []
        var more = try statement.start(values)
        while more {
            rows.append(read(statement))
            more = try statement.next()
        }
        return rows
    }

    /// The integer in the first column of the first row; 0 when there is no row.
    func number(_ sql: String, _ values: SQLValue...) throws(OutboxError) -> Int64 {
        let statement = try statement(sql)
        guard try statement.start(values) else { return 0 }
        let number = statement.integer(0)
        statement.reset()
        return number
    }

    /// Runs statements that are used once, such as the schema.
    func script(_ sql: String) throws(OutboxError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error("run a script", code: code) }
    }

    var lastRow: Int64 { sqlite3_last_insert_rowid(handle) }
    var changes: Int { Int(sqlite3_changes(handle)) }

    /// Begins the transaction that writes; rolls back what `body` wrote when it throws.
    func transaction<Result>(_ body: () throws(OutboxError) -> Result) throws(OutboxError) -> Result {
        try run("BEGIN IMMEDIATE")
        do throws(OutboxError) {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // Some failures (a full disk among them) have ended the transaction already.
            if sqlite3_get_autocommit(handle) == 0 { try? run("ROLLBACK") }
            throw error
        }
    }

    /// Keeps the write-ahead log file, and so its disk space, when the connection is closed.
    func persistLog() throws(OutboxError) {
        var on: CInt = 1
        let code = sqlite3_file_control(handle, nil, SQLITE_FCNTL_PERSIST_WAL, &on)
        guard code == SQLITE_OK else { throw error("keep the write-ahead log", code: code) }
    }

    /// Copies the write-ahead log into the database, so that the next write begins at the log's start (`SQLITE_CHECKPOINT_RESTART`).
    func restartLog() throws(OutboxError) {
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_RESTART, nil, nil)
        guard code == SQLITE_OK else { throw error("checkpoint", code: code) }
    }

    /// Frees what the page cache holds and nothing uses at the moment.
    func releaseMemory() { sqlite3_db_release_memory(handle) }

    /// The error for a result code of this connection.
    func error(_ action: String, code: CInt) -> OutboxError {
        Database.error(action, code: code, system: sqlite3_system_errno(handle), message: String(cString: sqlite3_errmsg(handle)))
    }

    private static func error(_ action: String, code: CInt, system: CInt, message: String) -> OutboxError {
        let reason = system == 0 ? message : "\(message), \(String(cString: strerror(system)))"
        let what = "\(action): \(reason) (SQLite \(code))"
        switch code & 0xFF {
        case SQLITE_FULL: return OutboxError(.diskFull, what)
        case SQLITE_IOERR where system == ENOSPC || system == EDQUOT: return OutboxError(.diskFull, what)
        case SQLITE_IOERR where system == EROFS: return OutboxError(.readOnly, what)
        case SQLITE_IOERR, SQLITE_NOMEM, SQLITE_PROTOCOL: return OutboxError(.diskFailed, what)
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: return OutboxError(.readOnly, what)
        case SQLITE_CANTOPEN: return OutboxError(system == EROFS || system == EACCES ? .readOnly : .diskFailed, what)
        case SQLITE_BUSY, SQLITE_LOCKED: return OutboxError(.inUse, what)
        case SQLITE_CORRUPT, SQLITE_NOTADB: return OutboxError(.corrupt, what)
        default: return OutboxError(.inconsistent, what)
        }
    }

    private func statement(_ sql: String) throws(OutboxError) -> Statement {
        if let known = statements[sql] { return known }
        let new = try Statement(sql, in: self)
        statements[sql] = new
        return new
    }
}
