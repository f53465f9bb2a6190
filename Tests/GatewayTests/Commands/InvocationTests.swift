import Outbox
import Testing

@testable import gateway

private let entry = "0123456789abcdef0123456789abcdef"

private let understoodLines: [([String], Invocation)] = [
    (["run"], .run(configuration: "/etc/gateway/gateway.toml")),
    (["run", "--config", "a.toml"], .run(configuration: "a.toml")),
    (["run", "--config=a=b.toml"], .run(configuration: "a=b.toml")),
    (["check-config", "--config", "-"], .checkConfiguration(path: "-", printing: false)),
    (["check-config", "--print"], .checkConfiguration(path: "/etc/gateway/gateway.toml", printing: true)),
    (["status"], .ask(.status, json: false, .configuration(path: nil))),
    (["status", "--json", "--config", "a"], .ask(.status, json: true, .configuration(path: "a"))),
    (["status", "--socket", "s", "--json"], .ask(.status, json: true, .socket(path: "s"))),
    (["flush", "--socket=s"], .ask(.flush, json: false, .socket(path: "s"))),
    (["quarantine"], .ask(.operate(.quarantine), json: false, .configuration(path: nil))),
    (["quarantine", "--json", "release", entry], .ask(.operate(.release(EntryID(entry)!)), json: true, .configuration(path: nil))),
    (["quarantine", "settle", "--yes", entry, "--socket", "s"], .ask(.operate(.settle(EntryID(entry)!)), json: false, .socket(path: "s"))),
    (["quarantine", "give", entry, "ann", "--yes"], .ask(.operate(.give(EntryID(entry)!, owner: "ann")), json: false, .configuration(path: nil))),
    (["purge-sealed", "ann", "--yes"], .ask(.operate(.purgeSealed(owner: "ann")), json: false, .configuration(path: nil))),
    (["discard-evidence", "--yes", "12"], .ask(.operate(.discardEvidence(through: 12)), json: false, .configuration(path: nil))),
    (["audit", "--json"], .ask(.operate(.audit), json: true, .configuration(path: nil))),
    (["pair"], .ask(.radio(.pair(device: nil)), json: false, .configuration(path: nil))),
    (["pair", "front", "--json"], .ask(.radio(.pair(device: "front")), json: true, .configuration(path: nil))),
    (["forget", "--socket", "s", "front"], .ask(.radio(.forget(device: "front")), json: false, .socket(path: "s"))),
    (["scan"], .ask(.radio(.scan(seconds: 10)), json: false, .configuration(path: nil))),
    (["scan", "--seconds", "30", "--json"], .ask(.radio(.scan(seconds: 30)), json: true, .configuration(path: nil))),
    (["scan", "--seconds=1"], .ask(.radio(.scan(seconds: 1)), json: false, .configuration(path: nil))),
    (["probe", "front"], .ask(.radio(.probe(device: "front")), json: false, .configuration(path: nil))),
    (["probe", "--help"], .help(.probe)),
    (["--version"], .version),
    (["purge-sealed", "--help"], .help(.purgeSealed)), (["--help"], .help(nil)), (["-h"], .help(nil)), (["status", "--help"], .help(.status)), (["--help", "check-config"], .help(.checkConfig))
]

