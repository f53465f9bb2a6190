/// The controller's policy as a value: which one is used, how it is set up and kept so, and what is done when it fails. No I/O, no clock.
///
/// Inputs are what the management channel tells and what the connector wants; every input answers with actions in their order. Every state but `stopped` has a timer or
/// a command with a timeout that ends it.
public struct ControllerMachine: Sendable {
    /// A controller that is being set up or is in use.
    struct Active: Sendable {
        let index: ControllerIndex
        var information: ControllerInformation
        /// What is still to be done; the first is with the kernel while `inFlight` is set.
        var queue: [SetUpStep]
        var inFlight: UInt64?
        /// How often the first step has failed.
        var failures = 0
        /// Until `retry` fires nothing is given to the kernel.
        var isPausing = false
        var isReady = false
        /// Between the start of a scan and its end.
        var scan: Scan?
        /// Devices that the kernel refused.
        var refused: Set<BluetoothAddress> = []
        /// Devices that the kernel did not take off its list.
        var unremoved: Set<BluetoothAddress> = []
    }

    struct Scan: Sendable {
        var heard = 0
        /// The kernel has said that it is under way, so its next word is the end.
        var isRunning = false
    }

    /// The way to a choice.
    enum Search: Sendable {
        case version(tag: UInt64)
        case commands(tag: UInt64)
        case list(tag: UInt64)
        case information(tag: UInt64, of: ControllerIndex, rest: [ControllerIndex])
    }

    enum Phase: Sendable {
        /// → searching (start)
        case stopped
        /// → active, waiting, exiting; each of its commands has a timeout. `again`: a controller came meanwhile.
        case searching(Search, again: Bool)
        /// Until `retry` fires, an index is added, or the controller that is waited for is removed. → searching
        case waiting(for: ControllerIndex?)
        /// → waiting, searching, cycling
        case active(Active)
        /// Set Powered off is with the kernel. → searching, exiting
        case cycling(ControllerIndex, tag: UInt64)
        /// The shell was told to exit; told again each time `retry` fires.
        case exiting(ControllerTrouble)
    }

    /// A command outside the order of steps.
    enum Direct: Sendable, Hashable {
        case disconnect(BluetoothAddress)
        case pair(BluetoothAddress)
        case unpair(BluetoothAddress)
        case reply(BluetoothAddress)
    }

    let policy: ControllerPolicy
    var phase = Phase.stopped
    var devices: [BluetoothAddress: ConnectionParameters]
    var bonds: BondKeys
    /// Controllers that this process has begun to set up since they came: what is in them is of its own making.
    var known: Set<ControllerIndex> = []
    /// Links on which a channel of ours is open.
    var channels: Set<BluetoothAddress> = []
    /// Devices that may pair now.
    var pairable: Set<BluetoothAddress> = []
    /// What those of them are answered that have a policy of their own.
    var pairingPolicies: [BluetoothAddress: (policy: PairingPolicy, passkey: UInt32?)] = [:]
    var direct: [UInt64: Direct] = [:]
    var lastTag: UInt64 = 0
    /// Refusals as busy since the last link.
    var busyCount = 0
    /// What the kernel could not do with the controller since it last did it, or since the last link.
    var failures = 0
    /// Scans that heard nothing since something was heard.
    var unheardScans = 0
    /// Kinds of trouble that a power cycle was tried against and that are not known to be cured.
    var tried: Set<String> = []
    /// What was told last of why nothing can be done; told once for each change.
    var absence: ControllerAbsence?
    /// Replays of the set-up after a reset, since the controller last worked for a while.
    var resets = 0
    /// Devices whose keys were taken from the kernel, and with them their place on its list as soon as their link is down.
    var unpaired: Set<BluetoothAddress> = []

    /// What the kernel's management interface can do, once it has said.
    public internal(set) var version: ManagementVersion?
    var supported: Set<ManagementOpcode> = []

    public init(policy: ControllerPolicy, devices: [ControllerDevice] = [], bonds: BondKeys = BondKeys()) {
        self.policy = policy
        self.devices = Dictionary(devices.map { ($0.address, $0.parameters) }) { _, last in last }
        self.bonds = bonds
    }

    // MARK: What can be asked

    /// The controller in use; `nil` while none is ready.
    public var readyIndex: ControllerIndex? {
        if case .active(let active) = phase, active.isReady { active.index } else { nil }
    }

    /// Whether a scan is wanted or under way.
    public var isScanning: Bool {
        if case .active(let active) = phase { active.scan != nil } else { false }
    }

    /// The keys as the kernel has them or is about to.
    public var keys: BondKeys { bonds }

    /// The kernel's list, sorted so that the same devices always give the same commands.
    var addresses: [BluetoothAddress] {
        devices.keys.sorted { ($0.kind.rawValue, $0.description) < ($1.kind.rawValue, $1.description) }
    }

    // MARK: Life

    /// Begins.
    public mutating func start() -> [ControllerAction] {
        guard case .stopped = phase else { return [] }
        return search()
    }

    /// A timer has fired.
    public mutating func timerFired(_ timer: ControllerTimer) -> [ControllerAction] {
        switch (timer, phase) {
        case (.retry, .waiting):
            return search()
        case (.retry, .exiting(let trouble)):
            return [.exit(trouble), .startTimer(.retry, policy.absencePause)]
        case (.retry, .active(var active)):
            active.isPausing = false
            phase = .active(active)
            return proceed()
        case (.scan, .active(let active)) where active.scan != nil:
            return scanEnded(nil) + enqueue([.stopScan])
        case (.audit, .active(var active)):
            if active.inFlight == nil, active.queue.isEmpty { active.queue.append(.audit) }
            phase = .active(active)
            return [.startTimer(.audit, policy.auditInterval)] + proceed()
        case (.steady, .active):
            tried.subtract(ControllerTrouble.kindsCuredByTime)
            resets = 0
            return []
        default:
            return []
        }
    }

    /// A command has ended.
    public mutating func finished(_ tag: UInt64, _ outcome: ManagementMachine.Outcome) -> [ControllerAction] {
        // The channel's end is the shell's affair: nothing can be done here without it.
        if outcome == .closed { return [] }
        if let command = direct.removeValue(forKey: tag) { return directEnded(command, outcome) }
        switch phase {
        case .searching(let search, let again) where search.tag == tag:
            return found(search, outcome, again: again)
        case .active(let active) where active.inFlight == tag:
            return stepEnded(outcome)
        case .cycling(_, tag):
            // Whether power is off or not: the set-up puts everything in order, and fails if it cannot.
            return outcome == .unanswered ? exit(.silent(.setPowered)) : search()
        default:
            return []
        }
    }

    mutating func newTag() -> UInt64 {
        lastTag += 1
        return lastTag
    }
}
