import Glibc
import Outbox
import Platform
import Synchronization
import Testing

@testable import gateway

private let someEntry = EntryID("0123456789abcdef0123456789abcdef")!

private let operatorRequests: [OperatorRequest] = [
    .quarantine, .audit, .release(someEntry), .settle(someEntry), .purgeSealed(owner: "ann"), .discardEvidence(through: 12)
]

@Suite("The control socket answers one request and waits for nobody")
struct ControlServerTests {
    /// A server with its loop on a socket of its own.
    private final class Bench: Sendable {
        let scratch: ConfigurationScratch
        let loop = VirtualLoop()
        let sink = MemorySink()
        let path: String
        let server: ControlServer
        /// A byte for each act that was asked for.
        let acts = Collected()

        init(allowed: Set<UInt32> = [geteuid()], collars: Int = 1, status delay: Duration = .zero) throws {
            scratch = try ConfigurationScratch()
            path = "\(scratch.path)/control.sock"
            let loop = loop
            let log = Log(sink: sink) { loop.now }
            server = ControlServer(on: loop, at: path, allowed: allowed, log: log) {
                if delay > .zero { try? await loop.sleep(for: delay) }
                return .example(collars: collars)
            } flush: {
                FlushReport(owners: 1, entries: 3)
            } operate: { [acts] request, user in
                acts.add([1])
                return .success(.done(AuditLine(at: 7, by: "uid \(user)", act: "\(request)")))
            }
        }

        func run<Success: Sendable>(_ body: @escaping @Sendable () async throws -> Success) throws -> Success {
            let server = server
            return try loop.run {
                try await server.start()
                let result: Result<Success, any Error>
                do { result = .success(try await body()) } catch { result = .failure(error) }
                await server.stop()
                return try result.get()
            }
        }

        func ask(_ text: String) async throws -> JSONValue {
            let probe = try ControlProbe(on: loop, at: path)
            try probe.send(text)
            return try await probe.json()
        }

        func expectServing() async throws {
            let answer = try await ask("{\"command\":\"flush\"}\n")
            #expect(answer["flush"]?["entries"] == .integer(3))
        }
    }

    @Test("a request for the status is answered by the report, for programs and for people")
    func status() throws {
        let bench = try Bench()
        try bench.run {
            let answer = try await bench.ask("{\"command\":\"status\"}\n")
            #expect(answer["status"] == StatusReport.example(collars: 1).json)
            #expect(answer["text"]?.string == StatusReport.example(collars: 1).text)
        }
    }

    @Test("a request for a flush is answered by what it set going")
    func flush() throws {
        let bench = try Bench()
        try bench.run {
            let answer = try await bench.ask(" { \"command\" : \"flush\" } \r\n")
            #expect(answer["flush"] == .object(["owners": .integer(1), "entries": .integer(3)]))
            #expect(answer["text"] == .string("trying 3 entries of 1 owner\n"))
        }
    }

    @Test("an operator's request is passed on with the user whom the kernel vouches for, and its answer comes back")
    func operate() throws {
        let bench = try Bench()
        try bench.run {
            for request in operatorRequests {
                let probe = try ControlProbe(on: bench.loop, at: bench.path)
                try probe.send(ControlRequest.operate(request).line)
                let answer = try await probe.json()
                #expect(answer["done"] == AuditLine(at: 7, by: "uid \(geteuid())", act: "\(request)").json)
                #expect(answer["text"]?.string == "\(request)\n")
            }
        }
    }

    @Test("an operator's request of another user is refused before anything is done")
    func wrongOperator() throws {
        let bench = try Bench(allowed: [4_711])
        try bench.run {
            for request in operatorRequests {
                let probe = try ControlProbe(on: bench.loop, at: bench.path)
                try probe.send(ControlRequest.operate(request).line)
                let answer = try await probe.json()
                #expect(answer["error"]?["code"] == .string("not-allowed") && answer["done"] == nil)
            }
        }
        #expect(bench.acts.all.isEmpty)
    }

