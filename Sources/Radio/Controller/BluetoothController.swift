import Platform

/// The controller on the loop: the machine, its timers, and the management channel beneath.
///
/// A connector sits on top: it is told events in their order, and says what it wants by the methods, from within an event too. What is told from within a
/// call comes after that call's own commands.
public actor BluetoothController {
    /// What is told, on the loop's thread.
    public enum Report: Sendable, Hashable {
        case event(ControllerEvent)
        /// The kernel said something that cannot be read, or that nobody had asked for; a line for the log.
        case oddity(String)
        /// Nothing here helps any more: end the process, so that it is started anew. Told again from time to time.
        case exit(ControllerTrouble)
        /// The management channel is gone, and nothing more will come: end the process.
        case channelClosed(BluetoothError)
    }

    nonisolated let loop: any EventLoop
    private let client: ManagementClient
    private let isBlocked: @Sendable (ControllerIndex) -> Bool
    private var machine: ControllerMachine
    private var timers: [ControllerTimer: TimerID] = [:]
    private var pending: [ControllerAction] = []
    private var isPerforming = false
    private var onReport: (@Sendable (Report) -> Void)?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter channel: `ManagementClient.openControlChannel()`, or one end of a pair in tests.
    public init(
        channel: consuming Descriptor, loop: any EventLoop, policy: ControllerPolicy, devices: [ControllerDevice] = [], bonds: BondKeys = BondKeys()
    ) {
        self.init(channel: channel, loop: loop, policy: policy, devices: devices, bonds: bonds, isBlocked: { RadioBlock.holds($0) })
    }

    /// - Parameter isBlocked: whether rfkill has switched a controller off.
    init(
        channel: consuming Descriptor, loop: any EventLoop, policy: ControllerPolicy, devices: [ControllerDevice] = [], bonds: BondKeys = BondKeys(),
        isBlocked: @escaping @Sendable (ControllerIndex) -> Bool
    ) {
        self.loop = loop
        self.isBlocked = isBlocked
        client = ManagementClient(channel: channel, loop: loop)
        machine = ControllerMachine(policy: policy, devices: devices, bonds: bonds)
    }

    /// Begins. The listener for links must be open already: the kernel links as soon as a device is on its list.
    ///
    /// - Throws: `BluetoothError` when the channel cannot be watched.
    public func start(onReport: @escaping @Sendable (Report) -> Void) throws {
        self.onReport = onReport
        let heard: @Sendable (ManagementClient.Report) -> Void = { report in self.assumeIsolated { $0.heard(report) } }
        try client.assumeIsolated { try $0.start(onReport: heard) }
        perform(machine.start())
    }

    /// Lets go of the management channel and all timers. The controller stays as it is: powered, with the kernel's list.
    public func stop() {
        onReport = nil
        for timer in timers.values { loop.cancel(timer) }
        timers = [:]
        client.assumeIsolated { $0.close() }
    }

    // MARK: State

    /// The controller in use; `nil` while none is ready.
    public var readyIndex: ControllerIndex? { machine.readyIndex }
    /// What the kernel's management interface can do, once it has said.
    public var version: ManagementVersion? { machine.version }
    /// Whether a scan is wanted or under way.
    public var isScanning: Bool { machine.isScanning }
    /// The keys as the kernel has them or is about to.
    public var keys: BondKeys { machine.keys }

    // MARK: What the connector wants; see the machine's methods of the same names

    public func devicesChanged(_ devices: [ControllerDevice]) { perform(machine.devicesChanged(devices)) }
    public func bondsChanged(_ keys: BondKeys) { perform(machine.bondsChanged(keys)) }
    public func channelOpened(_ address: BluetoothAddress) { machine.channelOpened(address) }
    public func channelClosed(_ address: BluetoothAddress) { machine.channelClosed(address) }
    public func disconnect(_ address: BluetoothAddress) { perform(machine.disconnect(address)) }
    public func beginScan() { perform(machine.beginScan()) }
    public func endScan() { perform(machine.endScan()) }
    public func allowPairing(_ address: BluetoothAddress) { machine.allowPairing(address) }
    public func allowPairing(_ address: BluetoothAddress, policy: PairingPolicy, passkey: UInt32?) {
        machine.allowPairing(address, policy: policy, passkey: passkey)
    }
    public func forbidPairing(_ address: BluetoothAddress) { machine.forbidPairing(address) }
    public func pair(_ address: BluetoothAddress) { perform(machine.pair(address)) }
    public func cancelPairing(_ address: BluetoothAddress) { perform(machine.cancelPairing(address)) }
    public func unpair(_ address: BluetoothAddress) { perform(machine.unpair(address)) }
    public func connectionWasBusy() { perform(machine.connectionWasBusy()) }

    /// Switches the controller off and sets it up anew, as an operator may want; every link is lost and made again.
    public func powerCycle() { perform(machine.powerCycle()) }

    // MARK: Parts

    private func heard(_ report: ManagementClient.Report) {
        switch report {
        case .event(let index, let event):
            perform(machine.received(event, from: index))
        case .malformed(let fault):
            onReport?(.oddity(fault))
        case .unexpectedAnswer(let opcode, let index, let status):
            onReport?(.oddity("\(index) answered \(opcode) with \(status), and nobody waits for it"))
        case .closed(let error):
            let report = onReport
            stop()
            report?(.channelClosed(error))
        }
    }

    private func perform(_ actions: [ControllerAction]) {
        pending += actions
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while !pending.isEmpty { perform(pending.removeFirst()) }
    }

    private func perform(_ action: ControllerAction) {
        switch action {
        case .command(let command, let index, let tag):
            let switchesOn = command == .setPowered(true)
            let completion: @Sendable (ManagementMachine.Outcome) -> Void = { outcome in
                self.assumeIsolated { $0.ended(tag, switchesOn ? $0.explained(outcome, index) : outcome) }
            }
            client.assumeIsolated { $0.submit(command, to: index, completion: completion) }
        case .startTimer(let timer, let duration):
            if let former = timers[timer] { loop.cancel(former) }
            timers[timer] = loop.schedule(after: duration) { self.assumeIsolated { $0.fired(timer) } }
        case .cancelTimer(let timer):
            if let former = timers.removeValue(forKey: timer) { loop.cancel(former) }
        case .event(let event):
            onReport?(.event(event))
        case .exit(let trouble):
            onReport?(.exit(trouble))
        }
    }

    /// The reason of a failure that the kernel keeps to itself.
    private func explained(_ outcome: ManagementMachine.Outcome, _ index: ControllerIndex) -> ManagementMachine.Outcome {
        if case .refused = outcome, isBlocked(index) { .refused(.rfkilled) } else { outcome }
    }

    private func ended(_ tag: UInt64, _ outcome: ManagementMachine.Outcome) { perform(machine.finished(tag, outcome)) }

    private func fired(_ timer: ControllerTimer) {
        timers[timer] = nil
        perform(machine.timerFired(timer))
    }
}
