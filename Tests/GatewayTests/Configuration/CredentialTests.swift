import Glibc
import Testing

@testable import gateway

@Suite("Secrets that are credentials of systemd")
struct CredentialTests {
    private let changes = [4: "token_credential = \"anna-token\"", 12: "passkey_credential = \"front-passkey\""]

    @Test("are read from the directory of the service's credentials")
    func read() throws {
        let scratch = try ConfigurationScratch()
        mkdir("\(scratch.path)/credentials", 0o700)
        try scratch.write("s3cret", to: "credentials/anna-token", mode: 0o400)
        try scratch.write("123456", to: "credentials/front-passkey", mode: 0o400)
        let credentials = Credentials(directory: "\(scratch.path)/credentials")
        for checks in [FileChecks.daemon, .command] {
            let outcome = try scratch.load(ConfigurationScratch.good(changes), checks: checks, credentials: credentials)
            #expect(outcome.diagnostics.isEmpty)
            let configuration = try #require(outcome.configuration)
            #expect(configuration.owners[0].tokenFile == "\(scratch.path)/credentials/anna-token")
            #expect(configuration.collars[0].pairing.passkey == .file(path: "\(scratch.path)/credentials/front-passkey"))
        }
    }

    @Test("are held to the rules of secret files")
    func refused() throws {
        let scratch = try ConfigurationScratch()
        mkdir("\(scratch.path)/credentials", 0o700)
        try scratch.write("s3cret", to: "credentials/anna-token", mode: 0o444)
        let outcome = try scratch.load(
            ConfigurationScratch.good(changes), checks: .daemon, credentials: Credentials(directory: "\(scratch.path)/credentials"))
        #expect(outcome.configuration == nil)
        #expect(outcome.diagnostics.map { $0.description.replacing(scratch.path, with: "DIR") } == [
            "DIR/gateway.toml:4:1: error: [owner] \"anna\".token_credential: DIR/credentials/anna-token can be read by others (mode 0444); "
                + "run: chmod 600 DIR/credentials/anna-token",
            "DIR/gateway.toml:12:1: error: [collar] \"front\".passkey_credential: open DIR/credentials/front-passkey: No such file or directory"
        ])
    }

    @Test("cannot be looked at outside of the service, which is a warning there and an error of a daemon that has none")
    func absent() throws {
        let scratch = try ConfigurationScratch()
        let text = ConfigurationScratch.good([4: "token_credential = \"anna-token\""])
        let outcome = try scratch.load(text)
        #expect(outcome.configuration?.owners[0].tokenFile == "/run/credentials/gateway.service/anna-token")
        #expect(outcome.diagnostics.map(\.message) == [
            "[owner] \"anna\".token_credential: not looked at, since only the service sees its credentials; "
                + "the unit needs LoadCredential=anna-token:PATH or LoadCredentialEncrypted=anna-token:PATH"
        ])
        let daemon = try scratch.load(text, checks: .daemon)
        #expect(daemon.configuration == nil)
        #expect(daemon.diagnostics.map(\.description).map { $0.replacing(scratch.path, with: "DIR") } == [
            "DIR/gateway.toml:4:1: error: [owner] \"anna\".token_credential: there are no credentials ($CREDENTIALS_DIRECTORY is not set); "
                + "the unit needs LoadCredential=anna-token:PATH or LoadCredentialEncrypted=anna-token:PATH"
        ])
        #expect(try scratch.load(text, checks: .none).diagnostics.isEmpty)
    }

    @Test("are taken from $CREDENTIALS_DIRECTORY by the program")
    func environment() throws {
        let scratch = try ConfigurationScratch()
        mkdir("\(scratch.path)/credentials", 0o700)
        try scratch.write("s3cret", to: "credentials/anna-token", mode: 0o400)
        let text = ConfigurationScratch.good([4: "token_credential = \"anna-token\""]).replacing("DIR", with: scratch.path)
        let path = try scratch.write(text, to: "gateway.toml", mode: 0o600)
        let ended = try ChildProcess(
            ChildProcess.gateway, ["check-config", "--print", "--config", path], setting: "CREDENTIALS_DIRECTORY=\(scratch.path)/credentials").end()
        #expect(ended.status == 0 && ended.errors == "")
        #expect(ended.output.contains("\ntoken_credential = \"anna-token\"  # \(path):4:1; read from \(scratch.path)/credentials/anna-token\n"))
        #expect(!ended.output.contains("s3cret"))
    }
}
