import CLinux
import Glibc
import Platform
import Testing

@testable import Platform

/// A datagram socket where the journal's would be.
private final class Journal: Sendable {
    let folder: Folder
    let path: String
    let raw: CInt

    init() throws {
        folder = try Folder()
        path = folder.path("journal")
        raw = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        var address = try #require(sockaddr_un(path: path))
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        try #require(raw >= 0 && bound == 0)
    }

    deinit { close(raw) }

    /// The next datagram, and the descriptor that came with it; `nil` when there is none.
    func receive() -> (bytes: [UInt8], descriptor: CInt?)? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var control = [UInt64](repeating: 0, count: 8)
        var descriptor: CInt?
        let count = bytes.withUnsafeMutableBytes { buffer in
            control.withUnsafeMutableBytes { control in
                var vector = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
                return withUnsafeMutablePointer(to: &vector) { vector in
                    var message = msghdr()
                    message.msg_iov = vector
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    let count = recvmsg(raw, &message, CInt(MSG_CMSG_CLOEXEC))
                    // struct cmsghdr: length, level, type; then the descriptor.
                    if count >= 0, Int(message.msg_controllen) >= 20 { descriptor = control.load(fromByteOffset: 16, as: CInt.self) }
                    return count
                }
            }
        }
        guard count >= 0 else { return nil }
        return (Array(bytes[..<count]), descriptor)
    }

    /// The fields of an entry in the journal's native protocol, as a reader takes them apart.
    static func fields(_ bytes: [UInt8]) throws -> [(name: String, value: String)] {
        var fields: [(String, String)] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = try #require(rest.firstIndex { $0 == 10 || $0 == 61 })
            let name = String(decoding: rest[..<end], as: UTF8.self)
            let binary = rest[end] == 10
            rest = rest[(end + 1)...]
            let length: Int
            if binary {
                try #require(rest.count >= 8)
                length = Int(rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
                rest = rest.dropFirst(8)
            } else {
                length = try #require(rest.firstIndex(of: 10)) - rest.startIndex
            }
            try #require(rest.count > length)
            fields.append((name, String(decoding: rest.prefix(length), as: UTF8.self)))
            rest = rest.dropFirst(length)
            try #require(rest.first == 10)
            rest = rest.dropFirst()
        }
        return fields
    }
}

@Suite("The journal's native form")
struct JournalSinkTests {
    @Test("a line is one datagram with its message, priority, id, identifier and fields")
    func plain() throws {
        let journal = try Journal()
        let sink = try JournalSink(identifier: "gateway", path: journal.path)
        sink.write(record("entry settled", LogField("ENTRY", 7), level: .warning))
        let entry = try #require(journal.receive())
        #expect(entry.descriptor == nil)
        #expect(String(decoding: entry.bytes, as: UTF8.self)
            == "MESSAGE=entry settled\nPRIORITY=4\nMESSAGE_ID=0123456789abcdef0123456789abcdef\nSYSLOG_IDENTIFIER=gateway\nEVENT=probe\nENTRY=7\n")
        #expect(journal.receive() == nil)
    }

    @Test("a value with line breaks stays one value and starts no field of its own")
    func multiLine() throws {
        let journal = try Journal()
        let sink = try JournalSink(identifier: "gateway", path: journal.path)
        let value = "one\nPRIORITY=0\n\nä"
        sink.write(record("two\nlines", LogField("DETAIL", value), LogField("AFTER", "x")))
        let fields = try Journal.fields(try #require(journal.receive()).bytes)
        #expect(fields.map(\.name) == ["MESSAGE", "PRIORITY", "MESSAGE_ID", "SYSLOG_IDENTIFIER", "EVENT", "DETAIL", "AFTER"])
        #expect(fields[0].value == "two\nlines")
        #expect(fields[1].value == "6")
        #expect(fields[5].value == value)
    }

    @Test("a line too large for a datagram arrives in a sealed memory file")
    func large() throws {
        let journal = try Journal()
        let sink = try JournalSink(identifier: "gateway", path: journal.path)
        let message = String(repeating: "0123456789", count: 100_000)
        sink.write(record(message, LogField("N", 1)))
        let entry = try #require(journal.receive())
        #expect(entry.bytes.isEmpty)
        let file = Descriptor(owning: try #require(entry.descriptor))
        // All four seals (fcntl(2)): no growing, shrinking, writing, or further sealing.
        #expect(fcntl(file.raw, 1_034) == 0xF)
        try #require(lseek(file.raw, 0, SEEK_SET) == 0)
        let fields = try Journal.fields(try #require(try file.read(upTo: 2_000_000)))
        #expect(fields.first?.value == message)
        #expect(fields.last?.name == "N")
    }

    @Test("a journal that is gone, or hangs with a full queue, costs the line and not the caller")
    func unwilling() throws {
        let journal = try Journal()
        let sink = try JournalSink(identifier: "gateway", path: journal.path)
        // Fills the queue as the sink's own lines would: from other sockets, which do not wait. One alone may come to the bound of what it sends before that of the queue.
        var address = try #require(sockaddr_un(path: journal.path))
        var filled = 0, isFull = false
        while !isFull {
            let filler = Descriptor(owning: socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0))
            let before = filled
            while withUnsafePointer(to: &address, {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { sendto(filler.raw, [1] as [UInt8], 1, 0, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }) == 1 { filled += 1 }
            isFull = filled == before
        }
        try #require(filled > 0)
        sink.write(record("nobody takes this"))
        for _ in 0..<filled { _ = journal.receive() }
        #expect(journal.receive() == nil)
        sink.write(record("back"))
        #expect(try Journal.fields(try #require(journal.receive()).bytes).first?.value == "back")
        let alone = try JournalSink(identifier: "gateway", path: journal.folder.path("none"))
        alone.write(record("nobody there"))
    }

    @Test("standard error is the journal's only if JOURNAL_STREAM names its device and inode")
    func connected() throws {
        let pair = try SocketPair()
        var status = stat()
        try #require(fstat(pair.near.raw, &status) == 0)
        let name = "\(status.st_dev):\(status.st_ino)"
        #expect(JournalSink.isConnected(environment: name, descriptor: pair.near.raw))
        #expect(!JournalSink.isConnected(environment: name, descriptor: pair.far.raw))
        for wrong in [nil, "", ":", "\(status.st_dev)", "\(status.st_dev):\(status.st_ino + 1)", "\(status.st_dev + 1):\(status.st_ino)", name + ":", "x:y", name + " "] {
            #expect(!JournalSink.isConnected(environment: wrong, descriptor: pair.near.raw), "\(wrong ?? "nil")")
        }
        #expect(!JournalSink.isConnected(environment: name, descriptor: -1))
    }

    @Test("a path that fits no address is refused at once")
    func path() {
        #expect(throws: SystemError.self) { try JournalSink(identifier: "gateway", path: String(repeating: "x", count: 200)) }
    }
}
