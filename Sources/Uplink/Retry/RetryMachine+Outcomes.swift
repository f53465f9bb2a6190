import Platform

/// What follows from outcomes once they are on the disk, or could not be put there.
extension RetryMachine {
    mutating func wrote(_ attempt: Attempt, _ outcomes: [DeliveryOutcome], count: Int, _ failure: DeliveryFailure?, _ error: DeliveryError?,
                          _ now: BootInstant) -> [Action] {
        var actions: [Action] = []
        var goesOn = false
        for outcome in outcomes.prefix(count) { actions += apply(outcome, of: attempt, &goesOn) }
        if let failure { actions.append(.tell(.failed(failure))) }
        if let error, count < outcomes.count {
            postpone(attempt, now)
            // An entry that could not make way stays, and with it each of its parts: they are tried again.
            if case .quarantine(let id, _, _) = outcomes[count] { entries.change(id) { $0.condemned = [:] } }
            actions.append(.tell(.storageFailed(owner: owner, entry: outcomes[count].id, receipt: Self.receipt(outcomes[count]), error)))
            return actions
        }
        guard goesOn, let entry = entries[attempt.id] else { return actions }
        if entry.nextPart == nil, let error = entry.condemned.min(by: { $0.key < $1.key })?.value {
            return actions + record(attempt, [.quarantine(id: entry.id, code: error.code, words: error.words)])
        }
        return actions + send(Attempt(id: entry.id, part: entry.nextPart, kind: attempt.kind))
    }

    private mutating func apply(_ outcome: DeliveryOutcome, of attempt: Attempt, _ goesOn: inout Bool) -> [Action] {
        switch outcome {
        case .settled(let id, let receipt):
            entries.remove(id)
            afterReceipt()
            return [.tell(.settled(owner: owner, entry: id, receipt: receipt))]
        case .partSettled(let id, let index, let receipt):
            entries.settlePart(index, of: id)
            goesOn = true
            afterReceipt()
            let part = Action.tell(.partSettled(owner: owner, entry: id, part: index, receipt: receipt))
            return attempt.completesEntry ? [part, .tell(.settled(owner: owner, entry: id, receipt: receipt))] : [part]
        case .readingsSettled(let id, _, let part, let receipt):
            goesOn = part != nil
            afterReceipt()
            return applyReadings(receipt, id, part: part, of: attempt)
        case .readingSetAside(let id, let part, let position, let code, let words):
            goesOn = true
            return applySetAside(id, part: part, position: position, DeliveryError(code: code, words: words), of: attempt)
        case .attemptFailed: return []
        case .rekey(let id):
            // The queue may have told of the new key already.
            entries.change(id) { $0.queued.keyGeneration = max(1, $0.queued.keyGeneration) }
            goesOn = true
            return [.tell(.rekeyed(owner: owner, entry: id))]
        case .split(let id, let parts):
            entries.split(id, into: parts)
            goesOn = true
            return [.tell(.split(owner: owner, entry: id, into: parts))]
        case .quarantine(let id, let code, let words):
            entries.remove(id)
            return [.tell(.quarantined(owner: owner, entry: id, DeliveryError(code: code, words: words)))]
        }
    }

    /// The backend took something: what waits for a flush may go too. A flush under way comes to it by itself.
    private mutating func afterReceipt() {
        if flush == nil { flushWanted = true }
    }

    private static func receipt(_ outcome: DeliveryOutcome) -> String? {
        switch outcome {
        case .settled(_, let receipt), .partSettled(_, _, let receipt): receipt.id
        case .readingsSettled, .readingSetAside, .attemptFailed, .rekey, .split, .quarantine: nil
        }
    }
}
