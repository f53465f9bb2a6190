import Platform

/// When one owner's entries are sent to one endpoint, and what an answer leads to (the rules under the contract's table).
///
/// A value without I/O or clock: each input gives the actions that follow. All moments are on the boot clock and none is ever stored. One request is
/// out at a time. Three layers decide what goes next, the first that applies: a *hold* sends only probes; a *flush* is one pass over everything;
/// otherwise entries go when they are due, in the order of the queue.
public struct RetryMachine: Sendable {
    /// What the shell has to do.
    public enum Action: Sendable, Hashable {
        /// Load the entry (or its part), read the token, send, and answer with `attemptEnded`.
        case send(id: String, part: Int?)
        /// Write these down in order, up to the first that fails, and answer with `recorded`.
        case record([DeliveryOutcome])
        /// Call `timerFired` at this moment, instead of any asked for before; nil: no timer.
        case wake(at: BootInstant?)
        /// Tell the hub.
        case tell(UplinkEvent)
    }

    /// How an attempt ended.
    public enum AttemptResult: Sendable, Hashable {
        /// The backend, the network or somebody in between gave an answer.
        case answered(Answer)
        /// The queue no longer has the entry.
        case gone
        /// No request can be made of the entry.
        case unsendable(DeliveryError)
        /// The owner's token cannot be read, or they have no patient that readings could be sent for.
        case tokenUnavailable(DeliveryError)
        /// No request can be made of one reading, by its place among the `sent` ones; `names` as far as they can be read.
        case unsendableReading(place: Int, DeliveryError, sent: Int, names: [String])
        /// The entry was not sent: it has more readings than the backend takes at a time.
        case overLimit(sent: Int)
        /// The queue cannot be read.
        case storageFailed(DeliveryError)
    }

    enum State: Sendable {
        /// Nothing is on its way. → sending
        case ready
        /// A request is out. → recording, sending (with the token read anew), ready
        case sending(Attempt)
        /// Outcomes are being written down. → sending (the same entry goes on), ready
        case recording(Attempt, [DeliveryOutcome], DeliveryFailure?)
    }

    struct Attempt: Sendable {
        enum Kind: Sendable, Hashable {
            case due
            case flush(Int)
            case probe
        }

        let id: String
        let part: QueuedEntry.Part?
        let kind: Kind
        /// Whether the token was read anew after it was refused.
        var withNewToken = false
        /// Whether the entry is settled when this part is.
        var completesEntry = false
        /// The names of the readings that were sent, in order.
        var names: [String] = []
        /// How many readings were sent.
        var sent = 0
    }

    struct Hold: Sendable {
        let reason: HoldReason
        /// Probes that failed.
        var probes: Int
        var probeAt: BootInstant
        /// The entries that served as probes in this round. A probe is not repeated with an entry while others wait: it might be that entry's fault.
        var round: Set<String> = []
        /// The entries that were there when the endpoint was found wrong, or were tried since. Another one is new evidence.
        var seen: Set<String>
    }

    /// One pass over everything that is queued.
    struct Flush: Sendable {
        let number: Int
        var tried: Set<String> = []
    }

    /// Whose entries these are.
    public let owner: String
    /// Where they go.
    public let endpoint: Endpoint
    private(set) var policy: RetryPolicy
    var state = State.ready
    var entries = LaneEntries()
    var hold: Hold?
    var flush: Flush?
    var flushWanted = false
    var flushes = 0
    /// Where the last flush was ended by an entry that may itself be at fault: the next one begins after it.
    var resumeAfter: String?
    /// Nothing goes before this moment, not even a flush: the backend asked for it.
    var retryAfter: BootInstant?
    /// Nothing but a flush goes before this moment: the endpoint did not answer, or the disk failed.
    var delayUntil: BootInstant?
    var nextFlush: BootInstant?
    var jitter = 0.0
    /// Whether the last attempt got no answer.
    var silent = false
    /// The largest number of windows or readings that the backend may be given at a time, as far as it has shown one.
    public internal(set) var learnedLimit: Int?
    /// The last failure since the last receipt.
    public internal(set) var lastError: DeliveryError?
    private var asked: BootInstant?

    public init(owner: String, endpoint: Endpoint = .rawWindows, policy: RetryPolicy) {
        self.owner = owner
        self.endpoint = endpoint
        self.policy = policy
    }

    // MARK: Inputs

    /// The owner's entries, in order, after any change.
    public mutating func entriesChanged(_ queued: [QueuedEntry], now: BootInstant) -> [Action] {
        entries.replace(with: queued, attempts: policy.attempts)
        if entries.isEmpty {
            flush = nil
            flushWanted = false
            nextFlush = nil
        } else if nextFlush == nil {
            nextFlush = now + policy.flushInterval
        }
        return proceed(now)
    }

    /// Everything is to be tried now. In a hold this is a probe.
    public mutating func flush(_ reason: FlushReason, now: BootInstant) -> [Action] {
        guard !entries.isEmpty else {
            delayUntil = nil
            hold?.probes = 0
            hold?.probeAt = now
            return []
        }
        flushWanted = true
        // What an attempt finds that is out already says nothing about the world after the reason for this flush.
        flush = nil
        return proceed(now)
    }

    /// The wall clock was set from a time source.
    public mutating func clockSet(now: BootInstant) -> [Action] {
        guard hold?.reason == .clock else { return [] }
        return endHold() + proceed(now)
    }

