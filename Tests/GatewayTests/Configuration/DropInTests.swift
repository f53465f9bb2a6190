import Glibc
import Radio
import Testing

@testable import gateway

@Suite("Drop-ins lie over the configuration in their order")
struct DropInTests {
    private func setting(_ path: String, _ configuration: Configuration) -> Setting? { configuration.settings.first { $0.path == path } }

    @Test("a later file counts instead of an earlier one, key by key, in the order of the bytes of the names")
    func order() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("B.toml", "[sync]", "batch_windows = 2", "batch_age = \"2s\"", "[log]", "level = \"error\"")
        try scratch.dropIn("a.toml", "[sync]", "batch_windows = 3")
        try scratch.dropIn("10.toml", "indicators = \"terminal\"", "[sync]", "batch_windows = 1", "batch_age = \"1s\"")
        let outcome = try scratch.load(ConfigurationScratch.good([:], then: ["[log]", "level = \"debug\""]))
        #expect(outcome.diagnostics.isEmpty)
        #expect(outcome.files.map { $0.replacing(scratch.path, with: "DIR") } == [
            "DIR/gateway.toml", "DIR/gateway.d/10.toml", "DIR/gateway.d/B.toml", "DIR/gateway.d/a.toml"
        ])
        let configuration = try #require(outcome.configuration)
        #expect(configuration.sync == Configuration.Sync(batchWindows: 3, batchAge: .seconds(2)))
        #expect(configuration.logLevel == .error && configuration.indicators == .terminal)
        let windows = try #require(setting("[sync].batch_windows", configuration))
        #expect(windows.origin == .file(SourcePosition(file: "\(scratch.path)/gateway.d/a.toml", line: 2, column: 1)))
        #expect(windows.instead == [
            SourcePosition(file: "\(scratch.path)/gateway.d/10.toml", line: 3, column: 1), SourcePosition(file: "\(scratch.path)/gateway.d/B.toml", line: 2, column: 1)
        ])
        let level = try #require(setting("[log].level", configuration))
        #expect(level.instead == [SourcePosition(file: "\(scratch.path)/gateway.toml", line: 23, column: 1)])
    }

    @Test("owners and collars are matched by their names: a known one changes, another one is added")
    func names() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("token-of-cleo\n", to: "cleo.token", mode: 0o600)
        try scratch.dropIn("1.toml", "[[collar]]", "name = \"back\"", "owner = \"cleo\"", "[[owner]]", "key = \"cleo\"", "token_file = \"DIR/cleo.token\"",
                           "[[collar]]", "name = \"side\"", "serial = \"AC-0003\"", "owner = \"anna\"")
        try scratch.dropIn("2.toml", "[[collar]]", "name = \"side\"", "backlog = \"skip\"")
        let outcome = try scratch.load(ConfigurationScratch.good([:]))
        #expect(outcome.diagnostics.isEmpty)
        let configuration = try #require(outcome.configuration)
        #expect(configuration.owners.map(\.key) == ["anna", "ben", "cleo"])
        #expect(configuration.collars.map(\.name) == ["front", "back", "side"])
        #expect(configuration.collars.map(\.owner) == ["anna", "cleo", "anna"])
        #expect(configuration.collars[1].serial == "AC-0002" && configuration.collars[1].link == .socket(path: "/tmp/collar.sock"))
        #expect(configuration.collars[2].backlog == .skip && configuration.collars[2].link == .adoption)
    }

    @Test("a key that excludes another takes its place, also there and back again")
    func alternatives() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[[collar]]", "name = \"front\"", "socket = \"/tmp/front.sock\"", "[[owner]]", "key = \"anna\"", "token_credential = \"anna-token\"")
        try scratch.dropIn("2.toml", "[[collar]]", "name = \"back\"", "address = \"C0:FF:EE:00:00:01\"")
        try scratch.dropIn("3.toml", "[[collar]]", "name = \"back\"", "socket = \"/tmp/back.sock\"")
        let outcome = try scratch.load(ConfigurationScratch.good([:]), credentials: Credentials(directory: nil))
        #expect(outcome.diagnostics.allSatisfy { $0.severity == .warning })
        let configuration = try #require(outcome.configuration)
        #expect(configuration.collars.map(\.link) == [.socket(path: "/tmp/front.sock"), .socket(path: "/tmp/back.sock")])
        #expect(configuration.owners[0].tokenFile == "/run/credentials/gateway.service/anna-token")
        let address = try #require(setting("[collar] \"front\".address", configuration))
        #expect(address.origin == .absent && address.instead == [SourcePosition(file: "\(scratch.path)/gateway.toml", line: 12, column: 1)])
        let socket = try #require(setting("[collar] \"back\".socket", configuration))
        #expect(socket.instead == [SourcePosition(file: "\(scratch.path)/gateway.toml", line: 17, column: 1)])
        #expect(try #require(setting("[collar] \"back\".address", configuration)).instead.map(\.file) == ["\(scratch.path)/gateway.d/2.toml"])
    }

    @Test("flaws of all files are said at once, in the order of the files, also of lines that do not count")
    func flaws() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[sync]", "batch_age = 60", "btach_windows = 1", "[snyc]", "[uplink]", "base = \"http://b\"")
        try scratch.dropIn("2.toml", "[sync]", "batch_age = \"60s\"", "btach_windows = 1", "[log]", "level = 7", "[[collar]]", "name = \"fornt\"", "[[collar]]",
                           "name = \"back\"", "serial = \"AC-0001\"")
        try scratch.dropIn("3.toml", "[uplink]", "base = \"https://b\"", "[[collar]]", "name = \"front\"", "[[collar]]", "name = \"front\"", "address = 5", "log = 1")
        let said = try scratch.diagnostics(ConfigurationScratch.good([1: "indicators = 1"]))
        let due = [
            "gateway.toml:1:14: error: indicators is an integer; allowed: \"none\" or \"terminal\", e.g. \"terminal\"",
            "DIR/gateway.d/1.toml:2:13: error: [sync].batch_age is an integer; allowed: a duration from 100ms to 1h with its unit (ms, s, min, h or d), e.g. \"1min\"",
            "DIR/gateway.d/1.toml:3:1: error: [sync].btach_windows is not a known key; did you mean \"batch_windows\"?",
            "DIR/gateway.d/1.toml:4:2: error: [snyc] is not a known section; did you mean [sync]?",
            "DIR/gateway.d/1.toml:6:8: error: [uplink].base does not fit; allowed: an https URL without user, query and fragment, e.g. \"https://backend.example/hub\"",
            "DIR/gateway.d/2.toml:3:1: error: [sync].btach_windows is not a known key; did you mean \"batch_windows\"?",
            "DIR/gateway.d/2.toml:5:9: error: [log].level is an integer; allowed: \"error\", \"warning\", \"notice\", \"info\" or \"debug\", e.g. \"info\"",
            "DIR/gateway.d/2.toml:6:1: error: [collar] \"fornt\".serial is missing; add serial = \"AC-0001\" (1 to 64 ASCII characters without spaces at the ends); or is it \"front\" of another file?",
            "DIR/gateway.d/2.toml:6:1: error: [collar] \"fornt\".owner is missing; add owner = \"anna\" (1 to 64 letters, digits, dots, hyphens and underscores); or is it \"front\" of another file?",
            "DIR/gateway.d/2.toml:10:1: error: [collar] \"back\".serial is the same as in gateway.toml:10; a device is configured once",
            "DIR/gateway.d/3.toml:5:1: error: [collar] \"front\".serial is missing; add serial = \"AC-0001\" (1 to 64 ASCII characters without spaces at the ends); or is it \"front\" of another file?",
            "DIR/gateway.d/3.toml:5:1: error: [collar] \"front\".owner is missing; add owner = \"anna\" (1 to 64 letters, digits, dots, hyphens and underscores); or is it \"front\" of another file?",
            "DIR/gateway.d/3.toml:6:1: error: [collar] \"front\".name is the same as in line 4; every device has a name of its own",
            "DIR/gateway.d/3.toml:7:11: error: [collar] \"front\".address is an integer; allowed: a static random address, or any with /public or /random behind it, "
                + "e.g. \"C0:FF:EE:12:34:56\"",
            "DIR/gateway.d/3.toml:8:1: error: [collar] \"front\".log is not a known key; known here: \(Keys.Collar.rows.map(\.name).joined(separator: ", "))"
        ]
        for (line, expected) in zip(said, due) { #expect(line == expected) }
        #expect(said.count == due.count)
    }

    @Test("a section that is no table in one file is said there, whatever it is in the others")
    func malformed() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "collar = 1", "[log.x]", "[[sync]]")
        #expect(try scratch.diagnostics(ConfigurationScratch.good([:])) == [
            "DIR/gateway.d/1.toml:1:1: error: collar is an integer; write it as [[collar]]",
            "DIR/gateway.d/1.toml:2:6: error: [log].x is not a known key; known here: level, log_readings",
            "DIR/gateway.d/1.toml:3:3: error: sync is an array; write it as [sync]"
        ])
    }

    @Test("a drop-in that is no TOML, cannot be read, or is no file keeps everything from being used")
    func unreadable() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[log]", "level = ")
        mkdir("\(scratch.path)/gateway.d/2.toml", 0o755)
        symlink("/nowhere", "\(scratch.path)/gateway.d/3.toml")
        let said = try scratch.diagnostics(ConfigurationScratch.good([:]))
        try #require(said.count == 3)
        #expect(said[0].hasPrefix("DIR/gateway.d/1.toml:2:9: error: not TOML: "))
        #expect(said[1] == "DIR/gateway.d/2.toml:1:1: error: not a regular file")
        #expect(said[2] == "DIR/gateway.d/3.toml:1:1: error: open DIR/gateway.d/3.toml: No such file or directory")
        #expect(try scratch.load(ConfigurationScratch.good([:])).configuration == nil)
        #expect(ConfigurationFile.controlSocket("\(scratch.path)/gateway.toml").path == nil)
    }

    @Test("files that are not read are named, except what is hidden or was left by editors and packages")
    func notRead() throws {
        let scratch = try ConfigurationScratch()
        for name in [".hidden.toml", "a.toml~", "b.toml.dpkg-old", "c.toml.bak", "d.swp"] { try scratch.dropIn(name, "nonsense") }
        try scratch.dropIn("10-log.conf", "[log]")
        #expect(try scratch.diagnostics(ConfigurationScratch.good([:])) == [
            "DIR/gateway.d/10-log.conf:1:1: warning: not read: only files whose names end in .toml are"
        ])
        #expect(try scratch.load(ConfigurationScratch.good([:])).configuration != nil)
    }

    @Test("drop-ins and their directory that others can change are warnings")
    func exposed() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[[collar]]", "name = \"front\"", "passkey = 123456", mode: 0o664)
        chmod("\(scratch.path)/gateway.d", 0o777)
        #expect(try scratch.diagnostics(ConfigurationScratch.good([:])) == [
            "DIR/gateway.d/1.toml:1:1: warning: others can change this file (mode 0664); run: chmod go-w DIR/gateway.d/1.toml",
            "DIR/gateway.d/1.toml:3:1: warning: [collar] \"front\".passkey can be read by others in this file (mode 0664); run: chmod go-r DIR/gateway.d/1.toml",
            "DIR/gateway.d:1:1: warning: others can change what is in this directory (mode 0777); run: chmod go-w DIR/gateway.d"
        ])
    }

    @Test("what is no directory, and more drop-ins than anybody means, are errors")
    func noDirectory() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("", to: "gateway.d")
        #expect(try scratch.diagnostics(ConfigurationScratch.good([:])) == ["DIR/gateway.d:1:1: error: opendir DIR/gateway.d: Not a directory"])
        #expect(try scratch.load(ConfigurationScratch.good([:])).configuration == nil)
        unlink("\(scratch.path)/gateway.d")
        for number in 0...DropIns.limit { try scratch.dropIn("\(number).toml", "") }
        #expect(try scratch.diagnostics(ConfigurationScratch.good([:])) == ["DIR/gateway.d:1:1: error: 65 drop-ins; at most 64 are read"])
    }

    @Test("the directory is called like the file", arguments: [
        ("/etc/gateway/gateway.toml", "/etc/gateway/gateway.d"), ("hub.toml", "hub.d"), ("/etc/hub.conf", "/etc/hub.conf.d"), ("/etc/a.toml/b", "/etc/a.toml/b.d")
    ])
    func directory(file: String, directory: String) {
        #expect(DropIns.directory(for: file) == directory)
    }

    @Test("a command finds the control socket that a drop-in names, whatever else is wrong, and is told when it is the socket that is wrong")
    func controlSocket() throws {
        let scratch = try ConfigurationScratch()
        let path = try scratch.write("[control]\nsocket = \"/a.sock\"\n[[owner]]\nkey = 1\n", to: "gateway.toml")
        try scratch.dropIn("1.toml", "log = 1", "[control]", "socket = \"/b.sock\"")
        #expect(ConfigurationFile.controlSocket(path).path == "/b.sock")
        try scratch.dropIn("2.toml", "[control]", "socket = \"c.sock\"")
        let wrong = ConfigurationFile.controlSocket(path)
        #expect(wrong.path == nil)
        #expect(wrong.diagnostics.map(\.description) == [
            "\(scratch.path)/gateway.d/2.toml:2:10: error: [control].socket does not fit; allowed: an absolute path of at most 107 bytes, e.g. \"/run/gateway/control.sock\""
        ])
        try scratch.dropIn("2.toml", "control = 2")
        #expect(ConfigurationFile.controlSocket(path).path == nil)
    }
}
