import CLinux
import Glibc
import Platform
import Testing
@testable import gateway

/// A process beside the test: its standard output line by line, its standard error in a file. It ends with the test.
final class Peer {
    let pid: pid_t
    let log: String
    private let output: Descriptor
    private var status: CInt?

    init(_ program: String, _ arguments: [String], environment: [String] = [], log: String) throws {
        var ends: [CInt] = [0, 0]
        let made = socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0
        try #require(made)
        output = Descriptor(owning: ends[0])
        let far = Descriptor(owning: ends[1])
        self.log = log
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, far.raw, 1)
        posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        // A signal that a test's thread blocks would stay blocked in the program.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var variables = environment.map { strdup($0) }
        defer { for variable in variables { free(variable) } }
        var inherited = environ
        while let variable = inherited.pointee {
            if strncmp(variable, "JOURNAL_STREAM=", 15) != 0 { variables.append(strdup(variable)) }
            inherited += 1
        }
        var all = variables + [nil]
        var pid = pid_t()
        let code = posix_spawnp(&pid, program, &actions, &attributes, &words, &all)
        // Before there is a process: the end of a peer without one would signal the tests' own group.
        try #require(code == 0, "\(program): \(String(cString: strerror(code)))")
        self.pid = pid
    }

    deinit {
        if status == nil {
            kill(pid, SIGKILL)
            reap(wait: true)
        }
    }

    /// The next line of its standard output, for at most 20 s.
    func line() throws -> String {
        var bytes: [UInt8] = []
        while bytes.last != 10 {
            try waitReadable(output.raw)
            let more = try #require(try output.read(upTo: 1))
            try #require(!more.isEmpty, "it has ended: \(text())")
            bytes += more
        }
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }

    /// What it has written to standard error.
    func text() -> String { (try? fileText(log)) ?? "" }

    func signal(_ number: CInt) { kill(pid, number) }

    /// Waits for its end: the exit status, negative for the signal that ended it; nil when it has not ended in this time.
    func end(within limit: Duration) -> CInt? {
        let ended = until(limit) { self.reap(wait: false) }
        guard ended, let status else { return nil }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    }

    /// Ends it at once, as the kernel does when memory is short.
    func kill9() throws {
        signal(SIGKILL)
        try #require(end(within: .seconds(10)) == -SIGKILL)
    }

    /// Its threads by name.
    func threads() -> [String] {
        guard let directory = opendir("/proc/\(pid)/task") else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard name != ".", name != "..", let text = try? fileText("/proc/\(pid)/task/\(name)/comm") else { continue }
            names.append(text.split(separator: "\n").first.map(String.init) ?? "")
        }
        return names.sorted()
    }

    @discardableResult
    private func reap(wait: Bool) -> Bool {
        if status != nil { return true }
        var code: CInt = 0
        guard retryOnInterrupt({ waitpid(pid, &code, wait ? 0 : WNOHANG) }) == pid else { return false }
        status = code
        return true
    }
}

/// Waits until `condition` holds: asked every few milliseconds, for what another process does not tell.
func until(_ limit: Duration = .seconds(20), _ condition: () throws -> Bool) rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if try condition() { return true }
        poll(nil, 0, 20)
    }
    return try condition()
}

private func waitReadable(_ descriptor: CInt) throws {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let ready = retryOnInterrupt { poll(&entry, 1, 20_000) }
    try #require(ready > 0, "nothing came in 20 s")
}

/// A control socket of a peer: JSON objects, one a line.
final class ControlLine {
    private let socket: Descriptor
    private var buffer: [UInt8] = []
    private var events: [JSONValue] = []

    init(_ path: String) throws { socket = try UnixSocket.connect(to: path, kind: .stream) }

    @discardableResult
    func ask(_ request: String) throws -> JSONValue {
        _ = try socket.send(Array((request + "\n").utf8))
        while true {
            let answer = try next()
            if answer["event"] == nil {
                try #require(answer["error"] == nil, "\(request): \(answer["error"]?.string ?? "")")
                return answer
            }
            events.append(answer)
        }
    }

    /// The next event of this name.
    func event(_ name: String) throws -> JSONValue {
        while true {
            if let index = events.firstIndex(where: { $0["event"]?.string == name }) { return events.remove(at: index) }
            let line = try next()
            if line["event"] != nil { events.append(line) }
        }
    }

    private func next() throws -> JSONValue {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                let line = Array(buffer[..<end])
                buffer.removeFirst(end + 1)
                return try JSONValue(parsing: line)
            }
            try waitReadable(socket.raw)
            // The socket does not block: nothing there is no end.
            guard let bytes = try socket.read(upTo: 1 << 20) else { continue }
            try #require(!bytes.isEmpty, "the peer has gone")
            buffer += bytes
        }
    }
}

extension JSONValue {
    /// The elements of an array; of anything else none.
    var list: [JSONValue] { elements ?? [] }
}
