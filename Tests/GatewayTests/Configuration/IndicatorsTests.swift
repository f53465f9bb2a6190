import Indicators
import Testing

@testable import gateway

@Suite("LEDs and button in the configuration")
struct IndicatorsConfigurationTests {
    private func indicators(_ lines: String...) throws -> Configuration.Indicators? {
        let outcome = try ConfigurationScratch().load(ConfigurationScratch.good([1: lines.joined(separator: "\n")]))
        #expect(outcome.diagnostics.isEmpty)
        return outcome.configuration?.indicators
    }

    @Test("a word, an empty table and no word at all are boards of their own")
    func words() throws {
        #expect(try indicators("indicators = \"terminal\"") == .terminal)
        #expect(try indicators("indicators = \"none\"") == Configuration.Indicators.none)
        #expect(try indicators("") == Configuration.Indicators.none)
        #expect(try indicators("[indicators]") == Configuration.Indicators.none)
    }

    @Test("each LED is a line or one of the kernel's; a table is written as one or as keys of its own")
    func board() throws {
        let read = try indicators(
            "[indicators]", "status = { line = \"GPIO17\", chip = \"pinctrl-bcm2711\", active = \"low\" }", "pair_button = { line = \"b 1\", reset = true }",
            "[indicators.radio]", "led = \"green:lan\"")
        #expect(read == .hardware(.init(
            leds: [.status: .line(GPIOLine(name: "GPIO17", chip: "pinctrl-bcm2711", activeLow: true)), .radio: .kernel("green:lan")],
            button: .init(line: GPIOLine(name: "b 1"), resets: true))))
    }

    @Test("a button alone is a board too")
    func buttonAlone() throws {
        #expect(try indicators("[indicators]", "pair_button = { line = \"b\", active = \"high\" }")
            == .hardware(.init(leds: [:], button: .init(line: GPIOLine(name: "b"), resets: false))))
    }

    @Test("lines of one name on two chips are two lines; an LED of the kernel's may be called like a line")
    func distinct() throws {
        let read = try indicators(
            "[indicators]", "status = { line = \"a\", chip = \"c\" }", "radio = { line = \"a\", chip = \"d\" }", "uplink = { led = \"a\" }")
        guard case .hardware(let board)? = read else {
            Issue.record("\(String(describing: read))")
            return
        }
        #expect(board.leds.count == 3)
    }

    @Test("a word in one file and a table in another is said, not guessed about")
    func wordAndTable() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[indicators]", "status = { line = \"a\" }")
        let said = try scratch.diagnostics(ConfigurationScratch.good([:]))
        #expect(said.count == 1)
        #expect(said.first?.contains("gateway.toml:1:1: error: indicators stands beside the table [indicators] (") == true)
    }

    @Test("a later file's table of an LED counts whole, and what it counts instead of is still held to the rules")
    func dropIn() throws {
        let scratch = try ConfigurationScratch()
        try scratch.dropIn("1.toml", "[indicators]", "status = { line = \"b\" }")
        let read = try scratch.load(ConfigurationScratch.good([1: "[indicators]\nstatus = { line = \"a\", active = \"low\" }"])).configuration?.indicators
        #expect(read == .hardware(.init(leds: [.status: .line(GPIOLine(name: "b"))], button: nil)))
        #expect(try scratch.load(ConfigurationScratch.good([1: "[indicators]\nstatus = { lien = \"a\" }"])).configuration == nil)
    }

    @Test("the LEDs are known of a configuration that is refused, unless what it says of them is wrong itself", arguments: [
        ([19: "base = 3"], true), ([1: "[indicators]\nstatus = { line = \"a\" }\nleds = 3"], true),
        ([1: "[indicators]\nstatus = { line = \"a\" }\nradio = { line = 3 }"], false), ([19: "base = "], false)
    ] as [([Int: String], Bool)])
    func refused(changes: [Int: String], known: Bool) throws {
        let scratch = try ConfigurationScratch()
        let text = ConfigurationScratch.good([1: "[indicators]\nstatus = { line = \"a\" }"].merging(changes) { $1 })
        #expect(try scratch.load(text).configuration == nil)
        let board = Configuration.Indicators.hardware(.init(leds: [.status: .line(GPIOLine(name: "a"))], button: nil))
        #expect(ConfigurationFile.indicators("\(scratch.path)/gateway.toml") == (known ? board : nil))
    }
}
