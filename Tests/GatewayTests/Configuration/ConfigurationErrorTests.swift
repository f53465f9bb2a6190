import Glibc
import Radio
import Testing

@testable import gateway

/// One flaw in a good configuration, and all that is said about it.
struct Flaw: Sendable, CustomTestStringConvertible {
    let name: String
    var changes: [Int: String] = [:]
    var more: [String] = []
    let said: [String]

    var testDescription: String { name }
}

private func flaw(_ name: String, _ changes: [Int: String], then more: [String] = [], _ said: String...) -> Flaw {
    Flaw(name: name, changes: changes, more: more, said: said.map { "gateway.toml:\($0)" })
}

/// A flaw in an LED that `[indicators]` gives, at its column of line 2.
private func led(_ name: String, _ line: String, _ column: Int, _ said: String) -> Flaw {
    flaw(name, [1: "[indicators]\n\(line)"],
         "2:\(column): error: \(said); allowed: a table with line (and chip, active), or with led alone, e.g. { line = \"GPIO17\", active = \"low\" }")
}

@Suite("What is wrong with a configuration is said with its place, what is allowed, and what to do")
struct ConfigurationErrorTests {
    @Test("a configuration without a flaw is taken without a word")
    func good() throws {
        let scratch = try ConfigurationScratch()
        let outcome = try scratch.load(ConfigurationScratch.good([:]))
        #expect(outcome.diagnostics.isEmpty)
        let configuration = try #require(outcome.configuration)
        #expect(configuration.owners.map(\.key) == ["anna", "ben"])
        #expect(configuration.collars.map(\.name) == ["front", "back"])
        let address = try #require(BluetoothAddress(configured: "C0:FF:EE:12:34:56/random"))
        #expect(configuration.collars[0].link == .bluetooth(address))
        #expect(configuration.collars[1].link == .socket(path: "/tmp/collar.sock"))
        #expect(configuration.collars[0].awayAfter == .seconds(86_400))
        #expect(configuration.collars[0].backlog == nil)
        #expect(configuration.collars[0].control.description == "6f1e0004-2c4b-4d1e-9f3a-8a5b7c9d1e20")
        #expect(configuration.uplink.base == "https://backend.example/hub")
        #expect(configuration.uplink.holdMax == .seconds(900))
        #expect(configuration.clockSource == .marker(path: "/run/systemd/timesync/synchronized"))
        #expect(configuration.controlSocket == "/run/gateway/control.sock")
        #expect(configuration.sync == Configuration.Sync(batchWindows: 128, batchAge: .seconds(60)))
    }

