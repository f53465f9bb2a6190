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
    var phase = Phase.idle

    // Attributes.
    let cache: GATTDatabaseCache?
    let onDatabase: (@Sendable (GATTDatabaseCache) -> Void)?
    /// The database as it became on this link, when it has changed.
    var changedDatabase: GATTDatabase?
    /// Those in use.
    var attributes: Attributes?
    var isSubscribing = false
    /// The database has changed around the attributes in use: the collar may have forgotten who subscribed them.
    var subscriptionsAreInDoubt = false

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
    ///   - cache: the collar's database from an earlier link, if it is bonded and one was kept. While the collar has the same, nothing is discovered.
    ///   - onDatabase: called on the loop's thread with a database that was discovered and is worth keeping for the next link; not with `cache` itself.
    ///     `nil` when nobody keeps it: then only what the profile needs is discovered.
    ///   - onEvent: called on the loop's thread, in the order of the wire.
    public init(
        client: GATTClient, profile: CollarProfile, loop: any EventLoop, timing: CollarTiming = .init(), cache: GATTDatabaseCache? = nil,
        onDatabase: (@Sendable (GATTDatabaseCache) -> Void)? = nil, onEvent: @escaping @Sendable (CollarEvent) -> Void
    ) {
        self.client = client
        self.profile = profile
        self.loop = loop
        self.timing = timing
        self.cache = cache
        self.onDatabase = onDatabase
        self.onEvent = onEvent
    }

    // MARK: Opening and closing

    /// Starts the client, exchanges the MTU, makes the database known, reads who the collar is, and subscribes: Control Point, Raw Windows, and last the
    /// heartbeat, so that whoever hears one can use the rest. A database that changes afterwards is followed while the profile's attributes stay what they
    /// are; when one of them does not, the connection ends with `.databaseChanged`, and the next link discovers them.
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
        let database = try await openDatabase()
        let attributes = try Attributes(in: database, profile)
        self.attributes = attributes
        let identity = try await identify(in: database)
        try await subscribe(attributes)
        await client.subscriptionsComplete()
        try checkNotClosed()
        return identity
    }

    func checkNotClosed() throws(CollarError) {
        if case .closed(let error) = phase { throw error }
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
