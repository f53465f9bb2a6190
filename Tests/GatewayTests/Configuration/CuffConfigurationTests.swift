import Glibc
import Radio
import Testing

@testable import gateway

/// A cuff upon the good configuration, whose owners have patients: the first line of `lines` is line 25 of the file.
private func with(_ lines: [String], patients: Bool = true) -> String {
    let patient = patients ? ["patient = \"Patient/1\"", "patient = \"Patient/2\""] : ["", ""]
    return ConfigurationScratch.good([2: "[[owner]]\n\(patient[0])", 5: "[[owner]]\n\(patient[1])"], then: ["[[cuff]]"] + lines)
}

private let arm = ["name = \"arm\"", "serial = \"BP-1\""]
private let anna = arm + ["owner = \"anna\""]

private func user(_ number: String, _ owner: String = "anna") -> [String] { ["[[cuff.user]]", "user = \(number)", "owner = \"\(owner)\""] }

private func model(_ lines: String...) -> [String] { ["[[cuff_model]]"] + lines }

private func flaw(_ name: String, _ lines: [String], patients: Bool = true, _ said: String...) -> Flaw {
    Flaw(name: name, more: [with(lines, patients: patients)], said: said.map { "gateway.toml:\($0)" })
}

private let aName = "1 to 64 letters, digits, dots, hyphens and underscores"

@Suite("Cuffs in the configuration")
struct CuffConfigurationTests {
    private func configuration(_ text: String) throws -> Configuration {
        let scratch = try ConfigurationScratch()
        let outcome = try scratch.load(text)
        #expect(outcome.diagnostics.isEmpty, "\(outcome.diagnostics)")
        return try #require(outcome.configuration)
    }

    // MARK: What is taken

    @Test("a cuff of one owner needs a name, a serial number and the owner; it is a standard one, adopted, encrypted and never away")
    func plain() throws {
        let configuration = try configuration(with(anna))
        let cuff = try #require(configuration.cuffs.first)
        #expect(configuration.cuffs.count == 1 && cuff.name == "arm" && cuff.serial == "BP-1")
        #expect(cuff.ownership == .owner("anna") && cuff.ownership.owners == ["anna"])
        #expect(cuff.link == .adoption && cuff.backlog == nil && cuff.awayAfter == nil && cuff.setsClock)
        #expect(cuff.model == nil && cuff.models == CuffModel.table && cuff.driver == .standard)
        #expect(cuff.security == .encrypted && cuff.pairing == .init(repair: false, passkey: .none))
        #expect(!configuration.logReadings && configuration.needsController)
    }

    @Test("every key of a cuff is taken")
    func full() throws {
        let configuration = try configuration(with(anna + [
            "address = \"00:1B:DC:12:34:57/public\"", "model = \"Beurer BM85\"", "backlog = \"former\"", "away_after = \"7d\"", "security = \"on-demand\"",
            "set_clock = false", "repair = true", "passkey = \"012345\"", "[log]", "log_readings = true"
        ]))
        let cuff = try #require(configuration.cuffs.first), passkey = try #require(Passkey("012345"))
        let address = try #require(BluetoothAddress(configured: "00:1B:DC:12:34:57/public"))
        #expect(cuff.link == .bluetooth(address) && cuff.backlog == .former && cuff.awayAfter == .seconds(7 * 86_400))
        #expect(cuff.security == .onDemand && !cuff.setsClock && cuff.pairing == .init(repair: true, passkey: .fixed(passkey)))
        #expect(cuff.model?.name == "Beurer BM85" && cuff.model?.quirks == .bigEndianPulseAndStatus)
        #expect(configuration.logReadings)
    }

    @Test("users of a cuff have owners, two users perhaps the same one")
    func users() throws {
        let configuration = try configuration(with(arm + user("1") + user("2", "ben") + user("0")))
        #expect(configuration.cuffs.first?.ownership == .users([0: "anna", 1: "anna", 2: "ben"]))
        #expect(configuration.cuffs.first?.ownership.owners == ["anna", "ben"])
    }

