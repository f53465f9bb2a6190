import CLinux
import Glibc

extension sockaddr_un {
    /// The address of a Unix socket (unix(7)); `nil` when the path is empty or longer than the 107 bytes that fit.
    public init?(path: String) {
        self.init()
        sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let capacity = MemoryLayout.size(ofValue: sun_path)
        guard !bytes.isEmpty, bytes.count < capacity, !bytes.contains(0) else { return nil }
        withUnsafeMutableBytes(of: &sun_path) { $0.copyBytes(from: bytes) }
    }
}

/// Sockets on paths of the file system.
public enum UnixSocket {
    /// The kind of a Unix socket.
    public enum Kind: Sendable {
        /// `SOCK_STREAM`.
        case stream
        /// `SOCK_SEQPACKET`: a connection that keeps the borders of messages, like an L2CAP channel.
        case sequencedPacket

        fileprivate var value: CInt { self == .stream ? CInt(SOCK_STREAM.rawValue) : CInt(SOCK_SEQPACKET.rawValue) }
    }

    /// Connects to the socket at `path` (connect(2)); the descriptor does not block.
    ///
    /// - Throws: `SystemError`: `ENOENT` or `ECONNREFUSED` when nobody listens, `EAGAIN` when the listener's queue is full.
    public static func connect(to path: String, kind: Kind) throws(SystemError) -> Descriptor {
        let descriptor = try make(kind)
        try withAddress(path) { address, length throws(SystemError) in
            guard Glibc.connect(descriptor.raw, address, length) == 0 else { throw .last("connect", subject: path) }
        }
        return descriptor
    }

    /// Listens at `path`. A socket file that a dead listener left there is replaced; one that somebody listens on is not.
    ///
    /// - Parameter mode: permissions of the socket file.
    /// - Throws: `SystemError`: `EADDRINUSE` when somebody listens there.
    public static func listen(at path: String, kind: Kind, mode: mode_t = 0o600, backlog: CInt = 8) throws(SystemError) -> Descriptor {
        if try isServed(path, kind) { throw SystemError("bind", code: EADDRINUSE, subject: path) }
        let descriptor = try make(kind)
        try withAddress(path) { address, length throws(SystemError) in
            // The mode of the file is fixed at bind: between bind and a later chmod anybody could connect.
            let before = umask(0o777 & ~mode)
            defer { umask(before) }
            guard bind(descriptor.raw, address, length) == 0 else { throw .last("bind", subject: path) }
        }
        guard Glibc.listen(descriptor.raw, backlog) == 0 else { throw .last("listen", subject: path) }
        return descriptor
    }

    /// Takes one waiting connection (accept4(2)); `nil` when there is none. The descriptor does not block.
    ///
    /// - Throws: `SystemError`, e.g. `EMFILE`.
    public static func accept(on listener: CInt) throws(SystemError) -> Descriptor? {
        let raw = retryOnInterrupt { clinux_accept(listener) }
        if raw >= 0 { return Descriptor(owning: raw) }
        if errno == EAGAIN || errno == EWOULDBLOCK || errno == ECONNABORTED { return nil }
        throw .last("accept4")
    }

    /// Whether somebody listens at `path`. The file of a listener that died is removed.
    private static func isServed(_ path: String, _ kind: Kind) throws(SystemError) -> Bool {
        do throws(SystemError) {
            _ = try connect(to: path, kind: kind)
            return true
        } catch {
            switch error.code {
            case EAGAIN: return true
            case ENOENT: return false
            case ECONNREFUSED:
                // The same answer comes for a path that is no socket (unix(7)): that file is somebody's, and stays.
                var status = stat()
                guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
                    throw SystemError("bind", code: EADDRINUSE, subject: path)
                }
                unlink(path)
                return false
            default: throw error
            }
        }
    }

    private static func make(_ kind: Kind) throws(SystemError) -> Descriptor {
        let raw = socket(AF_UNIX, kind.value | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        guard raw >= 0 else { throw .last("socket") }
        return Descriptor(owning: raw)
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Void
    ) throws(SystemError) {
        guard var address = sockaddr_un(path: path) else { throw SystemError("bind", code: ENAMETOOLONG, subject: path) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        var failure: SystemError?
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                do throws(SystemError) { try body(generic, length) } catch { failure = error }
            }
        }
        if let failure { throw failure }
    }
}
