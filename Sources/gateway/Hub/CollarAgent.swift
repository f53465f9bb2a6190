import Outbox
import Platform
import Radio

/// Looks after one collar: keeps a link to it, and on every wake-up brings what it holds into the outbox and clears what is settled.
///
/// Wake-ups coalesce: however many come, one pass runs at a time, and one more follows if any came meanwhile.
actor CollarAgent {
    /// What others want to know at once.
    enum Event: Sendable {
        /// The report changed.
        case changed
        /// A link is ready for work.
        case linked
        /// A batch of windows was stored.
        case stored
    }

    /// What the agent works with.
    struct Services: Sendable {
        let loop: any EventLoop
        let store: StoreKeeper
        let places: PlaceBroker
        let wallClock: WallClock
        let log: Log
        /// Whether entries leave the queue, or none is there.
        let isDraining: @Sendable () async -> Bool
        /// The most windows that the owner's backend takes in one request.
        let batchLimit: @Sendable (_ owner: String) async -> Int
        /// Where the collar's database is kept between links; `nil` for one that has no bond by its nature.
        let databases: DatabaseShelf?
        let onEvent: @Sendable (Event) -> Void
    }

    /// Entries that one pass stores at the most; what is left is the next wake-up's work.
    static let passLimit = 32
    /// Reads that brought nothing although the collar said that it holds the range; after so many of them in one pass it contradicts itself.
    static let fruitlessLimit = 3
    /// How long a collar may be busy on one link. A new link ends whatever it believes to be doing.
    private static let busyLimit = Duration.seconds(60)
    /// How long a collar rests whose windows the outbox did not take: reading them again at each heartbeat would empty its battery.
    private static let refusalRest = Duration.seconds(60)

    let device: Configuration.Collar
    let source: any LinkSource
    let profile: CollarProfile
    let services: Services
    var planner: SyncPlanner

    var report: CollarReport
    /// The collar, once its profile is open.
    var connection: CollarConnection?
    /// The link that is up, from its first moment.
    var current: CollarConnection?
    var linkTask: Task<Void, Never>?
    var linkEnded: CheckedContinuation<Void, Never>?
    /// The link that is up, or is being set up, has ended.
    var linkIsOver = false
    /// The link has the parameters of a catch-up.
    var isStreaming = false
    /// What is known of the collar's database on this link.
    var database = LinkDatabase()
    /// Who wants the device to be looked at from end to end on the next link.
    var probes: [ProbeWaiter] = []
    /// Links in a row that brought nothing.
    var failedLinks = 0
    /// Since when the collar has answered nothing but that it is busy.
    var busySince: BootInstant?
    /// Not before this moment is anything read.
    private var restUntil: BootInstant?

    var wanted = false
    private var working = false
    /// The last pass ended for want of a place.
    var waitsForPlace = false
    var trigger: PassTrigger
    var clock = CollarClock()
    /// Whether the collar's clock was looked at on this link.
    var clockChecked = false
    /// The clear that the collar refused for good on this link, and why.
    var givenUp: (clear: PendingClear, why: String)?
    /// A log and the highest `next` that the collar announced in it.
    var announced: (log: UInt32, next: UInt64)?
    var books: CollarBooks?
    /// The books of this collar were lost with a broken file, and with them whose its windows are.
    var ownersLost = false
    /// A window that the collar says it holds and never sends.
    var unsent = UnsentWindow()

    nonisolated var unownedExecutor: UnownedSerialExecutor { services.loop.asUnownedSerialExecutor() }

    init(device: Configuration.Collar, source: any LinkSource, owners: Set<String>, sync: Configuration.Sync, services: Services) {
        self.device = device
        self.source = source
        self.services = services
        profile = CollarProfile(device)
        planner = SyncPlanner(owner: device.owner, backlog: device.backlog, configuredOwners: owners, batchWindows: sync.batchWindows)
        trigger = PassTrigger(batchWindows: sync.batchWindows, batchAge: sync.batchAge)
        let now = services.loop.now
        report = CollarReport(since: now, awaySince: now)
    }

    // MARK: Wake-ups

    /// There may be work: a heartbeat, a new link, a free place, a settled range.
    func wake() {
        wanted = true
        guard !working, connection != nil else { return }
        working = true
        services.loop.spawn { await self.work() }
    }

    /// Something of this collar was settled: there may be a clear to send.
    func booksChanged() async {
        // A fault of the storage is the keeper's to tell; the next heartbeat asks again.
        try? await loadBooks()
        wake()
    }

    /// The hub's own clock was set: the collar's is looked at again.
    func clockWasSet() {
        clockChecked = false
        wake()
    }

    /// Reads what there is, however little.
    func flush() {
        trigger.demand()
        wake()
    }

    private func work() async {
        while wanted, let connection {
            wanted = false
            guard await hasWork() else { continue }
            do {
                try await pass(connection)
                failedLinks = 0
                busySince = nil
                report.lastError = refusedClear
            } catch let error as CollarError {
                note(error)
                doubtDatabase(error)
                // Busy passes by itself, or with the link. After anything else the state of the link is uncertain: a new one reconciles.
                if error.code != .busy || isBusyForLong() { await connection.close() }
            } catch {
                note(error)
                if let refused = error as? ChangeRefused, refused.refusal.code != .noPlace { restUntil = services.loop.now + Self.refusalRest }
            }
            let isUp = self.connection === connection
            if isUp, report.state == .reading { enter(report.hold == nil ? .linked : .held) }
            // The link may have gone while the pass asked for a place.
            if !isUp { waitsForPlace = false }
            if !waitsForPlace { await services.places.leave(device: device.serial) }
        }
        await stream(false)
        working = false
    }

    private func isBusyForLong() -> Bool {
        let since = busySince ?? services.loop.now
        busySince = since
        return services.loop.now - since >= Self.busyLimit
    }

    /// The clear that was refused for good, as long as it stands.
    var refusedClear: String? {
        givenUp.flatMap { $0.clear == report.pendingClear ? "clear-refused: \($0.why)" : nil }
    }

    /// Whether a wake-up is worth asking the collar: the heartbeat's figures are a hint for that and for nothing else.
    private func hasWork() async -> Bool {
        guard clockChecked, let books, let status = report.status, status.log == books.log else { return true }
        if waitsForPlace { return true }
        if let clear = report.pendingClear, clear != givenUp?.clear { return true }
        // Only a restart with another configuration ends a hold; a new link or log is looked at all the same.
        if report.hold != nil { return false }
        if let restUntil, services.loop.now < restUntil { return false }
        if report.checkpoint == nil || !books.unreported.isEmpty { return true }
        if SequenceNumber.unwrap(status.oldest, near: books.checkpoint) > books.checkpoint { return true }
        if SequenceNumber.unwrap(status.next, near: books.checkpoint) < books.checkpoint { return true }
        return trigger.isDue(draining: await services.isDraining(), now: services.loop.now)
    }

    // MARK: Telling

    func enter(_ state: CollarReport.State) {
        guard report.state != state else { return }
        report.state = state
        report.since = services.loop.now
        services.onEvent(.changed)
    }

    func setHold(_ reason: CollarHold?) {
        let isNews = report.hold?.isLike(reason) != true
        report.hold = reason
        if let reason {
            enter(.held)
            guard isNews else { return }
            services.log(.error, .deviceHeld, "\(device.name) is not read: \(reason)", LogField("DEVICE", device.serial))
        } else if report.state == .held {
            enter(.linked)
        }
    }

    func note(_ error: any Error) {
        let words = "\(error)"
        // One line per change: a collar that fails the same way at every try says so once.
        guard report.lastError != words else { return }
        report.lastError = words
        services.log(.warning, .deviceFault, "\(device.name): \(words)", LogField("DEVICE", device.serial))
    }

    func logGaps(_ gaps: [SequenceGap]) {
        for gap in gaps {
            services.log(.warning, .gapFound, "\(device.name): \(gap.count) windows from \(gap.first) of log \(gap.log): \(gap.reason.rawValue)",
                         LogField("DEVICE", device.serial), LogField("REASON", gap.reason.rawValue))
        }
    }
}

/// The outbox did not make a change that the hub asked for.
struct ChangeRefused: Error, CustomStringConvertible {
    let refusal: Refusal
    var description: String { "\(refusal)" }
}