private let refusedLines: [([String], String)] = [
    ([], "a command is missing; commands: run, check-config, status, flush, quarantine, purge-sealed, discard-evidence, audit, pair, forget, scan, probe"),
    (["stauts"], "\"stauts\" is not a command; did you mean \"status\"?"),
    (["reboot-the-hub"], "\"reboot-the-hub\" is not a command; commands: run, check-config, status, flush, quarantine, purge-sealed, discard-evidence, audit, pair, forget, scan, probe"),
    (["--config", "a"], "\"--config\" is not an option here; a command comes first: run, check-config, status, flush, quarantine, purge-sealed, discard-evidence, audit, pair, forget, scan, probe"),
    (["run", "--json"], "run does not take \"--json\"; it takes --config"),
    (["run", "--print"], "run does not take \"--print\"; it takes --config"),
    (["check-config", "-p"], "check-config does not take \"-p\"; it takes --print, --config"),
    (["run", "a.toml"], "run does not take \"a.toml\"; it takes --config"),
    (["status", "--sokcet", "s"], "status does not take \"--sokcet\"; it takes --json, --config, --socket"),
    (["status", "--config", "a", "--socket", "s"], "--config and --socket exclude each other"),
    (["status", "--json=yes"], "--json takes no value"),
    (["status", "--json", "--json"], "--json is given twice"),
    (["run", "--config"], "--config needs a path"), (["run", "--config="], "--config needs a path"), (["run", "--config", ""], "--config needs a path"),
    (["flush", "--socket", "--json"], "--socket needs a path"),
    (["quarantine", "release"], "quarantine takes nothing, release ID, give ID OWNER or settle ID, not \"release\""),
    (["quarantine", "relaese", entry], "quarantine takes nothing, release ID, give ID OWNER or settle ID, not \"relaese\" \"\(entry)\""),
    (["quarantine", "release", entry, entry], "quarantine takes nothing, release ID, give ID OWNER or settle ID, not \"release\" \"\(entry)\" \"\(entry)\""),
    (["quarantine", "release", "12"], "\"12\" names no entry; allowed: 32 lower-case hexadecimal digits, as gateway quarantine lists them"),
    (["quarantine", "release", entry, "--yes"], "gateway quarantine release takes nothing away and takes no --yes"),
    (["quarantine", "--yes"], "gateway quarantine takes nothing away and takes no --yes"),
    (["quarantine", "settle", entry],
     "settle deletes the entry's windows or readings here undelivered, and the device may forget them; if that is meant, add --yes"),
    (["quarantine", "give", entry], "quarantine takes nothing, release ID, give ID OWNER or settle ID, not \"give\" \"\(entry)\""),
    (["quarantine", "give", entry, "ann"], "give sends the entry's readings as those of ann, which cannot be taken back; if that is meant, add --yes"),
    (["quarantine", "give", "ann", entry, "--yes"], "\"ann\" names no entry; allowed: 32 lower-case hexadecimal digits, as gateway quarantine lists them"),
    (["quarantine", "give", entry, "a b", "--yes"], "\"a b\" is no owner's key; allowed: 1 to 64 letters, digits, dots, hyphens and underscores"),
    (["purge-sealed"], "purge-sealed takes OWNER, not nothing"),
    (["purge-sealed", "ann"], "purge-sealed deletes everything sealed for ann undelivered, and the collars may forget it; if that is meant, add --yes"),
    (["purge-sealed", "ann;", "--yes"], "\"ann;\" is no owner's key; allowed: 1 to 64 letters, digits, dots, hyphens and underscores"),
    (["purge-sealed", "ann", "--yes=really"], "--yes takes no value"),
    (["discard-evidence", "12"], "discard-evidence deletes the rejected windows through number 12; if that is meant, add --yes"),
    (["discard-evidence", "0", "--yes"], "0 is no number of evidence; allowed: a whole number from 1, as gateway quarantine lists them"),
    (["discard-evidence", "+1", "--yes"], "\"+1\" is no number of evidence; allowed: a whole number from 1, as gateway quarantine lists them"),
    (["discard-evidence", "9223372036854775808", "--yes"],
     "\"9223372036854775808\" is no number of evidence; allowed: a whole number from 1, as gateway quarantine lists them"),
    (["discard-evidence", "-1", "--yes"], "discard-evidence does not take \"-1\"; it takes NUMBER and --yes, --json, --config, --socket"),
    (["audit", "all"], "audit does not take \"all\"; it takes --json, --config, --socket"),
    (["pair", "front", "back"], "pair takes nothing or DEVICE, not \"front\" \"back\""),
    (["forget"], "forget takes DEVICE, not nothing"), (["probe"], "probe takes DEVICE, not nothing"),
    (["probe", "a b"], "\"a b\" is no device's name; allowed: 1 to 64 letters, digits, dots, hyphens and underscores"),
    (["forget", "front", "--seconds", "3"], "forget does not take \"--seconds\"; it takes DEVICE and --json, --config, --socket"),
    (["scan", "front"], "scan does not take \"front\"; it takes --seconds, --json, --config, --socket"),
    (["scan", "--seconds"], "--seconds needs a number"), (["scan", "--seconds", "--json"], "--seconds needs a number"),
    (["scan", "--seconds", "0"], "0 is no length of a scan; allowed: 1 to 120 seconds"),
    (["scan", "--seconds", "121"], "121 is no length of a scan; allowed: 1 to 120 seconds"),
    (["scan", "--seconds", "+5"], "\"+5\" is no length of a scan; allowed: 1 to 120 seconds"),
    (["scan", "--seconds", "10s"], "\"10s\" is no length of a scan; allowed: 1 to 120 seconds"),
    (["--version", "run"], "--version takes nothing more"),
    (["\u{1b}[2J"], "\"\\u{1b}[2J\" is not a command; commands: run, check-config, status, flush, quarantine, purge-sealed, discard-evidence, audit, pair, forget, scan, probe")
]

@Suite("Command lines")
struct InvocationTests {
    @Test("are understood", arguments: understoodLines)
    func understood(arguments: [String], invocation: Invocation) throws {
        #expect(try Invocation(parsing: arguments) == invocation)
    }

    @Test("are refused with what would be right", arguments: refusedLines)
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
