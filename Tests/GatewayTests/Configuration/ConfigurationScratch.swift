import CLinux
import Glibc
import Testing

@testable import gateway

/// A directory that goes away with the test, with what a good configuration refers to.
final class ConfigurationScratch: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/gateway-test-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o700)
        try write("token-of-anna\n", to: "anna.token", mode: 0o600)
        try write("token-of-ben\n", to: "ben.token", mode: 0o600)
        try write("123456\n", to: "open.passkey", mode: 0o644)
        mkdir("\(path)/outbox", 0o700)
        chmod("\(path)/outbox", 0o700)
    }

    deinit {
        removeTree(path)
    }

    /// Writes a file of exactly this content and mode, whatever the umask.
    @discardableResult
    func write(_ text: String, to name: String, mode: mode_t = 0o644) throws -> String {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    @discardableResult
    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o644) throws -> String {
        let file = "\(path)/\(name)"
        let descriptor = clinux_open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
        try #require(fchmod(descriptor, mode) == 0)
        return file
    }

    /// What `check-config` says about this text. `DIR` in it is this directory; positions begin with `gateway.toml`.
    func diagnostics(_ text: String) throws -> [String] {
        try load(text).diagnostics.map { $0.description.replacing("\(path)/gateway.toml:", with: "gateway.toml:").replacing(path, with: "DIR") }
    }

    func load(_ text: String, checks: FileChecks = .command, credentials: Credentials = Credentials(directory: nil)) throws -> ConfigurationOutcome {
        ConfigurationFile.load(try write(text.replacing("DIR", with: path), to: "gateway.toml", mode: 0o600), checks: checks, credentials: credentials)
    }

    /// Writes a drop-in of `gateway.toml`. `DIR` in it is this directory.
    @discardableResult
    func dropIn(_ name: String, _ lines: String..., mode: mode_t = 0o600) throws -> String {
        mkdir("\(path)/gateway.d", 0o755)
        chmod("\(path)/gateway.d", 0o755)
        return try write((lines.joined(separator: "\n") + "\n").replacing("DIR", with: path), to: "gateway.d/\(name)", mode: mode)
    }

    /// A configuration without a flaw, line by line.
    static let good = [
        /*  1 */ "indicators = \"none\"",
        /*  2 */ "[[owner]]",
        /*  3 */ "key = \"anna\"",
        /*  4 */ "token_file = \"DIR/anna.token\"",
        /*  5 */ "[[owner]]",
        /*  6 */ "key = \"ben\"",
        /*  7 */ "token_file = \"DIR/ben.token\"",
        /*  8 */ "[[collar]]",
        /*  9 */ "name = \"front\"",
        /* 10 */ "serial = \"AC-0001\"",
        /* 11 */ "owner = \"anna\"",
        /* 12 */ "address = \"C0:FF:EE:12:34:56\"",
        /* 13 */ "[[collar]]",
        /* 14 */ "name = \"back\"",
        /* 15 */ "serial = \"AC-0002\"",
        /* 16 */ "owner = \"ben\"",
        /* 17 */ "socket = \"/tmp/collar.sock\"",
        /* 18 */ "[uplink]",
        /* 19 */ "base = \"https://backend.example/hub\"",
        /* 20 */ "[outbox]",
        /* 21 */ "directory = \"DIR/outbox\""
    ]

    /// The good configuration with lines exchanged (an empty text keeps the line's number but says nothing) and others at its end.
    static func good(_ changes: [Int: String], then more: [String] = []) -> String {
        (good.enumerated().map { changes[$0.offset + 1] ?? $0.element } + more).joined(separator: "\n") + "\n"
    }
}

/// The project's top directory.
let projectDirectory = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()

func fileText(_ path: String) throws -> String {
    String(decoding: try RegularFile.read(path, upTo: 1 << 20).bytes, as: UTF8.self)
}
