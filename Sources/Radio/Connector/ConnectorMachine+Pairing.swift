import Platform

/// Pairing is open: for one device, or for all that need it.
struct PairingWindow: Sendable, Hashable {
    var until: BootInstant
    var device: String?
    /// The ambiguities that were told in it.
    var told: Set<[BluetoothAddress]> = []

    func includes(_ id: String) -> Bool { device == nil || device == id }
}

/// Security and keys.
extension ConnectorMachine {
    // MARK: What policy allows

    func needsEncryption(_ device: Device) -> Bool {
        switch device.configured.security {
        case .encrypted: true
        case .onDemand: device.bond != .none || device.wantsSecurity
        case .none: false
        }
    }

    /// A device is paired for the first time when the configuration names its address: that is the operator's word. Everything else needs the button, the command, or
    /// `repair`.
    func mayPair(_ device: Device) -> Bool {
        if device.configured.pairing.repair || device.permittedUntil != nil { return true }
        return device.bond == .none && !device.keysLost && device.address != nil && device.address == device.configured.address
    }

    // MARK: A link's security

    mutating func securityEnded(_ id: String, _ outcome: SecurityOutcome, at now: BootInstant) {
        guard let device = devices[id], let address = device.address, case .securing = device.phase else { return }
        switch outcome {
        case .encrypted:
            devices[id]?.doubts = 0
            switch device.bond {
            case .stored: deliver(id, address, at: now)
            case .unstored: store(id, address, at: now)
            // The keys follow the encryption (Core Vol 3 Part H 3.6.1).
            case .none: devices[id]?.phase = .awaitingKeys(until: now + settings.keysLimit)
            }
        case .authenticationFailed:
            keysFailed(id, at: now)
        case .unexplained:
            if countDoubt(id) { keysFailed(id, at: now) } else { securingFailed(id, at: now) }
        case .linkFailed:
            securingFailed(id, at: now)
        }
    }

    private mutating func securingFailed(_ id: String, at now: BootInstant) {
        devices[id]?.failures += 1
        close(id, then: .rest, at: now)
    }

    mutating func authenticationFailed(_ address: BluetoothAddress, at now: BootInstant) {
        guard let id = device(at: address), case .securing = devices[id]?.phase else { return }
        keysFailed(id, at: now)
    }

    /// A link with stored keys ended without explanation while it was being encrypted. Once may be the air's doing; as often as makes a peer stale, or while
    /// somebody waits for new keys, the keys are taken to be wrong.
    mutating func countDoubt(_ id: String) -> Bool {
        guard let device = devices[id], device.bond != .none else { return false }
        devices[id]?.doubts = min(device.doubts + 1, settings.failureLimit)
        return device.doubts + 1 >= settings.failureLimit || device.permittedUntil != nil
    }

    /// The keys do not fit, or a pairing failed. Somebody else at this address could have brought that about, so the keys are kept unless they may be made anew.
    ///
    /// - Parameter isOver: the link has ended with it.
    mutating func keysFailed(_ id: String, isOver: Bool = false, at now: BootInstant) {
        guard let device = devices[id] else { return }
        devices[id]?.failures += 1
        if device.bond == .none { tell(.pairingFailed(device: id)) } else { bondIsLost(id) }
        guard mayPair(device) else { return close(id, then: .needsPairing, isOver: isOver, at: now) }
        if device.bond != .none { return close(id, then: .removeBond, isOver: isOver, at: now) }
        close(id, then: .pause(device.permittedUntil == nil ? settings.flapPauseLimit : settings.pairingPause), isOver: isOver, at: now)
    }

    mutating func bondIsLost(_ id: String) {
        guard devices[id]?.toldBondLost == false else { return }
        devices[id]?.toldBondLost = true
        tell(.bondLost(device: id))
    }

    // MARK: Keys

    mutating func keysReceived(_ id: String, _ acceptable: Bool, at now: BootInstant) {
        guard let device = devices[id], let address = device.address else { return }
        devices[id]?.bond = .unstored
        guard acceptable else {
            tell(.pairingFailed(device: id))
            devices[id]?.keysLost = true
            switch device.phase {
            case .connecting, .securing, .awaitingKeys, .storing, .linked, .working, .ending: close(id, then: .removeBond, at: now)
            case .closing(let until, _): devices[id]?.phase = .closing(until: until, then: .removeBond)
            default: removeBond(id, at: now)
            }
            return
        }
        if case .awaitingKeys = device.phase { return store(id, address, at: now) }
        output.append(.storeKeys(device: id, address))
    }

    private mutating func store(_ id: String, _ address: BluetoothAddress, at now: BootInstant) {
        devices[id]?.phase = .storing(until: now + settings.storageLimit)
        output.append(.storeKeys(device: id, address))
    }

