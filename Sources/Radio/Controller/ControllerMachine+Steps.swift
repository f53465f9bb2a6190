/// The set-up and every later change, step by step: one is with the kernel, and what its end means.
extension ControllerMachine {
    mutating func setUp(_ index: ControllerIndex, _ information: ControllerInformation) -> [ControllerAction] {
        let configurable = supported.isEmpty || supported.contains(.setDefaultSystemConfiguration)
        let isInherited = known.insert(index).inserted
        let steps = SetUpStep.all(
            information: information, policy: policy, devices: addresses, configurable: configurable, isInherited: isInherited)
        phase = .active(Active(index: index, information: information, queue: steps))
        return proceed()
    }

    /// Appends steps, each once.
    mutating func enqueue(_ steps: [SetUpStep]) -> [ControllerAction] {
        guard case .active(var active) = phase else { return [] }
        for step in steps {
            // What waits already will be done with what is wanted by then; what is with the kernel was said before that.
            let waiting = active.inFlight == nil ? active.queue[...] : active.queue.dropFirst()
            if !waiting.contains(step) { active.queue.append(step) }
        }
        phase = .active(active)
        return proceed()
    }

    /// Gives the next step to the kernel, unless one is there.
    mutating func proceed() -> [ControllerAction] {
        var actions: [ControllerAction] = []
        while case .active(var active) = phase, active.inFlight == nil, !active.isPausing, let step = active.queue.first {
            if case .disconnect(let address) = step {
                // Not waited for: it lasts as long as the supervision timeout when the peer has gone.
                active.queue.removeFirst()
                phase = .active(active)
                actions += command(.disconnect(address), as: .disconnect(address), active.index)
                continue
            }
            guard let command = command(for: step) else {
                active.queue.removeFirst()
                phase = .active(active)
                continue
            }
            let tag = newTag()
            active.inFlight = tag
            phase = .active(active)
            actions.append(.command(command, active.index, tag: tag))
        }
        return actions + announce()
    }

    /// The first time that nothing is left to do, the controller is ready.
    private mutating func announce() -> [ControllerAction] {
        guard case .active(var active) = phase, active.queue.isEmpty, !active.isReady else { return [] }
        active.isReady = true
        phase = .active(active)
        absence = nil
        return [
            .event(.ready(active.index, active.information)), .startTimer(.audit, policy.auditInterval), .startTimer(.steady, policy.steadyPeriod),
        ]
    }

    /// The command of a step as things are now; `nil` when there is nothing to do any more.
    private func command(for step: SetUpStep) -> ManagementCommand? {
        switch step {
        case .powerOff: .setPowered(false)
        case .lowEnergyOn: .setLowEnergy(true)
        case .brEDROff: .setBREDR(false)
        case .advertisingOff: .setAdvertising(false)
        case .discoverableOff: .setDiscoverable(false)
        case .connectableOff: .setConnectable(false)
        case .secureConnections: .setSecureConnections(policy.secureConnections)
        case .bondable: .setBondable(policy.bondable)
        case .ioCapability: .setIOCapability(policy.ioCapability)
        case .longTermKeys: .loadLongTermKeys(bonds.longTermKeys)
        case .identityResolvingKeys: .loadIdentityResolvingKeys(bonds.identityResolvingKeys)
        case .systemConfiguration: .setDefaultSystemConfiguration(policy.systemConfiguration)
        case .forgetDevices: .removeDevice(nil)
        case .powerOn: .setPowered(true)
        case .connections: .getConnections
        case .connectionParameters(let address): devices[address].map { .loadConnectionParameters(address, $0) }
        case .addDevice(let address): devices[address].map { _ in .addDevice(address, .autoConnect) }
        case .holdDevice(let address): .addDevice(address, .allowIncoming)
        case .removeDevice(let address): devices[address] == nil ? .removeDevice(address) : nil
        case .disconnect(let address): .disconnect(address)
        case .startScan: .startDiscovery
        case .stopScan: .stopDiscovery
        case .audit: .readControllerInformation
        }
    }

