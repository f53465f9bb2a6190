import CLinux
import Glibc
import Platform

/// Takes commands from the operator over a Unix socket: from root and from the daemon's own user, which the kernel vouches for (SO_PEERCRED, unix(7)).
///
/// It never waits: a client that is slow, silent or hostile costs one of a few places for a few seconds.
actor ControlServer {
    /// How long a client may take for its request, and again for the end of its answer beside what the request itself may take.
    static let patience = Duration.seconds(5)
    /// How many clients may be there at once.
    static let places = 8

    private final class Client {
        let descriptor: Descriptor
        /// Who it is, as the kernel says.
        var user: UInt32 = 0
        var exchange = ControlExchange()
        var deadline: TimerID?

        init(_ descriptor: consuming Descriptor) {
            self.descriptor = descriptor
        }
    }

    private final class Listener {
        let descriptor: Descriptor
        /// The file at the path right after bind(2), to know later whether it is still this one.
        let file: (device: dev_t, number: ino_t)?

        init(_ descriptor: consuming Descriptor, at path: String) {
            self.descriptor = descriptor
            file = Self.file(at: path)
        }

        func owns(_ path: String) -> Bool {
            guard let file, let now = Self.file(at: path) else { return false }
            return file == now
        }

        private static func file(at path: String) -> (device: dev_t, number: ino_t)? {
            var status = stat()
            return stat(path, &status) == 0 ? (status.st_dev, status.st_ino) : nil
        }
    }

    private let loop: any EventLoop
    private let path: String
    private let mode: mode_t
    private let allowed: Set<UInt32>
    private let log: Log
    private let status: @Sendable () async -> StatusReport
    private let flush: @Sendable () async -> FlushReport
    private let operate: @Sendable (OperatorRequest, _ user: UInt32) async -> Result<OperatorAnswer, ControlError>
    private let radio: @Sendable (RadioRequest) async -> Result<RadioAnswer, ControlError>
    private var listener: Listener?
    private var clients: [UInt64: Client] = [:]
    private var lastNumber: UInt64 = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - loop: the loop whose thread everything runs on.
    ///   - path: where the socket file goes.
    ///   - mode: its permissions: who may connect at all.
    ///   - allowed: the users whose commands are done.
    ///   - status: what is going on, as `gateway status` shows it.
    ///   - flush: starts a flush of every owner and says what it will try.
    ///   - operate: answers what an operator asks about what is set aside, or does with it; `user` is who asks.
    ///   - radio: answers what is asked of the radio, within the request's allowance.
    init(on loop: any EventLoop, at path: String, mode: mode_t = 0o600, allowed: Set<UInt32> = [0, geteuid()], log: Log,
         status: @escaping @Sendable () async -> StatusReport, flush: @escaping @Sendable () async -> FlushReport,
         operate: @escaping @Sendable (OperatorRequest, _ user: UInt32) async -> Result<OperatorAnswer, ControlError>,
         radio: @escaping @Sendable (RadioRequest) async -> Result<RadioAnswer, ControlError> = { _ in .failure(.noController) }) {
        self.loop = loop
        self.path = path
        self.mode = mode
        self.allowed = allowed
        self.log = log
        self.status = status
        self.flush = flush
        self.operate = operate
        self.radio = radio
    }

    /// Begins to listen.
    ///
    /// - Throws: `SystemError`: `EADDRINUSE` when another daemon listens there, `ENOENT` when the directory is missing.
    func start() throws(SystemError) {
        guard listener == nil else { return }
        let made = Listener(try UnixSocket.listen(at: path, kind: .stream, mode: mode), at: path)
        try watch(made)
        listener = made
    }

    /// Stops listening, removes the socket file and drops the clients that are still there.
    func stop() {
        guard let listener else { return }
        loop.unwatch(listener.descriptor.raw)
        // A successor may have put its own file there.
        if listener.owns(path) { unlink(path) }
        self.listener = nil
        for number in Array(clients.keys) { drop(number) }
    }

    // MARK: Connections

    private func watch(_ listener: Listener) throws(SystemError) {
        try loop.watch(listener.descriptor.raw, for: .readable) { [weak self] _ in self?.assumeIsolated { $0.accept() } }
    }

    private func accept() {
        guard let listener else { return }
        do throws(SystemError) {
            while let descriptor = try UnixSocket.accept(on: listener.descriptor.raw) { welcome(descriptor) }
        } catch {
            // The listener stays ready; without descriptors to spare it would keep the loop turning.
            log(.error, .controlAcceptFailed, "no command can be taken for a while: \(error)")
            loop.unwatch(listener.descriptor.raw)
            _ = loop.schedule(after: Self.patience) { [weak self] in self?.assumeIsolated { $0.resume() } }
        }
    }

    private func resume() {
        guard let listener else { return }
        do throws(SystemError) {
            try watch(listener)
        } catch {
            log(.error, .controlAcceptFailed, "no command can be taken any more: \(error)")
        }
    }

    private func welcome(_ descriptor: consuming Descriptor) {
        lastNumber += 1
        let number = lastNumber
        let client = Client(descriptor)
        var pid: CInt = 0, uid: CUnsignedInt = 0, gid: CUnsignedInt = 0
        let known = clinux_peer_credentials(client.descriptor.raw, &pid, &uid, &gid) == 0
        let crowded = clients.count >= Self.places
        client.user = uid
        clients[number] = client
        arm(client, number)
        if !known || !allowed.contains(uid) {
            log(.warning, .controlPeerRefused, "process \(pid) of user \(uid) was refused at the control socket", LogField("PEER_PID", pid), LogField("PEER_UID", uid))
            act(client.exchange.refused(.notAllowed(uid: uid)), number)
        } else if crowded {
            act(client.exchange.refused(.busy), number)
        } else {
            act(.read, number)
        }
    }

    private func ready(_ number: UInt64, _ readiness: Readiness) {
        guard let client = clients[number] else { return }
        if readiness.contains(.writable) {
            act(client.exchange.sent(0), number)
            return
        }
        if !readiness.contains(.readable) {
            act(client.exchange.end(), number)
            return
        }
        do throws(SystemError) {
            if let bytes = try client.descriptor.read(upTo: ControlRequest.limit) { act(client.exchange.received(bytes), number) }
        } catch {
            act(client.exchange.end(), number)
        }
    }

    private func act(_ action: ControlExchange.Action, _ number: UInt64) {
        guard let client = clients[number] else { return }
        switch action {
        case .none: break
        case .read: watch(client, number, for: .readable)
        case .handle(let request):
            // What else the client sends, and whether it is still there, does not matter before there is an answer.
            loop.unwatch(client.descriptor.raw)
            arm(client, number, for: request.allowance + Self.patience)
            handle(request, number)
        case .send(let bytes):
            do throws(SystemError) {
                guard let count = try client.descriptor.send(bytes) else {
                    watch(client, number, for: .writable)
                    return
                }
                act(client.exchange.sent(count), number)
            } catch {
                act(client.exchange.end(), number)
            }
        case .close: drop(number)
        }
    }

    private func handle(_ request: ControlRequest, _ number: UInt64) {
        guard let user = clients[number]?.user else { return }
        Task(executorPreference: loop) { [weak self, status, flush, operate, radio] in
            let line = switch request {
            case .status: ControlAnswer.status(await status())
            case .flush: ControlAnswer.flush(await flush())
            case .operate(let request): ControlAnswer.operate(await operate(request, user))
            case .radio(let asked): ControlAnswer.radio(await radio(asked), to: request)
            }
            await self?.answered(line, number)
        }
    }

    private func answered(_ line: [UInt8], _ number: UInt64) {
        guard let client = clients[number] else { return }
        arm(client, number)
        act(client.exchange.answered(line), number)
    }

    private func watch(_ client: Client, _ number: UInt64, for interest: Readiness) {
        do throws(SystemError) {
            try loop.watch(client.descriptor.raw, for: interest) { [weak self] readiness in
                self?.assumeIsolated { $0.ready(number, readiness) }
            }
        } catch {
            act(client.exchange.end(), number)
        }
    }

    private func arm(_ client: Client, _ number: UInt64, for time: Duration = patience) {
        if let deadline = client.deadline { loop.cancel(deadline) }
        client.deadline = loop.schedule(after: time) { [weak self] in
            self?.assumeIsolated { $0.expire(number) }
        }
    }

    private func expire(_ number: UInt64) {
        guard let client = clients[number] else { return }
        client.deadline = nil
        act(client.exchange.end(), number)
    }

    private func drop(_ number: UInt64) {
        guard let client = clients.removeValue(forKey: number) else { return }
        loop.unwatch(client.descriptor.raw)
        // The client must see the end at once, even while a process that is being forked holds a copy of the descriptor.
        shutdown(client.descriptor.raw, CInt(SHUT_RDWR))
        if let deadline = client.deadline { loop.cancel(deadline) }
    }
}

extension LogEvent {
    /// Somebody other than root and the daemon's user sent a command.
    static let controlPeerRefused = LogEvent("control-peer-refused", id: "b0a6c8b5c7f94b0e8d7a52b1f5c3de10")
    /// The kernel gave no connection to a client that waits.
    static let controlAcceptFailed = LogEvent("control-accept-failed", id: "3f7e19d2a4c84f6fb7d5a0c96e28b411")
}
