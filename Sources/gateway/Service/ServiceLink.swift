import Platform

/// The daemon's side of the service manager: says when the start is done, how it goes, and that it is alive. Without a manager there is none.
actor ServiceLink {
    /// When the start counts as done at the latest, apart from an outbox that is still being opened.
    static let startLimit = Duration.seconds(20)

    /// The thread that may block, as the watchdog sees it.
    struct StoragePing: Sendable {
        let ping: @Sendable () -> Void
        let hasAnswered: @Sendable () -> Bool
    }

    private let loop: any EventLoop
    private let tell: @Sendable (ServiceState) -> Bool
    private let storage: StoragePing
    private let log: Log
    private var startUp = StartUp()
    private var isReady = false
    private var deadlines = Deadlines()
    private var watchdog: WatchdogMachine?
    private var view: (@Sendable () async -> HubView)?
    private var shown: String?
    private var timer: TimerID?
    private var limit: TimerID?
    private var checking = false
    private var stopped = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - period: the watchdog's; `nil` when the manager does not watch.
    ///   - tell: gives a message to the manager; false when it did not take it.
    init(loop: any EventLoop, period: Duration?, storage: StoragePing, log: Log, tell: @escaping @Sendable (ServiceState) -> Bool) {
        self.loop = loop
        self.tell = tell
        self.storage = storage
        self.log = log
        watchdog = period.map { WatchdogMachine(.init(period: $0)) }
    }

    /// Begins, with the start of the hub.
    ///
    /// - Parameter view: asks the hub how it is.
    func begin(_ view: @escaping @Sendable () async -> HubView) {
        self.view = view
        limit = loop.schedule(after: Self.startLimit) { [weak self] in self?.assumeIsolated { $0.limitReached() } }
    }

    /// The hub has changed.
    func show(_ view: HubView) {
        guard !stopped else { return }
        startUp.update(view)
        let line = view.statusLine
        if line != shown, tell(.status(line)) { shown = line }
        becomeReady()
    }

    /// The end has begun.
    func stop() {
        guard !stopped else { return }
        stopped = true
        for id in [timer, limit].compactMap({ $0 }) { loop.cancel(id) }
        _ = tell(.stopping)
    }

    private func limitReached() {
        limit = nil
        startUp.limitReached()
        becomeReady()
    }

    private func becomeReady() {
        guard startUp.isDone, !isReady, !stopped else { return }
        guard tell(.ready) else {
            // The manager is busy: without this message it would take the start for failed.
            if let limit { loop.cancel(limit) }
            limit = loop.schedule(after: .seconds(1)) { [weak self] in self?.assumeIsolated { $0.limitReached() } }
            return
        }
        isReady = true
        if let limit { loop.cancel(limit) }
        limit = nil
        // From now on the manager waits for a sign of life.
        if watchdog != nil { check() }
    }

    // MARK: The watchdog

    private func scheduleCheck() {
        guard let bounds = watchdog?.bounds, !stopped else { return }
        let now = loop.now
        timer = loop.schedule(at: now + bounds.latest, notBefore: now + bounds.earliest) { [weak self] in
            self?.assumeIsolated { $0.check() }
        }
    }

    /// Asks the hub. One that does not answer is not asked again, and the watchdog not fed.
    private func check() {
        timer = nil
        guard let view, !stopped, !checking else { return }
        checking = true
        loop.spawn { await self.checked(await view()) }
    }

    private func checked(_ view: HubView) {
        checking = false
        guard !stopped else { return }
        let now = loop.now
        let overdue = deadlines.overdue(view, now: now)
        for action in watchdog?.check(storageAnswers: storage.hasAnswered(), overdue: overdue, now: now) ?? [] { carryOut(action) }
        scheduleCheck()
    }

    private func carryOut(_ action: WatchdogMachine.Action) {
        switch action {
        // One that the manager did not take is made up for by the next: two are within its period.
        case .feed: _ = tell(.watchdog)
        case .ping: storage.ping()
        case .complain(let complaints):
            let words = complaints.map(\.description).joined(separator: ", ")
            log(.critical, .watchdogWithheld, "the gateway hangs, and will be started anew: \(words)")
        case .recovered: log(.notice, .watchdogFed, "the gateway is alive again")
        }
    }
}

extension WatchdogMachine.Complaint: CustomStringConvertible {
    var description: String {
        switch self {
        case .storageSilent: "the disk has not answered for a minute"
        case .overdue(let work): "\(work)"
        }
    }
}

extension LogEvent {
    static let watchdogWithheld = LogEvent("watchdog-withheld", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0050")
    static let watchdogFed = LogEvent("watchdog-fed", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0051")
}
