import Platform

/// How a GATT client behaves on its bearer.
public struct GATTClientConfiguration: Sendable, Hashable {
    /// The longest PDU that we take, said in the MTU exchange: 517 holds every value (512) with the longest header. Below 23 it counts as 23.
    public var receiveMTU: UInt16 = 517
    /// How long a peer may take to answer one request (Core Vol 3 Part F 3.3.3: 30 s).
    public var transactionTimeout: Duration = .seconds(30)

    public init() {}
}

/// A GATT client over one connected `SOCK_SEQPACKET` descriptor: the kernel's L2CAP socket on CID 4, or a Unix socket.
///
/// It runs on the injected loop and owns the descriptor. After `start` the loop keeps it alive until it is closed: by the peer, by `close`, or for a
/// violation or a timeout. Each of them ends every waiting call with an error and is reported once.
///
/// Calls may overlap: their requests go out one at a time, in the order in which they were made. Handlers of values run synchronously on the
/// loop's thread, in the order of the air. A response resumes its caller one turn of the loop later, so values that follow a response directly reach their
/// handler *before* the caller: register what you expect before you ask for it.
///
/// A caller that is cancelled is let go at once with `CancellationError`; a request that is already with the peer keeps the
/// bearer until it is answered, and whether it took effect is unknown.
public actor GATTClient {
    nonisolated let loop: any EventLoop
    let configuration: GATTClientConfiguration
    let raiseSecurity: RaiseSecurity?
    let isEncrypted: @Sendable () -> Bool
    private var onEnd: (@Sendable () -> Void)?
    var socket: PacketSocket?
    var bearer: ATTBearer
    var router = UpdateRouter()
    private var onClose: (@Sendable (BearerClosure) -> Void)?
    private(set) var started = false

    var waiting: [ATTBearer.Token: (request: ATTPDU, continuation: CheckedContinuation<ATTPDU, any Error>)] = [:]
    var transaction: (token: ATTBearer.Token, timer: TimerID)?
    var watchesWritable = false
    /// Stands while the socket is full, from the last PDU that it took.
    var stall: TimerID?
    var transportFailure: SystemError?
    /// What is done once for all who wait for it, while it is under way.
    var errands: [Errand: [UInt64: CheckedContinuation<Void, any Error>]] = [:]
    var lastWaiter: UInt64 = 0
    /// Whether a queued write is under way: a peer has one queue for this side.
    var isQueueing = false

    /// Descriptors found for subscriptions, by the characteristic's value handle.
    var configurations: [AttributeHandle: AttributeHandle] = [:]
    /// The database as it was discovered last, when it was.
    public internal(set) var database: GATTDatabase?
    /// The services that the database is discovered in; `nil` for all.
    var needed: Set<BluetoothUUID>?
    /// Where the database has changed since, until it is discovered again.
    var changed: ATTHandleRange?
    /// What of that is still to be asked for.
    var unasked: ATTHandleRange?
    var onDatabaseChange: @Sendable (GATTDatabase) -> Void = { _ in }
    /// The value handle of Service Changed, once it is subscribed.
    var serviceChangedHandle: AttributeHandle?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - descriptor: connected; its owner from now on is the client.
    ///   - loop: where everything runs.
    ///   - raiseSecurity: called when the peer refuses a request for want of security; the request is made once more after it. Without it the refusal stands.
    ///   - isEncrypted: whether the link is encrypted now; asked on the loop. Signed writes are sent unsigned then, as the link vouches for them.
    ///   - onEnd: called on the loop as soon as the client has let go of the descriptor, before anybody is told.
    public init(
        descriptor: consuming Descriptor, loop: any EventLoop, configuration: GATTClientConfiguration = .init(),
        raiseSecurity: RaiseSecurity? = nil, isEncrypted: @escaping @Sendable () -> Bool = { false }, onEnd: (@Sendable () -> Void)? = nil
    ) {
        self.loop = loop
        self.configuration = configuration
        self.raiseSecurity = raiseSecurity
        self.isEncrypted = isEncrypted
        self.onEnd = onEnd
        bearer = ATTBearer(receiveMTU: configuration.receiveMTU)
        socket = PacketSocket(descriptor, capacity: Int(bearer.receiveMTU))
    }

    /// Begins to read. Values that come from now on are kept until their subscription is made.
    ///
    /// - Parameter onClose: called once, on the loop, never from within a call of this client, with why the bearer closed. No value comes after it.
    /// - Throws: `GATTError` when the client was started or closed before, `SystemError` when the loop cannot watch the descriptor; it is closed then.
    public func start(onClose: @escaping @Sendable (BearerClosure) -> Void) throws {
        guard !started else { throw GATTError(.alreadyStarted) }
        if let closure = bearer.closure { throw GATTError(.closed(closure)) }
        started = true
        do {
            try socket?.setNonBlocking()
            try watch()
        } catch {
            end(.transport(error))
            throw error
        }
        self.onClose = onClose
    }

    // MARK: State

    /// ATT_MTU as it holds now: 23 until an exchange by either side.
    public var mtu: UInt16 { bearer.mtu }

    /// Why the bearer is closed; `nil` while it is open.
    public var closure: BearerClosure? { bearer.closure }

    /// Values that came for nobody and found their buffer full, since the start.
    public var lostUpdates: Int { router.lost }

    /// Whether the peer waits for `confirmIndication`.
    public var isIndicationWaiting: Bool { bearer.isIndicationWaiting }

    /// Requests that wait for their response or for their turn.
    public var openRequests: Int { waiting.count }

    // MARK: Indications

    /// Confirms the indication that was handed over last: for the caller to say when it has done what the peer may forget it for. The peer
    /// sends no other one before, and gives up after 30 s (Core Vol 3 Part F 3.3.3).
    ///
    /// - Throws: `GATTError` when no indication waits, or the bearer is closed.
    public func confirmIndication() throws {
        try bearer.confirm()
        flush()
    }

    /// Says that all subscriptions are made: what was kept for other handles is discarded, and what comes for them from now on is not kept. An
    /// indication that nobody subscribed (of a bond from another time) is confirmed, so that it does not hold up the others.
    public func subscriptionsComplete() {
        if router.stopKeeping() { confirmUnwanted() }
    }

    func confirmUnwanted() {
        // Fails only when the caller has confirmed what it was not given, or the bearer is closed: nothing is left to confirm then.
        try? bearer.confirm()
        flush()
    }

    // MARK: Closing

    /// Closes the bearer and the descriptor. Waiting calls throw. Does nothing when it is closed already.
    ///
    /// - Parameter purpose: what for, in a few words for the log.
    public func close(_ purpose: String = "no longer needed") {
        end(.requested(purpose))
    }

    func end(_ closure: BearerClosure) {
        if bearer.close(closure) { ended(closure) }
    }

    /// The bearer has closed: everything that hangs on it ends here, once.
    func ended(_ closure: BearerClosure) {
        if let raw = socket?.raw { loop.unwatch(raw) }
        socket = nil
        onEnd?()
        onEnd = nil
        let timedOut = transaction?.token
        if let timer = transaction?.timer { loop.cancel(timer) }
        transaction = nil
        if let stall { loop.cancel(stall) }
        stall = nil
        router.removeAll()
        let ended = waiting
        waiting = [:]
        for (token, call) in ended {
            if case .transactionTimeout(let opcode) = closure, token == timedOut {
                call.continuation.resume(throwing: GATTError(.timeout(opcode)))
            } else {
                call.continuation.resume(throwing: GATTError(.closed(closure)))
            }
        }
        releaseErrands(GATTError(.closed(closure)))
        if let onClose {
            self.onClose = nil
            _ = loop.schedule(at: loop.now) { onClose(closure) }
        }
    }
}