    @Test("a request may come byte by byte")
    func dribble() throws {
        let bench = try Bench()
        try bench.run {
            let probe = try ControlProbe(on: bench.loop, at: bench.path)
            for byte in ControlRequest.flush.line {
                try probe.send([byte])
                try await bench.loop.sleep(for: .milliseconds(100))
            }
            #expect(try await probe.json()["flush"] != nil)
        }
    }

    /// Bytes that are no request, and the code that answers them.
    struct Garbage: Sendable, CustomTestStringConvertible {
        let text: String
        let code: String

        init(_ text: String, _ code: String) {
            self.text = text
            self.code = code
        }

        var testDescription: String { shown(text, upTo: 60) }
    }

    @Test("what is no request is refused in words, and the next client is served", arguments: [
        Garbage("\n", "malformed"), Garbage("hello\n", "malformed"), Garbage("{\"command\":\"status\"\n", "malformed"), Garbage("[]\n", "malformed"),
        Garbage("null\n", "malformed"), Garbage("{}\n", "malformed"), Garbage("{\"command\":1}\n", "malformed"),
        Garbage("{\"command\":\"status\",\"command\":\"flush\"}\n", "malformed"), Garbage("{\"command\":\"status\",\"really\":true}\n", "malformed"),
        Garbage("{\"command\":\"status\"} x\n", "malformed"), Garbage("\u{0}\u{1}\n", "malformed"), Garbage("{\"command\":\"reboot\"}\n", "unknown-command"),
        Garbage("{\"command\":\"Status\"}\n", "unknown-command"), Garbage(String(repeating: "[", count: 4_000) + "\n", "malformed"),
        Garbage(String(repeating: " ", count: 4_096) + "\n", "too-long"), Garbage(String(repeating: "x", count: 20_000), "too-long")
    ])
    func garbage(_ garbage: Garbage) throws {
        let bench = try Bench()
        try bench.run {
            let answer = try await bench.ask(garbage.text)
            #expect(answer["error"]?["code"] == .string(garbage.code))
            #expect(answer["error"]?["text"]?.string?.isEmpty == false)
            try await bench.expectServing()
        }
    }

    @Test("a request of exactly the longest length is served")
    func longest() throws {
        let bench = try Bench()
        try bench.run {
            let request = "{\"command\":\"flush\"}"
            let answer = try await bench.ask(request + String(repeating: " ", count: ControlRequest.limit - 1 - request.utf8.count) + "\n")
            #expect(answer["flush"] != nil)
        }
    }

    @Test("an unknown command is shown without what a terminal would obey")
    func hostileCommand() throws {
        let bench = try Bench()
        try bench.run {
            let answer = try await bench.ask("{\"command\":\"\\u001b[2J\"}\n")
            #expect(answer["error"]?["text"] == .string("\"\\u{1b}[2J\" is not a command; known: status, flush, quarantine, release, give, settle, purge-sealed, discard-evidence, audit, pair, forget, scan, probe"))
        }
    }

    @Test("a client that says nothing is dropped after five seconds, and not before")
    func silent() throws {
        let bench = try Bench()
        try bench.run {
            let begin = bench.loop.now
            let probe = try ControlProbe(on: bench.loop, at: bench.path)
            #expect(try await probe.answer() == [])
            #expect(bench.loop.now - begin == .seconds(5))
            try await bench.expectServing()
        }
    }

    @Test("a client that goes before it has asked costs nothing")
    func gone() throws {
        let bench = try Bench()
        try bench.run {
            let begin = bench.loop.now
            let probe = try ControlProbe(on: bench.loop, at: bench.path)
            try probe.send("{\"comm")
            probe.finish()
            #expect(try await probe.answer() == [])
            #expect(bench.loop.now == begin)
            try await bench.expectServing()
        }
    }

    @Test("an answer that takes too long is given up, and its late end harms nobody")
    func slowAnswer() throws {
        let bench = try Bench(status: .seconds(60))
        try bench.run {
            let begin = bench.loop.now
            let probe = try ControlProbe(on: bench.loop, at: bench.path)
            try probe.send(ControlRequest.status.line)
            #expect(try await probe.answer() == [])
            #expect(bench.loop.now - begin == .seconds(5))
            try await bench.loop.sleep(for: .seconds(120))
            try await bench.expectServing()
        }
    }