    @Test("a model decides how its cuff is spoken to and secured, also one of the configuration's own, unless the cuff says otherwise")
    func models() throws {
        let own = model("name = \"mine\"", "driver = \"bp2\"", "service_uuids = [\"fe4a\"]", "replays_memory = true")
        var configuration = try configuration(with(arm + ["model = \"mine\""] + user("4294967295") + own))
        var cuff = try #require(configuration.cuffs.first)
        #expect(cuff.model == CuffModel(
            name: "mine", serviceUUIDs: [.uuid16(0xFE4A)], driver: .bp2, replaysMemory: true, knowledge: "From the configuration."))
        #expect(cuff.driver == .bp2 && cuff.security == .none && cuff.models == (cuff.model.map { [$0] } ?? []) + CuffModel.table)
        let device = RadioDevice(cuff)
        #expect(device.service == CuffDriver.bp2.service && device.otherServices == [.uuid16(0xFE4A)] && device.security == .none)
        #expect(HubRadioDevice(cuff).pairing == .address)
        configuration = try self.configuration(with(anna + ["model = \"Viatom BP2\"", "security = \"encrypted\""]))
        cuff = try #require(configuration.cuffs.first)
        #expect(cuff.driver == .bp2 && cuff.security == .encrypted)
    }

    @Test("the radio knows a cuff by its kind, and one whose model is open by the services of every model that it could be")
    func radioDevice() throws {
        let own = model("name = \"mine\"", "driver = \"standard\"", "service_uuids = [\"fe4a\", \"6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20\"]")
            + model("name = \"other\"", "driver = \"bp2\"", "service_uuids = [\"fe4b\"]")
        let cuff = try #require(try configuration(with(anna + ["address = \"C0:FF:EE:12:34:57\"", "repair = true", "passkey_file = \"/run/p\""] + own)).cuffs.first)
        let device = RadioDevice(cuff)
        #expect(device.id == "BP-1" && device.serial == nil && device.identity == nil && device.service == .uuid16(0x1810))
        let maker = try #require(BluetoothUUID("6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20"))
        #expect(device.otherServices == [.uuid16(0xFE4A), maker])
        #expect(device.parameters == .stream, "it has little time for its memory")
        #expect(device.address == BluetoothAddress(configured: "C0:FF:EE:12:34:57") && device.security == .encrypted)
        #expect(device.pairing == PairingPolicy(passkey: .file("/run/p"), repair: true))
        let named = HubRadioDevice(cuff)
        #expect(named.name == "arm" && named.serial == "BP-1" && named.pairing == .bond)
    }

    @Test("there may be cuffs and no collar")
    func cuffsAlone() throws {
        let scratch = try ConfigurationScratch()
        let none = Dictionary(uniqueKeysWithValues: (8...17).map { ($0, "") })
        let text = ConfigurationScratch.good(none.merging([4: "patient = \"P/1\"\ntoken_file = \"DIR/anna.token\""]) { $1 }, then: ["[[cuff]]"] + anna)
        let outcome = try scratch.load(text)
        #expect(outcome.diagnostics.isEmpty)
        let configuration = try #require(outcome.configuration)
        #expect(configuration.collars.isEmpty && configuration.needsController)
        let ended = try gateway("check-config", "--config", "\(scratch.path)/gateway.toml")
        #expect(ended.output == "\(scratch.path)/gateway.toml is in order: 2 owners, 1 cuff\n")
    }

    // MARK: What is refused

    private static let flaws: [Flaw] = [
        flaw("a misspelt key", anna + ["adress = \"C0:FF:EE:12:34:57\""], "28:1: error: [cuff] \"arm\".adress is not a known key; did you mean \"address\"?"),
        flaw("a key of collars", anna + ["heartbeat = \"x\""], "28:1: error: [cuff] \"arm\".heartbeat is not a known key here; it belongs in [[collar]]"),
        flaw("a key of users", arm + ["user = 1"], "27:1: error: [cuff] \"arm\".user is an integer; write it as [[cuff.user]]"),
        flaw("users as one table", arm + ["[cuff.user]", "user = 1", "owner = \"anna\""], "27:7: error: [cuff] \"arm\".user is a table; write it as [[cuff.user]]"),
        flaw("a misspelt section of users", anna + ["[[cuff.usr]]"], "28:8: error: [cuff] \"arm\".usr is not a known key; did you mean [[cuff.user]]?"),
        flaw("users who belong to no cuff", ["name = \"arm\"", "serial = \"BP-1\"", "owner = \"anna\"", "[[user]]", "user = 1"],
             "28:3: error: [user] is not a known section; did you mean [[cuff.user]]?"),
        flaw("a key of no user", arm + user("1") + ["name = \"x\""],
             "30:1: error: [cuff] \"arm\".user[1].name is not a known key here; it belongs in [[collar]] or [[cuff]] or [[cuff_model]]"),
        flaw("a cuff without anything", [],
             "24:1: error: [cuff] #1.name is missing; add name = \"arm\" (\(aName))",
             "24:1: error: [cuff] #1.serial is missing; add serial = \"BP-0001\" (1 to 64 ASCII characters without spaces at the ends)",
             "24:1: error: [cuff] #1 has neither owner nor [[cuff.user]]; add owner = \"anna\" (\(aName))"),
        flaw("a cuff that is nobody's", arm, "24:1: error: [cuff] \"arm\" has neither owner nor [[cuff.user]]; add owner = \"anna\" (\(aName))"),
        flaw("an owner and users", anna + user("1"),
             "27:1: error: [cuff] \"arm\" has both owner and [[cuff.user]] (gateway.toml:28:1); keep one of them"),
        flaw("a user without a number", arm + ["[[cuff.user]]", "owner = \"anna\""],
             "27:1: error: [cuff] \"arm\".user #1.user is missing; add user = 1 (a whole number from 0 to 4294967295)"),
        flaw("a user without an owner", arm + ["[[cuff.user]]", "user = 3"],
             "27:1: error: [cuff] \"arm\".user[3].owner is missing; add owner = \"anna\" (\(aName))"),
        flaw("a user in quotes", arm + user("\"1\""),
             "28:8: error: [cuff] \"arm\".user[1].user is a string; allowed: a whole number from 0 to 4294967295, e.g. 1"),
        flaw("a user below all", arm + user("-1"),
             "28:8: error: [cuff] \"arm\".user[-1].user is -1; allowed: a whole number from 0 to 4294967295, e.g. 1"),
        flaw("a user beyond all", arm + user("4294967296"),
             "28:8: error: [cuff] \"arm\".user[4294967296].user is 4294967296; allowed: a whole number from 0 to 4294967295, e.g. 1"),
        flaw("a user whom no standard cuff has", arm + user("255"),
             "28:1: error: [cuff] \"arm\".user[255].user is 255; Blood Pressure Service numbers its users from 0 to 254"),
        flaw("a user whom no cuff of the family has", arm + ["model = \"Viatom BP2W\""] + user("0"),
             "29:1: error: [cuff] \"arm\".user[0].user is 0; Viatom BP2W numbers its users from 1 to 4294967295"),
        flaw("a user twice", arm + user("1") + user("1", "ben"),
             "31:1: error: [cuff] \"arm\".user[1].user is the same as in line 28; a user of a cuff has one owner"),
        flaw("an owner who is not there", arm + ["owner = \"ana\""],
             "27:1: error: [cuff] \"arm\".owner is \"ana\", but no [[owner]] has that key; did you mean \"anna\"?"),
        flaw("a user's owner who is not there", arm + user("1", "zacharias"),
             "29:1: error: [cuff] \"arm\".user[1].owner is \"zacharias\", but no [[owner]] has that key; configured: \"anna\", \"ben\""),
        flaw("an owner without a patient", anna, patients: false,
             "27:1: error: [cuff] \"arm\".owner is \"anna\", who has no patient for readings to be sent to; add patient = \"Patient/4711\" to [owner] \"anna\""),
        flaw("a user's owner without a patient", arm + user("2", "ben"), patients: false,
             "29:1: error: [cuff] \"arm\".user[2].owner is \"ben\", who has no patient for readings to be sent to; add patient = \"Patient/4711\" to [owner] \"ben\""),
        flaw("the name of a collar", ["name = \"front\"", "serial = \"BP-1\"", "owner = \"anna\""],
             "25:1: error: [cuff] \"front\".name is the same as in line 11; every device has a name of its own"),
        flaw("the serial number of a collar", ["name = \"arm\"", "serial = \"AC-0002\"", "owner = \"anna\""],
             "26:1: error: [cuff] \"arm\".serial is the same as in line 17; a device is configured once"),
        flaw("the address of a collar", anna + ["address = \"c0:ff:ee:12:34:56\""],
             "28:1: error: [cuff] \"arm\".address is the same as in line 14; two devices cannot be at one address"),
        flaw("two cuffs of one name, number and address", anna + ["address = \"C0:FF:EE:12:34:57\"", "[[cuff]]"] + anna + ["address = \"C0:FF:EE:12:34:57\""],
             "30:1: error: [cuff] \"arm\".name is the same as in line 25; every device has a name of its own",
             "31:1: error: [cuff] \"arm\".serial is the same as in line 26; a device is configured once",
             "33:1: error: [cuff] \"arm\".address is the same as in line 28; two devices cannot be at one address"),
        flaw("an address that is none", anna + ["address = \"00:1B:DC:12:34:56\""],
             "28:11: error: [cuff] \"arm\".address is \"00:1B:DC:12:34:56\"; allowed: a static random address, or any with /public or /random behind it, "
                 + "e.g. \"C0:FF:EE:12:34:56\""),
        flaw("a socket", anna + ["socket = \"/tmp/s\""],
             "28:1: error: [cuff] \"arm\".socket is not a known key here; it belongs in [[collar]] or [control]"),
        flaw("a backlog of collars", anna + ["backlog = \"skip\""], "28:11: error: [cuff] \"arm\".backlog is \"skip\"; allowed: \"former\" or \"new\", e.g. \"new\""),
        flaw("a security that is none of the three", anna + ["security = \"ondemand\""],
             "28:12: error: [cuff] \"arm\".security is \"ondemand\"; allowed: \"encrypted\", \"on-demand\" or \"none\", e.g. \"encrypted\""),
        flaw("a clock in a word", anna + ["set_clock = \"no\""],
             "28:13: error: [cuff] \"arm\".set_clock is a string; allowed: true or false, without quotes, e.g. true"),
        flaw("a time out of reach without a unit", anna + ["away_after = 7"],
             "28:14: error: [cuff] \"arm\".away_after is an integer; allowed: a duration from 1s to 365d with its unit (ms, s, min, h or d), e.g. \"7d\""),
        flaw("a passkey that lost its first digit", anna + ["passkey = 12345"],
             "28:11: error: [cuff] \"arm\".passkey does not fit; allowed: six digits, in quotes when the first is 0, e.g. 123456"),
        flaw("two passkeys", anna + ["passkey = 123456", "passkey_file = \"/run/p\""],
             "29:1: error: [cuff] \"arm\".passkey_file stands beside passkey; keep one of them"),
        flaw("a passkey file that others can read", anna + ["passkey_file = \"DIR/open.passkey\""],
             "28:1: error: [cuff] \"arm\".passkey_file: DIR/open.passkey can be read by others (mode 0644); run: chmod 600 DIR/open.passkey"),
        flaw("a passkey without pairing", anna + ["security = \"none\"", "passkey = 123456", "repair = true"],
             "29:1: error: [cuff] \"arm\".passkey has no effect with security = \"none\"; remove one of them",
             "30:1: error: [cuff] \"arm\".repair has no effect with security = \"none\"; remove one of them"),
        flaw("a passkey for a model that is not paired", anna + ["model = \"Viatom BP2\"", "passkey = 123456"],
             "29:1: error: [cuff] \"arm\".passkey has no effect: a cuff of this model is not paired; remove it, or add security = \"encrypted\""),
        flaw("a misspelt model", anna + ["model = \"beurer BM 85\""],
             "28:1: error: [cuff] \"arm\".model is \"beurer BM 85\", which is no known model; did you mean \"Beurer BM85\"?"),
        flaw("a model like no other", anna + ["model = \"?\""] + model("name = \"mine\"", "driver = \"standard\""),
             "28:1: error: [cuff] \"arm\".model is \"?\", which is no known model; known: \"mine\", "
                 + CuffModel.table.map { "\"\($0.name)\"" }.joined(separator: ", ")),
        flaw("a model of the configuration with the name of a built-in one", anna + model("name = \"Beurer BM85\"", "driver = \"standard\""),
             "29:1: error: [cuff_model] \"Beurer BM85\".name is that of a built-in model; every model has a name of its own"),
        flaw("a model twice", anna + model("name = \"mine\"", "driver = \"standard\"") + model("name = \"mine\"", "driver = \"bp2\""),
             "32:1: error: [cuff_model] \"mine\".name is the same as in line 29; every model has a name of its own"),
        flaw("a model without a driver, which may be the cuff's", anna + ["model = \"my\""] + model("name = \"mine\""),
             "29:1: error: [cuff_model] \"mine\".driver is missing; add driver = \"standard\" (\"standard\" or \"bp2\")"),
        flaw("a driver that is none", anna + model("name = \"mine\"", "driver = \"omron\""),
             "30:10: error: [cuff_model] \"mine\".driver is \"omron\"; allowed: \"standard\" or \"bp2\", e.g. \"standard\""),
        flaw("a prefix that is no list", anna + model("name = \"mine\"", "driver = \"standard\"", "name_prefixes = \"X\""),
             "31:17: error: [cuff_model] \"mine\".name_prefixes is a string; allowed: an array of 1 to 16, each 1 to 64 ASCII characters, e.g. [\"MY-CUFF\"]"),
        flaw("an empty prefix, which all names have", anna + model("name = \"mine\"", "driver = \"standard\"", "name_prefixes = [\"X\", \"\"]"),
             "31:23: error: [cuff_model] \"mine\".name_prefixes has a value that is \"\"; allowed: an array of 1 to 16, each 1 to 64 ASCII characters, "
                 + "e.g. [\"MY-CUFF\"]"),
        flaw("no prefixes in so many words", anna + model("name = \"mine\"", "driver = \"standard\"", "name_prefixes = []"),
             "31:17: error: [cuff_model] \"mine\".name_prefixes is empty; allowed: an array of 1 to 16, each 1 to 64 ASCII characters, e.g. [\"MY-CUFF\"]"),
        flaw("a service twice, in two spellings", anna + model("name = \"mine\"", "driver = \"bp2\"", "service_uuids = [\"fe4a\", \"0000FE4A-0000-1000-8000-00805F9B34FB\"]"),
             "31:26: error: [cuff_model] \"mine\".service_uuids has \"FE4A\" twice; allowed: an array of 1 to 16, each a UUID of 16 or 128 bits, e.g. [\"fe4a\"]"),
        flaw("a service that is none", anna + model("name = \"mine\"", "driver = \"bp2\"", "service_uuids = [\"fe4\"]"),
             "31:18: error: [cuff_model] \"mine\".service_uuids has a value that is \"fe4\"; allowed: an array of 1 to 16, each a UUID of 16 or 128 bits, "
                 + "e.g. [\"fe4a\"]"),
        flaw("a service that is a number", anna + model("name = \"mine\"", "driver = \"bp2\"", "service_uuids = [1810]"),
             "31:18: error: [cuff_model] \"mine\".service_uuids has a value that is an integer; allowed: an array of 1 to 16, each a UUID of 16 or 128 bits, "
                 + "e.g. [\"fe4a\"]"),
        flaw("a quirk that is none", anna + model("name = \"mine\"", "driver = \"standard\"", "quirks = [\"big-endian\"]"),
             "31:11: error: [cuff_model] \"mine\".quirks has a value that is \"big-endian\"; allowed: an array of 1 to 16, each \"big-endian-pulse-and-status\", "
                 + "e.g. [\"big-endian-pulse-and-status\"]"),
        flaw("what a model of the BP2 family has no use for",
             anna + model("name = \"mine\"", "driver = \"bp2\"", "name_prefixes = [\"X\"]", "quirks = [\"big-endian-pulse-and-status\"]"),
             "31:1: error: [cuff_model] \"mine\".name_prefixes has no effect with driver = \"bp2\"; remove it",
             "32:1: error: [cuff_model] \"mine\".quirks has no effect with driver = \"bp2\"; remove it"),
        flaw("a section with too few brackets", anna + ["[cuff_model]"], "28:2: error: cuff_model is a table; write it as [[cuff_model]]"),
        flaw("a flag for readings in a word", anna + ["[log]", "log_readings = \"yes\""],
             "29:16: error: [log].log_readings is a string; allowed: true or false, without quotes, e.g. true")
    ]

    @Test("each flaw has its message", arguments: flaws)
    func message(_ flaw: Flaw) throws {
        let scratch = try ConfigurationScratch()
        let text = flaw.more.joined()
        #expect(try scratch.diagnostics(text) == flaw.said)
        #expect(try scratch.load(text).configuration == nil)
    }

    @Test("users of a model that tells none apart are a warning: nothing would be delivered for anybody")
    func uselessUsers() throws {
        let scratch = try ConfigurationScratch()
        let text = with(arm + ["model = \"Viatom BP2A\""] + user("1") + user("2", "ben"))
        #expect(try scratch.diagnostics(text) == [
            "gateway.toml:28:1: warning: [cuff] \"arm\" has users, and Viatom BP2A tells none apart: each of its readings would be set aside; give owner instead"
        ])
        #expect(try scratch.load(text).configuration != nil)
    }

    @Test("more values than a list may have are refused by their number")
    func longList() throws {
        let scratch = try ConfigurationScratch()
        let many = (0..<17).map { "\"\($0)\"" }.joined(separator: ", ")
        #expect(try scratch.diagnostics(with(anna + model("name = \"mine\"", "driver = \"standard\"", "name_prefixes = [\(many)]"))) == [
            "gateway.toml:31:17: error: [cuff_model] \"mine\".name_prefixes has 17 values; allowed: an array of 1 to 16, each 1 to 64 ASCII characters, "
                + "e.g. [\"MY-CUFF\"]"
        ])
    }

    // MARK: Drop-ins and what is printed

    @Test("cuffs, their users and models are matched by name in drop-ins: a known one changes, another one is added")
    func dropIns() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn(
            "1.toml", "[[cuff]]", "name = \"arm\"", "away_after = \"3d\"", "[[cuff.user]]", "user = 2", "owner = \"anna\"", "[[cuff.user]]", "user = 3", "owner = \"ben\"",
            "[[cuff]]", "name = \"wrist\"", "serial = \"BP-2\"", "owner = \"ben\"", "[[cuff_model]]", "name = \"mine\"", "driver = \"standard\"")
        let outcome = try scratch.load(with(arm + ["model = \"mine\""] + user("1") + user("2", "ben") + model("name = \"mine\"", "driver = \"bp2\"")))
        #expect(outcome.diagnostics.isEmpty)
        let configuration = try #require(outcome.configuration)
        #expect(configuration.cuffs.map(\.name) == ["arm", "wrist"])
        #expect(configuration.cuffs.map(\.ownership) == [.users([1: "anna", 2: "anna", 3: "ben"]), .owner("ben")])
        #expect(configuration.cuffs[0].awayAfter == .seconds(3 * 86_400) && configuration.cuffs[0].driver == .standard)
        let owner = try #require(configuration.settings.first { $0.path == "[cuff] \"arm\".user[2].owner" })
        #expect(owner.origin == .file(SourcePosition(file: "\(scratch.path)/gateway.d/1.toml", line: 6, column: 1)))
        #expect(owner.instead == [SourcePosition(file: "\(scratch.path)/gateway.toml", line: 33, column: 1)])
    }

    @Test("an owner and users are refused in two files as in one, since whose readings these are must not be guessed")
    func ownersOfTwoFiles() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[[cuff]]", "name = \"arm\"", "[[cuff.user]]", "user = 1", "owner = \"ben\"")
        #expect(try scratch.diagnostics(with(anna)) == [
            "gateway.toml:27:1: error: [cuff] \"arm\" has both owner and [[cuff.user]] (DIR/gateway.d/1.toml:3:1); keep one of them"
        ])
    }

    @Test("a drop-in with users and no cuff is refused")
    func usersWithoutCuff() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[[cuff.user]]", "user = 1", "owner = \"ben\"")
        #expect(try scratch.diagnostics(with(anna)) == ["DIR/gateway.d/1.toml:1:3: error: cuff is a table; write it as [[cuff]]"])
    }

    @Test("what counts for a cuff is printed with its place, its users below it, and says the same when it is read")
    func printed() throws {
        let scratch = try ConfigurationScratch()
        let text = with(arm + ["passkey_credential = \"p\""] + user("1") + user("2", "ben") + model("name = \"mine\"", "driver = \"standard\"", "name_prefixes = [\"A\", \"B \"]"))
        let configuration = try #require(try scratch.load(text).configuration)
        let printed = EffectiveConfiguration.text(configuration, Credentials(directory: "/run/c")).replacing("\(scratch.path)/", with: "")
        #expect(printed.contains("""

            [[cuff]]
            name = "arm"  # gateway.toml:25:1
            serial = "BP-1"  # gateway.toml:26:1
            # owner is not set: the tables [[cuff.user]] must be there instead

            """))
        #expect(printed.contains("""

            passkey_credential = "p"  # gateway.toml:27:1; read from /run/c/p

            [[cuff.user]]
            user = 1  # gateway.toml:29:1
            owner = "anna"  # gateway.toml:30:1

            [[cuff.user]]
            user = 2  # gateway.toml:32:1
            owner = "ben"  # gateway.toml:33:1

            [[cuff_model]]
            name = "mine"  # gateway.toml:35:1
            driver = "standard"  # gateway.toml:36:1
            name_prefixes = ["A", "B "]  # gateway.toml:37:1
            # service_uuids is not set: its driver's service alone

            """))
        let again = try scratch.load(EffectiveConfiguration.text(configuration, Credentials(directory: nil)))
        #expect(again.configuration?.settings.map(\.value) == configuration.settings.map(\.value))
    }

    @Test("the passkey of a cuff in a file that others can read is a warning, and nothing prints it")
    func exposedPasskey() throws {
        let scratch = try ConfigurationScratch()
        let path = try scratch.write(with(anna + ["passkey = 739215"]).replacing("DIR", with: scratch.path), to: "gateway.toml", mode: 0o640)
        let outcome = ConfigurationFile.load(path, checks: .command)
        #expect(outcome.diagnostics.map { $0.description.replacing(scratch.path, with: "DIR") } == [
            "DIR/gateway.toml:28:1: warning: [cuff] \"arm\".passkey can be read by others in this file (mode 0640); run: chmod go-r DIR/gateway.toml"
        ])
        let configuration = try #require(outcome.configuration)
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(!dumped.contains("739215") && !EffectiveConfiguration.text(configuration, Credentials(directory: nil)).contains("739215"))
    }
}
