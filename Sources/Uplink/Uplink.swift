import Platform

/// Delivers the queue's entries: one lane per owner, each with its own retry machine, all over one transport.
///
/// An actor on the injected loop. It decides nothing itself: it carries out what the machines ask for.
public actor Uplink {
    private struct Lane {
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
    private let transport: any HTTPTransport
    private let queue: any DeliveryQueue
    private var settings: UplinkSettings
    private let wallClock: WallClock
    private var random: any RandomNumberGenerator & Sendable
    private let log: Log
    private let onEvent: @Sendable (UplinkEvent) -> Void
    private var lanesByOwner: [String: Lane] = [:]
    private var stopped = false
    /// What machines have asked for and is not done yet, in order.
    private var waiting: [(owner: String, action: RetryMachine.Action)] = []
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
        let byOwner = Dictionary(grouping: entries, by: \.owner)
        for owner in Set(byOwner.keys).union(lanesByOwner.keys).sorted() {
            drive(owner) { $0.entriesChanged(byOwner[owner] ?? [], now: $1) }
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

    /// The owners or their tokens changed. A request in flight keeps its owner.
    ///
    /// - Parameter tokenFiles: the file that holds each owner's token, by the owner's key.
    public func ownersChanged(_ tokenFiles: [String: String]) {
        settings.tokenFiles = tokenFiles
        for (owner, lane) in lanesByOwner where tokenFiles[owner] == nil && lane.machine.counts.queued == 0 && lane.work == nil {
            if let timer = lane.timer { loop.cancel(timer) }
            lanesByOwner[owner] = nil
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
        for lane in lanesByOwner.values {
            if let timer = lane.timer { loop.cancel(timer) }
            if let task = lane.work { work.append(task) }
        }
        for owner in lanesByOwner.keys { lanesByOwner[owner]?.timer = nil }
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

    /// Every owner who has, or had, something queued, by key.
    public var lanes: [LaneStatus] {
        lanesByOwner.sorted { $0.key < $1.key }.map { owner, lane in
            let counts = lane.machine.counts
            return LaneStatus(owner: owner, state: lane.machine.status, lastSuccess: lane.lastSuccess, lastSuccessWall: lane.lastSuccessWall,
                              lastError: lane.machine.lastError, queued: counts.queued, exhausted: counts.exhausted)
        }
    }

    // MARK: Carrying out

    private func driveAll(_ input: (inout RetryMachine, BootInstant) -> [RetryMachine.Action]) {
        for owner in lanesByOwner.keys.sorted() { drive(owner, input) }
    }

    /// Gives a lane's machine an input and does what it answers.
    private func drive(_ owner: String, _ input: (inout RetryMachine, BootInstant) -> [RetryMachine.Action]) {
        guard !stopped else { return }
        let now = loop.now
        let policy = settings.policy
        let actions = input(&lanesByOwner[owner, default: Lane(machine: RetryMachine(owner: owner, policy: policy))].machine, now)
        // Whoever is told of an event may give the next input at once. Its actions come after those of this one, or an older timer would replace a newer.
        waiting += actions.map { (owner, $0) }
        guard !performing else { return }
        performing = true
        defer { performing = false }
        while !waiting.isEmpty {
            let batch = waiting
            waiting = []
            for (owner, action) in batch { perform(action, owner) }
        }
    }

    private func perform(_ action: RetryMachine.Action, _ owner: String) {
        switch action {
        case .send(let id, let part):
            lanesByOwner[owner]?.work = loop.spawn { await self.attempt(owner, id, part) }
        case .record(let outcomes):
            lanesByOwner[owner]?.work = loop.spawn { await self.record(owner, outcomes) }
        case .wake(let moment):
            if let timer = lanesByOwner[owner]?.timer { loop.cancel(timer) }
            lanesByOwner[owner]?.timer = moment.map { moment in
                loop.schedule(at: moment) { [weak self] in
                    self?.assumeIsolated { $0.woken(owner) }
                }
            }
        case .tell(let event): tell(event)
        }
    }

    private func woken(_ owner: String) {
        lanesByOwner[owner]?.timer = nil
        drive(owner) { $0.timerFired(now: $1) }
    }

    private func attempt(_ owner: String, _ id: String, _ part: Int?) async {
        let result = await deliver(owner, id, part)
        guard !stopped else { return }
        lanesByOwner[owner]?.work = nil
        let jitter = Double(random.next() >> 11) * 0x1p-53
        drive(owner) { $0.attemptEnded(result, now: $1, jitter: jitter) }
    }

    /// One request: load, read the token, send, and put the answer into its class.
    private func deliver(_ owner: String, _ id: String, _ part: Int?) async -> RetryMachine.AttemptResult {
        let delivery: Delivery
        do {
            guard let loaded = try await queue.load(id, part: part) else { return .gone }
            delivery = loaded
        } catch let error as UplinkError {
            return .unsendable(DeliveryError(code: error.code, words: error.words))
        } catch {
            return .storageFailed(DeliveryError(code: "queue-unreadable", words: "\(error)"))
        }
        guard delivery.owner == owner else {
            return .unsendable(DeliveryError(code: "entry-owner-mismatch", words: "queued for \(owner), but stored for another owner"))
        }
        let request: RawWindowsRequest
        do throws(UplinkError) {
            request = try RawWindowsRequest(delivery)
        } catch {
            return .unsendable(DeliveryError(code: error.code, words: error.words))
        }
        guard let file = settings.tokenFiles[owner] else {
            return .tokenUnavailable(DeliveryError(code: "owner-without-token", words: "no token file is configured for \(owner)"))
        }
        let token: String
        do throws(SecretFileError) {
            token = try SecretFile.read(file)
        } catch {
            return .tokenUnavailable(DeliveryError(code: "token-unreadable", words: "\(error)"))
        }
        do throws(TransportFailure) {
            let response = try await transport.send(request.request(base: settings.base, token: token, sent: wallClock.read().seconds))
            return .answered(Answer(response, to: delivery, digest: request.digest))
        } catch {
            return .answered(Answer(error, clockSynchronised: wallClock.read().synchronised))
        }
    }

    private func record(_ owner: String, _ outcomes: [DeliveryOutcome]) async {
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
        lanesByOwner[owner]?.work = nil
        drive(owner) { $0.recorded(written, error: failure, now: $1) }
    }

    private func tell(_ event: UplinkEvent) {
        switch event {
        case .settled(let owner, _, _), .partSettled(let owner, _, _, _):
            lanesByOwner[owner]?.lastSuccess = loop.now
            lanesByOwner[owner]?.lastSuccessWall = wallClock.read()
            lanesByOwner[owner]?.loggedFailure = nil
        case .failed(let failure):
            let repeated = lanesByOwner[failure.owner]?.loggedFailure == failure.error.code
            lanesByOwner[failure.owner]?.loggedFailure = failure.error.code
            log.note(event, repeated: repeated)
            onEvent(event)
            return
        default: break
        }
        log.note(event, repeated: false)
        onEvent(event)
    }
}
