import CSQLite

/// One prepared statement: owned by its `Database`, finalised once, reset after every use.
final class Statement {
    private let handle: OpaquePointer
    private unowned let database: Database

    init(_ sql: String, in database: Database) throws(OutboxError) {
        self.database = database
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw database.error("prepare a statement", code: code) }
        self.handle = handle
    }

    deinit { sqlite3_finalize(handle) }

    /// Binds and goes to the first row.
    ///
    /// - Returns: whether there is a row. When there is none the statement is reset already.
    func start(_ values: [SQLValue]) throws(OutboxError) -> Bool {
        var index: CInt = 0
        for value in values {
            index += 1
            let code = bind(value, at: index)
            guard code == SQLITE_OK else {
                reset()
                throw database.error("bind a value", code: code)
            }
        }
        return try next()
    }

    /// Goes to the next row.
    func next() throws(OutboxError) -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE {
            reset()
            return false
        }
        let error = database.error(String(cString: sqlite3_sql(handle)), code: code)
        reset()
        throw error
    }

    /// Lets go of the row and of the values, which may be health data.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    func integer(_ column: CInt) -> Int64 { sqlite3_column_int64(handle, column) }
    func isNull(_ column: CInt) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    func optionalInteger(_ column: CInt) -> Int64? { isNull(column) ? nil : integer(column) }
    func optionalText(_ column: CInt) -> String? { isNull(column) ? nil : text(column) }

    func text(_ column: CInt) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func blob(_ column: CInt) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(sqlite3_column_bytes(handle, column))
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    private func bind(_ value: SQLValue, at index: CInt) -> CInt {
        // SQLITE_TRANSIENT: SQLite copies at once, as Swift's buffers end with the call.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: return sqlite3_bind_null(handle, index)
        case .integer(let number): return sqlite3_bind_int64(handle, index, number)
        case .text(let text): return sqlite3_bind_text(handle, index, text, -1, transient)
        case .blob(let bytes): return bytes.isEmpty ? sqlite3_bind_zeroblob(handle, index, 0) : sqlite3_bind_blob64(handle, index, bytes, UInt64(bytes.count), transient)
        case .zeros(let count): return sqlite3_bind_zeroblob64(handle, index, UInt64(count))
        }
    }
}

/// A value for a statement.
enum SQLValue {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
    /// A blob of so many zero bytes.
    case zeros(Int)

    static func optional(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
    static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
}
