import Platform

/// Links that come and go.
extension ConnectorMachine {
    // MARK: The controller

    mutating func controllerReady(at now: BootInstant) {
        isReady = true
        isGone = false
        // Nobody could be heard meanwhile.
        for (id, device) in devices {
            devices[id]?.heardAt = nil
            if case .expected = device.phase { devices[id]?.phase = .expected(since: now) }
        }
    }

    /// Links may be down, or stay up over a change of settings: each is told by its own end.
    mutating func controllerUnavailable() {
        isReady = false
        search.lost()
    }

    /// Its links and its keys are gone with it, whatever is told of them later.
    mutating func controllerGone(at now: BootInstant) {
        isReady = false
        isGone = true
        search.lost()
        abandonTrial()
        for id in devices.keys.sorted() {
            guard let device = devices[id], let address = device.address else { continue }
            if device.linkedAt != nil { output.append(.dropLink(address)) }
            devices[id]?.linkedAt = nil
            devices[id]?.parameters = nil
            devices[id]?.owesDisconnect = false
            if case .adopting = device.phase { continue }
            // Keys that are forgotten on the user's word are forgotten with the next controller in place, too.
            if case .removing = device.phase { continue }
            devices[id]?.phase = .expected(since: now)
        }
    }

    // MARK: What the controller tells

    mutating func connected(_ address: BluetoothAddress, at now: BootInstant) {
        guard let id = device(at: address), let device = devices[id] else { return }
        devices[id]?.heardAt = nil
        devices[id]?.isCycledFor = false
        // The end of the former link would have been told before this.
        devices[id]?.owesDisconnect = false
        switch device.phase {
        case .expected, .stale: devices[id]?.phase = .connecting(until: now + settings.channelLimit)
        // The kernel was faster than our word that it is not wanted now.
        case .needsPairing, .backingOff: output.append(.disconnect(address))
        default: break
        }
    }

    mutating func disconnected(_ address: BluetoothAddress, _ reason: DisconnectReason, at now: BootInstant) {
        guard let id = device(at: address), let device = devices[id] else { return }
        if device.owesDisconnect {
            devices[id]?.owesDisconnect = false
            return
        }
        if case .securing = device.phase, reason == .authenticationFailure || reason == .unspecified && countDoubt(id) {
            return keysFailed(id, isOver: true, at: now)
        }
        switch device.phase {
        case .closing(_, let then): afterClosing(id, then, at: now)
        case .connecting, .securing, .awaitingKeys, .storing, .linked, .working, .ending: linkLost(id, at: now)
        case .unplaced, .expected, .stale, .removing, .adopting, .needsPairing, .backingOff: break
        }
    }

    mutating func connectFailed(_ address: BluetoothAddress, at now: BootInstant) {
        guard let id = device(at: address), let device = devices[id] else { return }
        devices[id]?.heardAt = nil
        switch device.phase {
        case .expected, .stale, .connecting:
            devices[id]?.failures += 1
            flapped(id, at: now)
            rest(id, at: now)
        default: break
        }
    }

    // MARK: Channels

    mutating func linkAccepted(_ address: BluetoothAddress, at now: BootInstant) {
        guard let id = device(at: address) else {
            // Unknown devices are never linked.
            output += [.dropLink(address), .disconnect(address)]
            return
        }
        devices[id]?.heardAt = nil
        devices[id]?.isCycledFor = false
        // It came by itself: nobody else need be asked whether they are it.
        if trial?.device == id { abandonTrial() }
        switch devices[id]?.phase {
        case .securing, .awaitingKeys, .storing, .linked, .working, .ending:
            // A new link is the proof that the former one is over, whatever was told of it so far.
            linkLost(id, isSuperseded: true, at: now)
            devices[id]?.owesDisconnect = true
        default: break
        }
        guard let device = devices[id] else { return }
        switch device.phase {
        case .expected, .stale, .connecting:
            devices[id]?.linkedAt = now
            admit(id, device, address, at: now)
        default:
            output += [.dropLink(address), .disconnect(address)]
        }
    }

    private mutating func admit(_ id: String, _ device: Device, _ address: BluetoothAddress, at now: BootInstant) {
        guard needsEncryption(device) else { return deliver(id, address, at: now) }
        let mayPair = mayPair(device)
        guard device.bond != .none || mayPair else {
            // Without keys and without permission raising the security would only begin a pairing that is refused.
            bondIsLost(id)
            return close(id, then: .needsPairing, at: now)
        }
        devices[id]?.phase = .securing(until: now + settings.securityLimit)
        output.append(.secure(device: id, address, mayPair: device.bond == .none && mayPair))
    }

    mutating func deliver(_ id: String, _ address: BluetoothAddress, at now: BootInstant) {
        devices[id]?.phase = .linked(until: now + settings.subscriptionLimit)
        output.append(.deliver(device: id, address))
    }

