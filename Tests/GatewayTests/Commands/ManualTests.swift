import CLinux
import Glibc
import Testing
@testable import gateway

@Suite("The manual pages and the completion agree with the program")
struct ManualTests {
    @Test("gateway.toml(5) describes every key as the table of keys does")
    func keys() throws {
        try check("gateway.toml.5", "keys", ManualReference.keys)
    }

    @Test("gateway(8) describes every command as its help does")
    func commands() throws {
        try check("gateway.8", "commands", Command.allCases.map(ManualReference.command).joined())
    }

    @Test("gateway(8) lists every exit status that the help lists")
    func status() throws {
        try check("gateway.8", "status", ManualReference.exitStatus)
    }

    @Test("both pages are of the program's version")
    func version() throws {
        for page in ["gateway.8", "gateway.toml.5"] {
            let head = try fileText("\(projectDirectory)/docs/man/\(page)").split(separator: "\n").first ?? ""
            #expect(head.contains("\"gateway \(Versions.gateway)\""), "\(head)")
        }
    }

    /// Holds the part of a page between its markers against what is due, or renews it.
    private func check(_ page: String, _ mark: String, _ due: String) throws {
        let path = "\(projectDirectory)/docs/man/\(page)"
        let text = try fileText(path)
        let first: Range<String.Index>? = text.firstRange(of: ".\\\" \(mark): begin\n"), last: Range<String.Index>? = text.firstRange(of: ".\\\" \(mark): end\n")
        let start = try #require(first).upperBound
        let stop = try #require(last).lowerBound
        if getenv("UPDATE_DOCS") != nil {
            let renewed = Array("\(text[..<start])\(due)\(text[stop...])".utf8)
            let file = clinux_open(path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0)
            defer { close(file) }
            let count = write(file, renewed, renewed.count)
            #expect(count == renewed.count)
            return
        }
        let written = text[start..<stop].split(separator: "\n", omittingEmptySubsequences: false)
        let expected = due.split(separator: "\n", omittingEmptySubsequences: false)
        for (line, expected) in zip(written, expected) { #expect(line == expected, "renew it with: UPDATE_DOCS=1 swift test --filter ManualTests") }
        #expect(written.count == expected.count)
    }

    /// What bash offers for a line that ends with the word that is being typed.
    private func offered(_ words: [String]) throws -> [String] {
        let script = """
            . '\(projectDirectory)/config/completion/gateway.bash'
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
            _gateway gateway "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}" end-of-offers
            """
        let directory = try temporaryDirectory()
        let peer = try Peer("bash", ["-c", script, "bash"] + words, log: "\(directory)/log")
        var lines: [String] = []
        while true {
            let line = try peer.line()
            if line == "end-of-offers" { break }
            lines.append(line)
        }
        #expect(peer.end(within: .seconds(10)) == 0, "\(peer.text())")
        return lines.filter { !$0.isEmpty }
    }

    @Test("the completion offers every command")
    func completesCommands() throws {
        #expect(try Set(offered(["gateway", ""])) == Set(Command.allCases.map(\.rawValue) + ["--help", "--version"]))
    }

    @Test("the completion offers the options that the help of each command lists, and no other", arguments: Command.allCases)
    func completesOptions(_ command: Command) throws {
        let help = Invocation.help(for: command)
        let listed = help.split(separator: "\n").filter { $0.hasPrefix("  --") }.compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(try Set(offered(["gateway", command.rawValue, "--"])) == Set(listed + ["--help"]))
    }

    @Test("the completion offers the configured devices and owners, and the words of quarantine")
    func completesNames() throws {
        let directory = try temporaryDirectory()
        let path = "\(directory)/gateway.toml"
        let file = clinux_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let text = Array("[[owner]]\nkey = \"anna\"\n[[collar]]\nname = \"front\"\nserial = \"S\"\n[[collar]]\nname=\"back\" # the other one\n".utf8)
        #expect(write(file, text, text.count) == text.count)
        close(file)
        for command in ["pair", "forget", "probe"] { #expect(try Set(offered(["gateway", command, "--config", path, ""])) == ["front", "back"]) }
        #expect(try offered(["gateway", "probe", "--config", path, "fr"]) == ["front"])
        #expect(try Set(offered(["gateway", "quarantine", ""])) == ["release", "give", "settle"])
    }
}

/// Parts of the manual pages as the program's own texts give them.
enum ManualReference {
    static var keys: String {
        Section.allCases.map { section in
            let head = section == .top ? "Before the first table" : section.head
            let intro = section == .top ? "" : paragraph(section.explanation)
            return ".SS \"\(escaped(head))\"\n\(intro)" + Keys.rows(of: section).map(key).joined()
        }.joined()
    }

    private static func key(_ row: KeyRow) -> String {
        let absent = switch row.presence {
        case .required: "It must be there."
        case .optional(let words): "Without it: \(words)."
        case .standard(let literal): "Without it: \(literal)."
        }
        let effect = switch row.effect {
        case .reload: "Counts when the configuration is read again."
        case .restart: "Counts at the next start."
        }
        return ".TP\n.B \(escaped(row.name))\n\(text(row.explanation))\n.br\nAllowed: \(text(row.allowed)).\n.br\n\(text(absent)) \(effect)\n"
    }

    /// A command's part of gateway(8), from its help: usage, paragraphs, options.
    static func command(_ command: Command) -> String {
        var result = ".SS \(escaped(command.rawValue))\n.nf\n"
        var lines = Invocation.help(for: command).split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let line = lines.first, !line.isEmpty {
            lines.removeFirst()
            result += escaped(line.replacing("Usage:", with: "").drop { $0 == " " }) + "\n"
        }
        result += ".fi\n"
        for part in lines.split(separator: "") {
            if part.first?.hasPrefix("  --") == true {
                for line in part {
                    // The option and its value, then at least two blanks.
                    let line = line.drop { $0 == " " }
                    let first: Range<Substring.Index>? = line.firstRange(of: "  ")
                    let gap = first ?? line.endIndex..<line.endIndex
                    result += ".TP\n.B \(escaped(line[..<gap.lowerBound]))\n\(text(line[gap.upperBound...].drop { $0 == " " }))\n"
                }
            } else {
                result += paragraph(part.joined(separator: " "))
            }
        }
        return result
    }

    static var exitStatus: String {
        let help = Invocation.help(for: nil).split(separator: "\n")
        let rows = help.drop { $0 != "Exit status:" }.dropFirst()
        return rows.map { row in
            let parts = row.split(separator: " ", maxSplits: 1)
            return ".TP\n.B \(parts[0])\n\(text(parts[1].drop { $0 == " " }))\n"
        }.joined()
    }

    private static func paragraph(_ words: some StringProtocol) -> String { ".PP\n\(text(words))\n" }

    /// Running text: what stands between backticks in bold.
    private static func text(_ words: some StringProtocol) -> String {
        let parts = escaped(words).split(separator: "`", omittingEmptySubsequences: false)
        let marked = parts.enumerated().map { $0.offset % 2 == 1 ? "\\fB\($0.element)\\fR" : String($0.element) }.joined()
        // A dot or an apostrophe would begin a request.
        return marked.first == "." || marked.first == "'" ? "\\&\(marked)" : marked
    }

    private static func escaped(_ words: some StringProtocol) -> String {
        String(words).replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("–", with: "\\(en").replacing("\"", with: "\\(dq")
    }
}
