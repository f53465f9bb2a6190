import Platform

/// What each kind of answer leads to.
extension RetryMachine {
    mutating func ended(_ attempt: Attempt, _ result: AttemptResult, _ now: BootInstant) -> [Action] {
        switch result {
        case .answered(let answer): return answered(attempt, answer, now)
        case .gone:
            entries.remove(attempt.id)
            return []
        case .unsendable(let error): return quarantine(attempt, error)
        case .unsendableReading(let place, let error, let sent, let names):
            return [failed(attempt, error, willRetry: sent > 1)] + faulty(loaded(names, sent, by: attempt), place, why: error)
        case .overLimit(let sent): return overLimit(loaded([], sent, by: attempt))
        case .tokenUnavailable(let error): return held(attempt, .authorisation, error, now)
        case .storageFailed(let error):
            postpone(attempt, now)
            return [.tell(.storageFailed(owner: owner, entry: attempt.id, receipt: nil, error))]
        }
    }

    private mutating func answered(_ attempt: Attempt, _ answer: Answer, _ now: BootInstant) -> [Action] {
        let error = answer.error ?? DeliveryError(code: "unknown", words: "")
        let attempt = answer.readings.map { loaded($0.names, $0.names.count, by: attempt) } ?? attempt
        silent = false
        switch answer.meaning {
        case .confirmed(let receipt):
            let part = attempt.part?.index
            return confirmed(attempt, part.map { .partSettled(id: attempt.id, index: $0, receipt: receipt) } ?? .settled(id: attempt.id, receipt: receipt))
        case .readingsConfirmed(let receipt):
            return confirmed(attempt, .readingsSettled(id: attempt.id, key: answer.readings?.key ?? "", part: attempt.part?.index, receipt))
        case .readingConflict(let place):
            let ending = endHold()
            let why = DeliveryError(code: Self.conflictCode, words: error.words)
            return ending + [failed(attempt, error, willRetry: attempt.sent > 1)] + faulty(attempt, place, why: why)
        case .retry(let after, let answered, let beforeRequest):
            silent = !answered
            return retry(attempt, error, after: after, answered: answered, beforeRequest: beforeRequest, now)
        case .clock: return held(attempt, .clock, error, now)
        case .interception: return held(attempt, .interception, error, now)
        case .authorisation:
            guard !attempt.withNewToken else { return held(attempt, .authorisation, error, now) }
            var again = attempt
            again.withNewToken = true
            return [failed(attempt, error, willRetry: true)] + send(again)
        case .conflict:
            guard let entry = entries[attempt.id] else { return [] }
            let ending = endHold()
            guard entry.queued.keyGeneration == 0 else { return ending + quarantine(attempt, error) }
            return ending + [failed(attempt, error, willRetry: true)] + record(attempt, [.rekey(id: attempt.id)])
        case .tooLarge: return tooLarge(attempt, error)
        case .refused: return refused(attempt, error, now)
        }
    }

    private mutating func confirmed(_ attempt: Attempt, _ outcome: DeliveryOutcome) -> [Action] {
        lastError = nil
        let ending = endHold()
        var attempt = attempt
        if let part = attempt.part {
            attempt.completesEntry = entries[attempt.id]?.queued.parts.allSatisfy { $0.settled || $0.index == part.index } ?? false
        }
        var outcomes = [outcome]
        for entry in entries.judgeRefused(afterAccepting: attempt.id) {
            let refusal = entry.refusal ?? DeliveryError(code: "unknown", words: "")
            outcomes.append(.quarantine(id: entry.id, code: refusal.code, words: refusal.words))
        }
        return ending + record(attempt, outcomes)
    }

    private mutating func retry(_ attempt: Attempt, _ error: DeliveryError, after: Duration?, answered: Bool, beforeRequest: Bool, _ now: BootInstant) -> [Action] {
        if let after, after > .zero { retryAfter = now + min(after, policy.maximumDelay) }
        if hold != nil {
            // It says nothing about the reason of the hold.
            postponeProbe(now)
            return [failed(attempt, error, willRetry: true)]
        }
        guard entries[attempt.id] != nil else { return [] }
        entries.change(attempt.id) { entry in
            entry.queued.attempts += 1
            entry.queued.exhausted = entry.queued.attempts >= policy.attempts
            entry.due = now + policy.delay(failure: entry.queued.attempts, jitter: jitter)
            if let retryAfter { entry.due = max(entry.due ?? retryAfter, retryAfter) }
        }
        let attempts = entries[attempt.id]?.queued.attempts ?? 1
        if !answered { delayUntil = now + policy.delay(failure: min(attempts, policy.attempts), jitter: jitter) }
        if !answered || retryAfter != nil, case .flush(let number) = attempt.kind, flush?.number == number {
            // Going on would only charge the others for the same fault. The entry itself may be what the backend chokes on, so the next flush begins behind it.
            flush = nil
            resumeAfter = beforeRequest ? nil : attempt.id
        }
        let exhausted = attempts >= policy.attempts
        return record(attempt, [.attemptFailed(id: attempt.id, code: error.code, exhausted: exhausted)],
                      failure: failure(attempt, error, willRetry: !exhausted))
    }

    private mutating func tooLarge(_ attempt: Attempt, _ error: DeliveryError) -> [Action] {
        guard let entry = entries[attempt.id] else { return [] }
        let count = attempt.part?.count ?? entry.queued.count
        let ending = endHold()
        guard count > 1 else { return ending + quarantine(attempt, error) }
        let limit = (count + 1) / 2
        let parts = Self.parts(of: entry, limit: limit)
        let telling = failed(attempt, error, willRetry: true)
        var actions = ending + [telling] + record(attempt, [.split(id: attempt.id, into: parts)])
        if limit < learnedLimit ?? .max {
            learnedLimit = limit
            actions.append(.tell(endpoint == .readings ? .readingsLimitLearned(owner: owner, readings: limit) : .limitLearned(owner: owner, windows: limit)))
        }
        return actions
    }

