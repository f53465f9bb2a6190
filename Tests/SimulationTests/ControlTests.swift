import Glibc
import Platform
import Testing

@testable import Simulation

@Suite("The control protocol")
struct ControlTests {
    /// A collar with its listener and its control server on paths of their own.
    private final class Stage {
        let bench: Bench
        let listener: CollarListener
        let server: CollarControlServer
        let link: String
        let control: String
        private let directory: TemporaryDirectory

        init(backlog: Int = 30) throws {
            directory = try TemporaryDirectory()
            link = directory.path + "/link"
            control = directory.path + "/control"
            bench = try Bench(backlog: backlog)
            listener = CollarListener(collar: bench.collar, path: link, loop: bench.loop)
            server = CollarControlServer(collar: bench.collar, path: control, loop: bench.loop)
            try listener.assumeIsolated { try $0.start() }
            try server.assumeIsolated { try $0.start() }
        }

        deinit {
            listener.assumeIsolated { $0.stop() }
            server.assumeIsolated { $0.stop() }
            bench.ask { $0.stop() }
        }
    }

    /// A client of the control socket.
    private final class Client {
        private let socket: Descriptor
        private let loop: VirtualLoop
        private var pending: [UInt8] = []

        init(_ stage: Stage) throws {
            socket = try UnixSocket.connect(to: stage.control, kind: .stream)
            loop = stage.bench.loop
        }

        func lines() throws -> [JSONValue] {
            loop.advance(by: .zero)
            while let bytes = try socket.read(upTo: 65_536), !bytes.isEmpty {
                pending += bytes
                loop.advance(by: .zero)
            }
            var lines: [JSONValue] = []
            while let end = pending.firstIndex(of: 10) {
                lines.append(try JSONValue(parsing: Array(pending[..<end])))
                pending.removeSubrange(...end)
            }
            return lines
        }

        func send(_ text: String) throws { _ = try socket.send(Array(text.utf8)) }

        /// One request and its one answer.
        func ask(_ text: String) throws -> JSONValue {
            try send(text + "\n")
            let lines = try lines()
            try #require(lines.count == 1, "\(text) was answered by \(lines.count) lines")
            return lines[0]
        }
    }

    private let ok = JSONValue.object(["ok": .bool(true)])

