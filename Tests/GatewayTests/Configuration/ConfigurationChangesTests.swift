import Testing

@testable import gateway

@Suite("What of a new configuration is taken over at work")
struct ConfigurationChangesTests {
    /// A line of a configuration with another value than the default or the sample's, for each key.
    private static let others: [String: String] = [
        "indicators": "\"terminal\"", "[owner].key": "\"bea\"", "[owner].token_file": "\"DIR/other.token\"", "[owner].token_credential": "\"other-token\"",
        "[owner].patient": "\"Patient/1\"", "[collar].name": "\"rear\"", "[collar].serial": "\"AC-9\"", "[collar].owner": "\"anna\"",
        "[collar].address": "\"C0:FF:EE:00:00:09\"", "[collar].socket": "\"/tmp/other.sock\"", "[collar].backlog": "\"skip\"", "[collar].away_after": "\"2d\"",
        "[collar].security": "\"none\"", "[collar].repair": "true", "[collar].passkey": "739215", "[collar].passkey_file": "\"/run/other\"",
        "[collar].passkey_credential": "\"other\"", "[collar].service": "\"6f1e0011-2c4b-4d1e-9f3a-8a5b7c9d1e20\"",
        "[collar].heartbeat": "\"6f1e0012-2c4b-4d1e-9f3a-8a5b7c9d1e20\"", "[collar].windows": "\"6f1e0013-2c4b-4d1e-9f3a-8a5b7c9d1e20\"",
        "[collar].control": "\"6f1e0014-2c4b-4d1e-9f3a-8a5b7c9d1e20\"", "[radio].controller": "\"00:1A:7D:DA:71:13\"", "[uplink].base": "\"https://other.example\"",
        "[uplink].fhir_base": "\"https://other.example/r4\"", "[uplink].ca_file": "\"DIR/ca.pem\"",
        "[uplink].pin": "\"sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\"", "[uplink].connect_timeout": "\"7s\"", "[uplink].request_timeout": "\"77s\"",
        "[uplink].low_speed_limit": "\"7B\"", "[uplink].low_speed_time": "\"7s\"", "[uplink].flush_interval": "\"7s\"", "[uplink].backoff": "\"7s\"",
        "[uplink].hold_max": "\"77s\"", "[outbox].directory": "\"DIR\"", "[control].socket": "\"/run/other.sock\"", "[sync].batch_windows": "7",
        "[sync].batch_age": "\"7s\"", "[indicators].status": "{ line = \"a\" }", "[indicators].radio": "{ led = \"b\" }", "[indicators].uplink": "{ line = \"c\", active = \"low\" }",
        "[indicators].pair_button": "{ line = \"d\" }", "[time].synchronised": "\"always\"", "[log].level": "\"debug\"",
        "[log].log_readings": "true", "[cuff].name": "\"leg\"", "[cuff].serial": "\"BP-9\"", "[cuff].owner": "\"anna\"", "[cuff].address": "\"C0:FF:EE:00:00:08\"",
        "[cuff].model": "\"SilverCrest SBM 69\"", "[cuff].backlog": "\"former\"", "[cuff].away_after": "\"3d\"", "[cuff].security": "\"on-demand\"",
        "[cuff].set_clock": "false", "[cuff].repair": "true", "[cuff].passkey": "739215", "[cuff].passkey_file": "\"/run/other\"",
        "[cuff].passkey_credential": "\"other\"", "[cuff.user].user": "2", "[cuff.user].owner": "\"anna\"", "[cuff_model].name": "\"other cuff\"",
        "[cuff_model].driver": "\"bp2\"", "[cuff_model].name_prefixes": "[\"A\", \"B \"]", "[cuff_model].service_uuids": "[\"fe4a\"]",
        "[cuff_model].quirks": "[\"big-endian-pulse-and-status\"]", "[cuff_model].replays_memory": "true"
    ]

    /// Two cuffs, one of them with a user, and a model.
    private static let cuffs = [
        "[[cuff]]", "name = \"arm\"", "serial = \"BP-1\"", "owner = \"ben\"", "[[cuff]]", "name = \"wrist\"", "serial = \"BP-2\"", "[[cuff.user]]", "user = 1",
        "owner = \"ben\"", "[[cuff_model]]", "name = \"my cuff\"", "driver = \"standard\""
    ]

