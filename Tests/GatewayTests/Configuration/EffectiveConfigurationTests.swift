import Radio
import Testing

@testable import gateway

@Suite("check-config --print shows what counts and where it comes from")
struct EffectiveConfigurationTests {
    @Test("each value with its place, what it counts instead of, and what is not set")
    func text() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[[collar]]", "name = \"front\"", "socket = \"/tmp/f\\\"ront\"", "[outbox]", "directory = \"DIR/outbox\"", "[log]", "level = \"debug\"")
        let configuration = try #require(try scratch.load(ConfigurationScratch.good([17: "passkey = 739215"])).configuration)
        let text = EffectiveConfiguration.text(configuration, Credentials(directory: nil)).replacing(scratch.path, with: "DIR")
        #expect(text.hasPrefix("""
            indicators = "none"  # DIR/gateway.toml:1:1

            [[owner]]
            key = "anna"  # DIR/gateway.toml:3:1
            token_file = "DIR/anna.token"  # DIR/gateway.toml:4:1
            # token_credential is not set: token_file must be there instead
            # patient is not set: no readings can be sent for this owner

            [[owner]]
            key = "ben"  # DIR/gateway.toml:6:1
            token_file = "DIR/ben.token"  # DIR/gateway.toml:7:1
            # token_credential is not set: token_file must be there instead
            # patient is not set: no readings can be sent for this owner

            [[collar]]
            name = "front"  # DIR/gateway.d/1.toml:2:1
            serial = "AC-0001"  # DIR/gateway.toml:10:1
            owner = "anna"  # DIR/gateway.toml:11:1
            # address is not set: without socket either, the collar is found by its serial number when pairing is opened (gateway pair)  # DIR/gateway.toml:12:1 does not count
            socket = "/tmp/f\\"ront"  # DIR/gateway.d/1.toml:3:1
            # backlog is not set: new when this hub meets the collar for the first time; after a change of owner the hub waits until it is told
            away_after = "1d"  # default

            """))
        #expect(text.contains("\n# passkey is set and not shown  # DIR/gateway.toml:17:1\n"))
        #expect(text.hasSuffix("\n\n[log]\nlevel = \"debug\"  # DIR/gateway.d/1.toml:7:1\nlog_readings = false  # default\n"))
        #expect(!text.contains("739215"))
    }

    @Test("what is printed says the same when it is read, with every key of the sample given")
    func roundTrip() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("-----BEGIN CERTIFICATE-----\n", to: "backend-ca.pem")
        let sample = try Sample().complete(in: scratch, commentedToo: true).replacing("passkey = 123456\n", with: "")
        let configuration = try #require(try scratch.load(sample).configuration)
        let again = try scratch.load(EffectiveConfiguration.text(configuration, Credentials(directory: nil)))
        #expect(again.diagnostics.isEmpty)
        let second = try #require(again.configuration)
        #expect(second.settings.map(\.path) == configuration.settings.map(\.path))
        #expect(second.settings.map(\.value) == configuration.settings.map(\.value))
        // Every value that is printed was read from the print.
        #expect(second.settings.allSatisfy { if case .standard = $0.origin { false } else { true } })
    }

    @Test("check-config --print prints it on standard output, and nothing when there are errors")
    func command() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[log]", "level = \"debug\"")
        let path = try scratch.write(ConfigurationScratch.good([:]).replacing("DIR", with: scratch.path), to: "gateway.toml", mode: 0o600)
        let ended = try gateway("check-config", "--print", "--config", path)
        #expect(ended.status == 0 && ended.errors == "")
        #expect(ended.output.hasPrefix("# \(path) with 1 drop-in is in order: 2 owners, 2 collars\n\nindicators = \"none\"  # \(path):1:1\n\n[[owner]]\n"))
        #expect(ended.output.hasSuffix("\n[log]\nlevel = \"debug\"  # \(scratch.path)/gateway.d/1.toml:2:1\nlog_readings = false  # default\n"))
        try scratch.dropIn("1.toml", "[log]", "level = \"loud\"")
        let flawed = try gateway("check-config", "--print", "--config", path)
        #expect(flawed.status == 78 && flawed.output == "")
        #expect(flawed.errors.hasPrefix("\(scratch.path)/gateway.d/1.toml:2:9: error: [log].level is \"loud\"; allowed: "))
    }
}