    @Test("the books tell what is held, produced and cleared, with the moment of each clear")
    func books() throws {
        let stage = try Stage()
        let client = try Client(stage)
        let hub = try stage.bench.hub()
        let log = stage.bench.books.log
        _ = try hub.read(log: log, first: 0, count: 10)
        _ = try hub.clear(log: log, through: 6)
        let books = try client.ask(#"{"query":"books"}"#)
        #expect(books["serial"]?.string == "C-0001" && books["log"]?.integer == Int64(log))
        #expect(books["oldest"]?.integer == 7 && books["next"]?.integer == 30 && books["held"]?.integer == 23 && books["produced"]?.integer == 30)
        #expect(books["reads"]?.integer == 1 && books["windows_sent"]?.integer == 10 && books["links"]?.integer == 1 && books["linked"] == .bool(true))
        #expect(books["clears"]?.elements == [
            .object(["log": .integer(Int64(log)), "through": .integer(6), "at_boottime_ns": .integer(stage.bench.loop.now.nanoseconds)])
        ])
        #expect(books["overwritten"]?.integer == 0 && books["formatted_away"]?.integer == 0)
        #expect(books["logs"]?.elements == [.object(["log": .integer(Int64(log)), "first": .integer(0), "count": .integer(30)])])
    }

    @Test("windows are told by their digests, also those that were cleared or formatted away")
    func windows() throws {
        let stage = try Stage()
        let client = try Client(stage)
        let hub = try stage.bench.hub()
        let log = stage.bench.books.log
        _ = try hub.read(log: log, first: 0, count: 30)
        _ = try hub.clear(log: log, through: 29)
        #expect(try client.ask(#"{"do":"format"}"#) == ok)
        let windows = try #require(try client.ask(#"{"query":"windows","log":\#(log),"from":5,"count":2000}"#)["windows"]?.elements)
        #expect(windows.count == 25 && windows.first?["sequence"]?.integer == 5)
        #expect(windows.compactMap { $0["sha256"]?.string } == hub.windows[5...].map { SHA256.digest($0).hexadecimal })
        #expect(try client.ask(#"{"query":"windows","log":\#(log),"from":30,"count":10}"#)["windows"]?.elements == [])
    }

    @Test("two thousand digests come whole over a socket that takes them in parts")
    func longAnswer() throws {
        let stage = try Stage(backlog: 2_000)
        let client = try Client(stage)
        let log = stage.bench.books.log
        #expect(try client.ask(#"{"query":"windows","log":\#(log),"from":0,"count":2000}"#)["windows"]?.elements?.count == 2_000)
    }

    @Test("orders do what they say")
    func orders() throws {
        let stage = try Stage()
        let client = try Client(stage)
        let hub = try stage.bench.hub()
        let before = stage.bench.books
        #expect(try client.ask(#"{"do":"silence"}"#) == ok)
        try hub.settle(.seconds(20))
        #expect(hub.heartbeats.isEmpty && !hub.ended)
        #expect(try client.ask(#"{"do":"drop-link"}"#) == ok)
        try hub.settle()
        #expect(hub.ended)
        #expect(try client.ask(#"{"do":"battery-change"}"#) == ok)
        #expect(stage.bench.books.address != before.address)
        #expect(try client.ask(#"{"do":"format"}"#) == ok)
        #expect(stage.bench.books.log != before.log)
        stage.bench.ask { $0.start() }
        #expect(try client.ask(#"{"do":"stop-producing"}"#) == ok)
        stage.bench.loop.advance(by: .seconds(10))
        #expect(stage.bench.books.produced == 30)
    }

    @Test("a hold tells its connection when it comes into effect, and ends with a release")
    func hold() throws {
        let stage = try Stage()
        let client = try Client(stage)
        let bystander = try Client(stage)
        let hub = try stage.bench.hub()
        #expect(try client.ask(#"{"do":"release"}"#)["error"] != nil)
        #expect(try client.ask(#"{"do":"hold","at":"read-request"}"#) == ok)
        #expect(try hub.read(log: stage.bench.books.log, first: 0, count: 3) == [])
        #expect(try client.lines() == [.object(["event": .string("held"), "at": .string("read-request")])])
        #expect(try bystander.lines() == [])
        #expect(try client.ask(#"{"do":"release"}"#) == ok)
        try hub.settle()
        #expect(hub.windows.count == 3)
    }

    @Test("when the one who holds the collar goes away, it goes on")
    func holderGoes() throws {
        let stage = try Stage()
        let hub = try stage.bench.hub()
        do {
            let client = try Client(stage)
            #expect(try client.ask(#"{"do":"hold","at":"read-request"}"#) == ok)
            #expect(try client.ask(#"{"do":"hold","at":"clear-request"}"#) == ok)
            _ = try hub.read(log: stage.bench.books.log, first: 0, count: 3)
            #expect(hub.windows.isEmpty)
        }
        try hub.settle()
        #expect(hub.windows.count == 3)
        #expect(try hub.clear(log: stage.bench.books.log, through: 2).count == 1)
    }

    @Test("what is no request gets one line that says what is wrong", arguments: [
        ("{", "column"), ("[1]", "neither"), ("{}", "neither"), ("17", "neither"), (#"{"do":"dance"}"#, "dance"), (#"{"query":"stars"}"#, "stars"),
        (#"{"do":"hold"}"#, "read-request"), (#"{"do":"hold","at":"noon"}"#, "clear-answered"), (#"{"do":1}"#, "neither"), ("", "column"),
        (#"{"query":"windows","log":-1,"from":0,"count":1}"#, "log"), (#"{"query":"windows","log":1,"from":4294967296,"count":1}"#, "from"),
        (#"{"query":"windows","log":1,"from":0,"count":2001}"#, "2000"), (#"{"do":"format","do":"format"}"#, "column")
    ])
    func errors(text: String, words: String) throws {
        let stage = try Stage()
        let answer = try Client(stage).ask(text)
        #expect(answer["error"]?.string?.contains(words) == true)
        #expect(answer["error"]?.string?.hasPrefix("control-invalid: ") == true)
    }

    @Test("requests may come in pieces and several at once, and are answered in order")
    func pieces() throws {
        let stage = try Stage()
        let client = try Client(stage)
        try client.send(#"{"do":"#)
        #expect(try client.lines() == [])
        try client.send("\"silence\"}\n{\"query\":\"books\"}\n{\"do\":\"none\"}\n")
        let lines = try client.lines()
        #expect(lines.count == 3 && lines[0] == ok && lines[1]["serial"] != nil && lines[2]["error"] != nil)
    }

    @Test("the collar can be connected to while it has no link, and again a second after one has ended")
    func advertising() throws {
        let stage = try Stage()
        let loop = stage.bench.loop
        func connect() throws -> Descriptor { try UnixSocket.connect(to: stage.link, kind: .sequencedPacket) }
        do {
            let link = try connect()
            loop.advance(by: .zero)
            #expect(stage.bench.ask { $0.isLinked })
            #expect(throws: SystemError.self) { _ = try connect() }
            _ = try link.send([0x02, 0x17, 0x00])
            loop.advance(by: .zero)
            #expect(try link.read(upTo: 100) == [0x03, 0x05, 0x02])
        }
        loop.advance(by: .milliseconds(990))
        #expect(!stage.bench.ask { $0.isLinked })
        #expect(throws: SystemError.self) { _ = try connect() }
        loop.advance(by: .milliseconds(20))
        let again = try connect()
        loop.advance(by: .zero)
        #expect(stage.bench.ask { $0.isLinked } && stage.bench.books.links == 2)
        _ = try again.send([0x0A])
    }

    @Test("options are read, and a wrong one is named")
    func options() throws {
        let required = ["--socket", "/a", "--control", "/b", "--serial", "S", "--recording", "/c"]
        let options = try CollarOptions(required + ["--backlog", "7200", "--seed", "3", "--faults", "harsh", "--mtu", "185", "--first-sequence", "4294967295", "--window-interval-ms", "50"])
        #expect(options.configuration.backlog == 7_200 && options.configuration.seed == 3 && options.configuration.mtu == 185)
        #expect(options.configuration.firstSequence == .max && options.configuration.windowInterval == .milliseconds(50) && options.configuration.faults == .harsh)
        let missing: [([String], String)] = [([], "--socket"), (Array(required.dropLast(2)), "--recording")]
        let wrong: [([String], String)] = [
            (["--mtu", "22"], "--mtu"), (["--seed", "x"], "--seed"), (["--faults", "wild"], "wild"), (["--speed", "9"], "--speed"), (["--seed"], "--seed")
        ]
        for (arguments, words) in missing + wrong.map({ (required + $0.0, $0.1) }) {
            let error = failure { () throws(SimulationError) in _ = try CollarOptions(arguments) }
            #expect(error?.code == .optionInvalid && error?.what.contains(words) == true)
        }
    }
}
