import CLinux
import Glibc

/// A file descriptor with one owner, closed exactly once: when the owner lets go of it.
public struct Descriptor: ~Copyable, Sendable {
    /// The number, for calls that borrow it. It stays valid as long as this value lives.
    public let raw: CInt

    /// Takes ownership of an open descriptor.
    public init(owning raw: CInt) {
        self.raw = raw
    }

    deinit {
        // close(2) frees the number whatever it answers; a second try could close somebody else's.
        _ = Glibc.close(raw)
    }

    /// Gives the ownership away; the caller closes the number from now on.
    public consuming func release() -> CInt {
        let raw = self.raw
        discard self
        return raw
    }

    /// read(2), repeated when interrupted.
    ///
    /// - Returns: the bytes read, at most `limit`; empty at the end of the stream; `nil` when nothing is there yet (`EAGAIN`).
    public borrowing func read(upTo limit: Int) throws(SystemError) -> [UInt8]? {
        var failure: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            let got = retryOnInterrupt { Glibc.read(raw, buffer.baseAddress, limit) }
            failure = got < 0 ? errno : 0
            count = max(0, got)
        }
        if failure == EAGAIN || failure == EWOULDBLOCK { return nil }
        if failure != 0 { throw SystemError("read", code: failure) }
        return bytes
    }

    /// send(2) without SIGPIPE, repeated when interrupted: one datagram on a packet socket, as many bytes as fit on a stream.
    ///
    /// - Returns: the number of bytes taken; `nil` when the socket's buffer is full (`EAGAIN`).
    public borrowing func send(_ bytes: [UInt8]) throws(SystemError) -> Int? {
        let sent = retryOnInterrupt { Glibc.send(raw, bytes, bytes.count, CInt(MSG_NOSIGNAL)) }
        if sent >= 0 { return sent }
        if errno == EAGAIN || errno == EWOULDBLOCK { return nil }
        throw .last("send")
    }

    /// Makes every later call on the open file return at once (`O_NONBLOCK`).
    public borrowing func setNonBlocking() throws(SystemError) {
        let flags = fcntl(raw, F_GETFL)
        guard flags >= 0, fcntl(raw, F_SETFL, flags | O_NONBLOCK) >= 0 else { throw .last("fcntl") }
    }
}