    mutating func subscribed(_ id: String) {
        guard case .linked = devices[id]?.phase else { return }
        devices[id]?.phase = .working
        devices[id]?.failures = 0
        devices[id]?.toldStale = false
        devices[id]?.trialFailures = 0
        devices[id]?.nextTrial = nil
    }

    mutating func served(_ id: String) {
        switch devices[id]?.phase {
        case .linked, .working: devices[id]?.isServed = true
        default: break
        }
    }

    mutating func linkReleased(_ id: String, at now: BootInstant) {
        switch devices[id]?.phase {
        case .linked:
            devices[id]?.failures += 1
            devices[id]?.phase = .ending(until: now + settings.closingLimit)
        case .working:
            devices[id]?.phase = .ending(until: now + settings.closingLimit)
        default: break
        }
    }

    mutating func parametersWanted(_ id: String, _ parameters: ConnectionParameters) {
        switch devices[id]?.phase {
        case .linked, .working: devices[id]?.parameters = parameters
        default: break
        }
    }

    mutating func securityDemanded(_ id: String, at now: BootInstant) {
        guard let device = devices[id], device.configured.security != .none else { return }
        devices[id]?.wantsSecurity = true
        switch device.phase {
        // The next link is encrypted before it is handed over.
        case .linked, .working, .ending: close(id, then: .rest, at: now)
        default: break
        }
    }

    // MARK: Ends

    /// The link is over without our doing.
    mutating func linkLost(_ id: String, isSuperseded: Bool = false, at now: BootInstant) {
        guard let device = devices[id] else { return }
        switch device.phase {
        case .working, .ending: break
        default: devices[id]?.failures += 1
        }
        linkIsDown(id, isSuperseded: isSuperseded, at: now)
        rest(id, at: now)
    }

    /// Books the end of a link: a short one is a flap, a long one and one that served ends a series of them.
    private mutating func linkIsDown(_ id: String, isSuperseded: Bool = false, at now: BootInstant) {
        guard let device = devices[id] else { return }
        // What nobody has taken yet is of no use any more.
        if !isSuperseded, device.linkedAt != nil, let address = device.address { output.append(.dropLink(address)) }
        let lasted = device.linkedAt.map { now - $0 } ?? .zero
        devices[id]?.linkedAt = nil
        devices[id]?.parameters = nil
        devices[id]?.isServed = false
        if device.isServed || lasted >= settings.steadyLink { devices[id]?.flaps = 0 } else { flapped(id, at: now) }
    }

    mutating func flapped(_ id: String, at now: BootInstant) {
        guard let device = devices[id] else { return }
        let isOld = device.lastFlap.map { now - $0 > settings.unheardLimit } ?? true
        devices[id]?.flaps = isOld ? 1 : min(device.flaps + 1, 1_000)
        devices[id]?.lastFlap = now
    }

    /// Takes the device off the list and ends its link.
    ///
    /// - Parameter isOver: the link has ended already: there is none to end, and no end to wait for.
    mutating func close(_ id: String, then: Afterwards, isOver: Bool = false, at now: BootInstant) {
        guard let address = devices[id]?.address else { return }
        linkIsDown(id, at: now)
        guard !isOver else { return afterClosing(id, then, at: now) }
        devices[id]?.phase = .closing(until: now + settings.closingLimit, then: then)
        output.append(.disconnect(address))
    }

    mutating func afterClosing(_ id: String, _ then: Afterwards, at now: BootInstant) {
        switch then {
        case .rest: rest(id, at: now)
        case .pause(let pause): devices[id]?.phase = .backingOff(until: now + pause)
        case .needsPairing: devices[id]?.phase = .needsPairing(until: now + settings.needsPairingPause)
        case .removeBond: removeBond(id, at: now)
        }
    }

    /// Waits for the device again: at once, or after a pause when it comes and goes.
    mutating func rest(_ id: String, at now: BootInstant) {
        guard let device = devices[id] else { return }
        let beyond = device.flaps - settings.freeFlaps
        guard beyond > 0 else { return resume(id, at: now) }
        let limit = device.configured.pauseLimit ?? settings.flapPauseLimit
        let pause = min(settings.flapPause * (1 << min(beyond - 1, 20)), limit)
        devices[id]?.phase = .backingOff(until: now + pause)
        tell(.flapping(device: id, times: device.flaps, pause: pause))
    }

    /// Puts the device back on the list.
    mutating func resume(_ id: String, at now: BootInstant) {
        guard let device = devices[id] else { return }
        devices[id]?.heardAt = nil
        if device.address == nil {
            devices[id]?.phase = .unplaced
        } else if device.failures >= settings.failureLimit, device.configured.identity != nil {
            becomeStale(id, at: now)
        } else {
            devices[id]?.phase = .expected(since: now)
        }
    }

    mutating func becomeStale(_ id: String, at now: BootInstant) {
        guard let device = devices[id] else { return }
        devices[id]?.phase = .stale(since: now)
        guard !device.toldStale else { return }
        devices[id]?.toldStale = true
        tell(.stale(device: id, failures: device.failures))
    }
}
