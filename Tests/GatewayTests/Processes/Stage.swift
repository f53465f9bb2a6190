import Glibc
import Platform
import Synchronization
import Testing
@testable import gateway

/// Real processes on real sockets, TLS and disk: simulated collars, the reference backend, and the gateway between them.
final class Stage {
    struct Wearer {
        let serial: String
        var owner = "anna"
        var backlog = 300
    }

    /// Whether the programs are there that the reference backend and its certificates need. On a CI machine they must be: there a test that is missing fails.
    static let isPossible = getenv("CI") != nil || ["python3", "openssl"].allSatisfy { program in
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    /// The certificates of an authority made for the run, once.
    private static let authority = Result { () throws -> String in
        let directory = try temporaryDirectory()
        let peer = try Peer("python3", ["\(reference)/make_authority.py", directory], log: "\(directory)/log")
        try #require(peer.end(within: .seconds(60)) == 0, "\(peer.text())")
        return directory
    }
    private static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
    private static var reference: String { "\(root)/reference" }
    private static var build: String { ChildProcess.gateway.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") }

    let scratch: ConfigurationScratch
    let backend: ControlLine
    private(set) var collars: [String: ControlLine] = [:]
    let configuration: String
    /// The backend's base URL, and the certificates of the authority that vouches for it.
    let base: String
    let authority: String
    private let backendProcess: Peer
    private var collarProcesses: [String: Peer] = [:]
    private(set) var gateway: Peer
    private let lives = Atomic<Int>(1)

    /// - Parameters:
    ///   - outbox: the directory of the outbox; `nil` is one of the stage's own.
    ///   - interval: milliseconds between two windows of a collar.
    init(_ wearers: [Wearer] = [Wearer(serial: "C-1")], outbox: String? = nil, interval: Int = 1_000, starting: Bool = true) throws {
        scratch = try ConfigurationScratch()
        let path = scratch.path
        let certificates = try Self.authority.get()
        try scratch.write("{\"anna\": \"token-of-anna\", \"ben\": \"token-of-ben\"}", to: "owners.json")
        backendProcess = try Peer("python3", [
            "-m", "backend", "--listen", "127.0.0.1:0", "--certificate", "\(certificates)/server.pem", "--key", "\(certificates)/server.key",
            "--database", "\(path)/books.sqlite", "--owners", "\(path)/owners.json", "--control", "\(path)/backend"
        ], environment: ["PYTHONPATH=\(Self.reference)", "PYTHONDONTWRITEBYTECODE=1"], log: "\(path)/backend.log")
        let port = try #require(try JSONValue(parsing: Array(try backendProcess.line().utf8))["port"]?.integer)
        backend = try ControlLine("\(path)/backend")
        base = "https://127.0.0.1:\(port)"
        authority = "\(certificates)/ca.pem"
        for (index, wearer) in wearers.enumerated() {
            let name = wearer.serial
            let collar = try Peer("\(Self.build)/simulated-collar", [
                "--socket", "\(path)/\(name).link", "--control", "\(path)/\(name)", "--serial", name, "--seed", "\(index + 5)", "--backlog", "\(wearer.backlog)",
                "--window-interval-ms", "\(interval)", "--heartbeat-interval-ms", "500", "--recording", "\(Self.root)/Tests/Recordings/motion-trunk.csv"
            ], log: "\(path)/\(name).log")
            _ = try collar.line()
            collarProcesses[name] = collar
            collars[name] = try ControlLine("\(path)/\(name)")
        }
        configuration = try scratch.write(Self.text(wearers, path, base, certificates, outbox ?? "\(path)/outbox"), to: "gateway.toml")
        gateway = try Peer(ChildProcess.gateway, starting ? ["run", "--config", configuration] : ["--version"], log: "\(path)/gateway.log")
    }

    private static func text(_ wearers: [Wearer], _ path: String, _ base: String, _ certificates: String, _ outbox: String) -> String {
        let owners = ["anna", "ben"].map { "[[owner]]\nkey = \"\($0)\"\ntoken_file = \"\(path)/\($0).token\"\n" }.joined()
        let devices = wearers.map { wearer in
            "[[collar]]\nname = \"\(wearer.serial)\"\nserial = \"\(wearer.serial)\"\nowner = \"\(wearer.owner)\"\nsocket = \"\(path)/\(wearer.serial).link\"\n"
        }.joined()
        return """
            \(owners)\(devices)[uplink]
            base = "\(base)"
            ca_file = "\(certificates)/ca.pem"
            backoff = "500ms"
            flush_interval = "1s"
            [outbox]
            directory = "\(outbox)"
            [sync]
            batch_age = "1s"
            [time]
            synchronised = "always"
            [control]
            socket = "\(path)/control"

            """
    }

    var collar: ControlLine { get throws { try #require(collars["C-1"]) } }

    // MARK: The gateway

    /// The gateway again, after it has ended.
    func start() throws {
        let life = lives.add(1, ordering: .relaxed).newValue
        gateway = try Peer(ChildProcess.gateway, ["run", "--config", configuration], log: "\(scratch.path)/gateway-\(life).log")
    }

    /// Kills the gateway and starts it again.
    func crash() throws {
        try gateway.kill9()
        try start()
    }

    func status() -> JSONValue? { (try? ControlClient.ask(.status, at: "\(scratch.path)/control", patience: .seconds(5)))?["status"] }

    /// Waits until the gateway says something of itself.
    func waitForStatus(_ limit: Duration = .seconds(20), sourceLocation: SourceLocation = #_sourceLocation, _ condition: (JSONValue) -> Bool) throws {
        var last: JSONValue?
        let came = until(limit) {
            last = status()
            return last.map(condition) ?? false
        }
        try #require(came, "the last status was \(last?.encoded() ?? "none"); log: \(gateway.text())", sourceLocation: sourceLocation)
    }

    /// Ends the gateway by SIGTERM: within 5 s and with status 0.
    func stop(sourceLocation: SourceLocation = #_sourceLocation) {
        let before = ContinuousClock.now
        gateway.signal(SIGTERM)
        let status = gateway.end(within: .seconds(20))
        #expect(status == 0, "\(gateway.text())", sourceLocation: sourceLocation)
        #expect(ContinuousClock.now - before < .seconds(5), sourceLocation: sourceLocation)
    }

    // MARK: The books of both ends

    func books(_ serial: String = "C-1") throws -> JSONValue { try #require(collars[serial]).ask("{\"query\":\"books\"}") }

    private struct Sum: Equatable {
        let sequence: Int64?
        let digest: String?
    }

    /// Whether the backend holds, byte for byte and for the right owner, everything that a collar has produced.
    func isDelivered(_ serial: String = "C-1", owner: String = "anna") throws -> Bool {
        let books = try books(serial)
        let log = books["log"]?.integer ?? 0, produced = books["produced"]?.integer ?? 0
        let mine = try #require(collars[serial]).ask("{\"query\":\"windows\",\"log\":\(log),\"from\":0,\"count\":\(min(produced, 2_000))}")["windows"]?.list ?? []
        let theirs = try backend.ask("{\"query\":\"windows\",\"device\":\"\(serial)\",\"log\":\(log),\"from\":0,\"count\":2000}")["windows"]?.list ?? []
        func sums(_ list: [JSONValue]) -> [Sum] { list.map { Sum(sequence: $0["sequence"]?.integer, digest: $0["sha256"]?.string) } }
        return sums(mine) == sums(theirs) && theirs.allSatisfy { $0["owner"]?.string == owner }
    }

    /// Waits until everything is delivered and cleared, and holds clears against what the backend had by then.
    func settle(_ serial: String = "C-1", owner: String = "anna", sourceLocation: SourceLocation = #_sourceLocation) throws {
        let collar = try #require(collars[serial])
        try collar.ask("{\"do\":\"stop-producing\"}")
        let done = try until(.seconds(30)) {
            guard try isDelivered(serial, owner: owner) else { return false }
            let books = try books(serial)
            return books["held"]?.integer == 0
        }
        let state = try "\(books(serial).encoded()); \(status()?.encoded() ?? "none"); \(gateway.text())"
        try #require(done, "\(state)", sourceLocation: sourceLocation)
        try checkClears(serial, sourceLocation: sourceLocation)
        #expect(try backend.ask("{\"query\":\"audit\"}")["offered_for_another"]?.list.isEmpty == true, sourceLocation: sourceLocation)
    }

    /// No clear went through a window before it was durable at the backend.
    func checkClears(_ serial: String = "C-1", sourceLocation: SourceLocation = #_sourceLocation) throws {
        let books = try books(serial)
        let log = books["log"]?.integer ?? 0
        let theirs = try backend.ask("{\"query\":\"windows\",\"device\":\"\(serial)\",\"log\":\(log),\"from\":0,\"count\":2000}")["windows"]?.list ?? []
        for clear in books["clears"]?.list ?? [] {
            let through = clear["through"]?.integer ?? 0, at = clear["at_boottime_ns"]?.integer ?? 0
            let before = theirs.filter { ($0["durable_at_ns"]?.integer ?? .max) <= at && ($0["sequence"]?.integer ?? .max) <= through }
            #expect(before.count == Int(through) + 1, "cleared through \(through) before it was settled", sourceLocation: sourceLocation)
        }
    }

    /// The requests that the backend has seen.
    func requests() throws -> [JSONValue] { try backend.ask("{\"query\":\"requests\"}")["requests"]?.list ?? [] }
}

/// One header of a request in the backend's list.
func header(_ name: String, of request: JSONValue) -> String? {
    request["headers"]?.list.first { $0.list.first?.string?.lowercased() == name }?.list.last?.string
}
