import Platform

/// What the controller tells, translated for the machine and for the hub.
extension RadioController {
    func told(_ report: BluetoothController.Report) {
        guard life == .running else { return }
        switch report {
        case .event(let event): told(event)
        case .oddity(let text): onEvent(.oddity(text))
        case .exit(let trouble): onEvent(.exit(trouble))
        case .channelClosed(let error):
            feed(.controllerUnavailable)
            onEvent(.channelClosed(error))
        }
    }

    private func told(_ event: ControllerEvent) {
        switch event {
        case .ready(let index, let information):
            onEvent(.controllerReady(index, information))
            controllerIsReady(information.publicAddress ?? .unnamed)
        case .unavailable(let absence):
            onEvent(.controllerAbsent(absence))
            ready = nil
            switch absence {
            case .none, .notFound, .removed: feed(.controllerGone)
            case .blocked, .notPermitted, .reset, .recovering: feed(.controllerUnavailable)
            }
        case .stepSkipped(let step, let status):
            onEvent(.oddity("the controller does without \(step): \(status)"))
        case .deviceRefused(let address, let status):
            onEvent(.oddity("the kernel does not take \(address): \(status)"))
        case .connected(let address):
            feed(.connected(address))
        case .disconnected(let address, let reason):
            feed(.disconnected(address, reason))
        case .connectFailed(let address, _):
            feed(.connectFailed(address))
        case .found(let advertisement):
            found(Sighting(advertisement))
        case .scanEnded(_, let failure):
            feed(.scanEnded(failed: failure != nil))
        case .newLongTermKey(let key):
            keyCame(key)
        case .newIdentityResolvingKey(let key, let randomAddress):
            // The key of a candidate explains the private address under which it is tried.
            if let trial, trial.address.octets == randomAddress, trial.address.kind == .random { trialIdentities[trial.address] = key.address }
        case .newConnectionParameters:
            // Its user decides which parameters a link has.
            break
        case .authenticationFailed(let address, _):
            if let security = securities[address] { loop.spawn { await security.authenticationFailed() } }
            feed(.authenticationFailed(address))
        case .passkeyToShow(let address, let passkey):
            onEvent(.passkeyToShow(device: machine.device(at: address), address, passkey))
        case .pairingRefused(let address):
            onEvent(.oddity("\(address) asked for a pairing that is not allowed"))
        case .pairingEnded:
            // Pairings here begin by raising a link's security.
            break
        case .unpaired(let address, _):
            if let device = removing.removeValue(forKey: address) { removeStored(device) }
        }
    }

    private func found(_ sighting: Sighting) {
        if !scans.isEmpty { tellScans(sighting) }
        feed(.heard(sighting))
    }

    // MARK: Keys

    private func keyCame(_ key: LongTermKey) {
        if let run = trial, key.address == run.address || key.address == trialIdentities[run.address] {
            run.keyCame(key)
            return
        }
        guard let device = machine.device(at: key.address), let policy = configured[device]?.pairing else { return }
        feed(.keysReceived(device: device, acceptable: policy.accepts(key)))
    }

    /// The bond as the kernel has it now.
    private func bond(_ device: String, _ address: BluetoothAddress) -> Bond {
        let keys = controller.assumeIsolated { $0.keys }
        return Bond(
            device: device, address: address, longTermKeys: keys.longTermKeys.filter { $0.address == address },
            identityResolvingKey: keys.identityResolvingKeys.first { $0.address == address })
    }

    func storeKeys(_ device: String, _ address: BluetoothAddress) {
        // One transaction at a time for each device; the last one has all keys.
        guard storing[device] == nil else {
            storing[device] = true
            return
        }
        storing[device] = false
        let bond = bond(device, address)
        loop.spawn {
            let stored: Bool
            do {
                try await self.commit(bond)
                stored = true
            } catch {
                stored = false
                self.onEvent(.oddity("the bond of \(device) is not stored: \(error)"))
            }
            await self.keysStored(device, address, stored)
        }
    }

    private func keysStored(_ device: String, _ address: BluetoothAddress, _ stored: Bool) {
        if storing.removeValue(forKey: device) == true, machine.address(of: device) == address { return storeKeys(device, address) }
        feed(.keysStored(device: device, stored))
    }

    func adopt(_ device: String, _ address: BluetoothAddress) {
        let isSecured = configured[device]?.security != RadioDevice.Security.none
        let bond = isSecured ? bond(device, address) : Bond(device: device, address: address)
        trialIdentities = [:]
        loop.spawn {
            let stored: Bool
            do {
                try await self.commit(bond)
                stored = true
            } catch {
                stored = false
                self.onEvent(.oddity("the new address of \(device) is not stored: \(error)"))
            }
            await self.feed(.adoptionStored(device: device, stored))
        }
    }

    /// Makes the kernel forget keys that belong to no configured device; there may be none.
    func discardKeys(_ address: BluetoothAddress) {
        let identity = trialIdentities.removeValue(forKey: address) ?? address
        let keys = controller.assumeIsolated { $0.keys }
        for address in Set([identity, address]) where keys.contains(address) { controller.assumeIsolated { $0.unpair(address) } }
    }

    private func commit(_ bond: Bond) async throws {
        // Without a controller there is nobody whose keys these could be.
        guard let bonded else { throw BluetoothError(.controlChannelClosed) }
        try await store.store(bond, with: bonded)
    }

    func removeBond(_ device: String, _ address: BluetoothAddress) {
        guard controller.assumeIsolated({ $0.keys.contains(address) }) else { return removeStored(device) }
        removing[address] = device
        controller.assumeIsolated { $0.unpair(address) }
    }

    /// The keys are gone from the kernel, or never were there.
    func removeStored(_ device: String) {
        let all = machine.isForgotten(device)
        let bonded = bonded
        loop.spawn { [store] in
            do {
                if all {
                    try await store.forget(device)
                } else if let bonded {
                    try await store.removeBond(of: device, with: bonded)
                }
            } catch {
                self.onEvent(.oddity("the bond of \(device) is still stored: \(error)"))
            }
            await self.feed(.bondRemoved(device: device))
        }
    }
}
