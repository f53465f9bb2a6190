import Platform

/// The radio as the hub uses it: it keeps every configured device linked, and hands its links out, encrypted where that is asked for.
///
/// It joins the controller, the listener and the dialer with the `ConnectorMachine`, which decides everything; what is here carries its wishes out. All of it
/// runs on the loop.
public actor RadioController {
    /// How long a stage of a trial may take; together less than `ConnectorSettings.trialLimit`.
    static let dialTimeout = Duration.seconds(45)
    static let raiseTimeout = Duration.seconds(40)
    static let keysTimeout = Duration.seconds(15)
    static let readTimeout = Duration.seconds(60)
    /// The pause before stored bonds that could not be read are tried again.
    static let bondsPause = Duration.seconds(10)

    enum Life { case idle, starting, running, stopped }

    nonisolated let loop: any EventLoop
    let controller: BluetoothController
    let transport: any LinkTransport
    let store: any BondStore
    let readSecret: @Sendable (String) throws -> String
    let onEvent: @Sendable (RadioEvent) -> Void

    var life = Life.idle
    /// The identity address of the controller that is ready, and of the one whose bonds are in use.
    var ready: BluetoothAddress?
    var bonded: BluetoothAddress?
    var configured: [String: RadioDevice]
    var machine: ConnectorMachine
    private var inputs: [ConnectorInput] = []
    private var isHandling = false
    private var timer: (deadline: BootInstant, timer: TimerID)?

    // Links, by device once it is known whose they are.
    var accepted: [BluetoothAddress: LinkBox] = [:]
    var securities: [BluetoothAddress: any LinkSecuring] = [:]
    var mailboxes: [String: Mailbox] = [:]
    var lastWaiter: UInt64 = 0
    /// Devices whose keys are being stored, and whether others came meanwhile.
    var storing: [String: Bool] = [:]
    /// Addresses whose keys the kernel is forgetting, and what follows.
    var removing: [BluetoothAddress: String] = [:]
    var trial: TrialRun?
    var trialIdentities: [BluetoothAddress: BluetoothAddress] = [:]
    var lastTrial: UInt64 = 0
    var scans: [UInt64: AsyncStream<HeardDevice>.Continuation] = [:]
    var lastScan: UInt64 = 0
    /// What the scans that are asked for have heard.
    var heard: [BluetoothAddress: HeardDevice] = [:]

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Opens the attribute channel. The management channel is `ManagementClient.openControlChannel()`.
    ///
    /// - Parameters:
    ///   - policy: of the controller; what devices need of it (IO capability) is set here.
    ///   - onEvent: called on the loop's thread.
    /// - Throws: `BluetoothError` when the kernel has no Bluetooth or another program (bluetoothd) has the channel.
    public init(
        channel: consuming Descriptor, loop: any EventLoop, devices: [RadioDevice], store: any BondStore, policy: ControllerPolicy = ControllerPolicy(),
        settings: ConnectorSettings = ConnectorSettings(), onEvent: @escaping @Sendable (RadioEvent) -> Void
    ) throws(BluetoothError) {
        // Room for devices that a later configuration brings, and for whoever else comes and is refused.
        let transport = try L2CAPTransport(loop: loop, backlog: max(32, devices.count * 2))
        self.init(
            channel: channel, loop: loop, devices: devices, store: store, policy: policy, settings: settings, transport: transport,
            readSecret: { try SecretFile.read($0) }, onEvent: onEvent)
    }

    init(
        channel: consuming Descriptor, loop: any EventLoop, devices: [RadioDevice], store: any BondStore, policy: ControllerPolicy, settings: ConnectorSettings,
        transport: any LinkTransport, readSecret: @escaping @Sendable (String) throws -> String, onEvent: @escaping @Sendable (RadioEvent) -> Void
    ) {
        var policy = policy
        // One capability is for all; who needs no digits is paired by Just Works all the same.
        if devices.contains(where: { $0.pairing.ioCapability == .keyboardOnly }) { policy.ioCapability = .keyboardOnly }
        self.loop = loop
        controller = BluetoothController(channel: channel, loop: loop, policy: policy)
        self.transport = transport
        self.store = store
        self.readSecret = readSecret
        self.onEvent = onEvent
        configured = Dictionary(devices.map { ($0.id, $0) }) { _, last in last }
        machine = ConnectorMachine(settings: settings)
    }

    // MARK: Life

    /// Begins to listen, and sets the controller up. Nothing is linked before the bonds with that very controller are read, as no link could be encrypted; when
    /// they cannot be read they are tried again for as long as it takes.
    ///
    /// - Throws: `BluetoothError` when a socket cannot be watched.
    public func start() async throws {
        guard life == .idle else { return }
        life = .starting
        let onLink: @Sendable (IncomingLink) -> Void = { [weak self] link in self?.assumeIsolated { $0.accept(link) } }
        let onFailure: @Sendable (BluetoothError) -> Void = { [weak self] error in self?.assumeIsolated { $0.onEvent(.oddity("\(error)")) } }
        try await transport.start(onLink: onLink, onFailure: onFailure)
        guard life == .starting else { return }
        life = .running
        let onReport: @Sendable (BluetoothController.Report) -> Void = { [weak self] report in self?.assumeIsolated { $0.told(report) } }
        try await controller.start(onReport: onReport)
    }

    /// A controller works. Its keys come first, unless they are in use already.
    func controllerIsReady(_ address: BluetoothAddress) {
        ready = address
        guard bonded != address else { return feed(.controllerReady) }
        loop.spawn { await self.readBonds(with: address) }
    }

    private func readBonds(with address: BluetoothAddress) async {
        guard life == .running, ready == address, bonded != address else { return }
        let bonds: [Bond]
        do {
            bonds = try await store.bonds(with: address)
        } catch {
            onEvent(.bondsUnreadable("\(error)"))
            _ = loop.schedule(after: Self.bondsPause) { [weak self] in self?.readBondsAgain(with: address) }
            return
        }
        guard life == .running, ready == address, bonded != address else { return }
        take(bonds, with: address)
    }

    private func take(_ bonds: [Bond], with address: BluetoothAddress) {
        bonded = address
        var keys = BondKeys()
        for bond in bonds where configured[bond.device] != nil {
            for key in bond.longTermKeys { keys.add(key) }
            if let key = bond.identityResolvingKey { keys.add(key) }
        }
        // Keys before the list: the kernel links as soon as a device is on it.
        controller.assumeIsolated { $0.bondsChanged(keys) }
        perform(machine.configure(Array(configured.values), bonds: bonds, at: loop.now))
        perform(machine.rebond(bonds, at: loop.now))
        feed(.controllerReady)
    }

    private nonisolated func readBondsAgain(with address: BluetoothAddress) { loop.spawn { await self.readBonds(with: address) } }

    /// Lets go of every link and of both channels. The kernel keeps its list; the next start replaces it.
    public func stop() async {
        guard life != .stopped else { return }
        life = .stopped
        if let timer { loop.cancel(timer.timer) }
        timer = nil
        endTrial()
        for security in securities.values { await security.close() }
        securities = [:]
        accepted = [:]
        for device in Array(mailboxes.keys) { mailboxes.removeValue(forKey: device)?.cancel() }
        for scan in scans.values { scan.finish() }
        scans = [:]
        await controller.stop()
        await transport.stop()
    }

    // MARK: The machine

    func reconfigure(_ bonds: [Bond]) {
        guard life == .running, bonded != nil else { return }
        perform(machine.configure(Array(configured.values), bonds: bonds, at: loop.now))
    }

    /// Tells the machine, and does what it wants; what comes of that meanwhile is told after it.
    func feed(_ input: ConnectorInput) {
        guard life == .running else { return }
        inputs.append(input)
        drain()
    }

    private func perform(_ actions: [ConnectorAction]) {
        isHandling = true
        for action in actions { perform(action) }
        isHandling = false
        drain()
    }

    private func drain() {
        guard !isHandling else { return }
        isHandling = true
        while !inputs.isEmpty, life == .running {
            for action in machine.handle(inputs.removeFirst(), at: loop.now) { perform(action) }
        }
        isHandling = false
        arm()
    }

    private func arm() {
        let deadline = life == .running ? machine.deadline : nil
        if timer?.deadline == deadline { return }
        if let timer { loop.cancel(timer.timer) }
        timer = deadline.map { deadline in
            (deadline, loop.schedule(at: deadline) { [weak self] in self?.assumeIsolated { $0.fired() } })
        }
    }

    private func fired() {
        timer = nil
        feed(.timer)
    }

    private func perform(_ action: ConnectorAction) {
        switch action {
        case .setDevices(let list): controller.assumeIsolated { $0.devicesChanged(list) }
        case .beginScan: controller.assumeIsolated { $0.beginScan() }
        case .endScan: controller.assumeIsolated { $0.endScan() }
        case .disconnect(let address): controller.assumeIsolated { $0.disconnect(address) }
        case .secure(let device, let address, let mayPair): secure(device, address, mayPair: mayPair)
        case .storeKeys(let device, let address): storeKeys(device, address)
        case .deliver(let device, let address): deliver(device, address)
        case .dropLink(let address): drop(address)
        case .tryCandidate(let device, let address): beginTrial(device, address)
        case .abandonTrial(let address): if trial?.address == address { endTrial() }
        case .discardKeys(let address): discardKeys(address)
        case .adopt(let device, let address): adopt(device, address)
        case .removeBond(let device, let address): removeBond(device, address)
        case .cyclePower: controller.assumeIsolated { $0.powerCycle() }
        case .forgetStored(let device): removeStored(device)
        case .event(let event): onEvent(.device(event))
        }
    }
}
