import Platform

/// How every state ends.
extension ConnectorMachine {
    /// What ends the state that a device is in, whatever the peer does.
    public enum Exit: Sendable, Hashable {
        /// The machine's own deadline.
        case deadline(BootInstant)
        /// The controller's: it is absent, and comes back or the process ends (see `ControllerMachine`).
        case controller
        /// The device's driver, which closes a link without signs of life, and says `linkReleased`.
        case driver
        /// A user who opens pairing: nobody has said where the device is.
        case user
    }

    /// How the device's state ends; `nil` for a device that is not configured.
    public func exit(of id: String) -> Exit? {
        guard let device = devices[id] else { return nil }
        if let trial, trial.device == id { return .deadline(trial.until) }
        if let deadline = deadline(of: device) { return .deadline(deadline) }
        switch device.phase {
        case .working: return .driver
        case .unplaced: return window.map { .deadline($0.until) } ?? .user
        // Only waiting for the kernel has no deadline: while there is no controller, and where being unheard means nothing.
        default: return isReady ? scanDeadline.map { .deadline($0) } : .controller
        }
    }

    /// The moment at which a device's state ends by itself.
    func deadline(of device: Device) -> BootInstant? {
        switch device.phase {
        case .expected(let since):
            // A device that does not say who it is cannot be found under another address: the kernel waits for it as long as it takes.
            return isReady ? since + settings.unheardLimit : nil
        case .stale: return nil
        case .connecting(let until), .securing(let until), .awaitingKeys(let until), .storing(let until), .linked(let until), .ending(let until),
             .closing(let until, _), .removing(let until), .adopting(let until, _), .needsPairing(let until), .backingOff(let until):
            return until
        case .unplaced, .working: return nil
        }
    }

    /// The next moment of the search, which is what ends the wait of a stale device.
    private var scanDeadline: BootInstant? { search.deadline(settings) ?? trial?.until }

    /// A state's time is over.
    mutating func expired(_ id: String, _ device: Device, at now: BootInstant) {
        switch device.phase {
        case .expected:
            // The kernel is told anew either way.
            if device.configured.identity == nil { devices[id]?.phase = .expected(since: now) } else { becomeStale(id, at: now) }
        case .connecting, .securing, .awaitingKeys, .linked:
            devices[id]?.failures += 1
            close(id, then: .rest, at: now)
        case .storing:
            tell(.notStored(device: id))
            close(id, then: .pause(settings.flapPauseLimit), at: now)
        case .ending:
            close(id, then: .rest, at: now)
        case .closing(_, let then):
            afterClosing(id, then, at: now)
        case .removing:
            bondRemoved(id, at: now)
        case .adopting:
            adoptionStored(id, false, at: now)
        case .needsPairing, .backingOff:
            resume(id, at: now)
        case .unplaced, .stale, .working:
            break
        }
    }
}
