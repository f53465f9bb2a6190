import CLinux
import Glibc
import Radio
import Testing

@testable import gateway

@Suite("The documentation of devices agrees with the table of cuffs", .serialized)
struct DeviceDocumentationTests {
    @Test("docs/devices.md describes every model as the table does")
    func documentation() throws {
        let path = "\(projectDirectory)/docs/devices.md"
        let text = try fileText(path)
        let begin = "<!-- models: begin -->\n", end = "<!-- models: end -->\n"
        let first: Range<String.Index>? = text.firstRange(of: begin), last: Range<String.Index>? = text.firstRange(of: end)
        let start = try #require(first).upperBound
        let stop = try #require(last).lowerBound
        if getenv("UPDATE_DOCS") != nil {
            let renewed = Array("\(text[..<start])\(ModelReference.markdown)\(text[stop...])".utf8)
            let file = clinux_open(path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0)
            defer { close(file) }
            let count = write(file, renewed, renewed.count)
            #expect(count == renewed.count)
            return
        }
        let written = text[start..<stop].split(separator: "\n", omittingEmptySubsequences: false)
        let due = ModelReference.markdown.split(separator: "\n", omittingEmptySubsequences: false)
        for (line, expected) in zip(written, due) { #expect(line == expected, "renew it with: UPDATE_DOCS=1 swift test --filter DeviceDocumentationTests") }
        #expect(written.count == due.count)
    }

    @Test("the examples in the documentation are taken as they stand")
    func examples() throws {
        for page in ["devices", "configuration"] {
            let text = try fileText("\(projectDirectory)/docs/\(page).md")
            let blocks = text.components(between: "```toml\n", and: "```").filter { $0.contains("[[cuff") }
            #expect(!blocks.isEmpty, "\(page)")
            for block in blocks {
                let scratch = try ConfigurationScratch()
                // An example is a piece of a file: the owners are those of the good configuration, with patients.
                let base = ConfigurationScratch.good([2: "[[owner]]\npatient = \"Patient/1\"", 5: "[[owner]]\npatient = \"Patient/2\""])
                #expect(try scratch.diagnostics(base + block) == [], "\(page): \(block)")
            }
        }
    }
}

extension String {
    fileprivate func components(between begin: String, and end: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let first = rest.firstRange(of: begin) {
            rest = rest[first.upperBound...]
            guard let last = rest.firstRange(of: end) else { break }
            parts.append(String(rest[..<last.lowerBound]))
            rest = rest[last.upperBound...]
        }
        return parts
    }
}

/// The reference of all models as `docs/devices.md` has it.
private enum ModelReference {
    static var markdown: String { CuffModel.table.map(section).joined(separator: "\n") }

    private static func section(_ model: CuffModel) -> String {
        let prefixes = model.namePrefixes.map { "`\($0)`" }.joined(separator: ", ")
        let told = switch (model.namePrefixes.isEmpty, model.driver) {
        case (true, .bp2): "`model = \"\(model.name)\"`, where no more is known; its service is `\(model.driver.service)`"
        case (true, .standard): "every cuff with the service `\(model.driver.service)` of which no more is known"
        case (false, .standard): "a name that begins with \(prefixes)"
        case (false, .bp2): "`model = \"\(model.name)\"`; its name begins with \(prefixes)"
        }
        var lines = [
            "### \(model.name)", "", "- **Told by:** \(told).", "- **Link:** `\(Configuration.CuffSecurity(model.security).rawValue)`, driver `\(model.driver.rawValue)`.",
            "- **Paired:** \(model.pairing)", "- **Keeps and deletes:** \(model.memory)"
        ]
        lines.append("- **Users:** \(model.tellsUsers ? "told apart, where the cuff has several" : "not told apart; it is one owner's").")
        let quirks = MeasurementQuirks.Name.allCases.filter { model.quirks.contains($0.quirk) }
        if !quirks.isEmpty { lines.append("- **Leaves the standard:** " + quirks.map { "\($0.explanation) (`\($0.rawValue)`)" }.joined(separator: "; ") + ".") }
        lines.append("- **Known:** \(model.knowledge)")
        return lines.joined(separator: "\n") + "\n"
    }
}
