import Platform

/// One collar on one link: opens the profile, hears heartbeats, reads windows and sends requests, until the link ends.
///
/// A connection is used once. It lives on the loop; the machines it runs (`ControlPointMachine`, `RangeReadMachine`, `WindowAssembler`,
/// `SilenceWatch`) decide everything, and every wait has an end by a timer: the attribute client's 30 s for a transaction, `CollarTiming` for the rest.
/// Cancelling a task that waits here does not shorten the wait; `close()` does.
public actor CollarConnection {
    enum Phase {
        /// Made. Goes on to opening, closed.
        case idle
        /// Discovery and subscriptions. Goes on to open, closed.
        case opening
        /// In use. Goes on to closed.
        case open(Handles)
        /// Over.
        case closed(CollarError)
    }

    struct Handles {
        let heartbeat: AttributeHandle
        let control: AttributeHandle
    }

    typealias Outcome = Result<ControlAnswer, CollarError>

    nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let client: GATTClient
    let loop: any EventLoop
    let timing: CollarTiming
    let onEvent: @Sendable (CollarEvent) -> Void
    let profile: CollarProfile
    private(set) var phase = Phase.idle

    // Requests.
    var control = ControlPointMachine()
    var lastRequest: ControlPointMachine.ID = 0
    var waiters: [ControlPointMachine.ID: (Outcome) -> Void] = [:]
    var answerTimer: (request: ControlPointMachine.ID, timer: TimerID)?
    var statusIsUnsupported = false

    // The read that runs.
    var assembler = WindowAssembler()
    var reading: Reading?

    // Signs of life.
    var watches: [Sign: (watch: SilenceWatch, timer: TimerID)] = [:]
    var lastMalformedHeartbeat: CollarError?
    private var reported: Set<CollarError.Code> = []

    /// - Parameters:
    ///   - client: the attribute client of the link, not started yet, on the same loop.
    ///   - onEvent: called on the loop's thread, in the order of the wire.
    public init(
        client: GATTClient, profile: CollarProfile, loop: any EventLoop, timing: CollarTiming = .init(),
        onEvent: @escaping @Sendable (CollarEvent) -> Void
    ) {
        self.client = client
        self.profile = profile
        self.loop = loop
        self.timing = timing
        self.onEvent = onEvent
    }

    // MARK: Opening and closing

    /// Starts the client, exchanges the MTU, discovers the profile, reads who the collar is, and subscribes: Control Point, Raw Windows, and last the
    /// heartbeat, so that whoever hears one can use the rest.
    ///
    /// - Throws: `CollarError`; the connection is closed then.
    public func open() async throws(CollarError) -> CollarIdentity {
        guard case .idle = phase else { throw CollarError(.notOpen, "the connection was opened before") }
        phase = .opening
        do {
            return try await establish()
        } catch {
            let error = CollarError(cause: error)
            end(error)
            // The link may have ended first and have told the better reason.
            if case .closed(let first) = phase { throw first }
            throw error
        }
    }

    /// Ends the connection and the link. What is waiting for the collar ends with `.linkClosed`; a read keeps what it has.
    public func close() {
        end(CollarError(.linkClosed, "closed by the hub"))
    }

    private func establish() async throws -> CollarIdentity {
        try await client.start { [weak self] closure in
            self?.assumeIsolated { $0.end(CollarError(closure: closure)) }
        }
        _ = try await client.exchangeMTU()
        guard let service = try await client.discoverPrimaryServices(profile.service).first else {
            throw CollarError(.notACollar, "no service \(profile.service)")
        }
        let characteristics = try await client.discoverCharacteristics(of: service)
        let heartbeat = try Self.find(profile.heartbeat, "Beta Metrics", in: characteristics)
        let windows = try Self.find(profile.windows, "Raw Windows", in: characteristics)
        let control = try Self.find(profile.control, "Control Point", in: characteristics)
        let identity = try await identify(with: client)

        try await client.subscribe(to: control, as: .indications) { [weak self] update in
            self?.assumeIsolated { $0.controlIndicated(update) }
        }
        try await client.subscribe(to: windows, as: .notifications) { [weak self] update in
            self?.assumeIsolated { $0.windowNotified(update.value) }
        }
        try checkNotClosed()
        expect(.heartbeat, within: timing.silence)
        // From here on heartbeats come, and the hub may act on one before `open` has returned to it.
        phase = .open(Handles(heartbeat: heartbeat.valueHandle, control: control.valueHandle))
        try await client.subscribe(to: heartbeat, as: .notifications) { [weak self] update in
            self?.assumeIsolated { $0.heartbeatNotified(update.value) }
        }
        await client.subscriptionsComplete()
        try checkNotClosed()
        return identity
    }

    private func checkNotClosed() throws(CollarError) {
        if case .closed(let error) = phase { throw error }
    }

    private static func find(
        _ uuid: BluetoothUUID, _ name: String, in characteristics: [GATTCharacteristic]
    ) throws(CollarError) -> GATTCharacteristic {
        guard let found = characteristics.first(where: { $0.uuid == uuid }) else {
            throw CollarError(.notACollar, "no characteristic \(name) (\(uuid))")
        }
        return found
    }

    /// The connection is over: whatever waits for the collar ends with this error. Only the first reason counts.
    func end(_ error: CollarError) {
        if case .closed = phase { return }
        phase = .closed(error)
        for sign in Array(watches.keys) { forget(sign) }
        apply(control.close(error))
        client.assumeIsolated { $0.close() }
        onEvent(.closed(error))
    }

    /// The handles of an open connection.
    func openHandles() throws(CollarError) -> Handles {
        switch phase {
        case .open(let handles): return handles
        case .closed(let error): throw error
        case .idle, .opening: throw CollarError(.notOpen, "the connection is not open yet")
        }
    }

    /// Tells of something irregular, once for each kind.
    func report(_ error: CollarError) {
        if reported.insert(error.code).inserted { onEvent(.irregular(error)) }
    }
}