    mutating func stepEnded(_ outcome: ManagementMachine.Outcome) -> [ControllerAction] {
        guard case .active(var active) = phase, let step = active.queue.first else { return [] }
        active.inFlight = nil
        switch outcome {
        case .done(let reply):
            active.queue.removeFirst()
            active.failures = 0
            phase = .active(active)
            return done(step, reply) + proceed()
        case .unreadable:
            // It was done, and what it tells is lost; only these two are asked for what they tell.
            if step == .connections || step == .audit {
                phase = .active(active)
                return failed(step, .failed)
            }
            active.queue.removeFirst()
            active.failures = 0
            phase = .active(active)
            return proceed()
        case .refused(let status):
            phase = .active(active)
            return failed(step, status)
        case .unanswered:
            return troubled(.silent(command(for: step)?.opcode ?? .removeDevice))
        case .closed:
            return []
        }
    }

    private mutating func done(_ step: SetUpStep, _ reply: ManagementReply) -> [ControllerAction] {
        guard case .active(var active) = phase else { return [] }
        switch (step, reply) {
        case (.connections, .connections(let links)):
            let orphans = links.filter { !channels.contains($0) }
            active.queue = orphans.map { .disconnect($0) } + active.queue
            phase = .active(active)
            return []
        case (.addDevice(let address), _):
            active.refused.remove(address)
            phase = .active(active)
            failures = 0
            return []
        case (.removeDevice(let address), _):
            active.unremoved.remove(address)
            phase = .active(active)
            return []
        case (.audit, .information(let information)):
            return settingsChanged(information.current) + retryRefused()
        case (_, .settings(let settings)):
            active.information.current = settings
            phase = .active(active)
            return []
        case (.startScan, _):
            failures = 0
            return [.startTimer(.scan, policy.scanLimit)]
        default:
            return []
        }
    }

    private mutating func retryRefused() -> [ControllerAction] {
        guard case .active(let active) = phase, active.isReady else { return [] }
        let removals = active.unremoved.filter { devices[$0] == nil }.map { SetUpStep.removeDevice($0) }
        let additions = active.refused.filter { devices[$0] != nil }.map { SetUpStep.addDevice($0) }
        return enqueue((removals + additions).sorted { $0.description < $1.description })
    }

    private mutating func failed(_ step: SetUpStep, _ status: ManagementStatus) -> [ControllerAction] {
        guard case .active(var active) = phase else { return [] }
        switch status {
        case .invalidIndex:
            return unavailable(.removed(active.index)) + search()
        case .rfkilled:
            return wait(.blocked(active.index), for: policy.absencePause)
        case .permissionDenied:
            return wait(.notPermitted(active.index), for: policy.absencePause)
        case .notPowered where step != .startScan && step != .stopScan:
            return wasReset(active.index)
        default:
            break
        }
        active.failures += 1
        let isScan = step == .startScan || step == .stopScan
        if active.failures <= policy.stepRetries, !Self.isLasting.contains(status), !isScan {
            active.isPausing = true
            phase = .active(active)
            return [.startTimer(.retry, policy.stepRetryPause)]
        }
        active.queue.removeFirst()
        active.failures = 0
        switch step.weight {
        case .required:
            return troubled(.setUpFailed(step, status))
        case .device(let address):
            if case .removeDevice = step {
                // Invalid Parameters says that it is not on the list; anything else, that the hub may be linked to it.
                if status != .invalidParameters { active.unremoved.insert(address) }
                phase = .active(active)
                return (status == .invalidParameters ? [] : [.event(.stepSkipped(step, status))]) + proceed()
            }
            active.refused.insert(address)
            phase = .active(active)
            return [.event(.deviceRefused(address, status))] + (counted(step, status) ?? proceed())
        case .optional where step == .startScan:
            phase = .active(active)
            return scanEnded(status) + (counted(step, status) ?? proceed())
        case .optional where step == .stopScan:
            phase = .active(active)
            return proceed()
        case .optional:
            phase = .active(active)
            return [.event(.stepSkipped(step, status))] + proceed()
        }
    }

    /// What is wrong with the command itself will be wrong again.
    private static let isLasting: Set<ManagementStatus> = [.notSupported, .unknownCommand, .invalidParameters]

    /// Counts a failure that speaks of the controller: not one of the command itself, nor one for want of a free moment.
    ///
    /// - Returns: what is done about too many of them.
    private mutating func counted(_ step: SetUpStep, _ status: ManagementStatus) -> [ControllerAction]? {
        guard !Self.isLasting.contains(status), status != .busy else { return nil }
        failures += 1
        return failures >= policy.failureLimit ? troubled(.setUpFailed(step, status)) : nil
    }
}
