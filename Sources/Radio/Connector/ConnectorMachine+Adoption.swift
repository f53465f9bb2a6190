import Platform

/// A candidate that is being connected, to pair and to read its serial number. One at a time: one LE connection may be pending for each controller.
struct Trial: Sendable, Hashable {
    let device: String
    let address: BluetoothAddress
    let until: BootInstant
}

/// New addresses of devices that have none, or are not heard under theirs.
extension ConnectorMachine {
    /// When a candidate may be tried that may not be yet.
    var candidateDeadline: BootInstant? {
        guard trial == nil, isReady else { return nil }
        return devices.compactMap { id, device -> BootInstant? in
            guard isSeeking(id, device) else { return nil }
            let known = candidates.of(id)
            guard let first = known.map(\.first).min() else { return nil }
            let isWindow = window?.includes(id) ?? false
            let settled = isWindow ? first + settings.candidateSettling : first
            return max(settled, device.nextTrial ?? settled, device.nextLook ?? settled)
        }.min()
    }

    mutating func chooseCandidate(at now: BootInstant) {
        guard trial == nil, isReady else { return }
        // Who waited longest comes first, so that one whose trials fail does not hold up the others.
        let order = devices.sorted { ($0.value.nextTrial?.nanoseconds ?? .min, $0.key) < ($1.value.nextTrial?.nanoseconds ?? .min, $1.key) }
        for (id, device) in order where isSeeking(id, device) && device.nextTrial.map({ $0 <= now }) ?? true {
            let known = candidates.of(id)
            guard let best = known.first else { continue }
            if window?.includes(id) ?? false {
                guard let first = known.map(\.first).min(), first + settings.candidateSettling <= now else { continue }
                guard device.nextLook.map({ $0 <= now }) ?? true else { continue }
                guard !isAmbiguous(id, known) else {
                    // One of them may be gone by then.
                    devices[id]?.nextLook = now + settings.candidateSettling
                    continue
                }
            }
            candidates.tried(best.address)
            trial = Trial(device: id, address: best.address, until: now + settings.trialLimit)
            output.append(.tryCandidate(device: id, best.address))
            return
        }
    }

    /// Whether, while pairing is open, more than one candidate could be meant, or more than one device by a candidate that does not say who it is.
    private mutating func isAmbiguous(_ id: String, _ known: [Candidates.Candidate]) -> Bool {
        var others: [String] = []
        if devices[id]?.configured.identity == nil {
            others = known.flatMap(\.devices).filter { other in
                guard other != id, let device = devices[other] else { return false }
                return isSeeking(other, device)
            }
        }
        guard known.count > 1 || !others.isEmpty else { return false }
        let addresses = known.map(\.address).sorted { $0.description < $1.description }
        // Each set once in a window, and not for ever more sets.
        if window.map({ $0.told.count < 8 && !$0.told.contains(addresses) }) ?? false {
            window?.told.insert(addresses)
            tell(.ambiguous(devices: Set([id] + others).sorted(), addresses))
        }
        return true
    }

    mutating func abandonTrial() {
        guard let trial else { return }
        self.trial = nil
        output += [.abandonTrial(trial.address), .discardKeys(trial.address)]
    }

    mutating func trialEnded(_ address: BluetoothAddress, _ result: Result<TrialFinding, TrialFailure>, at now: BootInstant) {
        guard let trial, trial.address == address else { return }
        self.trial = nil
        let id = trial.device
        guard let device = devices[id] else { return output.append(.discardKeys(address)) }
        switch result {
        case .failure(let failure):
            trialFailed(id, address, failure, at: now)
        case .success(let finding):
            let serial = device.configured.serial
            let isTaken = self.device(at: finding.address).map { $0 != id } ?? false
            if isTaken || (serial != nil && finding.serial != nil && serial != finding.serial) {
                candidates.rememberSpoof(address, at: now, settings)
                if finding.address != address { candidates.rememberSpoof(finding.address, at: now, settings) }
                // The keys of a device that is another one of ours are its own.
                if !isTaken { output.append(.discardKeys(finding.address)) }
                tell(.spoofed(device: id, address, serial: finding.serial))
                paceTrials(id, at: now)
            } else if serial != nil, finding.serial == nil {
                trialFailed(id, finding.address, .noSerial, at: now)
            } else if device.configured.security != .none, !finding.isEncrypted {
                trialFailed(id, finding.address, .notEncrypted, at: now)
            } else {
                devices[id]?.phase = .adopting(until: now + settings.storageLimit, from: finding.address)
                candidates.remove(address)
                output.append(.adopt(device: id, finding.address))
            }
        }
    }

    private mutating func trialFailed(_ id: String, _ address: BluetoothAddress, _ failure: TrialFailure, at now: BootInstant) {
        output.append(.discardKeys(address))
        tell(.candidateFailed(device: id, address, failure))
        paceTrials(id, at: now)
    }

    private mutating func paceTrials(_ id: String, at now: BootInstant) {
        guard let device = devices[id] else { return }
        devices[id]?.trialFailures = min(device.trialFailures + 1, 1_000)
        devices[id]?.nextTrial = now + min(settings.trialPause * (1 << min(device.trialFailures, 20)), settings.trialPauseLimit)
    }

    mutating func adoptionStored(_ id: String, _ stored: Bool, at now: BootInstant) {
        guard let device = devices[id], case .adopting(_, let address) = device.phase else { return }
        // Another device may have got the address meanwhile.
        guard stored, self.device(at: address).map({ $0 == id }) ?? true else {
            tell(.notStored(device: id))
            output.append(.discardKeys(address))
            paceTrials(id, at: now)
            return resume(id, at: now)
        }
        if let former = device.address, former != address, device.bond != .none { output.append(.discardKeys(former)) }
        candidates.removeAll(of: id)
        devices[id]?.address = address
        devices[id]?.heardAt = nil
        devices[id]?.bond = device.configured.security == .none ? .none : .stored
        devices[id]?.phase = .expected(since: now)
        devices[id]?.failures = 0
        devices[id]?.flaps = 0
        devices[id]?.keysLost = false
        devices[id]?.toldBondLost = false
        devices[id]?.isForgotten = false
        devices[id]?.permittedUntil = nil
        devices[id]?.trialFailures = 0
        devices[id]?.nextTrial = nil
        tell(.adopted(device: id, address))
        if let window, window.device == id || !devices.values.contains(where: { $0.address == nil }) { closePairing(at: now) }
    }
}
