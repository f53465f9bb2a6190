import Platform

/// Delivers the queue's entries: one lane per endpoint and owner, each with its own retry machine, all over one transport.
///
/// An actor on the injected loop. It decides nothing itself: it carries out what the machines ask for.
public actor Uplink {
    struct LaneKey: Hashable, Comparable {
        let owner: String
        let endpoint: Endpoint

        static func < (one: LaneKey, other: LaneKey) -> Bool { (one.owner, one.endpoint.rawValue) < (other.owner, other.endpoint.rawValue) }
    }

    struct Lane {
        var machine: RetryMachine
        var timer: TimerID?
        /// The attempt, or the writing down of its outcome, that is under way.
        var work: Task<Void, Never>?
        var lastSuccess: BootInstant?
        var lastSuccessWall: WallTime?
        /// The code of the failure that was logged last; a repetition is not worth a line.
        var loggedFailure: String?
    }

    private let loop: any EventLoop
    let transport: any HTTPTransport
    let queue: any DeliveryQueue
    private(set) var settings: UplinkSettings
    let wallClock: WallClock
    private var random: any RandomNumberGenerator & Sendable
    private let log: Log
    private let onEvent: @Sendable (UplinkEvent) -> Void
    private(set) var lanesByKey: [LaneKey: Lane] = [:]
    private var stopped = false
    /// What machines have asked for and is not done yet, in order.
    private var waiting: [(key: LaneKey, action: RetryMachine.Action)] = []
    private var performing = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - queue: where entries come from and where outcomes are written down.
    ///   - random: jitters the delays.
    ///   - onEvent: told on the loop; what it tells of an entry was written down before.
    public init(loop: any EventLoop, transport: any HTTPTransport, queue: any DeliveryQueue, settings: UplinkSettings, wallClock: WallClock,
                random: any RandomNumberGenerator & Sendable, log: Log, onEvent: @escaping @Sendable (UplinkEvent) -> Void) {
        self.loop = loop
        self.transport = transport
        self.queue = queue
        self.settings = settings
        self.wallClock = wallClock
        self.random = random
        self.log = log
        self.onEvent = onEvent
    }

    // MARK: Inputs

    /// The whole queue in order, given at the start and after every change of it.
    public func setEntries(_ entries: [QueuedEntry]) {
        guard !stopped else { return }
        let byKey = Dictionary(grouping: entries) { LaneKey(owner: $0.owner, endpoint: $0.endpoint) }
        for key in Set(byKey.keys).union(lanesByKey.keys).sorted() {
            drive(key) { $0.entriesChanged(byKey[key] ?? [], now: $1) }
        }
    }

    /// Tries everything that is queued now, for every owner.
    public func flush(_ reason: FlushReason) {
        driveAll { $0.flush(reason, now: $1) }
    }

    /// The wall clock was set, or its provenance changed: what was held for it goes on.
    public func clockChanged() {
        guard wallClock.read().synchronised else { return }
        driveAll { $0.clockSet(now: $1) }
    }

    /// The owners, their tokens or their patients changed. A request in flight keeps its owner.
    ///
    /// - Parameters:
    ///   - tokenFiles: the file that holds each owner's token, by the owner's key.
    ///   - patients: each owner's FHIR Patient, by the owner's key.
    public func ownersChanged(_ tokenFiles: [String: String], patients: [String: String]) {
        settings.tokenFiles = tokenFiles
        settings.patients = patients
        for (key, lane) in lanesByKey where tokenFiles[key.owner] == nil && lane.machine.counts.queued == 0 && lane.work == nil {
            if let timer = lane.timer { loop.cancel(timer) }
            lanesByKey[key] = nil
        }
        flush(.ownersChanged)
    }

    /// The figures of the retry policy changed. What already waits, waits no longer than the new ones say.
    public func policyChanged(_ policy: RetryPolicy) {
        settings.policy = policy
        driveAll { $0.policyChanged(policy, now: $1) }
    }

    /// Ends within a second. A request in flight is abandoned, and nothing is recorded for it; an outcome that is being written down may still be.
    public func stop() async {
        stopped = true
        var work: [Task<Void, Never>] = []
        for lane in lanesByKey.values {
            if let timer = lane.timer { loop.cancel(timer) }
            if let task = lane.work { work.append(task) }
        }
        for key in lanesByKey.keys { lanesByKey[key]?.timer = nil }
        for task in work { task.cancel() }
        // Neither a transport nor a disk that hangs may keep the daemon from stopping.
        let limit = loop.spawn { [loop] in try? await loop.sleep(for: .milliseconds(900)) }
        let ending = loop.spawn { [work] in
            for task in work { await task.value }
            limit.cancel()
        }
        await limit.value
        _ = ending
    }

    /// Every endpoint and owner that has, or had, something queued, by the owner's key.
    public var lanes: [LaneStatus] {
        lanesByKey.sorted { $0.key < $1.key }.map { key, lane in
            let counts = lane.machine.counts
            return LaneStatus(owner: key.owner, endpoint: key.endpoint, state: lane.machine.status, lastSuccess: lane.lastSuccess, lastSuccessWall: lane.lastSuccessWall,
                              lastError: lane.machine.lastError, queued: counts.queued, exhausted: counts.exhausted)
        }
    }

    // MARK: Carrying out

    private func driveAll(_ input: (inout RetryMachine, BootInstant) -> [RetryMachine.Action]) {
        for key in lanesByKey.keys.sorted() { drive(key, input) }
    }

    /// Gives a lane's machine an input and does what it answers.
    private func drive(_ key: LaneKey, _ input: (inout RetryMachine, BootInstant) -> [RetryMachine.Action]) {
        guard !stopped else { return }
        let now = loop.now
        let policy = settings.policy
        let actions = input(&lanesByKey[key, default: Lane(machine: RetryMachine(owner: key.owner, endpoint: key.endpoint, policy: policy))].machine, now)
        // Whoever is told of an event may give the next input at once. Its actions come after those of this one, or an older timer would replace a newer.
        waiting += actions.map { (key, $0) }
        guard !performing else { return }
        performing = true
        defer { performing = false }
        while !waiting.isEmpty {
            let batch = waiting
            waiting = []
            for (key, action) in batch { perform(action, key) }
        }
    }

    private func perform(_ action: RetryMachine.Action, _ key: LaneKey) {
        switch action {
        case .send(let id, let part):
            lanesByKey[key]?.work = loop.spawn { await self.attempt(key, id, part) }
        case .record(let outcomes):
            lanesByKey[key]?.work = loop.spawn { await self.record(key, outcomes) }
        case .wake(let moment):
            if let timer = lanesByKey[key]?.timer { loop.cancel(timer) }
            lanesByKey[key]?.timer = moment.map { moment in
                loop.schedule(at: moment) { [weak self] in
                    self?.assumeIsolated { $0.woken(key) }
                }
            }
        case .tell(let event): tell(event, key)
        }
    }

    private func woken(_ key: LaneKey) {
        lanesByKey[key]?.timer = nil
        drive(key) { $0.timerFired(now: $1) }
    }

    private func attempt(_ key: LaneKey, _ id: String, _ part: Int?) async {
        let result = await deliver(key, id, part)
        guard !stopped else { return }
        lanesByKey[key]?.work = nil
        let jitter = Double(random.next() >> 11) * 0x1p-53
        drive(key) { $0.attemptEnded(result, now: $1, jitter: jitter) }
    }

    private func record(_ key: LaneKey, _ outcomes: [DeliveryOutcome]) async {
        var written = 0
        var failure: DeliveryError?
        for outcome in outcomes {
            do {
                try await queue.record(outcome)
            } catch {
                failure = DeliveryError(code: "queue-unwritable", words: "\(error)")
                break
            }
            written += 1
        }
        guard !stopped else { return }
        lanesByKey[key]?.work = nil
        drive(key) { $0.recorded(written, error: failure, now: $1) }
    }

    private func tell(_ event: UplinkEvent, _ key: LaneKey) {
        switch event {
        case .settled, .partSettled, .readingsAccepted:
            lanesByKey[key]?.lastSuccess = loop.now
            lanesByKey[key]?.lastSuccessWall = wallClock.read()
            lanesByKey[key]?.loggedFailure = nil
        case .failed(let failure):
            let repeated = lanesByKey[key]?.loggedFailure == failure.error.code
            lanesByKey[key]?.loggedFailure = failure.error.code
            log.note(event, of: key.endpoint, repeated: repeated)
            onEvent(event)
            return
        default: break
        }
        log.note(event, of: key.endpoint, repeated: false)
        onEvent(event)
    }
}
