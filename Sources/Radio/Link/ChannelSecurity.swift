import CBlueZ
import CLinux
import Glibc
import Platform

/// What a link is protected with (Core Vol 3 Part C 10.2.1); the raw values are the kernel's (`BT_SECURITY_LOW` …).
public enum SecurityLevel: UInt8, Sendable, Hashable, Comparable {
    /// Nothing.
    case low = 1
    /// Encrypted, with a key that somebody in the middle may have made.
    case medium = 2
    /// Encrypted, with an authenticated key.
    case high = 3
    /// The same with LE Secure Connections and a key of 128 bits.
    case fips = 4

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The security of one L2CAP link, beside the `GATTClient` that owns its descriptor.
///
/// It holds a descriptor of its own for the same channel, and the channel is open as long as either is: let go of it (or `close` it) together with the client.
public actor ChannelSecurity {
    /// What the kernel says of a channel.
    public struct State: Sendable, Hashable {
        /// What was asked for last.
        public let level: SecurityLevel
        /// Octets of the encryption key; 0 without encryption, and while it is being raised.
        public let keySize: UInt8

        public var isEncrypted: Bool { keySize >= 7 }
    }

    nonisolated let loop: any EventLoop
    private var descriptor: Descriptor?
    private var waiting: (continuation: CheckedContinuation<Void, any Error>, timer: TimerID)?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(of channel: borrowing Descriptor, loop: any EventLoop) throws(BluetoothError) {
        self.loop = loop
        let raw = fcntl(channel.raw, F_DUPFD_CLOEXEC, 0)
        guard raw >= 0 else { throw BluetoothError(.socket(.last("fcntl"))) }
        descriptor = Descriptor(owning: raw)
    }

    /// What the channel has now.
    public func state() throws(BluetoothError) -> State {
        guard let raw = descriptor?.raw else { throw BluetoothError(.socket(SystemError("getsockopt", code: EBADF))) }
        var level: UInt8 = 0
        var size: UInt8 = 0
        guard cbluez_security(raw, &level, &size) == 0 else { throw BluetoothError(.socket(.last("getsockopt", subject: "BT_SECURITY"))) }
        return State(level: SecurityLevel(rawValue: level) ?? .low, keySize: size)
    }

    /// Raises the link's security: it is encrypted with the stored key, or paired where there is none. One call at a time, or `EBUSY`. While it lasts the channel takes nothing to be sent
    /// (`ENOTCONN`), so nothing must be asked of the peer.
    ///
    /// - Parameter timeout: a pairing that fails is not told on the channel; see `authenticationFailed`.
    /// - Throws: `BluetoothError`; the link is of no use then and should be closed.
    public func raise(to level: SecurityLevel, timeout: Duration = .seconds(40)) async throws {
        guard waiting == nil else { throw BluetoothError(.socket(SystemError("setsockopt", code: EBUSY, subject: "BT_SECURITY"))) }
        let before = try state()
        // The kernel has EINVAL for a level that is reached.
        if before.isEncrypted, before.level >= level { return }
        guard let raw = descriptor?.raw else { return }
        if cbluez_set_security(raw, level.rawValue) != 0 {
            let error = SystemError.last("setsockopt", subject: "BT_SECURITY")
            // A link that was encrypted for another channel has the level although this channel never asked for it.
            if error.code == EINVAL, try state().isEncrypted { return }
            throw BluetoothError(error.code == EINVAL ? .socket(error) : .securityRefused(error))
        }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            begin(continuation, timeout)
        }
    }

    /// Raises the security to the next level that may satisfy a peer, as a `GATTClient` asks for it (`RaiseSecurity`).
    ///
    /// - Parameter limit: what the pairing's ways of input and output allow: without any, no level above `medium` can be reached.
    /// - Throws: `BluetoothError` when the level is reached already and is not enough, or cannot be reached.
    public func raise(for requirement: SecurityRequirement, limit: SecurityLevel = .medium) async throws {
        let now = try state()
        let next: SecurityLevel = now.isEncrypted && requirement != .encryption ? .high : .medium
        // An encrypted link cannot be encrypted further, and what the limit forbids would fail in the end.
        if now.isEncrypted, now.level >= min(next, limit) {
            throw BluetoothError(.securityRefused(SystemError("setsockopt", code: EACCES, subject: "BT_SECURITY")))
        }
        try await raise(to: min(next, limit))
    }

    /// The controller told that the authentication with this peer failed: whoever waits in `raise` need not wait for the timeout.
    public func authenticationFailed() { finish(.failure(BluetoothError(.securityRefused(SystemError("setsockopt", code: EACCES, subject: "BT_SECURITY"))))) }

    /// Ends the channel for the client too, which sees a hangup.
    public func disconnect() {
        if let raw = descriptor?.raw { _ = shutdown(raw, CInt(SHUT_RDWR)) }
        close()
    }

    /// Lets go of the descriptor.
    public func close() {
        finish(.failure(BluetoothError(.securityRefused(SystemError("setsockopt", code: ECANCELED, subject: "BT_SECURITY")))))
        descriptor = nil
    }

    private func begin(_ continuation: CheckedContinuation<Void, any Error>, _ timeout: Duration) {
        let timer = loop.schedule(after: timeout) { self.assumeIsolated { $0.finish(.failure(BluetoothError(.securityTimeout))) } }
        waiting = (continuation, timer)
        guard let raw = descriptor?.raw else { return finish(.failure(BluetoothError(.securityTimeout))) }
        do throws(SystemError) {
            try loop.watch(raw, for: .writable) { readiness in self.assumeIsolated { $0.ready(readiness) } }
        } catch {
            finish(.failure(BluetoothError(.socket(error))))
        }
    }

    /// The channel takes data again once the level is reached, and breaks when it will not be.
    private func ready(_ readiness: Readiness) {
        guard let raw = descriptor?.raw else { return }
        if readiness.contains(.hangup) {
            let code = cbluez_pending_error(raw)
            return finish(.failure(BluetoothError(.securityRefused(SystemError("connect", code: code > 0 ? code : ECONNRESET)))))
        }
        do throws(BluetoothError) {
            if try state().isEncrypted { finish(.success(())) }
        } catch {
            finish(.failure(error))
        }
    }

    private func finish(_ result: Result<Void, any Error>) {
        guard let waiting else { return }
        self.waiting = nil
        loop.cancel(waiting.timer)
        if let raw = descriptor?.raw { loop.unwatch(raw) }
        waiting.continuation.resume(with: result)
    }
}