    @Test("a client that hangs up while its answer is made costs nothing")
    func goneMeanwhile() throws {
        let bench = try Bench(status: .seconds(1))
        try bench.run {
            do {
                let probe = try ControlProbe(on: bench.loop, at: bench.path)
                try probe.send(ControlRequest.status.line)
                try await bench.loop.sleep(for: .milliseconds(10))
            }
            try await bench.loop.sleep(for: .seconds(2))
            try await bench.expectServing()
        }
    }

    @Test("an answer larger than the socket's buffer arrives whole")
    func large() throws {
        let bench = try Bench(collars: 4_000)
        try bench.run {
            let answer = try await bench.ask("{\"command\":\"status\"}\n")
            #expect(answer["status"] == StatusReport.example(collars: 4_000).json)
        }
    }

    @Test("a client that does not read its answer is dropped, and others are served meanwhile")
    func unread() throws {
        let bench = try Bench(collars: 4_000)
        try bench.run {
            let begin = bench.loop.now
            let probe = try ControlProbe(on: bench.loop, at: bench.path)
            try probe.send(ControlRequest.status.line)
            try await bench.loop.sleep(for: .milliseconds(10))
            try await bench.expectServing()
            try await bench.loop.sleep(until: begin + .seconds(6))
            // What fitted into the buffer is there, and then the end instead of the rest.
            let got = try await probe.answer()
            #expect(!got.isEmpty && got.last != UInt8(ascii: "\n"))
        }
    }

    @Test("beyond eight clients the next is told to try again; when they are gone it is served")
    func crowd() throws {
        let bench = try Bench()
        try bench.run {
            let silent = try (0..<ControlServer.places).map { _ in try ControlProbe(on: bench.loop, at: bench.path) }
            try await bench.loop.sleep(for: .milliseconds(1))
            #expect(try await bench.ask("{\"command\":\"flush\"}\n")["error"]?["code"] == .string("busy"))
            for probe in silent { #expect(try await probe.answer() == []) }
            try await bench.expectServing()
        }
    }

    @Test("a user who is neither root nor the daemon's is refused in words and in the log")
    func wrongUser() throws {
        let bench = try Bench(allowed: [4_711])
        try bench.run {
            let answer = try await bench.ask("{\"command\":\"flush\"}\n")
            #expect(answer["error"]?["code"] == .string("not-allowed"))
            #expect(answer["flush"] == nil)
        }
        #expect(bench.sink.records.map(\.event) == [.controlPeerRefused])
        #expect(bench.sink.records.first?.fields == [LogField("PEER_PID", getpid()), LogField("PEER_UID", geteuid())])
    }

    @Test("another user's process is refused over the real socket", .enabled(if: geteuid() == 0, "only root can become somebody else"))
    func wrongUserProcess() throws {
        let scratch = try ConfigurationScratch()
        chmod(scratch.path, 0o711)
        // Outside of directories that another user may not enter.
        let program = "\(scratch.path)/gateway"
        try scratch.write(try RegularFile.read(ChildProcess.gateway, upTo: 1 << 30).bytes, to: "gateway", mode: 0o755)
        let loop = try EpollLoop()
        let sink = MemorySink()
        for (mode, command, words) in [(0o666, ["quarantine", "settle", String(repeating: "a", count: 32), "--yes"], "gateway: user 65534 may not control the gateway; run the command as root or as the gateway's user\n"),
                                       (0o600, ["status"], "gateway: connect \(scratch.path)/c.sock: Permission denied; run the command as root or as the gateway's user\n")] {
            let server = ControlServer(on: loop, at: "\(scratch.path)/c.sock", mode: mode_t(mode), log: Log(sink: sink) { [unowned loop] in loop.now }) {
                .example(collars: 1)
            } flush: {
                FlushReport(owners: 0, entries: 0)
            } operate: { _, _ in
                .success(.audit([]))
            }
            let ended = try loop.run {
                try await server.start()
                let child = try ChildProcess("setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", program] + command + ["--socket", "\(scratch.path)/c.sock"])
                let ended = try await child.end(on: loop)
                await server.stop()
                return ended
            }
            #expect(ended.status == 77)
            #expect(ended.errors == words)
            #expect(ended.output == "")
        }
        #expect(sink.records.map(\.event) == [.controlPeerRefused])
    }

