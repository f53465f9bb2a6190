import Platform

/// Delivers the queue's entries: one lane per endpoint and owner, each with its own retry machine, all over one transport.
///
/// An actor on the injected loop. It decides nothing itself: it carries out what the machines ask for.
public actor Uplink {
    private struct LaneKey: Hashable, Comparable {
        let owner: String
        let endpoint: Endpoint

        static func < (one: LaneKey, other: LaneKey) -> Bool { (one.owner, one.endpoint.rawValue) < (other.owner, other.endpoint.rawValue) }
    }

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
    private var lanesByKey: [LaneKey: Lane] = [:]
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

    /// One request: read the token, load, send, and put the answer into its class.
    ///
    /// The token comes first: what is loaded to be sent takes no further readings, and must not be for an attempt that cannot be made.
    private func deliver(_ key: LaneKey, _ id: String, _ part: Int?) async -> RetryMachine.AttemptResult {
        let token: String
        let patient: String
        do throws(DeliveryError) {
            token = try readToken(key.owner)
            patient = key.endpoint == .readings ? try self.patient(key.owner) : ""
        } catch {
            return .tokenUnavailable(error)
        }
        let shipment: Shipment
        do {
            guard let loaded = try await queue.load(id, part: part) else { return .gone }
            shipment = loaded
        } catch UplinkError.unsendableReading(let place, let words) {
            let error = UplinkError.unsendableReading(place: place, words)
            return .unsendableReading(place: place, DeliveryError(code: error.code, words: words), sent: count(id, part, key), names: [])
        } catch let error as UplinkError {
            return .unsendable(DeliveryError(code: error.code, words: error.words))
        } catch {
            return .storageFailed(DeliveryError(code: "queue-unreadable", words: "\(error)"))
        }
        switch (shipment, key.endpoint) {
        case (.windows(let delivery), .rawWindows): return await deliver(delivery, key, token)
        case (.readings(var delivery), .readings):
            delivery.patient = patient
            return await deliver(delivery, key, token, isPart: part != nil)
        case (.windows, .readings), (.readings, .rawWindows):
            return .unsendable(DeliveryError(code: "entry-endpoint-mismatch", words: "queued for \(key.endpoint.rawValue), but stored as something else"))
        }
    }

    private func deliver(_ delivery: Delivery, _ key: LaneKey, _ token: String) async -> RetryMachine.AttemptResult {
        if let mismatch = mismatch(delivery.owner, key) { return mismatch }
        let request: RawWindowsRequest
        do throws(UplinkError) {
            request = try RawWindowsRequest(delivery)
        } catch {
            return .unsendable(DeliveryError(code: error.code, words: error.words))
        }
        do throws(TransportFailure) {
            let response = try await transport.send(request.request(base: settings.base, token: token, sent: wallClock.read().seconds))
            return .answered(Answer(response, to: delivery, digest: request.digest))
        } catch {
            return .answered(Answer(error, clockSynchronised: wallClock.read().synchronised))
        }
    }

    private func deliver(_ delivery: ReadingsDelivery, _ key: LaneKey, _ token: String, isPart: Bool) async -> RetryMachine.AttemptResult {
        if let mismatch = mismatch(delivery.owner, key) { return mismatch }
        let sent = SentReadings(key: delivery.key, names: delivery.readings.map(\.id))
        if !isPart, let limit = lanesByKey[key]?.machine.learnedLimit, sent.names.count > limit { return .overLimit(sent: sent.names.count) }
        let request: ReadingsRequest
        do throws(UplinkError) {
            request = try ReadingsRequest(delivery)
        } catch {
            return Self.unsendable(delivery, error)
        }
        do throws(TransportFailure) {
            let url = settings.url(of: .readings)
            let response = try await transport.send(request.request(url: url, token: token, sent: wallClock.read().seconds))
            return .answered(Answer(response, to: request, sent))
        } catch {
            var answer = Answer(error, clockSynchronised: wallClock.read().synchronised)
            answer.readings = sent
            return .answered(answer)
        }
    }

    /// No request can be made of these readings: of which of them not?
    private static func unsendable(_ delivery: ReadingsDelivery, _ error: UplinkError) -> RetryMachine.AttemptResult {
        for (place, reading) in delivery.readings.enumerated() {
            var alone = delivery
            alone.readings = [reading]
            do throws(UplinkError) {
                _ = try ReadingsRequest(alone)
            } catch {
                let cause = UplinkError.unsendableReading(place: place, error.words)
                return .unsendableReading(place: place, DeliveryError(code: cause.code, words: cause.words), sent: delivery.readings.count, names: delivery.readings.map(\.id))
            }
        }
        return .unsendable(DeliveryError(code: error.code, words: error.words))
    }

    private func mismatch(_ owner: String, _ key: LaneKey) -> RetryMachine.AttemptResult? {
        owner == key.owner ? nil
            : .unsendable(DeliveryError(code: "entry-owner-mismatch", words: "queued for \(key.owner), but stored for another owner"))
    }

    /// The number of readings of an entry, or of its part, as the machine knows it.
    private func count(_ id: String, _ part: Int?, _ key: LaneKey) -> Int {
        guard let entry = lanesByKey[key]?.machine.entries[id]?.queued else { return 1 }
        return part.flatMap { part in entry.parts.first { $0.index == part }?.count } ?? entry.count
    }

    private func readToken(_ owner: String) throws(DeliveryError) -> String {
        guard let file = settings.tokenFiles[owner] else {
            throw DeliveryError(code: "owner-without-token", words: "no token file is configured for \(owner)")
        }
        do throws(SecretFileError) {
            return try SecretFile.read(file)
        } catch {
            throw DeliveryError(code: "token-unreadable", words: "\(error)")
        }
    }

    /// Whom an owner's readings are about.
    private func patient(_ owner: String) throws(DeliveryError) -> String {
        guard let patient = settings.patients[owner] else {
            throw DeliveryError(code: "owner-without-patient", words: "no patient is configured for \(owner), and readings are sent for one")
        }
        guard ReadingsRequest.isReference(patient) else {
            throw DeliveryError(code: "patient-unusable", words: "the patient of \(owner) is no reference: write it like Patient/123")
        }
        return patient
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
