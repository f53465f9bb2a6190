import Platform

/// One collar on one link: opens the profile, hears heartbeats, reads windows and sends requests, until the link ends.
///
/// A connection is used once. It lives on the loop; the machines it runs (`ControlPointMachine`, `RangeReadMachine`, `WindowAssembler`,
/// `SilenceWatch`) decide everything, and every wait has an end by a timer: the attribute client's 30 s for a transaction, `CollarTiming` for the rest.
/// Cancelling a task that waits here does not shorten the wait; `close()` does.
public actor CollarConnection {
    private enum Phase {
        /// Made. Goes on to opening, closed.
        case idle
        /// Discovery and subscriptions. Goes on to open, closed.
        case opening
        /// In use. Goes on to closed.
        case open(Handles)
        /// Over.
        case closed(CollarError)
    }

    private struct Handles {
        let heartbeat: AttributeHandle
        let control: AttributeHandle
    }

    private typealias Outcome = Result<ControlAnswer, CollarError>

    nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let client: GATTClient
    private let profile: CollarProfile
    private let loop: any EventLoop
    private let timing: CollarTiming
    private let onEvent: @Sendable (CollarEvent) -> Void

    private var phase = Phase.idle
    private var control = ControlPointMachine()
    private var lastRequest: ControlPointMachine.ID = 0
    private var waiters: [ControlPointMachine.ID: (Outcome) -> Void] = [:]
    private var answerTimer: (request: ControlPointMachine.ID, timer: TimerID)?

    private var assembler = WindowAssembler()
    private var reading: (machine: RangeReadMachine, log: UInt32, done: (RangeRead) -> Void)?
    private var stall: (watch: SilenceWatch, timer: TimerID)?

    private var silence: (watch: SilenceWatch, timer: TimerID)?
    private var lastMalformedHeartbeat: CollarError?
    private var reported: Set<CollarError.Code> = []
    private var statusIsUnsupported = false

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
        try checkStillOpening()
        listenForHeartbeats()
        // From here on heartbeats come, and the hub may act on one before `open` has returned to it.
        phase = .open(Handles(heartbeat: heartbeat.valueHandle, control: control.valueHandle))
        try await client.subscribe(to: heartbeat, as: .notifications) { [weak self] update in
            self?.assumeIsolated { $0.heartbeatNotified(update.value) }
        }
        if case .closed(let error) = phase { throw error }
        return identity
    }

    private func checkStillOpening() throws(CollarError) {
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

    private func end(_ error: CollarError) {
        if case .closed = phase { return }
        phase = .closed(error)
        if let silence { loop.cancel(silence.timer) }
        silence = nil
        apply(control.close(error))
        client.assumeIsolated { $0.close() }
        onEvent(.closed(error))
    }

    private func openHandles() throws(CollarError) -> Handles {
        switch phase {
        case .open(let handles): return handles
        case .closed(let error): throw error
        case .idle, .opening: throw CollarError(.notOpen, "the connection is not open yet")
        }
    }

    // MARK: Requests

    /// Asks the collar for its Beta Metrics: opcode 0x05, or the characteristic when the ATT_MTU is under 26 or the firmware has no such opcode.
    ///
    /// - Throws: `CollarError`.
    public func status() async throws(CollarError) -> BetaMetrics {
        let handles = try openHandles()
        if await client.mtu >= 26, !statusIsUnsupported {
            let answer = try await perform(.status)
            switch answer.result {
            case .ok: return try BetaMetrics(parsing: answer.payload)
            case .unsupported: statusIsUnsupported = true
            default: throw answer.failure
            }
        }
        do {
            return try BetaMetrics(parsing: try await client.read(handles.heartbeat))
        } catch {
            throw CollarError(cause: error)
        }
    }

    /// Reads `count` windows of `log` from `first` on (opcode 0x01), as often and in as many parts as `RangeReadMachine` finds necessary. The caller
    /// bounds `count`: the windows are held in memory. One read at a time; a second one is answered with `.busy`.
    ///
    /// - Returns: what came in order, and how it ended; a lost link is such an end.
    /// - Throws: `CollarError` when the connection is not open, and nothing was read.
    public func read(log: UInt32, first: UInt32, count: UInt32) async throws(CollarError) -> RangeRead {
        _ = try openHandles()
        guard reading == nil else { return RangeRead(end: .busy) }
        return await withCheckedContinuation { (continuation: CheckedContinuation<RangeRead, Never>) in
            var machine = RangeReadMachine(first: first, count: count)
            let step = machine.start()
            reading = (machine, log, { continuation.resume(returning: $0) })
            takeReadStep(step)
        }
    }

    /// Lets the collar forget every window of `log` up to and including `through` (opcode 0x03).
    ///
    /// - Throws: `CollarError`: no answer, or one that the profile does not have.
    public func clear(log: UInt32, through: UInt32) async throws(CollarError) -> ClearAnswer {
        _ = try openHandles()
        let answer = try await perform(.clear(log: log, through: through))
        switch answer.result {
        case .ok:
            let range = try answer.range()
            return .cleared(oldest: range.oldest, next: range.next)
        case .wrongLog: return .wrongLog
        case .clearRefused: return .refused
        case .busy: return .busy
        case .flashError: return .flashError
        case .unsupported, .badLength: return .unsupported(answer.failure)
        default: throw answer.failure
        }
    }

    /// Sets the collar's clock (opcode 0x04).
    ///
    /// - Parameter seconds: since 1970.
    /// - Throws: `CollarError`: no answer, or one that the profile does not have.
    public func setTime(_ seconds: UInt32) async throws(CollarError) -> SetTimeAnswer {
        _ = try openHandles()
        let answer = try await perform(.setTime(seconds: seconds))
        switch answer.result {
        case .ok: return .set
        case .busy: return .busy
        case .unsupported, .badLength: return .unsupported(answer.failure)
        default: throw answer.failure
        }
    }

    /// Ends a running read (opcode 0x02): it returns what it has, with `.stopped` unless that is all. Without one it changes nothing.
    ///
    /// - Throws: `CollarError`: no answer, or one that is not `ok`.
    public func stop() async throws(CollarError) {
        _ = try openHandles()
        reading?.machine.stop()
        let answer = try await perform(.stop)
        guard answer.result == .ok else { throw answer.failure }
    }

    private func perform(_ request: ControlRequest) async throws(CollarError) -> ControlAnswer {
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
            submit(request) { continuation.resume(returning: $0) }
        }
        return try outcome.get()
    }

    private func submit(_ request: ControlRequest, _ waiter: @escaping (Outcome) -> Void) {
        lastRequest += 1
        waiters[lastRequest] = waiter
        apply(control.submit(request, id: lastRequest))
    }

    private func apply(_ actions: [ControlPointMachine.Action]) {
        for action in actions {
            switch action {
            case .write(let id, let request): write(request, id)
            case .answer(let id, let answer): resolve(id, .success(answer))
            case .fail(let id, let error): resolve(id, .failure(error))
            case .report(let error): report(error)
            }
        }
    }

    private func write(_ request: ControlRequest, _ id: ControlPointMachine.ID) {
        guard case .open(let handles) = phase else { return }
        if request.opcode == .readRange {
            watchForStall()
        } else {
            let timer = loop.schedule(after: timing.answer) { [weak self] in
                self?.assumeIsolated { $0.answerTimedOut(request.opcode) }
            }
            answerTimer = (id, timer)
        }
        loop.spawn { [client, weak self] in
            var failure: CollarError?
            do { try await client.write(request.encoded, to: handles.control) } catch { failure = CollarError(cause: error) }
            await self?.wrote(id, failure)
        }
    }

    private func wrote(_ id: ControlPointMachine.ID, _ failure: CollarError?) {
        if let failure { apply(control.writeFailed(id, failure)) } else { apply(control.written(id)) }
    }

    private func resolve(_ id: ControlPointMachine.ID, _ outcome: Outcome) {
        if let timer = answerTimer, timer.request == id {
            loop.cancel(timer.timer)
            answerTimer = nil
        }
        waiters.removeValue(forKey: id)?(outcome)
    }

    private func answerTimedOut(_ opcode: ControlOpcode) {
        end(CollarError(.answerTimeout, "no answer to opcode \(opcode.rawValue) within \(timing.answer)"))
    }

    private func controlIndicated(_ update: ValueUpdate) {
        apply(control.indication(update.value))
        // Nothing of an answer needs to be stored before it is confirmed. A link that has ended meanwhile takes no confirmation.
        if update.isIndication { try? client.assumeIsolated { try $0.confirmIndication() } }
    }

    // MARK: Reading

    private func takeReadStep(_ step: RangeReadMachine.Step) {
        guard let reading else { return }
        switch step {
        case .request(let first, let count):
            submit(.readRange(log: reading.log, first: first, count: count)) { self.readAnswered($0) }
        case .finish(let read):
            self.reading = nil
            reading.done(read)
        }
    }

    private func readAnswered(_ outcome: Outcome) {
        if let stall { loop.cancel(stall.timer) }
        stall = nil
        // A window that the answer has overtaken lost its rest.
        assembler.reset()
        switch outcome {
        case .success(let answer):
            if let step = reading?.machine.answered(answer) { takeReadStep(step) }
        case .failure(let error):
            if let read = reading?.machine.interrupt(error) { takeReadStep(.finish(read)) }
        }
    }

    private func windowNotified(_ value: [UInt8]) {
        guard reading != nil else {
            report(CollarError(.strayWindow, "raw windows came that were not asked for"))
            return
        }
        guard case .window(let window, let fragmented) = assembler.take(value) else { return }
        guard reading?.machine.take(window, fragmented: fragmented) == true, let moved = stall?.watch.heard(at: loop.now) else { return }
        if let stall { loop.cancel(stall.timer) }
        stall?.timer = scheduleStallCheck(at: moved)
    }

    private func watchForStall() {
        let watch = SilenceWatch(limit: timing.stall, now: loop.now)
        stall = (watch, scheduleStallCheck(at: watch.deadline))
    }

    private func scheduleStallCheck(at deadline: BootInstant) -> TimerID {
        loop.schedule(at: deadline) { [weak self] in self?.assumeIsolated { $0.checkForStall() } }
    }

    private func checkForStall() {
        switch stall?.watch.fired(at: loop.now) {
        case .rearm(let deadline): stall?.timer = scheduleStallCheck(at: deadline)
        case .silent: end(CollarError(.readStalled, "neither a window nor an answer for \(timing.stall)"))
        case nil: break
        }
    }

    // MARK: Heartbeats

    private func listenForHeartbeats() {
        let watch = SilenceWatch(limit: timing.silence, now: loop.now)
        silence = (watch, scheduleSilenceCheck(at: watch.deadline))
    }

    private func heartbeatNotified(_ value: [UInt8]) {
        if let moved = silence?.watch.heard(at: loop.now) {
            if let silence { loop.cancel(silence.timer) }
            silence?.timer = scheduleSilenceCheck(at: moved)
        }
        do throws(CollarError) {
            let metrics = try BetaMetrics(parsing: value)
            lastMalformedHeartbeat = nil
            onEvent(.heartbeat(metrics))
        } catch {
            // A sign of life even so: to connect again would not make the firmware any better.
            guard error != lastMalformedHeartbeat else { return }
            lastMalformedHeartbeat = error
            onEvent(.malformedHeartbeat(error))
        }
    }

    private func scheduleSilenceCheck(at deadline: BootInstant) -> TimerID {
        loop.schedule(at: deadline) { [weak self] in self?.assumeIsolated { $0.checkForSilence() } }
    }

    private func checkForSilence() {
        switch silence?.watch.fired(at: loop.now) {
        case .rearm(let deadline): silence?.timer = scheduleSilenceCheck(at: deadline)
        case .silent:
            onEvent(.silent)
            end(CollarError(.silent, "no heartbeat for \(timing.silence)"))
        case nil: break
        }
    }

    private func report(_ error: CollarError) {
        if reported.insert(error.code).inserted { onEvent(.irregular(error)) }
    }
}
