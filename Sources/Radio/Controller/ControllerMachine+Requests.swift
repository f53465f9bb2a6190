/// What the connector wants.
extension ControllerMachine {
    /// The configured devices are these now. What is new is added, what is gone is removed from the kernel's list (a link of it stays up: see `disconnect`), and
    /// parameters that changed are loaded; on kernels whose `version` says so a live link is changed to them.
    public mutating func devicesChanged(_ list: [ControllerDevice]) -> [ControllerAction] {
        let before = devices
        devices = Dictionary(list.map { ($0.address, $0.parameters) }) { _, last in last }
        let gone = before.keys.filter { devices[$0] == nil }.sorted { $0.description < $1.description }
        var steps: [SetUpStep] = gone.flatMap { [.holdDevice($0), .removeDevice($0)] }
        for address in addresses where before[address] != devices[address] {
            steps.append(.connectionParameters(address))
            if before[address] == nil { steps.append(.addDevice(address)) }
        }
        return enqueue(steps)
    }

    /// The stored keys are these now.
    public mutating func bondsChanged(_ keys: BondKeys) -> [ControllerAction] {
        let before = bonds
        bonds = keys
        var steps: [SetUpStep] = []
        if Set(before.longTermKeys) != Set(keys.longTermKeys) { steps.append(.longTermKeys) }
        if Set(before.identityResolvingKeys) != Set(keys.identityResolvingKeys) { steps.append(.identityResolvingKeys) }
        return enqueue(steps)
    }

    /// A channel of ours is open on the device's link.
    public mutating func channelOpened(_ address: BluetoothAddress) { channels.insert(address) }

    /// That channel is closed.
    public mutating func channelClosed(_ address: BluetoothAddress) { channels.remove(address) }

    /// Ends the device's link. The kernel makes it again while the device is on its list: take it off first, with `devicesChanged`, where that is not wanted.
    public mutating func disconnect(_ address: BluetoothAddress) -> [ControllerAction] { enqueue([.disconnect(address)]) }

    /// Begins a scan beside the pending connections; its end is an event: after about 10 s, after `endScan`, or as soon as
    /// the kernel has heard one of its devices and connects it.
    public mutating func beginScan() -> [ControllerAction] {
        guard case .active(var active) = phase, active.isReady else { return [.event(.scanEnded(heard: 0, failure: .notPowered))] }
        guard active.scan == nil else { return [] }
        active.scan = Scan()
        phase = .active(active)
        return [.startTimer(.scan, policy.scanLimit)] + enqueue([.startScan])
    }

    /// Ends the scan, if one is under way.
    public mutating func endScan() -> [ControllerAction] {
        guard case .active(let active) = phase, active.scan != nil else { return [] }
        return scanEnded(nil, isWhole: false) + enqueue([.stopScan])
    }

    /// - Parameter isWhole: `false` for a scan that was cut short, whose silence says nothing.
    mutating func scanEnded(_ failure: ManagementStatus?, isWhole: Bool = true) -> [ControllerAction] {
        guard case .active(var active) = phase, let scan = active.scan else { return [] }
        active.scan = nil
        phase = .active(active)
        let actions: [ControllerAction] = [.cancelTimer(.scan), .event(.scanEnded(heard: scan.heard, failure: failure))]
        guard scan.heard == 0, isWhole else { return actions }
        unheardScans += 1
        // Where links are up the radio works, whoever else is silent.
        guard channels.isEmpty, unheardScans >= policy.unheardScanLimit else { return actions }
        return actions + troubled(.unheard(scans: unheardScans))
    }

    /// The device may pair until `forbidPairing`: what its pairing asks is answered as policy says. All others are refused.
    public mutating func allowPairing(_ address: BluetoothAddress) { pairable.insert(address) }

    /// The device may pair until `forbidPairing`, and what its pairing asks is answered by a policy of its own.
    ///
    /// - Parameter passkey: what `PairingPolicy.readPasskey` gave.
    public mutating func allowPairing(_ address: BluetoothAddress, policy: PairingPolicy, passkey: UInt32?) {
        pairingPolicies[address] = (policy, passkey)
        allowPairing(address)
    }