    /// The figures changed. What already waits, waits no longer than the new ones let it; what the backend asked for stays.
    public mutating func policyChanged(_ policy: RetryPolicy, now: BootInstant) -> [Action] {
        self.policy = policy
        let latest = now + policy.maximumDelay
        nextFlush = nextFlush.map { min($0, now + policy.flushInterval) }
        delayUntil = delayUntil.map { min($0, latest) }
        if let probe = hold?.probeAt { hold?.probeAt = min(probe, latest) }
        entries.changeAll { $0.due = $0.due.map { min($0, latest) } }
        return proceed(now)
    }

    /// The moment has come that the last `wake` asked for.
    public mutating func timerFired(now: BootInstant) -> [Action] {
        asked = nil
        return proceed(now)
    }

    /// The attempt that was asked for has ended.
    ///
    /// - Parameter jitter: a random number from 0 to 1.
    public mutating func attemptEnded(_ result: AttemptResult, now: BootInstant, jitter: Double) -> [Action] {
        guard case .sending(let attempt) = state else { return [] }
        state = .ready
        self.jitter = jitter
        let actions = ended(attempt, result, now)
        return actions + proceed(now)
    }

    /// The outcomes that were to be written down are, or the first `written` of them and then the storage failed.
    public mutating func recorded(_ written: Int, error: DeliveryError?, now: BootInstant) -> [Action] {
        guard case .recording(let attempt, let outcomes, let failure) = state else { return [] }
        state = .ready
        let actions = wrote(attempt, outcomes, count: written, failure, error, now)
        return actions + proceed(now)
    }

    // MARK: What goes next

    private mutating func proceed(_ now: BootInstant) -> [Action] {
        guard case .ready = state else { return wake(at: nil) }
        if let until = retryAfter, until <= now { retryAfter = nil }
        if let until = delayUntil, until <= now { delayUntil = nil }
        guard !entries.isEmpty else { return wake(at: nil) }
        if hold != nil { return probe(now) }
        if let at = nextFlush, at <= now, flush == nil { flushWanted = true }
        if let until = retryAfter { return wake(at: until) }
        if flushWanted { beginFlush(now) }
        if let actions = continueFlush() { return actions }
        if delayUntil == nil, let entry = entries.firstSendable(now, where: mayTry) { return send(entry, .due) }
        if entries.list.allSatisfy({ $0.refusal != nil }), let error = entries.list[0].refusal {
            return beginHold(.endpoint, error, now) + wake(at: probeTime)
        }
        return wake(at: [nextAttempt, nextFlush].compactMap { $0 }.min())
    }

    private mutating func probe(_ now: BootInstant) -> [Action] {
        guard var hold, var at = probeTime else { return [] }
        if flushWanted {
            flushWanted = false
            hold.probes = 0
            hold.probeAt = now
            hold.round = []
            at = retryAfter ?? now
        }
        let fresh = hold.reason == .endpoint && retryAfter == nil ? entries.list.first { !hold.seen.contains($0.id) } : nil
        self.hold = hold
        guard fresh != nil || at <= now else { return wake(at: at) }
        if entries.list.allSatisfy({ hold.round.contains($0.id) }) { hold.round = [] }
        guard let entry = fresh ?? entries.firstUntried(hold.round, after: nil) else { return [] }
        hold.round.insert(entry.id)
        hold.seen.insert(entry.id)
        self.hold = hold
        return send(entry, .probe)
    }

    private mutating func beginFlush(_ now: BootInstant) {
        flushWanted = false
        flushes += 1
        flush = Flush(number: flushes)
        delayUntil = nil
        nextFlush = now + policy.flushInterval
    }

    /// The next attempt of the flush; nil when there is none, or none is left in it.
    private mutating func continueFlush() -> [Action]? {
        guard let pass = flush else { return nil }
        guard let entry = entries.firstUntried(pass.tried, after: resumeAfter, where: mayTry) else {
            flush = nil
            resumeAfter = nil
            return nil
        }
        flush?.tried.insert(entry.id)
        return send(entry, .flush(pass.number))
    }

    private mutating func send(_ entry: LaneEntries.Entry, _ kind: Attempt.Kind) -> [Action] {
        send(Attempt(id: entry.id, part: entry.nextPart, kind: kind))
    }

    mutating func send(_ attempt: Attempt) -> [Action] {
        state = .sending(attempt)
        entries.change(attempt.id) { $0.wasTried = true }
        return wake(at: nil) + [.tell(.sending(owner: owner, entry: attempt.id)), .send(id: attempt.id, part: attempt.part?.index)]
    }

    private mutating func wake(at moment: BootInstant?) -> [Action] {
        guard moment != asked else { return [] }
        asked = moment
        return [.wake(at: moment)]
    }

    /// When the next entry goes by itself.
    private var nextAttempt: BootInstant? {
        entries.list.filter { $0.isPending && mayTry($0) }.compactMap { [$0.due, delayUntil].compactMap { $0 }.max() }.min()
    }

    private var probeTime: BootInstant? { hold.map { max($0.probeAt, retryAfter ?? $0.probeAt) } }

    // MARK: What is shown

    /// What the lane is doing.
    public var status: LaneStatus.State {
        if let hold, let probe = probeTime { return .holding(hold.reason, probe: probe) }
        switch state {
        case .sending(let attempt), .recording(let attempt, _, _): return .sending(entry: attempt.id)
        case .ready:
            let waiting = entries.list.contains(where: \.isPending) ? [nextAttempt, retryAfter].compactMap { $0 }.max() : nil
            return waiting.map { .waiting(until: $0) } ?? .idle
        }
    }

    /// The number of entries, and how many of them wait for a flush.
    public var counts: (queued: Int, exhausted: Int) {
        (entries.list.count, entries.list.count { $0.queued.exhausted })
    }
}
