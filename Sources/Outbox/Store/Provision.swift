/// The disk space that an outbox of given bounds needs at most, taken when it is made: on a full disk, entries can still be sent and removed.
public struct Provision: Sendable, Hashable {
    /// Pages of 4,096 bytes in the database file.
    public let pages: Int
    /// Bytes in the write-ahead log file.
    public let logBytes: Int64

    static let pageSize = 4_096
    /// A frame of the write-ahead log is a page behind 24 bytes; the file begins with 32.
    private static let frameSize = 4_120

    /// Pages for one entry with all that may hang on it: 128 windows (10 and a part of a leaf), 192 gaps, 128 parts, the head; leaves half full. Or 64 readings,
    /// four on a leaf, and their parts.
    private static let entryPages = 20
    /// Pages for one bond: what was discovered (16,384 bytes), and its rows; leaves half full.
    private static let bondPages = 6
    /// Pages that one change may write at most: the receipt of an entry whose every window was rejected.
    private static let changePages = 48
    /// Roots, and the books on devices.
    private static let basePages = 192

    /// What the settings ask for. The log has room for twice what it holds before a checkpoint, the largest transaction included.
    public init(_ settings: OutboxSettings) {
        pages = Self.basePages
            + Self.entryPages * (settings.places + settings.quarantineCapacity + settings.sealedCapacity)
            + settings.evidenceCapacity / 4 + settings.receiptMemory / 8 + settings.auditMemory / 8 + settings.readingMemory / 32
            + settings.fileMarkMemory / 16
            + Self.bondPages * settings.bondCapacity + settings.adoptionCapacity / 8
        logBytes = Int64(32 + Self.frameSize * 2 * (settings.checkpointPages + settings.changeLimit * Self.changePages))
    }

    /// Grows the database file to the provision, by filling it and deleting what filled it: the pages stay as free ones.
    func fill(_ database: Database) throws(OutboxError) {
        let missing = pages - Int(clamping: try database.number("PRAGMA page_count"))
        if missing <= 0 { return }
        let free = Int(clamping: try database.number("PRAGMA freelist_count"))
        // Free pages are used first, so they are filled too.
        try database.transaction { () throws(OutboxError) in
            try database.run("INSERT INTO filler VALUES (1, ?1)", .zeros((missing + free) * (Self.pageSize - 4)))
        }
        try database.transaction { () throws(OutboxError) in try database.run("DELETE FROM filler") }
        // Until then the new pages are only in the log, and a disk that fills up meanwhile could not take them.
        try database.restartLog()
    }

    /// Grows the write-ahead log file to the provision, by small commits without a checkpoint between them.
    ///
    /// - Parameter size: asks the file's size.
    func fillLog(_ database: Database, size: () throws(OutboxError) -> Int64) throws(OutboxError) {
        if try size() >= logBytes { return }
        // The commits say nothing, so they need not be synced one by one; the checkpoint behind them is.
        try database.run("PRAGMA synchronous = NORMAL")
        try database.run("PRAGMA wal_autocheckpoint = 0")
        var failure: OutboxError?
        do throws(OutboxError) {
            while try size() < logBytes {
                for _ in 0..<64 { try database.run("UPDATE meta SET value = (value + 1) % 1000000 WHERE name = 'tick'") }
            }
            try database.restartLog()
        } catch {
            failure = error
        }
        try database.run("PRAGMA synchronous = FULL")
        if let failure { throw failure }
    }
}
