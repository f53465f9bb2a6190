import Glibc
import Platform
import Synchronization

@testable import gateway

/// Bytes that come bit by bit.
final class Collected: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    var all: [UInt8] { bytes.withLock { $0 } }

    func add(_ more: [UInt8]) { bytes.withLock { $0 += more } }
}

/// A client of the control socket that need not behave.
final class ControlProbe: Sendable {
    private let descriptor: Descriptor
    private let loop: any EventLoop

    init(on loop: any EventLoop, at path: String) throws(SystemError) {
        self.loop = loop
        descriptor = try UnixSocket.connect(to: path, kind: .stream)
    }

    /// Sends as much as the socket takes.
    func send(_ bytes: [UInt8]) throws(SystemError) { _ = try descriptor.send(bytes) }

    func send(_ text: String) throws(SystemError) { try send(Array(text.utf8)) }

    /// Says that nothing more will come, and goes on listening.
    func finish() { shutdown(descriptor.raw, CInt(SHUT_WR)) }

    /// Everything that the server sends until it closes.
    func answer() async throws(SystemError) -> [UInt8] {
        let bytes = Collected()
        let raw = descriptor.raw
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let watched = Result { () throws(SystemError) in
                try loop.watch(raw, for: .readable) { [self] _ in
                    // A reset after the answer is an end as well: the server did not read everything.
                    let more = (try? descriptor.read(upTo: 65_536)) ?? []
                    if !more.isEmpty { return bytes.add(more) }
                    loop.unwatch(raw)
                    continuation.resume()
                }
            }
            if case .failure = watched { continuation.resume() }
        }
        return bytes.all
    }

    /// The server's answer as JSON.
    func json() async throws -> JSONValue { try JSONValue(parsing: try await answer(), size: 8 << 20) }
}

/// Leaves the socket file of a listener that is gone. It is shut down first: a process that another test forks right now holds a copy of it.
func leaveDeadSocket(at path: String) throws(SystemError) {
    let listener = try UnixSocket.listen(at: path, kind: .stream)
    shutdown(listener.raw, CInt(SHUT_RDWR))
}