    @Test("each flaw has its message", arguments: [
        flaw("a misspelt key", [12: "adress = \"C0:FF:EE:12:34:56\""],
             "12:1: error: [collar] \"front\".adress is not a known key; did you mean \"address\"?"),
        flaw("a misspelt key at the top", [1: "indicator = \"none\""], "1:1: error: indicator is not a known key; did you mean \"indicators\"?"),
        flaw("a key like no other", [:], then: ["[time]", "colour = 3"],
             "23:1: error: [time].colour is not a known key; known here: synchronised"),
        flaw("a key of another section", [:], then: ["batch_age = \"10s\""],
             "22:1: error: [outbox].batch_age is not a known key here; it belongs in [sync]"),
        flaw("a key of the top below a section", [1: ""], then: ["indicators = \"none\""],
             "22:1: error: [outbox].indicators is not a known key here; it belongs at the top of the file, before the first table"),
        flaw("a misspelt section", [:], then: ["[snyc]"], "22:2: error: [snyc] is not a known section; did you mean [sync]?"),
        flaw("a section like no other", [:], then: ["[[printer]]"],
             "22:3: error: [printer] is not a known section; known: [indicators], [[owner]], [[collar]], [[cuff]], [[cuff.user]], [[cuff_model]], [radio], [uplink], "
                 + "[outbox], [control], [sync], [time], [log]"),
        flaw("a section with too few brackets", [2: "", 3: "", 4: "", 5: "[owner]"],
             "5:2: error: owner is a table; write it as [[owner]]"),
        flaw("a section with too many brackets", [:], then: ["[[log]]"], "22:3: error: log is an array; write it as [log]"),
        flaw("a section that is a value", [1: "sync = 3"], "1:1: error: sync is an integer; write it as [sync]"),
        flaw("a section in a section", [:], then: ["[uplink.tls]", "pin = \"x\""],
             "22:9: error: [uplink].tls is not a known key; known here: base, fhir_base, ca_file, pin, connect_timeout, request_timeout, "
             + "low_speed_limit, low_speed_time, flush_interval, backoff, hold_max"),
        flaw("an empty key", [1: "\"\" = 2"], "1:1: error: \"\" is not a known key; known here: indicators"),
        flaw("a hostile key", [1: "\"a\\u001b[2J\\n\" = 1"], "1:1: error: \"a\\u{1b}[2J\\u{a}\" is not a known key; known here: indicators"),
        flaw("a missing key", [10: ""], "8:1: error: [collar] \"front\".serial is missing; add serial = \"AC-0001\" "
             + "(1 to 64 ASCII characters without spaces at the ends)"),
        flaw("a missing name", [9: ""], "8:1: error: [collar] #1.name is missing; add name = \"front\" (1 to 64 letters, digits, dots, hyphens and underscores)"),
        flaw("a missing owner", [16: ""], "13:1: error: [collar] \"back\".owner is missing; add owner = \"anna\" "
             + "(1 to 64 letters, digits, dots, hyphens and underscores)"),
        flaw("a missing section", [18: "", 19: ""],
             "1:1: error: [uplink].base is missing; add base = \"https://backend.example/hub\" (an https URL without user, query and fragment)"),
        flaw("a number for a duration", [:], then: ["[sync]", "batch_age = 60"],
             "23:13: error: [sync].batch_age is an integer; allowed: a duration from 100ms to 1h with its unit (ms, s, min, h or d), e.g. \"1min\""),
        flaw("an unknown unit", [:], then: ["[sync]", "batch_age = \"5m\""],
             "23:13: error: [sync].batch_age is \"5m\"; allowed: a duration from 100ms to 1h with its unit (ms, s, min, h or d), e.g. \"1min\""),
        flaw("a duration beyond its range", [:], then: ["[sync]", "batch_age = \"61min\""],
             "23:13: error: [sync].batch_age is \"61min\"; allowed: a duration from 100ms to 1h with its unit (ms, s, min, h or d), e.g. \"1min\""),
        flaw("a duration beyond all measure", [:], then: ["[sync]", "batch_age = \"9223372036854775807d\""],
             "23:13: error: [sync].batch_age is \"9223372036854775807d\"; allowed: a duration from 100ms to 1h with its unit (ms, s, min, h or d), e.g. \"1min\""),
        flaw("a size without unit", [20: "low_speed_limit = \"100\"", 21: ""],
             "20:19: error: [uplink].low_speed_limit is \"100\"; allowed: a size from 1B to 1MiB with its unit (B, KiB, MiB or GiB), e.g. \"100B\""),
        flaw("a count beyond its range", [:], then: ["[sync]", "batch_windows = 129"],
             "23:17: error: [sync].batch_windows is 129; allowed: a whole number from 1 to 128, e.g. 128"),
        flaw("a count in quotes", [:], then: ["[sync]", "batch_windows = \"128\""],
             "23:17: error: [sync].batch_windows is a string; allowed: a whole number from 1 to 128, e.g. 128"),
        flaw("a word that is no choice", [1: "indicators = \"gpio\""], "1:14: error: indicators is \"gpio\"; allowed: \"none\" or \"terminal\", e.g. \"terminal\""),
        led("an LED that is no table", "status = \"GPIO17\"", 10, "[indicators].status is a string"),
        led("an LED without a place", "status = { active = \"low\" }", 10, "[indicators].status has neither line nor led"),
        led("an LED with two places", "radio = { line = \"a\", led = \"b\" }", 11,
            "[indicators].radio has line beside led; an LED of the kernel's is known by its name alone"),
        led("a kernel LED with a level", "radio = { active = \"low\", led = \"b\" }", 11,
            "[indicators].radio has active beside led; an LED of the kernel's is known by its name alone"),
        led("a misspelt key of an LED", "status = { lien = \"a\" }", 12, "[indicators].status has \"lien\", which is not a known key; did you mean \"line\"?"),
        led("a key that an LED has not", "status = { line = \"a\", reset = true }", 24,
            "[indicators].status has \"reset\", which is not a known key; known here: line, chip, active, led"),
        led("a line that is a number", "uplink = { line = 17 }", 19, "[indicators].uplink has line, which is an integer"),
        led("a line with a name that no line can have", "uplink = { line = \"\" }", 19, "[indicators].uplink has line = \"\", which no line can be"),
        led("a level that is none", "uplink = { line = \"a\", active = \"Low\" }", 24, "[indicators].uplink has active = \"Low\"; it is \"high\" or \"low\""),
        led("an LED that would be another folder", "status = { led = \"../x\" }", 12, "[indicators].status has led = \"../x\", which is no name"),
        flaw("a button without a line", [1: "[indicators]\npair_button = { reset = true }"],
             "2:15: error: [indicators].pair_button has no line; allowed: a table with line (and chip, active, reset), e.g. { line = \"GPIO27\", active = \"low\" }"),
        flaw("a button whose reset is a word", [1: "[indicators]\npair_button = { line = \"a\", reset = \"yes\" }"],
             "2:37: error: [indicators].pair_button has reset, which is a string; allowed: a table with line (and chip, active, reset), "
                 + "e.g. { line = \"GPIO27\", active = \"low\" }"),
        flaw("two LEDs at one place", [1: "[indicators]\nstatus = { line = \"a\" }\nradio = { line = \"a\", chip = \"c\" }"],
             "3:1: error: [indicators].radio is where status is; each has a line of its own"),
        flaw("a button on the line of an LED", [1: "[indicators]\nuplink = { line = \"a\", chip = \"c\" }\npair_button = { line = \"a\", chip = \"c\" }"],
             "3:1: error: [indicators].pair_button is where uplink is; each has a line of its own"),
        flaw("an unknown LED", [1: "[indicators]\nsttus = { line = \"a\" }"], "2:1: error: [indicators].sttus is not a known key; did you mean \"status\"?"),
        flaw("a log level that does not exist", [:], then: ["[log]", "level = \"loud\""],
             "23:9: error: [log].level is \"loud\"; allowed: \"error\", \"warning\", \"notice\", \"info\" or \"debug\", e.g. \"info\""),
        flaw("a name with a space", [14: "name = \"b ack\""],
             "14:8: error: [collar] \"b ack\".name is \"b ack\"; allowed: 1 to 64 letters, digits, dots, hyphens and underscores, e.g. \"front\""),
        flaw("an empty serial number", [15: "serial = \"\""],
             "15:10: error: [collar] \"back\".serial is \"\"; allowed: 1 to 64 ASCII characters without spaces at the ends, e.g. \"AC-0001\""),
        flaw("a relative path", [17: "socket = \"collar.sock\""],
             "17:10: error: [collar] \"back\".socket does not fit; allowed: an absolute path of at most 107 bytes, e.g. \"/tmp/collar.sock\""),
        flaw("an unencrypted endpoint", [19: "base = \"http://backend.example/hub\""],
             "19:8: error: [uplink].base does not fit; allowed: an https URL without user, query and fragment, e.g. \"https://backend.example/hub\""),
        flaw("a password in a URL, which is not repeated", [19: "base = \"https://anna:s3cret@backend.example\""],
             "19:8: error: [uplink].base does not fit; allowed: an https URL without user, query and fragment, e.g. \"https://backend.example/hub\""),
        flaw("a token in place of its file, which is not repeated", [4: "token_file = \"s3cret\""],
             "4:14: error: [owner] \"anna\".token_file does not fit; allowed: an absolute path of at most 4095 bytes, e.g. \"/etc/gateway/anna.token\""),
        flaw("a pin of another digest", [20: "pin = \"sha1//abc\"", 21: ""],
             "20:7: error: [uplink].pin is \"sha1//abc\"; allowed: sha256// and 44 characters of Base64, several separated by semicolons, "
             + "e.g. \"sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\""),
        flaw("an address that is not static random", [12: "address = \"00:1B:DC:12:34:56\""],
             "12:11: error: [collar] \"front\".address is \"00:1B:DC:12:34:56\"; allowed: a static random address, or any with /public or /random behind it, "
             + "e.g. \"C0:FF:EE:12:34:56\""),
        flaw("a short UUID", [:], then: ["[[collar]]", "name = \"c\"", "serial = \"3\"", "owner = \"ben\"", "socket = \"/c\"", "service = \"180d\""],
             "27:11: error: [collar] \"c\".service is \"180d\"; allowed: a UUID of 128 bits, e.g. \"6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20\""),
        flaw("one UUID for two characteristics", [17: "socket = \"/s\"\nwindows = \"6f1e0002-2c4b-4d1e-9f3a-8a5b7c9d1e20\""],
             "13:1: error: [collar] \"back\" has one UUID for two of heartbeat, windows and control; each characteristic has its own"),
        flaw("two ways to one collar", [12: "address = \"C0:FF:EE:12:34:56\"\nsocket = \"/tmp/c.sock\""],
             "13:1: error: [collar] \"front\" has both address and socket; keep one of them"),
        flaw("no way to a collar that cannot pair", [17: "security = \"none\""],
             "17:1: error: [collar] \"back\" has neither address nor socket, and security = \"none\"; a collar that cannot pair is not found by its serial number: "
             + "add address = \"C0:FF:EE:12:34:56\""),
        flaw("a word for a flag", [12: "repair = \"true\""],
             "12:10: error: [collar] \"front\".repair is a string; allowed: true or false, without quotes, e.g. true"),
        flaw("a passkey that lost its first digit", [12: "passkey = 12345"],
             "12:11: error: [collar] \"front\".passkey does not fit; allowed: six digits, in quotes when the first is 0, e.g. 123456"),
        flaw("a passkey of words", [12: "passkey = \"secret\""],
             "12:11: error: [collar] \"front\".passkey does not fit; allowed: six digits, in quotes when the first is 0, e.g. 123456"),
        flaw("a passkey that is no number", [12: "passkey = 1.5"],
             "12:11: error: [collar] \"front\".passkey is a float; allowed: six digits, in quotes when the first is 0, e.g. 123456"),
        flaw("two passkeys for one collar", [12: "passkey = 123456\npasskey_file = \"/run/gateway/p\""],
             "13:1: error: [collar] \"front\".passkey_file stands beside passkey; keep one of them"),
        flaw("three passkeys for one collar", [12: "passkey_credential = \"p\"\npasskey = 123456\npasskey_file = \"/run/gateway/p\""],
             "12:1: error: [collar] \"front\".passkey_credential stands beside passkey; keep one of them",
             "12:1: warning: [collar] \"front\".passkey_credential: not looked at, since only the service sees its credentials; "
             + "the unit needs LoadCredential=p:PATH or LoadCredentialEncrypted=p:PATH",
             "14:1: error: [collar] \"front\".passkey_file stands beside passkey; keep one of them"),
        flaw("a passkey for a collar that cannot pair", [12: "passkey = 123456\nrepair = true\naddress = \"C0:FF:EE:12:34:56\"\nsecurity = \"none\""],
             "12:1: error: [collar] \"front\".passkey has no effect with security = \"none\"; remove one of them",
             "13:1: error: [collar] \"front\".repair has no effect with security = \"none\"; remove one of them"),
        flaw("a passkey for a simulated collar", [17: "socket = \"/s\"\npasskey_file = \"/run/gateway/p\""],
             "18:1: error: [collar] \"back\".passkey_file has no effect with socket: a simulated collar is not paired"),
        flaw("a passkey file that others can read", [12: "passkey_file = \"DIR/open.passkey\""],
             "12:1: error: [collar] \"front\".passkey_file: DIR/open.passkey can be read by others (mode 0644); run: chmod 600 DIR/open.passkey"),
        flaw("a controller by a random address, by which the kernel knows none", [:], then: ["[radio]", "controller = \"C0:FF:EE:12:34:56/random\""],
             "23:14: error: [radio].controller is \"C0:FF:EE:12:34:56/random\"; allowed: \"any\", or the public address of a controller, e.g. \"00:1A:7D:DA:71:13\""),
        flaw("a controller by its name", [:], then: ["[radio]", "controller = \"hci0\""],
             "23:14: error: [radio].controller is \"hci0\"; allowed: \"any\", or the public address of a controller, e.g. \"00:1A:7D:DA:71:13\""),
        flaw("a misspelt key of the radio", [:], then: ["[radio]", "controler = \"any\""],
             "23:1: error: [radio].controler is not a known key; did you mean \"controller\"?"),
        flaw("a key of the radio elsewhere", [:], then: ["controller = \"any\""],
             "22:1: error: [outbox].controller is not a known key here; it belongs in [radio]"),
        flaw("an owner twice", [6: "key = \"anna\"", 16: "owner = \"anna\""],
             "6:1: error: [owner] \"anna\".key is the same as in line 3; every owner has a key of its own"),
        flaw("two owners with one token", [7: "token_file = \"DIR/anna.token\""],
             "7:1: error: [owner] \"ben\".token_file is the same as in line 4; every owner has a token of its own"),
        flaw("two owners with one credential", [4: "token_credential = \"t\"", 7: "token_credential = \"t\""],
             "4:1: warning: [owner] \"anna\".token_credential: not looked at, since only the service sees its credentials; "
             + "the unit needs LoadCredential=t:PATH or LoadCredentialEncrypted=t:PATH",
             "7:1: error: [owner] \"ben\".token_credential is the same as in line 4; every owner has a token of its own",
             "7:1: warning: [owner] \"ben\".token_credential: not looked at, since only the service sees its credentials; "
             + "the unit needs LoadCredential=t:PATH or LoadCredentialEncrypted=t:PATH"),
        flaw("an owner without a token", [4: ""],
             "2:1: error: [owner] \"anna\" has neither token_file nor token_credential; add token_file = \"/etc/gateway/anna.token\" "
             + "(an absolute path of at most 4095 bytes)"),
        flaw("an owner with two tokens", [4: "token_file = \"DIR/anna.token\"\ntoken_credential = \"t\""],
             "5:1: error: [owner] \"anna\" has both token_file and token_credential; keep one of them",
             "5:1: warning: [owner] \"anna\".token_credential: not looked at, since only the service sees its credentials; "
             + "the unit needs LoadCredential=t:PATH or LoadCredentialEncrypted=t:PATH"),
        flaw("a path for a credential, which is not repeated", [4: "token_credential = \"/etc/s3cret\""],
             "4:20: error: [owner] \"anna\".token_credential does not fit; allowed: the name of a credential: 1 to 255 letters, digits, dots, hyphens "
             + "and underscores, e.g. \"anna-token\""),
        flaw("a credential that would be a directory", [4: "token_credential = \"..\""],
             "4:20: error: [owner] \"anna\".token_credential does not fit; allowed: the name of a credential: 1 to 255 letters, digits, dots, hyphens "
             + "and underscores, e.g. \"anna-token\""),
        flaw("a name twice", [14: "name = \"front\""], "14:1: error: [collar] \"front\".name is the same as in line 9; every device has a name of its own"),
        flaw("a serial number twice", [15: "serial = \"AC-0001\""],
             "15:1: error: [collar] \"back\".serial is the same as in line 10; a device is configured once"),
        flaw("an address twice, in two spellings", [17: "address = \"c0:ff:ee:12:34:56/random\""],
             "17:1: error: [collar] \"back\".address is the same as in line 12; two devices cannot be at one address"),
        flaw("a socket twice", [12: "socket = \"/tmp/collar.sock\""],
             "17:1: error: [collar] \"back\".socket is the same as in line 12; two devices cannot be at one socket"),
        flaw("a collar's socket for the control socket", [:], then: ["[control]", "socket = \"/tmp/collar.sock\""],
             "23:1: error: [control].socket is that of [collar] \"back\" too; each has a socket of its own"),
        flaw("an owner who is not there", [11: "owner = \"ana\""],
             "11:1: error: [collar] \"front\".owner is \"ana\", but no [[owner]] has that key; did you mean \"anna\"?"),
        flaw("an owner like no other", [11: "owner = \"zacharias\""],
             "11:1: error: [collar] \"front\".owner is \"zacharias\", but no [[owner]] has that key; configured: \"anna\", \"ben\""),
        flaw("no owner", [2: "", 3: "", 4: "", 5: "", 6: "", 7: ""], "1:1: error: no owner is configured; add [[owner]] with key and token_file"),
        flaw("no device", [8: "", 9: "", 10: "", 11: "", 12: "", 13: "", 14: "", 15: "", 16: "", 17: ""],
             "1:1: error: no device is configured; add [[collar]] or [[cuff]] with name, serial and owner"),
        flaw("no device in so many words", [1: "collar = []", 8: "", 9: "", 10: "", 11: "", 12: "", 13: "", 14: "", 15: "", 16: "", 17: ""],
             "1:1: error: no device is configured; add [[collar]] or [[cuff]] with name, serial and owner"),
        flaw("a connection that outlasts its request", [20: "connect_timeout = \"1min\"\nrequest_timeout = \"30s\"", 21: ""],
             "20:1: error: [uplink].connect_timeout is longer than request_timeout; a request includes its connection"),
        flaw("a first wait beyond the longest", [20: "backoff = \"1h\"", 21: ""],
             "20:1: error: [uplink].backoff is longer than hold_max; the first wait cannot be longer than the longest"),
        flaw("a token file that is not there", [4: "token_file = \"DIR/nobody.token\""],
             "4:1: error: [owner] \"anna\".token_file: open DIR/nobody.token: No such file or directory"),
        flaw("a token file that is a directory", [4: "token_file = \"DIR/outbox\""],
             "4:1: error: [owner] \"anna\".token_file: DIR/outbox is not a regular file"),
        flaw("authorities that are not there", [20: "ca_file = \"DIR/ca.pem\"", 21: ""],
             "20:1: error: [uplink].ca_file: open DIR/ca.pem: No such file or directory"),
        flaw("authorities without a certificate", [20: "ca_file = \"DIR/ben.token\"", 21: ""],
             "20:1: error: [uplink].ca_file: DIR/ben.token holds no certificate in PEM form"),
        flaw("an outbox that is a file", [21: "directory = \"DIR/ben.token\""], "21:1: error: [outbox].directory: DIR/ben.token is not a directory"),
        flaw("an outbox that is not there", [21: "directory = \"DIR/none\""],
             "21:1: warning: [outbox].directory: stat DIR/none: No such file or directory; make it with mode 0700 for the gateway's user"),
        flaw("several flaws, in the order of the file", [1: "indicators = 1", 11: "owner = \"bene\"", 19: "base = 3"],
             "1:14: error: indicators is an integer; allowed: \"none\" or \"terminal\", e.g. \"terminal\"",
             "11:1: error: [collar] \"front\".owner is \"bene\", but no [[owner]] has that key; did you mean \"ben\"?",
             "19:8: error: [uplink].base is an integer; allowed: an https URL without user, query and fragment, e.g. \"https://backend.example/hub\"")
    ])
    func message(_ flaw: Flaw) throws {
        let scratch = try ConfigurationScratch()
        let text = ConfigurationScratch.good(flaw.changes, then: flaw.more)
        let said = try scratch.diagnostics(text).filter { !$0.contains("stat /var/lib/gateway") }
        #expect(said == flaw.said)
        let refused = said.contains { $0.contains(": error: ") }
        #expect(try (scratch.load(text).configuration == nil) == refused)
    }

