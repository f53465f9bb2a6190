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
    private let configuration: GATTClientConfiguration
    private var socket: PacketSocket?
    private var bearer: ATTBearer
    private var router = UpdateRouter()
    private var onClose: (@Sendable (BearerClosure) -> Void)?
    private var started = false

    private var waiting: [ATTBearer.Token: CheckedContinuation<ATTPDU, any Error>] = [:]
    private var transaction: (token: ATTBearer.Token, timer: TimerID)?
    private var watchesWritable = false
    /// Stands while the socket is full, from the last PDU that it took.
    private var stall: TimerID?
    private var transportFailure: SystemError?
    /// Descriptors found for subscriptions, by the characteristic's value handle.
    private var configurations: [AttributeHandle: AttributeHandle] = [:]

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - descriptor: connected; its owner from now on is the client.
    ///   - loop: where everything runs.
    public init(descriptor: consuming Descriptor, loop: any EventLoop, configuration: GATTClientConfiguration = .init()) {
        self.loop = loop
        self.configuration = configuration
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

    // MARK: Requests

    /// Sends one request and waits for its response, an Error Response included. Every procedure asks through here, so what must happen for all of them
    /// on certain answers has one place.
    func request(_ pdu: ATTPDU) async throws -> ATTPDU {
        try Task.checkCancellation()
        guard started else { throw GATTError(.notStarted) }
        let token = try bearer.submit(pdu)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                waiting[token] = continuation
                flush()
            }
        } onCancel: {
            // Runs on whatever thread cancels, at times within a call of this very actor: the loop brings it back in order.
            Task(executorPreference: loop) { await self.abandon(token) }
        }
    }

    private func abandon(_ token: ATTBearer.Token) {
        guard let continuation = waiting.removeValue(forKey: token) else { return }
        bearer.abandon(token)
        continuation.resume(throwing: CancellationError())
    }

    /// Sends a command, for which no response comes.
    func command(_ pdu: ATTPDU) throws {
        guard started else { throw GATTError(.notStarted) }
        try bearer.command(pdu)
        flush()
    }

    /// Sets the handler for a handle and gives it what was kept.
    func register(_ handle: AttributeHandle, _ handler: @escaping UpdateRouter.Handler) -> UpdateRouter.Handler? {
        let former = router.register(handle, handler)
        for update in router.takeKept(handle) { handler(update) }
        return former
    }

    /// Undoes `register`.
    func restore(_ handle: AttributeHandle, _ former: UpdateRouter.Handler?) { router.restore(handle, former) }

    /// Takes the handler away for good: what still comes is discarded.
    func retire(_ handle: AttributeHandle) { router.retire(handle) }

    /// The descriptor that configures a characteristic, as found before.
    func knownConfiguration(of handle: AttributeHandle) -> AttributeHandle? { configurations[handle] }

    func remember(configuration: AttributeHandle, of handle: AttributeHandle) { configurations[handle] = configuration }

    var needsMTUExchange: Bool { bearer.needsMTUExchange }

    var receiveMTU: UInt16 { bearer.receiveMTU }

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

    private func confirmUnwanted() {
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

    private func end(_ closure: BearerClosure) {
        if bearer.close(closure) { ended(closure) }
    }

    /// The bearer has closed: everything that hangs on it ends here, once.
    private func ended(_ closure: BearerClosure) {
        if let raw = socket?.raw { loop.unwatch(raw) }
        socket = nil
        let timedOut = transaction?.token
        if let timer = transaction?.timer { loop.cancel(timer) }
        transaction = nil
        if let stall { loop.cancel(stall) }
        stall = nil
        router.removeAll()
        let ended = waiting
        waiting = [:]
        for (token, continuation) in ended {
            if case .transactionTimeout(let opcode) = closure, token == timedOut {
                continuation.resume(throwing: GATTError(.timeout(opcode)))
            } else {
                continuation.resume(throwing: GATTError(.closed(closure)))
            }
        }
        if let onClose {
            self.onClose = nil
            _ = loop.schedule(at: loop.now) { onClose(closure) }
        }
    }

    // MARK: The descriptor

    private func watch() throws(SystemError) {
        guard let raw = socket?.raw else { return }
        try loop.watch(raw, for: watchesWritable ? [.readable, .writable] : .readable) { readiness in
            self.assumeIsolated { $0.ready(readiness) }
        }
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.readable) || readiness.contains(.hangup) { drain() }
        if readiness.contains(.writable) { flush() }
    }

    /// Reads what is there, in order, up to a number of PDUs after which others on the loop get their turn (the watch is level-triggered).
    private func drain() {
        for _ in 0..<128 {
            guard let received = socket?.receive() else { return }
            switch received {
            case .packet(let octets, let length):
                receive(octets, length: length)
            case .nothing:
                if let transportFailure { end(.transport(transportFailure)) }
                return
            case .end:
                return end(transportFailure.map { .transport($0) } ?? .hangup)
            case .failed(let error):
                if let transportFailure { return end(.transport(transportFailure)) }
                // The kernel tells of a broken link before it gives out what came over it: that is read first.
                transportFailure = error
            }
        }
    }

    private func receive(_ octets: ArraySlice<UInt8>, length: Int) {
        switch bearer.receive(octets, length: length) {
        case .nothing:
            flush()
        case .update(let update):
            deliver(update)
        case .updates(let updates):
            for update in updates { deliver(update) }
        case .response(let token, let pdu):
            // The next request may go before this one's caller runs.
            flush()
            waiting.removeValue(forKey: token)?.resume(returning: pdu)
        case .closed(let closure):
            ended(closure)
        }
    }

    private func deliver(_ update: ValueUpdate) {
        switch router.route(update) {
        case .handler(let handler): handler(update)
        case .kept: break
        case .unwanted: if update.isIndication { confirmUnwanted() }
        }
    }

    /// Writes what the bearer has to say, until the socket is full.
    private func flush() {
        guard started, transportFailure == nil else { return }
        var full = false
        var progress = false
        while !full, let octets = bearer.nextPDU() {
            do {
                if try socket?.send(octets) == true {
                    bearer.written()
                    progress = true
                } else {
                    full = true
                }
            } catch {
                return sendFailed(error)
            }
        }
        if full != watchesWritable {
            watchesWritable = full
            do { try watch() } catch { return sendFailed(error) }
        }
        runTransactionTimer()
        runStallTimer(full: full, progress: progress)
    }

    private func sendFailed(_ error: SystemError) {
        transportFailure = error
        // What the peer sent before is still to be handed over, but not from within the caller's call.
        _ = loop.schedule(at: loop.now) { self.assumeIsolated { $0.drain() } }
    }

    /// Keeps the timer with the open transaction: none stands while none is open.
    private func runTransactionTimer() {
        let open = bearer.openTransaction
        guard open != transaction?.token else { return }
        if let timer = transaction?.timer { loop.cancel(timer) }
        transaction = open.map { token in
            let timer = loop.schedule(after: configuration.transactionTimeout) { self.assumeIsolated { $0.timedOut(token) } }
            return (token, timer)
        }
    }

    /// What waits behind a socket that stays full has no transaction yet, and must end all the same.
    private func runStallTimer(full: Bool, progress: Bool) {
        if let stall, progress || !full {
            loop.cancel(stall)
            self.stall = nil
        }
        guard full, stall == nil else { return }
        stall = loop.schedule(after: configuration.transactionTimeout) { self.assumeIsolated { $0.end(.stalled) } }
    }

    private func timedOut(_ token: ATTBearer.Token) {
        if let closure = bearer.timedOut(token) { ended(closure) }
    }
}