    private func drop(_ row: KeyRow, _ value: String) -> [String] {
        let head = switch row.section {
        case .top: [String]()
        case .owner: row.name == "key" ? ["[[owner]]"] : ["[[owner]]", "key = \"ben\""]
        case .collar: row.name == "name" ? ["[[collar]]"] : ["[[collar]]", "name = \"back\""]
        case .cuff: row.name == "name" ? ["[[cuff]]"] : ["[[cuff]]", "name = \"arm\""]
        case .cuffUser: ["[[cuff]]", "name = \"wrist\"", "[[cuff.user]]", "user = 1"]
        case .cuffModel: ["[[cuff_model]]", "name = \"my cuff\""]
        default: [row.section.head]
        }
        return head + ["\(row.name) = \(value)"]
    }

    /// The sample of all keys with another value of one of them.
    private func configuration(_ scratch: ConfigurationScratch, with row: KeyRow?) throws -> Configuration {
        try scratch.write("-----BEGIN CERTIFICATE-----\n", to: "ca.pem")
        try scratch.write("token-of-other\n", to: "other.token", mode: 0o600)
        // "back" has neither address nor socket, so that each may be given.
        var text = ConfigurationScratch.good([2: "[[owner]]\npatient = \"Patient/2\"", 5: "[[owner]]\npatient = \"Patient/3\"", 17: ""], then: Self.cuffs)
        if let row {
            let value = try #require(Self.others[row.path], "a value for \(row.path) is missing here")
            // The table of LEDs stands instead of the word.
            if row.section == .indicators { text = text.replacing("indicators = \"none\"", with: "") }
            switch (row.section, row.name) {
            case (.owner, "key"): text = text.replacing("\"ben\"", with: value)
            case (.collar, "name"): text = text.replacing("\"back\"", with: value)
            case (.cuff, "name"): text = text.replacing("\"arm\"", with: value)
            case (.cuffUser, "user"): text = text.replacing("user = 1\n", with: "user = \(value)\n")
            case (.cuffModel, "name"): text = text.replacing("\"my cuff\"", with: value)
            case (.collar, "security"): try scratch.dropIn("1.toml", "[[collar]]", "name = \"back\"", "security = \(value)", "address = \"C0:FF:EE:00:00:09\"")
            default: try scratch.dropIn("1.toml", drop(row, value).joined(separator: "\n"))
            }
        }
        let outcome = try scratch.load(text)
        #expect(outcome.diagnostics.allSatisfy { $0.severity == .warning }, "\(outcome.diagnostics)")
        return try #require(outcome.configuration)
    }

    /// A configuration without where its values come from.
    private func bare(_ configuration: Configuration) -> String {
        var configuration = configuration
        configuration.settings = []
        var text = ""
        dump(configuration, to: &text)
        // A passkey shows itself to nobody, also not here.
        let pairings = configuration.collars.map(\.pairing) + configuration.cuffs.map(\.pairing)
        return text + pairings.map { if case .fixed(let passkey) = $0.passkey { passkey.digits } else { "" } }.joined()
    }

