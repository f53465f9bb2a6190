import Testing

@testable import gateway

@Suite("Command lines")
struct InvocationTests {
    @Test("are understood", arguments: [
        (["run"], .run(configuration: "/etc/gateway/gateway.toml")),
        (["run", "--config", "a.toml"], .run(configuration: "a.toml")),
        (["run", "--config=a=b.toml"], .run(configuration: "a=b.toml")),
        (["check-config", "--config", "-"], .checkConfiguration(path: "-")),
        (["status"], .status(json: false, .configuration(path: nil))),
        (["status", "--json", "--config", "a"], .status(json: true, .configuration(path: "a"))),
        (["status", "--socket", "s", "--json"], .status(json: true, .socket(path: "s"))),
        (["flush", "--socket=s"], .flush(json: false, .socket(path: "s"))),
        (["--version"], .version),
        (["--help"], .help(nil)), (["-h"], .help(nil)), (["status", "--help"], .help(.status)), (["--help", "check-config"], .help(.checkConfig))
    ] as [([String], Invocation)])
    func understood(arguments: [String], invocation: Invocation) throws {
        #expect(try Invocation(parsing: arguments) == invocation)
    }

    @Test("are refused with what would be right", arguments: [
        ([], "a command is missing; commands: run, check-config, status, flush"),
        (["stauts"], "\"stauts\" is not a command; did you mean \"status\"?"),
        (["reboot-the-hub"], "\"reboot-the-hub\" is not a command; commands: run, check-config, status, flush"),
        (["--config", "a"], "\"--config\" is not an option here; a command comes first: run, check-config, status, flush"),
        (["run", "--json"], "run does not take \"--json\"; it takes --config"),
        (["run", "a.toml"], "run does not take \"a.toml\"; it takes --config"),
        (["status", "--sokcet", "s"], "status does not take \"--sokcet\"; it takes --json, --config, --socket"),
        (["status", "--config", "a", "--socket", "s"], "--config and --socket exclude each other"),
        (["status", "--json=yes"], "--json takes no value"),
        (["status", "--json", "--json"], "--json is given twice"),
        (["run", "--config"], "--config needs a path"), (["run", "--config="], "--config needs a path"), (["run", "--config", ""], "--config needs a path"),
        (["flush", "--socket", "--json"], "--socket needs a path"),
        (["--version", "run"], "--version takes nothing more"),
        (["\u{1b}[2J"], "\"\\u{1b}[2J\" is not a command; commands: run, check-config, status, flush")
    ] as [([String], String)])
    func refused(arguments: [String], words: String) {
        do throws(UsageError) {
            let invocation = try Invocation(parsing: arguments)
            Issue.record("taken as \(invocation)")
        } catch {
            #expect(error.words == words)
        }
    }

    @Test("a path may begin with two hyphens when it is bound by an equals sign")
    func hyphens() throws {
        #expect(try Invocation(parsing: ["run", "--config=--odd"]) == .run(configuration: "--odd"))
    }
}
