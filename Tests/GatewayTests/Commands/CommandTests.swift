import CLinux
import Glibc
import Platform
import Testing

@testable import gateway

@Suite("The program as it is run")
struct CommandTests {
    @Test("--version names the gateway and the libraries it runs with")
    func version() throws {
        let ended = try gateway("--version")
        #expect(ended.status == 0 && ended.errors == "")
        let lines = ended.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "gateway 0.1.0")
        #expect(lines.dropFirst().map { $0.split(separator: " ").first ?? "" } == ["libcurl", "SQLite", "libcrypto", "jansson", "libgpiod", "toml++"])
        #expect(lines.allSatisfy { line in line.split(separator: " ").last?.first?.isNumber == true })
    }

    @Test("--help explains the program and each command, and what exit statuses mean")
    func help() throws {
        let ended = try gateway("--help")
        #expect(ended.status == 0 && ended.errors == "")
        for command in Command.allCases {
            #expect(ended.output.contains("gateway \(command.rawValue)"))
            let own = try gateway(command.rawValue, "--help")
            #expect(own.status == 0 && own.output.hasPrefix("Usage: gateway \(command.rawValue) "))
        }
        for status in [ExitStatus.usage, ExitStatus.unavailable, ExitStatus.protocolError, ExitStatus.notAllowed, ExitStatus.configuration] {
            #expect(ended.output.contains("\n  \(status)  "))
        }
    }

    @Test("a wrong command line is refused with status 64 and points to the help")
    func usage() throws {
        let ended = try gateway("status", "--sokcet", "s")
        #expect(ended.status == 64 && ended.output == "")
        #expect(ended.errors == "gateway: status does not take \"--sokcet\"; it takes --json, --config, --socket\nSee: gateway status --help\n")
        #expect(try gateway().status == 64)
    }

    @Test("check-config takes the sample as it is shipped, once its token file exists")
    func sample() throws {
        let scratch = try ConfigurationScratch()
        let path = try scratch.write(try Sample().complete(in: scratch, commentedToo: false), to: "gateway.toml")
        let ended = try gateway("check-config", "--config", path)
        #expect(ended.status == 0)
        #expect(ended.output.hasPrefix("\(path) is in order: 1 owner, 1 collar"))
    }

    @Test("check-config says everything on standard error and ends with status 78")
    func flawed() throws {
        let scratch = try ConfigurationScratch()
        let text = ConfigurationScratch.good([3: "kye = \"anna\"", 19: "base = 1"]).replacing("DIR", with: scratch.path)
        let path = try scratch.write(text, to: "gateway.toml")
        let ended = try gateway("check-config", "--config", path)
        #expect(ended.status == 78 && ended.output == "")
        #expect(ended.errors.split(separator: "\n", omittingEmptySubsequences: false) == [
            "\(path):2:1: error: [owner] #1.key is missing; add key = \"anna\" (1 to 64 letters, digits, dots, hyphens and underscores)",
            "\(path):3:1: error: [owner] #1.kye is not a known key; did you mean \"key\"?",
            "\(path):19:8: error: [uplink].base is an integer; allowed: an https URL without user, query and fragment, e.g. \"https://backend.example/hub\"",
            "gateway: \(path) cannot be used; 3 errors", ""
        ])
    }

    @Test("in the journal each line of a refused start has its level")
    func levels() throws {
        let scratch = try ConfigurationScratch()
        let text = ConfigurationScratch.good([1: "indicators = 1", 21: "directory = \"DIR/none\""]).replacing("DIR", with: scratch.path)
        let path = try scratch.write(text, to: "gateway.toml")
        let ended = try ChildProcess(ChildProcess.gateway, ["run", "--config", path], setting: "JOURNAL_STREAM=9:4711").end()
        #expect(ended.errors.split(separator: "\n").map { $0.prefix(3) } == ["<3>", "<4>", "<3>"])
    }

    /// eclipse/mosquitto#1190: a misspelt key was ignored, and with it the authentication it stood for.
    @Test("a misspelt security key keeps the daemon from starting")
    func misspelt() throws {
        let scratch = try ConfigurationScratch()
        let text = ConfigurationScratch.good([12: "address = \"C0:FF:EE:12:34:56\"\nsecurty = \"encrypted\""]).replacing("DIR", with: scratch.path)
        let path = try scratch.write(text + "[control]\nsocket = \"\(scratch.path)/c.sock\"\n", to: "gateway.toml")
        let ended = try gateway("run", "--config", path)
        #expect(ended.status == 78)
        #expect(ended.errors == "\(path):13:1: error: [collar] \"front\".securty is not a known key; did you mean \"security\"?\n"
            + "gateway: not started; 1 error\n")
        #expect(access("\(scratch.path)/c.sock", F_OK) != 0)
    }

    /// balena-os/meta-balena#1262: a broken configuration was overwritten with an empty one.
    @Test("a broken configuration is left byte for byte as it is, by check-config, run and status", arguments: [
        "{\"json\": true}", "[[owner]\n", "\u{0}\u{0}\u{0}\u{0}", "", "[uplink]\nbase = \"https"
    ])
    func neverRewritten(text: String) throws {
        let scratch = try ConfigurationScratch()
        let path = try scratch.write(text, to: "gateway.toml")
        let before = try identity(path)
        for command in ["check-config", "run", "status"] {
            let ended = try gateway(command, "--config", path)
            #expect(ended.status == 78 || (command == "status" && text.isEmpty))
            #expect(ended.errors.contains("\(path):") || text.isEmpty)
        }
        #expect(try identity(path) == before)
        #expect(try fileText(path) == text)
        #expect(access("\(path).tmp", F_OK) != 0)
    }

    @Test("a missing configuration is named")
    func missing() throws {
        let scratch = try ConfigurationScratch()
        let path = "\(scratch.path)/none.toml"
        #expect(try gateway("run", "--config", path).errors
            == "\(path):1:1: error: open \(path): No such file or directory\ngateway: not started; 1 error\n")
        let status = try gateway("status", "--config", path)
        #expect(status.status == 78)
        #expect(status.errors.hasSuffix("gateway: \(path) does not say where the control socket is; name it with --socket PATH\n"))
    }

    @Test("a command to a daemon that does not run names the socket and ends with status 69", arguments: ["status", "flush"])
    func notRunning(command: String) throws {
        let scratch = try ConfigurationScratch()
        let path = "\(scratch.path)/c.sock"
        let absent = try gateway(command, "--socket", path)
        #expect(absent.status == 69 && absent.output == "")
        #expect(absent.errors == "gateway: the daemon is not running: nobody listens at \(path) (No such file or directory); start it with: gateway run\n")
        try leaveDeadSocket(at: path)
        let dead = try gateway(command, "--socket", path)
        #expect(dead.status == 69)
        #expect(dead.errors == "gateway: the daemon is not running: nobody listens at \(path) (Connection refused); start it with: gateway run\n")
    }

    @Test("a command finds the socket in a configuration that has errors elsewhere")
    func socketOfBrokenConfiguration() throws {
        let scratch = try ConfigurationScratch()
        let path = try scratch.write("colour = 1\n[control]\nsocket = \"\(scratch.path)/c.sock\"\n", to: "gateway.toml")
        let ended = try gateway("status", "--config", path)
        #expect(ended.status == 69)
        #expect(ended.errors.contains("nobody listens at \(scratch.path)/c.sock"))
    }

    @Test("a daemon that never answers is given up")
    func mute() throws {
        let scratch = try ConfigurationScratch()
        let path = "\(scratch.path)/c.sock"
        let listener = try UnixSocket.listen(at: path, kind: .stream)
        #expect(throws: ControlClientError.timeout(path: path)) { try ControlClient.ask(.status, at: path, patience: .milliseconds(20)) }
        _ = listener.raw
    }

    @Test("the daemon runs, answers, and goes on SIGTERM with its socket")
    func daemon() throws {
        let scratch = try ConfigurationScratch()
        let socket = "\(scratch.path)/c.sock"
        let text = ConfigurationScratch.good([12: "socket = \"\(scratch.path)/front.sock\"", 17: "socket = \"\(scratch.path)/back.sock\""],
                                             then: ["[control]", "socket = \"\(socket)\"", "[time]", "synchronised = \"always\""])
        let path = try scratch.write(text.replacing("DIR", with: scratch.path), to: "gateway.toml")
        let daemon = try ChildProcess(ChildProcess.gateway, ["run", "--config", path])
        try waitForListener(at: socket)
        let status = try gateway("status", "--config", path, "--json")
        #expect(status.status == 0)
        let report = try JSONValue(parsing: Array(status.output.utf8))
        #expect(report["pid"] == .integer(Int64(daemon.pid)))
        #expect(report["version"] == .string("0.1.0"))
        #expect(report["clock"]?["synchronised"] == .bool(true))
        if case .array(let collars) = report["collars"] { #expect(collars.map { $0["name"]?.string } == ["front", "back"]) } else { Issue.record("no collars") }
        if case .array(let owners) = report["owners"] { #expect(owners.map { $0["key"]?.string } == ["anna", "ben"]) } else { Issue.record("no owners") }
        #expect(!status.output.contains("token-of-"))
        let flush = try gateway("flush", "--config", path)
        #expect(flush.status == 0 && flush.output.hasPrefix("trying 0 entries of "))
        // The socket is there before the outbox is open; until then an operator is asked to try again.
        for _ in 0..<3_000 {
            let early = try gateway("quarantine", "--config", path)
            if early.status == 0 { break }
            try #require(early.status == 76 && early.errors == "gateway: the daemon refused: the outbox is being opened; try again [closed]\n")
            poll(nil, 0, 10)
        }
        let list = try gateway("quarantine", "--config", path)
        #expect(list.status == 0 && list.output == "nothing is set aside\n")
        let audit = try gateway("audit", "--config", path, "--json")
        #expect(audit.status == 0 && audit.output == "[]\n")
        let absent = String(repeating: "a", count: 32)
        let settle = try gateway("quarantine", "settle", absent, "--yes", "--config", path)
        #expect(settle.status == 76)
        #expect(settle.errors == "gateway: the daemon refused: no entry in quarantine is called \(absent); see: gateway quarantine [not-quarantined]\n")
        let purge = try gateway("purge-sealed", "anna", "--config", path)
        #expect(purge.status == 64 && purge.errors.contains("if that is meant, add --yes"))
        daemon.signal(SIGTERM)
        let ended = try daemon.end()
        #expect(ended.status == 0)
        #expect(access(socket, F_OK) != 0)
        #expect(try gateway("status", "--config", path).status == 69)
    }

    private struct Identity: Equatable {
        let file: ino_t
        let size: Int
        let changedSeconds: Int
        let changedNanoseconds: Int
    }

    private func identity(_ path: String) throws -> Identity {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return Identity(file: status.st_ino, size: Int(status.st_size), changedSeconds: status.st_ctim.tv_sec, changedNanoseconds: status.st_ctim.tv_nsec)
    }
}

/// Waits, for half a minute at most, until somebody listens at `path`: the one thing that another process does not tell.
private func waitForListener(at path: String) throws {
    for _ in 0..<3_000 {
        if (try? UnixSocket.connect(to: path, kind: .stream)) != nil { return }
        poll(nil, 0, 10)
    }
    try #require(Bool(false), "nobody listens at \(path)")
}