    @Test("each key is taken over, or not, as the table of keys says", arguments: Keys.rows)
    func everyKey(row: KeyRow) throws {
        let old = try configuration(try ConfigurationScratch(), with: nil)
        let scratch = try ConfigurationScratch()
        let new = try configuration(scratch, with: row)
        // The directories of the two differ, and are no affair of this test.
        func same(_ left: Configuration, _ right: Configuration) -> Bool {
            func plain(_ text: String) -> String { text.replacing(#/\/tmp\/gateway-test-\w{6}/#, with: "DIR") }
            return plain(bare(left)) == plain(bare(right))
        }
        #expect(!same(old, new))
        let adopted = old.adopting(new)
        switch row.effect {
        case .reload: #expect(same(adopted, new), "\(row.path) is said to change at a reload, and does not")
        case .restart: #expect(same(adopted, old), "\(row.path) is said to wait for a restart, and does not")
        }
    }

    @Test("what is shown to be in force is what is in force", arguments: Keys.rows)
    func shown(row: KeyRow) throws {
        let scratch = try ConfigurationScratch()
        let old = try configuration(scratch, with: nil)
        let new = try configuration(scratch, with: row)
        let adopted = old.adopting(new)
        let taken = old.changes(to: adopted), waiting = adopted.changes(to: new)
        #expect(row.effect == .reload ? !taken.isEmpty && waiting.isEmpty : taken.isEmpty && !waiting.isEmpty, "\(taken) \(waiting)")
        // Read again, it has nothing to say about what is in force already.
        #expect(adopted.changes(to: adopted.adopting(new)).isEmpty)
        #expect(!(taken + waiting).joined().contains("739215"))
    }

    @Test("changes are told with both values, sections as a whole, and nothing of a person or a secret")
    func words() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("token-of-cleo\n", to: "cleo.token", mode: 0o600)
        let old = try #require(try scratch.load(ConfigurationScratch.good([12: "passkey = 123456"])).configuration)
        let new = try #require(try scratch.load(ConfigurationScratch.good(
            [4: "token_file = \"DIR/anna.token\"\npatient = \"Patient/4711\"", 7: "token_file = \"DIR/ben.token\"\n[[owner]]\nkey = \"cleo\"\ntoken_file = \"DIR/cleo.token\"",
             11: "owner = \"ben\"", 12: "passkey = 123457", 13: "", 14: "", 15: "", 16: "", 17: ""],
            then: ["[log]", "level = \"debug\"", "[sync]", "batch_age = \"1s\""])).configuration)
        let adopted = old.adopting(new)
        #expect(old.changes(to: adopted) == [
            "[sync].batch_age was \"1min\" and is \"1s\"", "[log].level was \"info\" and is \"debug\""
        ])
        #expect(adopted.changes(to: new) == [
            "[collar] \"back\" is no longer there", "[owner] \"anna\".patient is set now", "[owner] \"cleo\" is new",
            "[collar] \"front\".owner was \"anna\" and is \"ben\"", "[collar] \"front\".passkey is another one"
        ])
    }

    @Test("changes of a cuff's users are told user by user")
    func cuffUsers() throws {
        let scratch = try ConfigurationScratch()
        let old = try configuration(scratch, with: nil)
        try scratch.dropIn("1.toml", "[[cuff]]", "name = \"wrist\"", "[[cuff.user]]", "user = 1", "owner = \"anna\"", "[[cuff.user]]", "user = 2", "owner = \"ben\"")
        let new = ConfigurationFile.load("\(scratch.path)/gateway.toml", checks: .command).configuration
        #expect(old.changes(to: try #require(new)) == [
            "[cuff] \"wrist\".user[1].owner was \"ben\" and is \"anna\"", "[cuff] \"wrist\".user[2] is new"
        ])
    }

    @Test("a cuff with another serial number keeps everything until the next start")
    func anotherCuff() throws {
        let scratch = try ConfigurationScratch()
        let old = try configuration(scratch, with: nil)
        try scratch.dropIn("1.toml", "[[cuff]]", "name = \"arm\"", "serial = \"BP-7\"", "away_after = \"1h\"")
        let new = try #require(ConfigurationFile.load("\(scratch.path)/gateway.toml", checks: .command).configuration)
        let adopted = old.adopting(new)
        #expect(adopted.cuffs == old.cuffs)
        #expect(old.changes(to: adopted).isEmpty)
        #expect(adopted.changes(to: new) == [
            "[cuff] \"arm\".serial was \"BP-1\" and is \"BP-7\"", "[cuff] \"arm\".away_after was not set and is \"1h\""
        ])
    }

    /// The away time of a device is one of those things that change at work; the device is not.
    @Test("a device with another serial number keeps everything until the next start")
    func anotherDevice() throws {
        let scratch = try ConfigurationScratch()
        let old = try #require(try scratch.load(ConfigurationScratch.good([:])).configuration)
        let new = try #require(try scratch.load(ConfigurationScratch.good([15: "serial = \"AC-7\"\naway_after = \"1h\""])).configuration)
        let adopted = old.adopting(new)
        #expect(adopted.collars == old.collars)
        #expect(old.changes(to: adopted).isEmpty)
        #expect(adopted.changes(to: new) == [
            "[collar] \"back\".serial was \"AC-0002\" and is \"AC-7\"", "[collar] \"back\".away_after was \"1d\" and is \"1h\""
        ])
    }
}
