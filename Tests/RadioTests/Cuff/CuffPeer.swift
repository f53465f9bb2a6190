import Glibc
import Platform
import Testing
@testable import Radio

/// A cuff behind Bumble's attribute server in a process of its own, at the other end of a packet socket.
struct CuffPeer {
    /// The interpreter that has `Tests/Peers/requirements.txt`; `nil` when the environment names none.
    static var python: String? { getenv("HUB_TEST_PYTHON").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }
    /// On the build server nothing is skipped.
    static var isHere: Bool { python != nil || getenv("CI").map { String(cString: $0) } == "true" }
    static let skipped: Comment = "HUB_TEST_PYTHON names no interpreter with Tests/Peers/requirements.txt"

    /// The time that the cuff's world has: the hub's own, in its zone.
    static let now = WallTime(seconds: 1_718_464_647, synchronised: true)
    static let zone = TimeZoneRules.fixed(7_200)
    private static let localNow = "2024-06-15T17:17:27"

    private let process: pid_t
    private let books: String

    /// - Parameters:
    ///   - kind: `cuff` or `bp2`.
    ///   - options: KEY=VALUE, see bumble_cuff_peer.py.
    /// - Returns: the peer, and our end of the connection.
    static func start(_ kind: String, _ options: [String]) throws -> (peer: CuffPeer, socket: CInt) {
        let python = try #require(Self.python, skipped)
        let tests = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        var template = Array("/tmp/cuff-books-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else { throw SystemError.last("mkstemp") }
        _ = close(file)
        let books = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let (ours, theirs) = try packetPair()
        let inherited = Descriptor(owning: theirs)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, inherited.raw, 3)
        let words = [python, tests + "/Peers/bumble_cuff_peer.py", "3", books, kind, "serial=2523C00001", "now=\(localNow)"] + options
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, python, &actions, nil, &arguments, environ)
        guard code == 0 else {
            _ = close(ours)
            throw SystemError("posix_spawn", code: code, subject: python)
        }
        return (CuffPeer(process: process, books: books), ours)
    }

    /// Waits for the peer to end, which it does when the connection has: what it saw of the link.
    func finish() throws -> JSONValue {
        var status: CInt = 0
        _ = retryOnInterrupt { waitpid(process, &status, 0) }
        defer { unlink(books) }
        let text = try #require(contentsOfFile(books))
        #expect(status == 0)
        return try JSONValue(parsing: Array(text.utf8))
    }
}

/// What a cuff's connection told, waited for by a test on the same loop.
final class CuffEvents: Sendable {
    let stream: AsyncStream<CuffEvent>
    private let continuation: AsyncStream<CuffEvent>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(of: CuffEvent.self) }

    func note(_ event: CuffEvent) {
        continuation.yield(event)
        if case .closed = event { continuation.finish() }
    }
}
