import Platform

/// The durable queue and the books of the hub: one SQLite file in one directory, used by one process.
///
/// It keeps what was read from devices until it is delivered, the checkpoints, the settled ranges and the clears that are due, the owners
/// that windows belong to, and how devices are reached: bonds and adopted addresses. What a call has returned is on the disk. Everything runs on the executor that was given: the
/// storage thread in the daemon.
public actor Outbox {
    private let executor: any SerialExecutor
    private let files: Files
    private var store: Store?
    private var lock: DirectoryLock?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private init(directory: String, executor: any SerialExecutor) {
        self.executor = executor
        files = Files(directory: directory)
    }

    /// Opens the outbox in a directory, or makes it. Until `configureOwners` was called for the first time nothing can be enqueued. A broken file is moved aside whole and what is certain in it is taken over.
    ///
    /// - Parameters:
    ///   - directory: an existing directory that the gateway may write. It is not made here: a data partition that is not mounted must not be
    ///     mistaken for an empty one.
    ///   - executor: runs everything that touches the disk.
    ///   - random: where the names of entries come from.
    /// - Returns: the outbox, and what was found and done.
    /// - Throws: `OutboxError`; when `isRecoverable`, opening again later may succeed. For `foreignFile` and `newerFile` nothing was touched.
    public static func open(
        directory: String, executor: any SerialExecutor, settings: OutboxSettings = OutboxSettings(),
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) async throws(OutboxError) -> (Outbox, OpeningReport) {
        try await open(directory: directory, executor: executor, settings: settings, random: random, schema: .present)
    }

    /// The same with a schema of the caller's, for tests of migrations.
    static func open(
        directory: String, executor: any SerialExecutor, settings: OutboxSettings, random: any RandomNumberGenerator & Sendable, schema: Schema
    ) async throws(OutboxError) -> (Outbox, OpeningReport) {
        let outbox = Outbox(directory: directory, executor: executor)
        let report = try await outbox.start(settings, random, schema)
        return (outbox, report)
    }

    private func start(
        _ settings: OutboxSettings, _ random: any RandomNumberGenerator & Sendable, _ schema: Schema
    ) throws(OutboxError) -> OpeningReport {
        let held = try files.lock()
        var opening = Opening(files: files, settings: settings, random: random, schema: schema)
        store = try opening.open()
        lock = consume held
        return opening.report
    }

    /// Makes changes durable in one transaction with one sync.
    ///
    /// Each change stands by itself: one that is refused leaves no trace and does not touch the others. When this throws, none of them
    /// was made as far as the outbox is concerned, and the caller may try again (a receipt that was stored after all gives `settledBefore`).
    /// - Returns: one outcome for each change, in order.
    /// - Throws: `OutboxError` of the disk, or `tooManyChanges`.
    @discardableResult
    public func commit(_ changes: [Change]) throws(OutboxError) -> [ChangeOutcome] {
        try opened().commit(changes)
    }

    /// An entry with its windows, checked against its digests.
    ///
    /// - Throws: `damagedEntry` when a byte of it is not as it was stored: it is not to be sent; set it aside with `Change.quarantine`. `unknownEntry`.
    public func load(_ id: EntryID) throws(OutboxError) -> StoredEntry {
        try opened().load(id)
    }

    /// An entry of readings, checked against its digest.
    ///
    /// - Throws: as `load(_:)`.
    public func loadReadings(_ id: EntryID) throws(OutboxError) -> StoredReadings {
        try opened().loadReadings(id)
    }

    /// Everything that is stored, without the windows.
    public func snapshot() throws(OutboxError) -> OutboxSnapshot {
        try opened().snapshot(logBytes: try files.size(files.database + "-wal") ?? 0)
    }

    /// The books on one device; `nil` when there are none.
    public func device(_ serial: String) throws(OutboxError) -> DeviceRecord? {
        try opened().device(serial)
    }

    /// The books on one cuff; empty when there are none.
    public func cuff(_ serial: String) throws(OutboxError) -> CuffBooks {
        try opened().cuff(serial)
    }

    /// Takes the configured owners, in one transaction: queued entries of owners who are not among them are sealed, sealed entries of those who are
    /// come back as far as places are free.
    ///
    /// - Parameter reserved: places that are promised to devices at this moment and must stay free.
    /// - Throws: `sealedFull` when there is no room for the entries of those who go; then the owners are as before.
    public func configureOwners(_ keys: Set<String>, reserved: Int = 0) throws(OutboxError) -> OwnersReport {
        try opened().configureOwners(keys, reserved: reserved)
    }

    /// The rejected windows that are kept, oldest first.
    public func evidence() throws(OutboxError) -> [EvidenceRecord] {
        try opened().evidence()
    }

    /// The last operators' acts, oldest first.
    public func auditTrail() throws(OutboxError) -> [AuditLine] {
        try opened().auditLines()
    }

    /// Lets go of the pages of the file that are kept in memory to be quick; they are read again when they are needed.
    public func releaseMemory() { store?.database.releaseMemory() }

    /// The bonds with all controllers, in the order in which they were stored first. One whose digest is wrong is none.
    public func bonds() throws(OutboxError) -> [Bond] {
        try opened().bonds()
    }

    /// What was discovered of a bonded device; `nil` when nothing is stored, or its digest is wrong.
    public func attributeCache(of bond: BondID) throws(OutboxError) -> AttributeCache? {
        try opened().attributeCache(of: bond)
    }

    /// The address under which the device with this serial number was met; `nil` when none was adopted.
    public func adoptedAddress(_ serial: String) throws(OutboxError) -> IdentityAddress? {
        try opened().adoptedAddress(serial)
    }

    /// All adopted addresses by serial number.
    public func adoptedAddresses() throws(OutboxError) -> [String: IdentityAddress] {
        try opened().adoptedAddresses()
    }

    /// Closes the files; their disk space stays taken. A second time does nothing.
    public func close() {
        store?.database.close()
        store = nil
        lock = nil
    }

    private func opened() throws(OutboxError) -> Store {
        guard let store else { throw OutboxError(.closed, "the outbox is closed") }
        return store
    }
}
