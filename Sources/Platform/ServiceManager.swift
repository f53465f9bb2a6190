import CLinux
import Glibc

/// What a service tells its manager (sd_notify(3)).
public enum ServiceState: Sendable, Hashable {
    /// The start is done.
    case ready
    /// The end has begun.
    case stopping
    /// The service is alive: the manager's watchdog begins anew.
    case watchdog
    /// How it is, for `systemctl status`: one line. Every user of the machine can read it.
    case status(String)

    fileprivate var assignment: String {
        switch self {
        case .ready: "READY=1"
        case .stopping: "STOPPING=1"
        case .watchdog: "WATCHDOG=1"
        case .status(let line): "STATUS=\(Self.oneLine(line))"
        }
    }

    /// A line break would begin another assignment.
    private static func oneLine(_ line: String) -> String {
        let blank: Unicode.Scalar = " "
        return String(String.UnicodeScalarView(line.unicodeScalars.map { $0.properties.generalCategory == .control ? blank : $0 }))
    }
}

/// systemd, as the process that it started sees it: one datagram for each message to the socket that `NOTIFY_SOCKET` names (sd_notify(3)).
public final class ServiceManager: Sendable {
    /// Within how long the manager wants to hear `ServiceState.watchdog` again; `nil` when it does not watch this process (sd_watchdog_enabled(3)).
    public let watchdog: Duration?

    private let socket: Descriptor
    private let address: sockaddr_un
    private let length: socklen_t

    /// - Parameter environment: the value of a variable, or `nil`: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` are asked for.
    /// - Returns: `nil` when nobody wants to be told.
    /// - Throws: `SystemError`: `EINVAL` for a socket's name that none can have, or what socket(2) answers.
    public static func find(_ environment: (String) -> String?) throws(SystemError) -> ServiceManager? {
        guard let name = environment("NOTIFY_SOCKET"), !name.isEmpty else { return nil }
        return try ServiceManager(socket: name, watchdog: period(environment("WATCHDOG_USEC"), for: environment("WATCHDOG_PID")))
    }

    /// That of this process.
    public static func current() throws(SystemError) -> ServiceManager? {
        try find { name in getenv(name).map { String(cString: $0) } }
    }

    /// - Parameter socket: an absolute path, or `@` and a name in the abstract namespace (unix(7)).
    public init(socket name: String, watchdog: Duration?) throws(SystemError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        // An abstract name begins with a zero byte and has none to end it; a path has one.
        if isAbstract { bytes[0] = 0 }
        let room = MemoryLayout.size(ofValue: address.sun_path) - (isAbstract ? 0 : 1)
        guard bytes.count > 1, bytes.count <= room, isAbstract || bytes[0] == UInt8(ascii: "/"), !bytes.dropFirst().contains(0) else {
            throw SystemError("NOTIFY_SOCKET", code: EINVAL, subject: name)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.address = address
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1))
        let raw = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard raw >= 0 else { throw .last("socket") }
        // A manager that is busy leaves its queue full: the loop waits a moment for it, then the message is lost, and whoever sends it knows.
        var patience = timeval(tv_sec: 0, tv_usec: 100_000)
        _ = setsockopt(raw, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        socket = Descriptor(owning: raw)
        self.watchdog = watchdog
    }

    /// Tells the manager, in one message.
    ///
    /// - Returns: whether the message is on its way; whoever has something that must arrive says it again.
    @discardableResult
    public func tell(_ states: ServiceState...) -> Bool {
        let message = Array(states.map(\.assignment).joined(separator: "\n").utf8)
        var address = self.address
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                retryOnInterrupt { sendto(socket.raw, message, message.count, CInt(MSG_NOSIGNAL), generic, length) }
            }
        }
        return sent == message.count
    }

    /// The watchdog's period, in microseconds in the environment, unless it is meant for another process.
    private static func period(_ microseconds: String?, for process: String?) -> Duration? {
        guard let microseconds = microseconds.flatMap({ Int64($0) }), microseconds > 0 else { return nil }
        if let process, process != "\(getpid())" { return nil }
        return .microseconds(microseconds)
    }
}
