import CLinux
import Glibc
import Testing

@testable import gateway

/// The sample, `config/gateway.toml`, in its lines.
struct Sample {
    let lines: [String]

    init() throws {
        lines = try fileText("\(projectDirectory)/config/gateway.toml").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// A line that gives a key, or would if it were not commented out.
    struct Assignment: Hashable {
        let section: Section
        let key: String
        let value: String
        let commented: Bool
        /// The lines of comment right above it.
        let explained: Bool
    }

    var assignments: [Assignment] {
        var section = Section.top
        var found: [Assignment] = []
        var before = ""
        for line in lines {
            if let named = Self.section(line) { section = named }
            if let (key, value, commented) = Self.assignment(line) {
                found.append(Assignment(section: section, key: key, value: value, commented: commented, explained: before.hasPrefix("# ")))
            }
            before = line
        }
        return found
    }

    /// The whole sample with its files in `scratch`, and everything switched on that is commented out.
    func complete(in scratch: ConfigurationScratch, commentedToo: Bool) -> String {
        var text = ""
        var section = Section.top
        for line in lines {
            var line = line
            if let named = Self.section(line) { section = named }
            if commentedToo, line.hasPrefix("#["), Self.section(line) != nil { line.removeFirst() }
            if commentedToo, let given = Self.assignment(line), given.commented, !(given.key == "socket" && given.value.contains("/tmp/")), !Self.alternatives.contains(given.key),
               !(section == .cuff && given.key == "owner") {
                line = "\(given.key) = \(given.value)"
            }
            text += line + "\n"
        }
        return text.replacing("/etc/gateway/", with: "\(scratch.path)/").replacing("/var/lib/gateway", with: "\(scratch.path)/outbox")
    }

    /// The section whose head the line is, or would be if it were not commented out.
    static func section(_ line: String) -> Section? { Section.allCases.first { !$0.head.isEmpty && ($0.head == line || "#\($0.head)" == line) } }

    /// The sections whose heads are commented out.
    var optional: Set<Section> { Set(lines.filter { $0.hasPrefix("#[") }.compactMap(Self.section)) }

    /// What the sample shows instead of another key that it switches on; so it does with the owner of a cuff, who stands below as its user.
    static let alternatives = ["indicators", "token_credential", "passkey_file", "passkey_credential"]

    /// `key = value` or `#key = value`.
    static func assignment(_ line: String) -> (key: String, value: String, commented: Bool)? {
        let commented = line.hasPrefix("#")
        let parts = line.dropFirst(commented ? 1 : 0).split(separator: " = ", maxSplits: 1)
        guard parts.count == 2, parts[0].allSatisfy({ ("a"..."z").contains($0) || $0 == "_" }) else { return nil }
        return (String(parts[0]), String(parts[1]), commented)
    }
}

@Suite("The sample configuration and the documentation agree with the table of keys")
struct SampleTests {
    @Test("the sample passes check-config once its token file exists")
    func sample() throws {
        let scratch = try ConfigurationScratch()
        let outcome = try scratch.load(try Sample().complete(in: scratch, commentedToo: false))
        // Whether this machine has the standard directory of the outbox is not the sample's affair.
        #expect(outcome.diagnostics.map(\.description).filter { !$0.contains("/var/lib/gateway") } == [])
        #expect(outcome.configuration != nil)
    }

    @Test("every setting that the sample shows in a comment is taken when the comment sign goes")
    func commented() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("-----BEGIN CERTIFICATE-----\n", to: "backend-ca.pem")
        let outcome = try scratch.load(try Sample().complete(in: scratch, commentedToo: true))
        #expect(outcome.diagnostics.map(\.description) == [])
        let settings = try #require(outcome.configuration).settings
        let absent = settings.filter { $0.origin == .absent || $0.origin == .standard }
        #expect(absent.map(\.key) == ["token_credential", "socket", "passkey_file", "passkey_credential", "owner", "passkey_file", "passkey_credential"])
    }

