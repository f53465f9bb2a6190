import Platform

/// How a simulated collar is made.
public struct CollarConfiguration: Sendable {
    /// Serial number in Device Information.
    public var serial: String
    /// Firmware revision in Device Information.
    public var firmware = "1.0.0"
    public var uuids = CollarUUIDs.reference
    public var genericAttribute = CollarTable.GenericAttribute.serviceChanged
    /// Decides samples' noise, identities and faults.
    public var seed: UInt64
    /// Windows held at the start, one for each second before it.
    public var backlog = 0
    /// How many windows the flash holds.
    public var capacity = 100_000
    /// Sequence of the first window of the backlog.
    public var firstSequence: UInt32 = 0
    public var windowInterval = Duration.seconds(1)
    public var heartbeatInterval = Duration.seconds(5)
    /// The collar's side of the MTU exchange.
    public var mtu: UInt16 = 517
    /// How long a link that has faded stays up before it is lost (Core, Vol 6, Part B, 4.5.2).
    public var supervisionTimeout = Duration.seconds(6)
    /// The collar sends an Exchange MTU Request of its own on each link.
    public var asksForMTU = false
    /// What the clock shows at the start, seconds since 1970; `nil` for a clock that is not set.
    public var clock: UInt32?
    /// The rate of a read; `nil` for as fast as the link takes it.
    public var windowsPerSecond: Int?
    public var faults = CollarFaults.none

    public init(serial: String, seed: UInt64) {
        self.serial = serial
        self.seed = seed
    }
}

/// A moment at which the collar can be made to wait.
public enum HoldPoint: String, Sendable, CaseIterable {
    /// A read range was written and nothing of it done.
    case readRequest = "read-request"
    /// A clear was written and nothing of it done.
    case clearRequest = "clear-request"
    /// The answer to a clear is on its way.
    case clearAnswered = "clear-answered"
}

/// What those around a collar may want to know at once.
public enum CollarEvent: Sendable, Hashable {
    case linked
    case unlinked
    /// A hold has come into effect.
    case held(HoldPoint)
}

/// A collar that serves real ATT bytes on any connected packet socket and misbehaves by seed.
///
/// It lives on the given loop: the daemon's kind of loop in a process of its own, or a `VirtualLoop` with everything else.
/// The link's, the faults' and the books' parts are in extensions.
public actor SimulatedCollar {
    let loop: any EventLoop
    let configuration: CollarConfiguration
    let handles: CollarTable

    var state: CollarState
    var dice: FaultDice
    var channel: WindowChannel
    var link: CollarLink?

    private var productionTimer: TimerID?
    private var tickTimer: TimerID?
    private var observers: [@Sendable (CollarEvent) -> Void] = []

    var armed: Set<HoldPoint> = []
    var held: HoldPoint?
    var heldRequests: [[UInt8]] = []

    var address: [UInt8]
    var clears: [ClearRecord] = []
    var clearsRefused = 0
    var reads = 0
    var windowsSent = 0
    var links = 0
    var faultCounts: [String: Int] = [:]

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// A collar with its backlog, not yet producing and without a link.
    public init(_ configuration: CollarConfiguration, recording: Recording, loop: any EventLoop) {
        self.loop = loop
        self.configuration = configuration
        handles = CollarTable(serial: configuration.serial, firmware: configuration.firmware, uuids: configuration.uuids, genericAttribute: configuration.genericAttribute)
        var dice = FaultDice(seed: configuration.seed)
        channel = WindowChannel(faults: configuration.faults)
        let faults = configuration.faults
        var flash = CollarFlash(
            capacity: configuration.capacity,
            log: dice.withIdentities { UInt32(truncatingIfNeeded: $0.next() >> 32) | 1 },
            firstSequence: configuration.firstSequence,
            forge: WindowForge(recording: recording, seed: configuration.seed, damageProbability: faults.damagePerWindow),
            faults: FlashFaults(seed: configuration.seed, transient: faults.flashErrorOncePerWindow, lasting: faults.flashErrorLastingPerWindow))
        let now = loop.now
        let age = Duration.seconds(-configuration.backlog)
        var clock = CollarClock(startedAt: now + age)
        if let seconds = configuration.clock { clock.set(seconds, at: now) }
        for index in 0..<configuration.backlog {
            flash.append(time: clock.time(at: now) &- UInt32(truncatingIfNeeded: configuration.backlog - index))
        }
        state = CollarState(flash: flash, clock: clock)
        address = dice.withIdentities { Self.staticRandomAddress(&$0) }
        self.dice = dice
    }

    /// Starts producing windows, and the faults that come by the second.
    public func start() {
        if productionTimer == nil { produceNext(at: loop.now + configuration.windowInterval) }
        if tickTimer == nil, configuration.faults.ticks { tickNext(at: loop.now + .seconds(1)) }
    }

    /// Produces no more windows. Those that are held are still served.
    public func stopProducing() {
        if let productionTimer { loop.cancel(productionTimer) }
        productionTimer = nil
    }

    /// Ends everything: the link, the windows, the faults. A collar must be stopped before it is let go of.
    public func stop() {
        stopProducing()
        if let tickTimer { loop.cancel(tickTimer) }
        tickTimer = nil
        dropLink()
    }

    /// Calls `body` for each event, on the loop.
    public func observe(_ body: @escaping @Sendable (CollarEvent) -> Void) { observers.append(body) }

    func emit(_ event: CollarEvent) {
        for observer in observers { observer(event) }
    }

    /// Formats the log: an empty one under a new identity takes its place.
    public func format() {
        dice.withIdentities { state.flash.format(using: &$0) }
        pump()
    }

    /// A new battery: the link drops, the clock starts anew and is not set, the address is another one. The flash stays as it is.
    public func changeBattery() {
        state.clock.restart(at: loop.now)
        state.batteryPercent = 100
        address = dice.withIdentities { Self.staticRandomAddress(&$0) }
        dropLink()
    }

    /// Injects flash errors and damage, and whatever else tests want to set.
    public func withState<Value: Sendable>(_ body: @Sendable (inout CollarState) -> Value) -> Value { body(&state) }

    private func produceNext(at deadline: BootInstant) {
        productionTimer = loop.schedule(at: deadline) { [weak self] in
            self?.assumeIsolated { collar in
                // A window is stored at its end and stamped with its start.
                let start = BootInstant(nanoseconds: deadline.nanoseconds - collar.configuration.windowInterval.saturatingNanoseconds)
                collar.state.flash.append(time: collar.state.clock.time(at: start))
                collar.produceNext(at: deadline + collar.configuration.windowInterval)
            }
        }
    }

    private func tickNext(at deadline: BootInstant) {
        tickTimer = loop.schedule(at: deadline) { [weak self] in
            self?.assumeIsolated { collar in
                collar.misbehave()
                collar.tickNext(at: deadline + .seconds(1))
            }
        }
    }

    /// Six bytes, most significant first, with the two top bits set (Core, Vol 6, Part B, 1.3.2.1).
    private static func staticRandomAddress(_ generator: inout SplitMix64) -> [UInt8] {
        let random = generator.next()
        return (0..<6).map { UInt8(truncatingIfNeeded: random >> (8 * UInt64($0))) | ($0 == 0 ? 0xC0 : 0) }
    }
}
