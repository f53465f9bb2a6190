import Radio

/// The hub and its radio.
extension Hub {
    /// What an installer or an operator asks of the radio. Devices are configured ones.
    func perform(_ request: RadioRequest) async -> Result<RadioAnswer, ControlError> {
        guard running, let radio else { return .failure(running ? .noController : .notRunning) }
        switch request {
        case .pair(let device): return await radio.pair(device.map { configuration.serial(of: $0) }).map { .paired($0) }
        case .forget(let device): return await radio.forget(configuration.serial(of: device)).map { .forgotten($0) }
        case .scan(let seconds): return await radio.scan(seconds: seconds).map { .heard($0) }
        case .probe(let device):
            let serial = configuration.serial(of: device)
            let address = await radio.view().addresses[serial]
            if let agent = agents[serial] { return await agent.probe(address: address).map { .probed($0) } }
            if let cuff = cuffs[serial] { return await cuff.probe(address: address).map { .probed($0) } }
            return .failure(.noController)
        }
    }

    /// Somebody pressed the button.
    func openPairing() {
        parts.loop.spawn { await self.radio?.openPairing() }
    }

    /// The radio for the devices that are reached over the air; `nil` when there are none.
    func makeRadio(_ store: StoreKeeper) -> HubRadio? {
        let collars = configuration.collars.filter(\.isOnAir)
        let cuffs = configuration.cuffs.filter { parts.cuffLinks($0) == nil }
        guard !collars.isEmpty || !cuffs.isEmpty else { return nil }
        let devices = collars.map { RadioDevice($0) } + cuffs.map { RadioDevice($0) }
        var policy = ControllerPolicy()
        if case .address(let address) = configuration.controller { policy.controller = address }
        let bonds = OutboxBonds(store: store, devices: devices)
        let (openRadio, onRadioEnd) = (parts.openRadio, parts.onRadioEnd)
        return HubRadio(loop: parts.loop, log: parts.log, devices: collars.map { HubRadioDevice($0) } + cuffs.map { HubRadioDevice($0) }, store: bonds) { [policy] onEvent in
            try openRadio(devices, bonds, policy, onEvent)
        } onChange: { [weak self] in
            self?.assumeIsolated { $0.refresh() }
        } onReady: { [weak self] in
            self?.assumeIsolated { $0.controllerIsBack() }
        } onEnd: { why in
            onRadioEnd(why)
        }
    }

    private func controllerIsBack() {
        guard running else { return }
        parts.loop.spawn { await self.uplink?.flush(.controllerBack) }
    }
}