    mutating func keysStored(_ id: String, _ stored: Bool, at now: BootInstant) {
        // Keys that were forgotten meanwhile stay forgotten.
        guard let device = devices[id], let address = device.address, device.bond != .none else { return }
        if stored {
            if device.bond == .unstored { tell(.bonded(device: id)) }
            devices[id]?.bond = .stored
            devices[id]?.keysLost = false
            devices[id]?.toldBondLost = false
            devices[id]?.permittedUntil = nil
            if case .storing = device.phase { deliver(id, address, at: now) }
        } else {
            tell(.notStored(device: id))
            if case .storing = device.phase { close(id, then: .pause(settings.flapPauseLimit), at: now) }
        }
    }

    /// Forgets the keys, if there are any; the device is off the list meanwhile.
    mutating func removeBond(_ id: String, at now: BootInstant) {
        guard let device = devices[id], let address = device.address, device.bond != .none else { return resume(id, at: now) }
        devices[id]?.keysLost = true
        devices[id]?.phase = .removing(until: now + settings.storageLimit)
        output.append(.removeBond(device: id, address))
    }

    mutating func bondRemoved(_ id: String, at now: BootInstant) {
        guard let device = devices[id] else { return }
        guard case .removing = device.phase else {
            // There were no keys, and what else there was is gone.
            if device.isForgotten { forgotten(id) }
            return
        }
        devices[id]?.bond = .none
        if device.isForgotten {
            forgotten(id)
            let address = free(device.configured.address, for: id)
            devices[id]?.address = address
        }
        // A pairing that fails again and again must not come back at once.
        rest(id, at: now)
    }

    // MARK: The user

    mutating func openPairing(_ id: String?, at now: BootInstant) {
        if let id, devices[id] == nil { return }
        let until = now + settings.pairingWindow
        window = PairingWindow(until: until, device: id)
        tell(.pairingOpened(device: id, settings.pairingWindow))
        for (other, device) in devices.sorted(by: { $0.key < $1.key }) where id == nil || other == id {
            var isInNeed = device.bond == .none || id == other
            switch device.phase {
            case .needsPairing, .closing(_, .needsPairing): isInNeed = true
            default: break
            }
            guard isInNeed else { continue }
            devices[other]?.permittedUntil = until
            // Somebody waits for it: now is better than later.
            devices[other]?.flaps = 0
            devices[other]?.nextTrial = nil
            devices[other]?.nextLook = nil
            devices[other]?.trialFailures = 0
            switch device.phase {
            case .needsPairing: removeBond(other, at: now)
            case .closing(let limit, .needsPairing): devices[other]?.phase = .closing(until: limit, then: .removeBond)
            case .backingOff: resume(other, at: now)
            default: break
            }
        }
    }

    mutating func closePairing(at now: BootInstant) {
        guard window != nil else { return }
        window = nil
        for id in devices.keys { devices[id]?.permittedUntil = nil }
        tell(.pairingClosed)
    }

    mutating func forget(_ id: String, at now: BootInstant) {
        guard let device = devices[id] else { return }
        if trial?.device == id { abandonTrial() }
        devices[id]?.keysLost = true
        devices[id]?.wantsSecurity = false
        devices[id]?.permittedUntil = nil
        devices[id]?.isForgotten = true
        guard device.bond != .none else {
            output.append(.forgetStored(device: id))
            return replaceAddress(of: id, by: device.configured.address, at: now)
        }
        switch device.phase {
        case .connecting, .securing, .awaitingKeys, .storing, .linked, .working, .ending: close(id, then: .removeBond, at: now)
        case .closing(let until, _): devices[id]?.phase = .closing(until: until, then: .removeBond)
        case .removing: break
        case .unplaced, .expected, .stale, .adopting, .needsPairing, .backingOff: removeBond(id, at: now)
        }
    }

    private mutating func forgotten(_ id: String) {
        devices[id]?.isForgotten = false
        tell(.forgotten(device: id))
    }

    /// The address, unless another device has adopted it.
    private func free(_ address: BluetoothAddress?, for id: String) -> BluetoothAddress? {
        guard let address else { return nil }
        return device(at: address).map { $0 == id } ?? true ? address : nil
    }

    /// The device is known under another address now, without keys for it.
    mutating func replaceAddress(of id: String, by address: BluetoothAddress?, at now: BootInstant) {
        guard let device = devices[id] else { return }
        let address = free(address, for: id)
        if trial?.device == id { abandonTrial() }
        if let former = device.address, former != address {
            if device.linkedAt != nil { output += [.dropLink(former), .disconnect(former)] }
            if device.bond != .none { output.append(.discardKeys(former)) }
            devices[id]?.bond = .none
        } else if device.linkedAt != nil {
            return close(id, then: .rest, at: now)
        }
        devices[id]?.linkedAt = nil
        devices[id]?.owesDisconnect = false
        devices[id]?.failures = 0
        devices[id]?.heardAt = nil
        devices[id]?.address = address
        devices[id]?.phase = address == nil ? .unplaced : .expected(since: now)
    }
}