    @Test("collars without an address are adopted, any number of them, each with its way to pair")
    func adoption() throws {
        let scratch = try ConfigurationScratch()
        let outcome = try scratch.load(ConfigurationScratch.good(
            [12: "repair = true\npasskey = \"012345\"", 17: "passkey_file = \"DIR/later.passkey\""], then: ["[radio]", "controller = \"00:1a:7d:da:71:13\""]))
        #expect(outcome.diagnostics.isEmpty)
        let configuration = try #require(outcome.configuration)
        #expect(configuration.collars.map(\.link) == [.adoption, .adoption])
        let passkey = try #require(Passkey("012345"))
        let controller = try #require(BluetoothAddress("00:1A:7D:DA:71:13", kind: .public))
        #expect(configuration.collars[0].pairing == .init(repair: true, passkey: .fixed(passkey)))
        #expect(configuration.collars[1].pairing == .init(repair: false, passkey: .file(path: "\(scratch.path)/later.passkey")))
        #expect(configuration.controller == .address(controller))
        #expect(configuration.needsController)
        let plain = try #require(try scratch.load(ConfigurationScratch.good([:])).configuration)
        #expect(plain.controller == .any && plain.collars[0].pairing == .init(repair: false, passkey: .none))
    }

    @Test("a passkey in a file that others can read is a warning, and is shown by nothing that is printed")
    func passkey() throws {
        let scratch = try ConfigurationScratch()
        let text = ConfigurationScratch.good([12: "passkey = 739215"])
        let path = try scratch.write(text.replacing("DIR", with: scratch.path), to: "gateway.toml", mode: 0o640)
        let outcome = ConfigurationFile.load(path, checks: .command)
        #expect(outcome.diagnostics.map { $0.description.replacing(scratch.path, with: "DIR") } == [
            "DIR/gateway.toml:12:1: warning: [collar] \"front\".passkey can be read by others in this file (mode 0640); run: chmod go-r DIR/gateway.toml"
        ])
        let configuration = try #require(outcome.configuration)
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(!dumped.contains("739215") && !"\(configuration)".contains("739215") && !String(reflecting: configuration).contains("739215"))
        let passkey = try #require(Passkey("739215"))
        #expect(configuration.collars[0].pairing.passkey == .fixed(passkey))
        for wrong in ["", "12345", "1234567", "12345x", "+12345", "-12345", "１２３４５６"] { #expect(Passkey(wrong) == nil) }
    }

    @Test("what is not TOML is refused at its place", arguments: [
        (10, "name = \"other\"", "10:8"), (9, "name = \"front", "9:14"), (9, "name = kim", "9:8"), (3, "key", "3:4"), (8, "[collar", "8:8"),
        (20, "[uplink]", "20:1"), (1, "indicators = \"\\q\"", "1:16")
    ])
    func syntax(line: Int, text: String, place: String) throws {
        let scratch = try ConfigurationScratch()
        let said = try scratch.diagnostics(ConfigurationScratch.good([line: text]))
        // The words after it are toml++'s, and may be others in another version.
        #expect(said.count == 1)
        #expect(said.first?.hasPrefix("gateway.toml:\(place): error: not TOML: ") == true)
    }

    @Test("a secret that others can read is refused, and neither it nor its content is shown")
    func exposedSecret() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("token-of-anna\n", to: "anna.token", mode: 0o644)
        let said = try scratch.diagnostics(ConfigurationScratch.good([:]))
        #expect(said == ["gateway.toml:4:1: error: [owner] \"anna\".token_file: DIR/anna.token can be read by others (mode 0644); run: chmod 600 DIR/anna.token"])
    }

    @Test("an empty secret and one of several lines are refused")
    func contentOfSecret() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("", to: "anna.token", mode: 0o600)
        try scratch.write("one\ntwo\n", to: "ben.token", mode: 0o600)
        #expect(try scratch.diagnostics(ConfigurationScratch.good([:])) == [
            "gateway.toml:4:1: error: [owner] \"anna\".token_file: DIR/anna.token has 0 bytes; 1 to 8192 are allowed",
            "gateway.toml:7:1: error: [owner] \"ben\".token_file: DIR/ben.token must hold one line of visible ASCII characters"
        ])
    }

    @Test("root may check the configuration of a daemon that is somebody else, and is told who; the daemon itself may not use such a secret",
          .enabled(if: geteuid() == 0, "only root can give a file away"))
    func foreignSecret() throws {
        let scratch = try ConfigurationScratch()
        try #require(chown("\(scratch.path)/anna.token", 4_711, 0) == 0)
        #expect(try scratch.diagnostics(ConfigurationScratch.good([:])) == [
            "gateway.toml:4:1: warning: [owner] \"anna\".token_file: DIR/anna.token belongs to user 4711; the gateway must run as that user"
        ])
        let asDaemon = ConfigurationFile.load("\(scratch.path)/gateway.toml", checks: .daemon)
        #expect(asDaemon.configuration == nil)
        #expect(asDaemon.diagnostics.map(\.code) == [.secretRefused])
    }

    @Test("certificate authorities that others can change are a warning")
    func openAuthorities() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("-----BEGIN CERTIFICATE-----\n", to: "ca.pem", mode: 0o666)
        #expect(try scratch.diagnostics(ConfigurationScratch.good([20: "ca_file = \"DIR/ca.pem\"\n[outbox]"])) == [
            "gateway.toml:20:1: warning: [uplink].ca_file: others can change DIR/ca.pem (mode 0666); run: chmod go-w DIR/ca.pem"
        ])
    }

    @Test("a directory for the outbox that is open to others is a warning")
    func openOutbox() throws {
        let scratch = try ConfigurationScratch()
        chmod("\(scratch.path)/outbox", 0o755)
        #expect(try scratch.diagnostics(ConfigurationScratch.good([:])) == [
            "gateway.toml:21:1: warning: [outbox].directory: DIR/outbox is open to others (mode 0755); run: chmod 700 DIR/outbox"
        ])
    }

    @Test("a configuration that others can change is a warning")
    func writableFile() throws {
        let scratch = try ConfigurationScratch()
        let path = try scratch.write(ConfigurationScratch.good([:]).replacing("DIR", with: scratch.path), to: "open.toml", mode: 0o666)
        let outcome = ConfigurationFile.load(path, checks: .command)
        #expect(outcome.configuration != nil)
        #expect(outcome.diagnostics.map(\.description) == ["\(path):1:1: warning: others can change this file (mode 0666); run: chmod go-w \(path)"])
    }

    @Test("bytes that are not UTF-8 are found by line and column")
    func notUTF8() throws {
        let scratch = try ConfigurationScratch()
        let path = try scratch.write(Array("# Bär\n# é".utf8) + [0xFF, 0x0A], to: "gateway.toml")
        #expect(ConfigurationFile.load(path, checks: .command).diagnostics.map(\.description) == ["\(path):2:4: error: not UTF-8: byte 0xff"])
    }

    @Test("a file that is not there, is no file, is too long or nests too deep is refused")
    func unreadable() throws {
        let scratch = try ConfigurationScratch()
        func said(_ path: String) -> [String] { ConfigurationFile.load(path, checks: .command).diagnostics.map(\.description) }
        #expect(said("\(scratch.path)/none") == ["\(scratch.path)/none:1:1: error: open \(scratch.path)/none: No such file or directory"])
        #expect(said(scratch.path) == ["\(scratch.path):1:1: error: not a regular file"])
        let long = try scratch.write("#" + String(repeating: "x", count: 1 << 20), to: "long.toml")
        #expect(said(long) == ["\(long):1:1: error: longer than 1024 KiB"])
        let dots = try scratch.write(String(repeating: "a.", count: 100_000) + "a = 1", to: "dots.toml")
        #expect(said(dots) == ["\(dots):1:32: error: not TOML: nested deeper than 16 levels"])
        let brackets = try scratch.write("a = " + String(repeating: "[", count: 100_000), to: "brackets.toml")
        #expect(said(brackets) == ["\(brackets):1:21: error: not TOML: nested deeper than 16 levels"])
    }
}