    /// The device may not pair any more.
    public mutating func forbidPairing(_ address: BluetoothAddress) {
        pairable.remove(address)
        pairingPolicies[address] = nil
    }

    /// The answer to what a pairing asks.
    func pairingAnswer(_ question: PairingPolicy.Question, to address: BluetoothAddress) -> PairingPolicy.Answer {
        guard pairable.contains(address) else { return .refuse }
        if let own = pairingPolicies[address] { return own.policy.answer(question, passkey: own.passkey) }
        switch question {
        case .justWorks: return policy.acceptsJustWorks ? .accept : .refuse
        case .comparison: return .refuse
        case .passkey:
            let known = (policy.devicePasskeys[address] ?? policy.passkey).flatMap { $0 <= 999_999 ? $0 : nil }
            return known.map { .enter($0) } ?? .refuse
        }
    }

    /// Connects the device if need be and pairs with it. Ends with `pairingEnded`. (On a link with a channel, raising its security does the same.)
    public mutating func pair(_ address: BluetoothAddress) -> [ControllerAction] {
        guard case .active(let active) = phase, active.isReady else { return [.event(.pairingEnded(address, .notPowered))] }
        pairable.insert(address)
        return command(.pairDevice(address, policy.ioCapability), as: .pair(address), active.index)
    }

    /// Gives a pairing up that `pair` began.
    public mutating func cancelPairing(_ address: BluetoothAddress) -> [ControllerAction] {
        guard case .active(let active) = phase, direct.values.contains(.pair(address)) else { return [] }
        return command(.cancelPairDevice(address), as: .reply(address), active.index)
    }

    /// Makes the kernel forget the device's keys, and ends its link. Ends with `unpaired`.
    public mutating func unpair(_ address: BluetoothAddress) -> [ControllerAction] {
        bonds.remove(address)
        // Without a controller this is all: the next set-up loads the keys without this one's.
        guard case .active(let active) = phase else { return [.event(.unpaired(address, .notPowered))] }
        unpaired.insert(address)
        return command(.unpairDevice(address, disconnect: true), as: .unpair(address), active.index)
    }

    /// Adds a configured device again that the kernel may have taken off its list.
    mutating func putBack(_ address: BluetoothAddress) -> [ControllerAction] {
        devices[address] == nil ? [] : enqueue([.connectionParameters(address), .addDevice(address)])
    }

    // MARK: Commands outside the order of steps

    mutating func command(_ command: ManagementCommand, as kind: Direct, _ index: ControllerIndex) -> [ControllerAction] {
        let tag = newTag()
        direct[tag] = kind
        return [.command(command, index, tag: tag)]
    }

    mutating func directEnded(_ command: Direct, _ outcome: ManagementMachine.Outcome) -> [ControllerAction] {
        let status: ManagementStatus = switch outcome {
        case .done, .unreadable: .success
        case .refused(let status): status
        case .unanswered: .timeout
        case .closed: .failed
        }
        var actions: [ControllerAction] = []
        var opcode = ManagementOpcode.userConfirmationReply
        switch command {
        case .disconnect:
            opcode = .disconnect
        case .pair(let address):
            opcode = .pairDevice
            forbidPairing(address)
            actions = [.event(.pairingEnded(address, status))]
            if case .active(let active) = phase, outcome == .unanswered {
                // Its end was awaited for longer than a pairing can last; the kernel must not go on with it alone.
                return actions + self.command(.cancelPairDevice(address), as: .reply(address), active.index)
            }
        case .unpair(let address):
            opcode = .unpairDevice
            // The kernel takes an unpaired device off its list, at once or when its link is down, and tells nobody.
            actions = [.event(.unpaired(address, status))] + putBack(address)
        case .reply:
            break
        }
        if case .pair = command, status == .busy { return actions + connectionWasBusy() }
        guard case .active = phase, outcome == .unanswered else { return actions }
        return actions + troubled(.silent(opcode))
    }
}
