import CLinux
import Glibc
import Platform
import Testing
@testable import Uplink

/// Certificates of an authority made for the run, once for all tests.
enum Authority {
    static let directory = Result { () throws -> Scratch in
        let scratch = Scratch()
        try Child.run(["python3", "\(Backend.reference)/make_authority.py", scratch.path, "--also", "expired", "not-yet-valid", "wrong-name", "other-ca"])
        return scratch
    }

    static func path() throws -> String { try directory.get().path }
}

/// The reference backend as a process of its own, and its control socket.
final class Backend {
    /// Next to this package's sources.
    static let reference = String(#filePath.dropLast("Tests/UplinkTests/Support/Backend.swift".count)) + "reference"

    let port: Int
    private let scratch = Scratch()
    private let child: Child
    private let control: CInt

    init(certificate: String = "server", options: [String] = []) throws {
        let certificates = try Authority.path()
        let owners = scratch.write("owners.json", "{\"anna\": \"token-of-anna\", \"ben\": \"token-of-ben\"}")
        child = try Child(["python3", "-m", "backend", "--listen", "127.0.0.1:0", "--certificate", "\(certificates)/\(certificate).pem", "--key", "\(certificates)/\(certificate).key",
                           "--database", "\(scratch.path)/books.sqlite", "--owners", owners, "--control", "\(scratch.path)/control"] + options,
                          environment: ["PYTHONPATH=\(Self.reference)", "PYTHONDONTWRITEBYTECODE=1"])
        guard case .object(let ready) = try JSONValue(parsing: Array(child.line().utf8), size: 4_096, depth: 4), case .integer(let port)? = ready["port"] else {
            throw Child.Failed(words: "the backend did not say its port")
        }
        self.port = Int(port)
        control = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = try #require(sockaddr_un(path: "\(scratch.path)/control"))
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(control, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        guard connected == 0 else { throw Child.Failed(words: "no control socket") }
    }

    deinit { close(control) }

    /// One command to the control socket; its answer.
    @discardableResult
    func tell(_ command: String) throws -> JSONObject {
        let bytes = Array((command + "\n").utf8)
        _ = write(control, bytes, bytes.count)
        var line: [UInt8] = []
        while true {
            var poller = pollfd(fd: control, events: Int16(POLLIN), revents: 0)
            guard poll(&poller, 1, 20_000) == 1 else { throw Child.Failed(words: "no answer to \(command)") }
            var byte: UInt8 = 0
            guard read(control, &byte, 1) == 1 else { throw Child.Failed(words: "the backend has gone") }
            if byte != 10 {
                line.append(byte)
                continue
            }
            guard case .object(let answer) = try JSONValue(parsing: line, size: 1 << 20, depth: 16) else { throw Child.Failed(words: "no object") }
            line = []
            if answer["event"] != nil { continue }
            guard answer["ok"] == .bool(true) else { throw Child.Failed(words: "\(command): \(answer)") }
            return answer
        }
    }

    /// The number of requests that have arrived so far.
    func requests() throws -> Int {
        guard case .array(let list)? = try tell("{\"query\": \"requests\"}")["requests"] else { return -1 }
        return list.count
    }
}

/// A delivery of whole windows, as a collar writes them.
func wholeDelivery(_ key: String, first: UInt32 = 100, count: Int = 3, owner: String = "anna", device: String = "C-1") -> Delivery {
    var body: [UInt8] = []
    for index in 0..<count {
        let sequence = first &+ UInt32(index)
        var window = [UInt8](repeating: 0, count: Delivery.windowSize)
        for byte in 0..<4 { window[byte] = UInt8(truncatingIfNeeded: sequence >> (8 * UInt32(byte))) }
        for position in 10..<Delivery.windowSize { window[position] = UInt8(truncatingIfNeeded: position &* 7 &+ Int(sequence)) }
        // CRC-16/CCITT-FALSE of all but its own two bytes.
        var crc: UInt16 = 0xFFFF
        for (position, byte) in window.enumerated() where position != 8 && position != 9 {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 != 0 ? crc << 1 ^ 0x1021 : crc << 1 }
        }
        window[8] = UInt8(truncatingIfNeeded: crc)
        window[9] = UInt8(truncatingIfNeeded: crc >> 8)
        body += window
    }
    return Delivery(id: key, key: key, owner: owner, device: device, log: 7, first: first, count: count, body: body, received: 1_700_000_000, clock: "synced;device=set;offset=0")
}

/// The number of sockets on this machine that are connected to a local port and still have an owner (proc(5), /proc/net/tcp).
/// Other tests of the process open descriptors at the same time; nobody else connects to a port that the kernel chose for this one.
func connections(to port: Int) -> Int {
    guard let file = fopen("/proc/net/tcp", "r") else { return -1 }
    defer { fclose(file) }
    var count = 0
    var line = [CChar](repeating: 0, count: 512)
    while fgets(&line, CInt(line.count), file) != nil {
        let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: " ")
        guard words.count > 9, let remote = words[2].split(separator: ":").last, Int(remote, radix: 16) == port, words[9] != "0" else { continue }
        count += 1
    }
    return count
}
