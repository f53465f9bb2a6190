import Platform

/// Delivers the queue's entries: one lane per owner, each with its own retry machine, all over one transport.
///
/// An actor on the injected loop.
public actor Uplink {
    private let loop: any EventLoop
    private let transport: any HTTPTransport
    private let queue: any DeliveryQueue
    private var settings: UplinkSettings
    private let wallClock: WallClock
    private var random: any RandomNumberGenerator & Sendable
    private let log: Log
    private let onEvent: @Sendable (UplinkEvent) -> Void

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - queue: where entries come from and where outcomes are written down.
    ///   - random: jitters the delays.
    ///   - onEvent: told on the loop, after what it tells was written down.
    public init(loop: any EventLoop, transport: any HTTPTransport, queue: any DeliveryQueue, settings: UplinkSettings, wallClock: WallClock,
                random: any RandomNumberGenerator & Sendable, log: Log, onEvent: @escaping @Sendable (UplinkEvent) -> Void) {
        self.loop = loop
        self.transport = transport
        self.queue = queue
        self.settings = settings
        self.wallClock = wallClock
        self.random = random
        self.log = log
        self.onEvent = onEvent
    }

    /// The whole queue in order, given at the start and after every change of it.
    public func setEntries(_ entries: [QueuedEntry]) {}

    /// Tries everything that is queued now, for every owner.
    public func flush(_ reason: FlushReason) {}

    /// The wall clock was set, or its provenance changed: what was held for it goes on.
    public func clockChanged() {}

    /// The owners or their tokens changed. A request in flight keeps its owner.
    ///
    /// - Parameter tokenFiles: the file that holds each owner's token, by the owner's key.
    public func ownersChanged(_ tokenFiles: [String: String]) { settings.tokenFiles = tokenFiles }

    /// Ends within a second. A request in flight is abandoned, and nothing is recorded for it.
    public func stop() async {}

    /// Every owner with something queued or something to tell, by key.
    public var lanes: [LaneStatus] { [] }
}
