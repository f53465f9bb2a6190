import Glibc
import Platform

/// Dials a Unix socket of packets at a path, where a simulated device stands in for one on the air.
///
/// As a radio would, it goes on for ever while nobody answers: one try at once, then one each second.
public actor UnixLinkSource: LinkSource {
    /// The pause between two tries.
    public static let pause = Duration.seconds(1)

    nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let path: String
    private let loop: any EventLoop
    private let onRefusal: @Sendable (SystemError) -> Void

    /// - Parameters:
    ///   - path: of a listening `SOCK_SEQPACKET` socket; it need not exist yet.
    ///   - onRefusal: told why a try failed, on the loop's thread, each time that the reason is another one than before.
    public init(path: String, loop: any EventLoop, onRefusal: @escaping @Sendable (SystemError) -> Void = { _ in }) {
        self.path = path
        self.loop = loop
        self.onRefusal = onRefusal
    }

    /// - Throws: `CancellationError`; `SystemError` with `ENAMETOOLONG` for a path that cannot be a socket's.
    public func nextLink() async throws -> Link {
        var lastRefusal: SystemError?
        while true {
            try Task.checkCancellation()
            do throws(SystemError) {
                return Link(peer: path, descriptor: try UnixSocket.connect(to: path, kind: .sequencedPacket))
            } catch {
                guard error.code != ENAMETOOLONG else { throw error }
                if error != lastRefusal { onRefusal(error) }
                lastRefusal = error
            }
            try await loop.sleep(for: Self.pause)
        }
    }
}