    private mutating func refused(_ attempt: Attempt, _ error: DeliveryError, _ now: BootInstant) -> [Action] {
        let held = hold?.reason == .endpoint
        let ending = held ? [] : endHold()
        if held { postponeProbe(now) }
        entries.change(attempt.id) { entry in
            entry.refusal = error
            entry.heldSinceRefusal = held
        }
        return ending + [failed(attempt, error, willRetry: held)]
    }

    /// Everything of the entry that is not settled, in pieces of at most `limit` windows or readings. A part that cannot be delivered stays as it is.
    static func parts(of entry: LaneEntries.Entry, limit: Int) -> [QueuedEntry.Part] {
        let whole = QueuedEntry.Part(index: -1, offset: 0, count: entry.queued.count, settled: false)
        let open = entry.queued.parts.isEmpty ? [whole] : entry.queued.parts.filter { !$0.settled }
        var index = (entry.queued.parts.map(\.index).max() ?? -1) + 1
        var parts: [QueuedEntry.Part] = []
        for range in open {
            var offset = range.offset
            let end = range.offset + range.count
            while offset < end {
                // Halves, and halves of halves: the last piece is not a crumb.
                let pieces = (end - offset + limit - 1) / limit
                let count = (end - offset + pieces - 1) / pieces
                parts.append(QueuedEntry.Part(index: index, offset: offset, count: count, settled: false))
                index += 1
                offset += count
            }
        }
        return parts
    }

    /// The entry makes way. Of an entry in parts the others go first: the fault of one must not cost the rest.
    private mutating func quarantine(_ attempt: Attempt, _ error: DeliveryError) -> [Action] {
        guard entries[attempt.id] != nil else { return [] }
        let telling = failed(attempt, error, willRetry: false)
        if let part = attempt.part {
            entries.change(attempt.id) { $0.condemned[part.index] = error }
            if let entry = entries[attempt.id], let next = entry.nextPart {
                return [telling] + send(Attempt(id: entry.id, part: next, kind: attempt.kind))
            }
        }
        return [telling] + record(attempt, [.quarantine(id: attempt.id, code: error.code, words: error.words)])
    }

    // MARK: Holds

    private mutating func held(_ attempt: Attempt, _ reason: HoldReason, _ error: DeliveryError, _ now: BootInstant) -> [Action] {
        let telling = failed(attempt, error, willRetry: true)
        if hold?.reason == reason {
            postponeProbe(now)
            return [telling]
        }
        let probes = hold.map { $0.probes + 1 } ?? 0
        let wanted = flushWanted
        let actions = [telling] + endHold() + beginHold(reason, error, now)
        flushWanted = wanted
        hold?.probes = probes
        if probes > 0 { hold?.probeAt = now + policy.delay(failure: probes + 1, jitter: jitter) }
        return actions
    }

    /// From now on only probes go. A flush that was asked for while the request was out becomes the first of them.
    mutating func beginHold(_ reason: HoldReason, _ error: DeliveryError, _ now: BootInstant) -> [Action] {
        flush = nil
        hold = Hold(reason: reason, probes: 0, probeAt: now + policy.delay(failure: 1, jitter: jitter), seen: Set(entries.list.map(\.id)))
        if reason == .endpoint {
            entries.changeAll { if $0.refusal != nil { $0.heldSinceRefusal = true } }
        }
        return [.tell(.holdBegan(owner: owner, reason, error))]
    }

    /// Sends again, and begins with everything.
    mutating func endHold() -> [Action] {
        guard let ended = hold else { return [] }
        hold = nil
        flushWanted = true
        return [.tell(.holdEnded(owner: owner, ended.reason))]
    }

    private mutating func postponeProbe(_ now: BootInstant) {
        guard var hold else { return }
        hold.probes += 1
        hold.probeAt = now + policy.delay(failure: hold.probes + 1, jitter: jitter)
        self.hold = hold
    }

    /// The hub's own storage failed: nothing is charged and nothing is hurried. The entry waits longer than the lane, so that one that cannot be
    /// written down does not keep the others waiting for ever.
    mutating func postpone(_ attempt: Attempt, _ now: BootInstant) {
        flush = nil
        flushWanted = false
        entries.change(attempt.id) { $0.due = now + policy.delay(failure: 2, jitter: jitter) }
        if hold != nil { postponeProbe(now) } else { delayUntil = now + policy.delay(failure: 1, jitter: jitter) }
    }

    // MARK: Telling

    mutating func record(_ attempt: Attempt, _ outcomes: [DeliveryOutcome], failure: DeliveryFailure? = nil) -> [Action] {
        state = .recording(attempt, outcomes, failure)
        return [.record(outcomes)]
    }

    private mutating func failure(_ attempt: Attempt, _ error: DeliveryError, willRetry: Bool) -> DeliveryFailure {
        lastError = error
        let queued = entries[attempt.id]?.queued
        return DeliveryFailure(owner: owner, entry: attempt.id, error: error, attempt: queued?.attempts ?? 0, willRetry: willRetry, exhausted: queued?.exhausted ?? false)
    }

    private mutating func failed(_ attempt: Attempt, _ error: DeliveryError, willRetry: Bool) -> Action {
        .tell(.failed(failure(attempt, error, willRetry: willRetry)))
    }
}
