import CLinux
import Glibc

/// Writes to the journal in its native form: one datagram of fields for each line (systemd's "Native Journal Protocol").
public final class JournalSink: LogSink {
    private let socket: CInt
    private let address: sockaddr_un
    private let identifier: String

    /// - Parameter path: the journal's socket.
    /// - Throws: `SystemError` when no socket can be made or the path is too long for one.
    public init(identifier: String, path: String = "/run/systemd/journal/socket") throws(SystemError) {
        guard let address = sockaddr_un(path: path) else { throw SystemError("socket", code: ENAMETOOLONG, subject: path) }
        let socket = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw .last("socket") }
        // A journal that hangs leaves its queue full. The loop waits a moment for it, as for one that is merely busy, then the line is lost.
        var patience = timeval(tv_sec: 0, tv_usec: 100_000)
        _ = setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        self.socket = socket
        self.address = address
        self.identifier = identifier
    }

    deinit { close(socket) }

    /// Whether standard error is connected to the journal: `JOURNAL_STREAM` names its device and inode (systemd.exec(5)).
    public static func isConnected(environment: String?, descriptor: CInt = STDERR_FILENO) -> Bool {
        guard let environment else { return false }
        let parts = environment.split(separator: ":", omittingEmptySubsequences: false)
        var status = stat()
        guard parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1]), fstat(descriptor, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }

    public func write(_ record: LogRecord) {
        let datagram = Self.datagram(record, identifier: identifier)
        var address = self.address
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                retryOnInterrupt {
                    sendto(socket, datagram, datagram.count, CInt(MSG_NOSIGNAL), generic, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        if sent < 0, errno == EMSGSIZE || errno == ENOBUFS { sendSealed(datagram) }
    }

    /// The fields of a line as the protocol wants them: `NAME=value`, or for a value with a line break the name, the length (64 bits, little-endian) and the bytes.
    static func datagram(_ record: LogRecord, identifier: String) -> [UInt8] {
        var bytes: [UInt8] = []
        func add(_ name: String, _ value: String) {
            bytes += name.utf8
            if value.utf8.contains(10) {
                bytes.append(10)
                withUnsafeBytes(of: UInt64(value.utf8.count).littleEndian) { bytes += $0 }
            } else {
                bytes.append(61)
            }
            bytes += value.utf8
            bytes.append(10)
        }
        add("MESSAGE", record.message)
        add("PRIORITY", "\(record.level.rawValue)")
        add("MESSAGE_ID", record.event.id)
        add("SYSLOG_IDENTIFIER", identifier)
        add("EVENT", record.event.name)
        for field in record.fields { add(field.name, field.value) }
        return bytes
    }

    /// A line larger than a datagram travels as a sealed memory file.
    private func sendSealed(_ bytes: [UInt8]) {
        let file = clinux_memfd("journal-entry")
        guard file >= 0 else { return }
        defer { close(file) }
        guard Glibc.write(file, bytes, bytes.count) == bytes.count, clinux_seal(file) == 0 else { return }
        var address = self.address
        _ = clinux_send_descriptor(socket, &address, file)
    }
}
