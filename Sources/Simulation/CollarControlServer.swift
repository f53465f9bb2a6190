import Glibc
import Platform

/// Serves a collar's control protocol on a Unix stream socket: JSON objects, one a line, each request answered by exactly one line.
///
/// A hold belongs to the connection that armed it: that one gets the event, and when it goes away the collar goes on.
public actor CollarControlServer {
    private final class Connection {
        let socket: OwnedDescriptor
        var input: [UInt8] = []
        var output: [UInt8] = []
        var watchesWritable = false
        init(_ socket: OwnedDescriptor) { self.socket = socket }
    }

    static let lineLimit = 65_536
    /// Answers that nobody fetches are not kept without end.
    private static let outputLimit = 16 << 20

    private let collar: SimulatedCollar
    private let loop: any EventLoop
    private let path: String
    private var listener: OwnedDescriptor?
    private var connections: [CInt: Connection] = [:]
    private var armedBy: [HoldPoint: CInt] = [:]

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter path: where the socket is made.
    public init(collar: SimulatedCollar, path: String, loop: any EventLoop) {
        self.collar = collar
        self.path = path
        self.loop = loop
    }

    /// Listens.
    ///
    /// - Throws: `SimulationError` when the path cannot be listened on.
    public func start() throws(SimulationError) {
        do throws(SystemError) {
            let listener = OwnedDescriptor(try UnixSocket.listen(at: path, kind: .stream))
            try loop.watch(listener.raw, for: .readable) { [weak self] _ in self?.assumeIsolated { $0.accept() } }
            self.listener = listener
        } catch {
            throw SimulationError(.socketFailed, "\(error)", advice: "Give a path that can be written to and that nobody else listens on.")
        }
        let observer: @Sendable (CollarEvent) -> Void = { [weak self] event in
            if case .held(let point) = event { self?.assumeIsolated { $0.held(point) } }
        }
        collar.assumeIsolated { $0.observe(observer) }
    }

    /// Closes every connection, and leaves no socket file behind.
    public func stop() {
        for raw in connections.keys.sorted() { close(raw) }
        guard let listener else { return }
        loop.unwatch(listener.raw)
        self.listener = nil
        unlink(path)
    }

    private func accept() {
        guard let listener else { return }
        do throws(SystemError) {
            guard let accepted = try UnixSocket.accept(on: listener.raw) else { return }
            let connection = Connection(OwnedDescriptor(accepted))
            try watch(connection.socket.raw, for: .readable)
            connections[connection.socket.raw] = connection
        } catch {
            // The connection is closed with its only owner; the one who made it sees that and can try again.
        }
    }

    private func watch(_ raw: CInt, for interest: Readiness) throws(SystemError) {
        try loop.watch(raw, for: interest) { [weak self] readiness in
            self?.assumeIsolated { server in
                if !readiness.isDisjoint(with: [.readable, .hangup]) { server.takeIn(raw) }
                if readiness.contains(.writable) { server.giveOut(raw) }
            }
        }
    }

    private func takeIn(_ raw: CInt) {
        guard let connection = connections[raw] else { return }
        do throws(SystemError) {
            guard let bytes = try connection.socket.descriptor.read(upTo: 4_096) else { return }
            guard !bytes.isEmpty else { return close(raw) }
            connection.input += bytes
        } catch {
            return close(raw)
        }
        while let end = connection.input.firstIndex(of: 10) {
            let line = Array(connection.input[..<end])
            connection.input.removeSubrange(...end)
            let (answer, point) = CollarControl(collar: collar).answer(line)
            if let point { armedBy[point] = raw }
            say(answer, connection)
        }
        if connection.input.count > Self.lineLimit { close(raw) }
    }

    private func held(_ point: HoldPoint) {
        guard let raw = armedBy[point], let connection = connections[raw] else { return }
        say(.object(["event": .string("held"), "at": .string(point.rawValue)]), connection)
    }

    private func say(_ value: JSONValue, _ connection: Connection) {
        connection.output += value.encoded().utf8
        connection.output.append(10)
        giveOut(connection.socket.raw)
    }

    private func giveOut(_ raw: CInt) {
        guard let connection = connections[raw] else { return }
        do throws(SystemError) {
            while !connection.output.isEmpty, let sent = try connection.socket.descriptor.send(connection.output) {
                connection.output.removeFirst(sent)
            }
            let waits = !connection.output.isEmpty
            if waits != connection.watchesWritable {
                try watch(raw, for: waits ? [.readable, .writable] : .readable)
                connection.watchesWritable = waits
            }
        } catch {
            return close(raw)
        }
        if connection.output.count > Self.outputLimit { close(raw) }
    }

    private func close(_ raw: CInt) {
        guard connections[raw] != nil else { return }
        loop.unwatch(raw)
        connections[raw] = nil
        for (point, owner) in armedBy where owner == raw {
            armedBy[point] = nil
            collar.assumeIsolated { collar in
                collar.disarm(point)
                if collar.held == point { collar.release() }
            }
        }
    }
}
