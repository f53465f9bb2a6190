import Outbox
import Platform

/// Keeps the outbox open, on the loop's side: gathers changes that are due together into one transaction, and opens the outbox
/// again after a fault.
actor StoreKeeper {
    /// Whether promises can be made at the moment.
    enum State: Sendable {
        /// No outbox yet; the first attempt runs.
        case opening
        case open
        /// The disk does not do what it should. Nothing is read from devices and nothing is confirmed until it does.
        case faulted(OutboxError)
    }

    private struct Request {
        let changes: [Change]
        let continuation: CheckedContinuation<[ChangeOutcome], any Error>
    }

    private let loop: any EventLoop
    private let directory: String
    private let settings: OutboxSettings
    private let owners: Set<String>
    private let storage: any SerialExecutor
    private let log: Log
    private let random: @Sendable () -> any RandomNumberGenerator & Sendable
    private let onChange: @Sendable () -> Void

    private var outbox: Outbox?
    private(set) var state = State.opening
    /// What the outbox holds, as of the last commit.
    private(set) var snapshot: OutboxSnapshot?
    /// What the last opening found.
    private(set) var report: OpeningReport?

    /// Sealed entries whose owner is back, for which no place was free yet.
    private var unsealed: [EntryID] = []
    private var waiting: [Request] = []
    private var committing = false
    private var reopening: TimerID?
    private var failures = 0
    private var closed = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - storage: the thread that may block.
    ///   - owners: the owners that are configured; entries of others are sealed.
    ///   - random: makes the generator for entry ids.
    ///   - onChange: called on the loop after the state or the snapshot changed.
    init(
        loop: any EventLoop, storage: any SerialExecutor, directory: String, settings: OutboxSettings = .init(), owners: Set<String>, log: Log,
        random: @escaping @Sendable () -> any RandomNumberGenerator & Sendable, onChange: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.storage = storage
        self.directory = directory
        self.settings = settings
        self.owners = owners
        self.log = log
        self.random = random
        self.onChange = onChange
    }

    /// Opens the outbox; when it cannot be opened, tries again by itself, less and less often, up to once a minute.
    func open() async {
        guard outbox == nil, !closed else { return }
        do {
            let (outbox, report) = try await Outbox.open(directory: directory, executor: storage, settings: settings, random: random())
            // A stop may have come while the disk was busy.
            guard !closed else { return await outbox.close() }
            self.outbox = outbox
            self.report = report
            logOpening(report)
            try await setAsideDamaged(report, in: outbox)
            try await applyOwners(to: outbox)
            let found = try await outbox.snapshot()
            // Somebody else's act may have met a fault meanwhile, and another opening is due.
            guard self.outbox === outbox else { return }
            snapshot = found
            failures = 0
            state = .open
            onChange()
        } catch {
            await fault(error)
        }
    }

    /// Makes the changes durable, in one transaction with whatever else is waiting at that moment.
    ///
    /// - Returns: what became of each; refused ones do not spoil the others.
    /// - Throws: `OutboxError` when nothing of it was written.
    func commit(_ changes: [Change]) async throws -> [ChangeOutcome] {
        try await withCheckedThrowingContinuation { continuation in
            waiting.append(Request(changes: changes, continuation: continuation))
            if !committing {
                committing = true
                loop.spawn { await self.commitWaiting() }
            }
        }
    }

    /// The books of one device.
    func device(_ serial: String) async throws -> DeviceRecord? {
        try await guarded { try await $0.device(serial) }
    }

    /// The books of one cuff.
    func cuff(_ serial: String) async throws -> CuffBooks {
        try await guarded { try await $0.cuff(serial) }
    }

    /// One entry of readings.
    func loadReadings(_ id: EntryID) async throws -> StoredReadings {
        try await guarded { try await $0.loadReadings(id) }
    }

    /// One entry with its windows.
    func load(_ id: EntryID) async throws -> StoredEntry {
        try await guarded { try await $0.load(id) }
    }

    /// The bonds with all controllers, and the adopted addresses by serial number.
    func bonds() async throws -> (bonds: [Bond], adopted: [String: IdentityAddress]) {
        try await guarded { (try await $0.bonds(), try await $0.adoptedAddresses()) }
    }

    /// What was discovered of a bonded device; `nil` when nothing is stored that can be used.
    func attributeCache(of bond: BondID) async throws -> AttributeCache? {
        try await guarded { try await $0.attributeCache(of: bond) }
    }

    /// The rejected windows that are kept, oldest first.
    func evidence() async throws -> [EvidenceRecord] {
        try await guarded { try await $0.evidence() }
    }

    /// The last operators' acts, oldest first.
    func auditTrail() async throws -> [AuditLine] {
        try await guarded { try await $0.auditTrail() }
    }

    /// Lets go of what the outbox keeps in memory to be quick.
    func releaseMemory() async { await outbox?.releaseMemory() }

    /// Ends the books cleanly. Changes that are on their way are written first.
    func close() async {
        closed = true
        if let reopening { loop.cancel(reopening) }
        for request in waiting { request.continuation.resume(throwing: OutboxError(.closed, "the gateway is stopping")) }
        waiting = []
        await outbox?.close()
        outbox = nil
    }

    private func commitWaiting() async {
        while !waiting.isEmpty {
            var batch = [waiting.removeFirst()]
            var size = batch[0].changes.count
            while let next = waiting.first, size + next.changes.count <= settings.changeLimit {
                batch.append(waiting.removeFirst())
                size += next.changes.count
            }
            do {
                let changes = batch.flatMap(\.changes)
                let (outcomes, after) = try await guarded { outbox in
                    (try await outbox.commit(changes), try await outbox.snapshot())
                }
                snapshot = after
                bringBack(after)
                // Whoever counts places must see the new entries before the ones who stored them give their reservations back.
                onChange()
                var start = 0
                for request in batch {
                    let end = start + request.changes.count
                    request.continuation.resume(returning: Array(outcomes[start..<end]))
                    start = end
                }
            } catch {
                for request in batch { request.continuation.resume(throwing: error) }
            }
        }
        committing = false
    }

    /// As places become free, entries of owners who are back leave the sealed store.
    private func bringBack(_ snapshot: OutboxSnapshot) {
        let count = min(snapshot.freeCollarPlaces, unsealed.count, settings.changeLimit)
        guard count > 0 else { return }
        let ids = Array(unsealed.prefix(count))
        let changes = ids.map { Change.release($0) }
        unsealed.removeFirst(count)
        loop.spawn { await self.release(ids, changes) }
    }

    /// One whose place went to somebody else meanwhile waits for the next. After a fault the opening finds anew what waits.
    private func release(_ ids: [EntryID], _ changes: [Change]) async {
        guard let outcomes = try? await commit(changes) else { return }
        var again: [EntryID] = []
        for (id, outcome) in zip(ids, outcomes) {
            guard case .refused(let refusal) = outcome else { continue }
            if refusal.code == .noPlace {
                again.append(id)
            } else {
                log(.error, .ownersChanged, "entry \(id) stays sealed: \(refusal)", LogField("ENTRY", id), LogField("CODE", refusal.code.rawValue))
            }
        }
        unsealed = again + unsealed
    }

    /// Runs an act on the open outbox, and takes a failure of the disk for what it is.
    private func guarded<Value: Sendable>(_ act: @Sendable (Outbox) async throws -> Value) async throws -> Value {
        guard let outbox else {
            if case .faulted(let error) = state { throw error }
            throw OutboxError(.closed, "the outbox is not open")
        }
        do {
            return try await act(outbox)
        } catch let error as OutboxError where error.isRecoverable {
            await fault(error)
            throw error
        }
    }

    private func fault(_ error: any Error) async {
        let error = error as? OutboxError ?? OutboxError(.inconsistent, "\(error)")
        let isNews: Bool
        if case .faulted(let before) = state { isNews = before.code != error.code } else { isNews = true }
        if isNews { log(.error, .storageFault, "the outbox cannot be used: \(error)", LogField("CODE", error.code.rawValue)) }
        state = .faulted(error)
        let broken = outbox
        outbox = nil
        await broken?.close()
        onChange()
        guard !closed, reopening == nil else { return }
        failures += 1
        let delay = Duration.seconds(min(60, 1 << min(failures, 6)))
        reopening = loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated { keeper in
                keeper.reopening = nil
                keeper.loop.spawn { await keeper.open() }
            }
        }
    }

    private func setAsideDamaged(_ report: OpeningReport, in outbox: Outbox) async throws {
        for id in report.damaged {
            log(.error, .entryDamaged, "entry \(id) is not what was stored; it is set aside", LogField("ENTRY", id))
            for case .refused(let refusal) in try await outbox.commit([.quarantine(id, reason: OutboxError.Code.damagedEntry.rawValue)]) {
                log(.error, .entryDamaged, "entry \(id) could not be set aside: \(refusal)", LogField("ENTRY", id), LogField("CODE", refusal.code.rawValue))
            }
        }
    }

    private func applyOwners(to outbox: Outbox) async throws {
        do {
            let report = try await outbox.configureOwners(owners)
            unsealed = report.waiting
            guard report.sealed + report.unsealed > 0 else { return }
            log(.notice, .ownersChanged, "owners changed: \(report.sealed) entries sealed, \(report.unsealed) came back")
        } catch {
            guard error.code == .sealedFull else { throw error }
            // The former owners' entries keep their places: they are neither sent nor dropped.
            log(.error, .ownersChanged, "the change of owners was refused: \(error)", LogField("CODE", error.code.rawValue))
        }
    }

    private func logOpening(_ report: OpeningReport) {
        if case .faulted = state { log(.notice, .storageRecovered, "the outbox can be used again") }
        if let aside = report.movedAside {
            log(.error, .storageMovedAside,
                "a broken outbox was moved to \(aside.path): \(aside.cause); \(report.salvaged) entries saved, \(report.unsalvaged) are read again")
        }
        if report.damagedBonds > 0 {
            log(.error, .bondDamaged, "\(counted(report.damagedBonds, "bond or address", "bonds or addresses")) of devices were not what was stored and count no more; "
                + "a device that is not linked again needs: gateway pair")
        }
        if let error = report.unprovisioned {
            log(.warning, .storageFault, "the disk has no room for a full queue: \(error)", LogField("CODE", error.code.rawValue))
        }
        log(.info, .outboxOpened, report.created ? "a new outbox was made in \(directory)" : "the outbox in \(directory) is open")
    }
}
