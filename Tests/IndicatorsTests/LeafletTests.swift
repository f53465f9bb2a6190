import Glibc
import Platform
import Testing

@testable import Indicators

/// The page for the family says what the code does.
@Suite("docs/leds.md")
struct LeafletTests {
    /// The page's sections by the first word of their headings, each as its lines.
    private func sections() throws -> [String: [String]] {
        let text = try text(of: path("leds.md"))
        var sections: [String: [String]] = [:]
        var heading = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("## ") { heading = String(line.dropFirst(3).prefix { $0 != ":" && $0 != "," }) }
            sections[heading, default: []].append(String(line))
        }
        return sections
    }

    private func path(_ name: String) -> String {
        String(#filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")) + "/docs/\(name)"
    }

    private func text(of path: String) throws -> String {
        let raw = open(path, O_RDONLY | O_CLOEXEC)
        try #require(raw >= 0, "\(path) cannot be opened")
        let file = Descriptor(owning: raw)
        return String(decoding: try #require(try file.read(upTo: 100_000)), as: UTF8.self)
    }

    /// The drawing, with the page's words.
    private func drawing() throws -> LeafletDrawing {
        let sections = try sections()
        let heads: [(led: LED, heading: String)] = [(.status, "Left"), (.radio, "Middle"), (.uplink, "Right")]
        let blocks = try heads.map { led, heading in
            let lines = try #require(sections[heading])
            // Each pattern has one row in the table.
            let rows = LEDPriority.of(led).order.reversed().reduce(into: [LEDPattern]()) { if !$0.contains($1.pattern) { $0.append($1.pattern) } }
            return LeafletDrawing.Block(led: led, title: lines[0].replacing("## ", with: ""), rows: try rows.map { pattern in
                let (words, drawing) = wording(pattern)
                let found: String? = lines.first { $0.hasPrefix("| \(words) \(drawing) |") }
                let cells = try #require(found).split(separator: "|").map { String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
                return LeafletDrawing.Row(pattern: pattern, name: words, meaning: cells[1], advice: cells[2])
            })
        }
        return LeafletDrawing(blocks: blocks)
    }

    @Test("the page to be printed shows every pattern to scale with the words of this one")
    func printable() throws {
        let due = try drawing().svg
        if getenv("UPDATE_DOCS") != nil {
            let file = try #require(fopen(path("leds.svg"), "w"))
            defer { fclose(file) }
            try #require(fputs(due, file) >= 0)
            return
        }
        let written = try text(of: path("leds.svg"))
        #expect(written == due, "renew it with: UPDATE_DOCS=1 swift test --filter LeafletTests")
    }

    /// How the page puts a pattern.
    private func wording(_ pattern: LEDPattern) -> (words: String, drawing: String) {
        switch pattern {
        case .on: ("on", "`██████████████`")
        case .onWithDip: ("on, a wink every 10 s", "`██████████·██`")
        case .onDippingWithBatches: ("on, with a wink now and then", "`████·████·███`")
        case .even: ("even, slow blinking", "`███···███···`")
        case .flashes(let count):
            ("\(count) flash\(count > 1 ? "es" : "")",
             "`" + Array(repeating: "█", count: count).joined(separator: "·") + String(repeating: "·", count: 15) + "`")
        }
    }

    @Test("each LED's table has a row for every pattern that it can show, drawn, and no other", arguments: [
        (LED.status, "Left"), (.radio, "Middle"), (.uplink, "Right")
    ])
    func tables(_ led: LED, _ heading: String) throws {
        let lines = try #require(try sections()[heading])
        let rows = lines.prefix { !$0.hasPrefix("Now and then") }.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| light") }
        let patterns = Set(LEDPriority.of(led).order.map(\.pattern))
        for pattern in patterns {
            let (words, drawing) = wording(pattern)
            let row = "| \(words) \(drawing) |"
            #expect(rows.filter { $0.hasPrefix(row) }.count == 1, "\(row)")
        }
        // The status LED has one row more: that of a box that hangs.
        #expect(rows.count == patterns.count + (led == .status ? 1 : 0))
    }

    @Test("the order of a single light is the order of the code")
    func single() throws {
        let lines = try #require(try sections()["A box with one light"])
        let listed = lines.filter { $0.first?.isNumber == true }.map { $0.drop { $0 != " " }.dropFirst() }
        var expected: [String] = []
        for state in LEDPriority.single.order {
            let words = state.pattern == .even ? "even blinking" : wording(state.pattern).words
            if expected.last != words { expected.append(words) }
        }
        #expect(listed.count == expected.count)
        for (line, words) in zip(listed, expected) { #expect(line.hasPrefix("\(words):"), "\(line)") }
    }
}