    @Test("the command reaches a server on the daemon's own loop")
    func command() throws {
        let scratch = try ConfigurationScratch()
        let loop = try EpollLoop()
        let path = "\(scratch.path)/c.sock"
        let list = SetAsideReport.example
        let server = ControlServer(on: loop, at: path, log: Log(sink: MemorySink()) { [unowned loop] in loop.now }) {
            .example(collars: 2)
        } flush: {
            FlushReport(owners: 2, entries: 1)
        } operate: { request, user in
            switch request {
            case .quarantine: .success(.setAside(list))
            case .audit: .success(.audit([AuditLine(at: 0, by: "uid \(user)", act: "looked")]))
            case .release: .failure(.refused(code: "no-place", "the queue is full"))
            default: .success(.done(AuditLine(at: 0, by: "uid \(user)", act: "done it")))
            }
        }
        let (status, json, flush, others) = try loop.run {
            try await server.start()
            let status = try await ChildProcess(ChildProcess.gateway, ["status", "--socket", path]).end(on: loop)
            let json = try await ChildProcess(ChildProcess.gateway, ["status", "--json", "--socket", path]).end(on: loop)
            let flush = try await ChildProcess(ChildProcess.gateway, ["flush", "--socket", path]).end(on: loop)
            var others: [ChildProcess.Ended] = []
            for words in [["quarantine"], ["quarantine", "--json"], ["audit"], ["quarantine", "release", list.quarantined[0].id],
                          ["quarantine", "settle", list.quarantined[0].id, "--yes"], ["discard-evidence", "4", "--yes", "--json"]] {
                others.append(try await ChildProcess(ChildProcess.gateway, words + ["--socket", path]).end(on: loop))
            }
            await server.stop()
            return (status, json, flush, others)
        }
        #expect(status.status == 0 && status.errors == "" && status.output == StatusReport.example(collars: 2).text)
        #expect(json.status == 0 && json.output.last == "\n")
        #expect(try JSONValue(parsing: Array(json.output.utf8)) == StatusReport.example(collars: 2).json)
        #expect(flush.status == 0 && flush.output == "trying 1 entry of 2 owners\n")
        #expect(others.map(\.status) == [0, 0, 0, 76, 0, 0])
        #expect(others[0].output == list.text)
        #expect(try JSONValue(parsing: Array(others[1].output.utf8)) == list.json)
        #expect(others[2].output == "1970-01-01 00:00:00 UTC  uid \(geteuid()): looked\n")
        #expect(others[3].output == "" && others[3].errors == "gateway: the daemon refused: the queue is full [no-place]\n")
        #expect(others[4].output == "done it\n")
        #expect(try JSONValue(parsing: Array(others[5].output.utf8))["by"] == .string("uid \(geteuid())"))
    }

    @Test("the socket file is its owner's alone, replaces a dead one, and goes with the server")
    func socketFile() throws {
        let bench = try Bench()
        try leaveDeadSocket(at: bench.path)
        try bench.run {
            var status = stat()
            #expect(stat(bench.path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            let rival = ControlServer(on: bench.loop, at: bench.path, log: Log(sink: MemorySink()) { BootInstant(nanoseconds: 0) }) {
                .example(collars: 0)
            } flush: {
                FlushReport(owners: 0, entries: 0)
            } operate: { _, _ in
                .success(.audit([]))
            }
            await #expect(throws: SystemError("bind", code: EADDRINUSE, subject: bench.path)) { try await rival.start() }
            await rival.stop()
            try await bench.expectServing()
        }
        #expect(access(bench.path, F_OK) != 0)
    }

    @Test("a server leaves the socket file of its successor alone")
    func successor() throws {
        let bench = try Bench()
        try bench.run {
            unlink(bench.path)
            let file = try UnixSocket.listen(at: bench.path, kind: .stream)
            await bench.server.stop()
            #expect(access(bench.path, F_OK) == 0)
            _ = file.raw
        }
    }
}