    @Test("every key of the table stands once in the sample, below a comment, and shows its default")
    func everyKey() throws {
        let assignments = try Sample().assignments, optional = try Sample().optional
        for row in Keys.rows {
            let shown = assignments.filter { $0.section == row.section && $0.key == row.name }
            #expect(shown.count == 1, "\(row.path)")
            guard let line = shown.first else { continue }
            #expect(line.explained, "\(row.path)")
            switch row.presence {
            case .required: #expect(line.commented == optional.contains(row.section), "\(row.path)")
            case .standard(let literal):
                #expect(line.commented, "\(row.path)")
                #expect(line.value == literal, "\(row.path)")
            case .optional: break
            }
        }
        #expect(assignments.count == Keys.rows.count)
    }

    @Test("every key of the table is read, and a key has one row")
    func everyKeyIsRead() throws {
        let scratch = try ConfigurationScratch()
        let settings = try #require(try scratch.load(try Sample().complete(in: scratch, commentedToo: false)).configuration).settings
        // The table of LEDs stands instead of the word.
        try scratch.write("-----BEGIN CERTIFICATE-----\n", to: "backend-ca.pem")
        let others = try #require(try scratch.load(try Sample().complete(in: scratch, commentedToo: true)).configuration).settings
        let read = Set((settings + others).map(\.row.path))
        #expect(read == Set(Keys.rows.map(\.path)))
        #expect(read.count == Keys.rows.count)
        #expect(Keys.rows.allSatisfy { !$0.explanation.isEmpty && !$0.allowed.isEmpty })
    }

    @Test("docs/configuration.md describes every key as the table of keys does")
    func documentation() throws {
        let path = "\(projectDirectory)/docs/configuration.md"
        let text = try fileText(path)
        let begin = "<!-- keys: begin -->\n", end = "<!-- keys: end -->\n"
        // In steps with their types: Swift 6.0 takes the macro's argument for another overload.
        let first: Range<String.Index>? = text.firstRange(of: begin), last: Range<String.Index>? = text.firstRange(of: end)
        let start = try #require(first).upperBound
        let stop = try #require(last).lowerBound
        if getenv("UPDATE_DOCS") != nil {
            let renewed = Array("\(text[..<start])\(KeyReference.markdown)\(text[stop...])".utf8)
            let file = clinux_open(path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0)
            defer { close(file) }
            let count = write(file, renewed, renewed.count)
            #expect(count == renewed.count)
            return
        }
        let written = text[start..<stop].split(separator: "\n", omittingEmptySubsequences: false)
        let due = KeyReference.markdown.split(separator: "\n", omittingEmptySubsequences: false)
        for (line, expected) in zip(written, due) { #expect(line == expected, "renew it with: UPDATE_DOCS=1 swift test --filter SampleTests") }
        #expect(written.count == due.count)
    }
}

/// The reference of all keys as `docs/configuration.md` has it.
enum KeyReference {
    static var markdown: String {
        Section.allCases.map { section in
            let head = section == .top ? "### Before the first table" : "### `\(section.head)`"
            let intro = section == .top ? "" : "\(section.explanation)\n\n"
            let rows = Keys.rows(of: section).map(row).joined()
            return "\(head)\n\n\(intro)| key | allowed | without it | changes at | what it is |\n|---|---|---|---|---|\n\(rows)"
        }.joined(separator: "\n")
    }

    private static func row(_ row: KeyRow) -> String {
        let absent = switch row.presence {
        case .required: "error: it must be there"
        case .optional(let words): words
        case .standard(let literal): "`\(literal)`"
        }
        let effect = switch row.effect {
        case .reload: "reload"
        case .restart: "restart"
        }
        return "| `\(row.name)` | \(row.allowed) | \(absent) | \(effect) | \(row.explanation) |\n"
    }
}
