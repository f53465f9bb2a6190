import Glibc
import Platform
import Testing
@testable import gateway

@Suite("A configuration that is read again, by the real daemon", .serialized,
       .enabled(if: Stage.isPossible, "python3 and openssl, for the reference backend, are not installed"))
struct ReloadProcessTests {
    /// A stage whose gateway draws its LEDs, and the text of its configuration.
    private func stage(_ lines: String = "") throws -> (Stage, String) {
        let stage = try Stage(starting: false)
        #expect(stage.gateway.end(within: .seconds(10)) == 0)
        let text = "indicators = \"terminal\"\n" + (try fileText(stage.configuration)) + lines
        try stage.scratch.write(text, to: "gateway.toml")
        try stage.start()
        try stage.waitForStatus { light($0) == "all-well" }
        return (stage, text)
    }

    private func light(_ status: JSONValue) -> String? { status["leds"]?["status"]?.string }

    /// Has the gateway read its configuration and waits until it has said what came of it.
    private func reload(_ stage: Stage, _ words: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        stage.gateway.signal(SIGHUP)
        try #require(until { stage.gateway.text().contains(words) }, "\(stage.gateway.text())", sourceLocation: sourceLocation)
    }

    @Test("what may change at work counts at once, the rest is said to wait for a restart, and nothing is interrupted")
    func inOrder() throws {
        let (stage, text) = try stage()
        let threads = stage.gateway.threads().count
        try stage.scratch.dropIn("50-debug.toml", "[log]", "level = \"debug\"", "[sync]", "batch_windows = 7", "[[collar]]", "name = \"C-1\"", "owner = \"ben\"")
        try reload(stage, "the configuration was read again: 2 changes made, 1 at the next start")
        let log = stage.gateway.text()
        #expect(log.contains("<5>configuration: [log].level was \"info\" and is \"debug\"\n"))
        #expect(log.contains("<5>configuration: [sync].batch_windows was 128 and is 7\n"))
        #expect(log.contains("<4>configuration: [collar] \"C-1\".owner was \"anna\" and is \"ben\": this takes effect at the next start\n"))
        #expect(!log.contains("C-1 is away"))
        try stage.waitForStatus { $0["configuration"]?["restart_needed"]?.list.map(\.string) == ["[collar] \"C-1\".owner was \"anna\" and is \"ben\""] }
        #expect(try fileText(stage.configuration) == text)
        #expect(stage.gateway.threads().count <= threads + 1)
        // The owner is still the one whose data it was.
        try stage.settle(owner: "anna")
        stage.stop()
    }

    /// cloudamqp/lavinmq#2080: a configuration with an error, read again, killed the daemon.
    @Test("one with an error changes nothing, and journal, LED and status say so until it is mended", arguments: [
        "[sync]\nbatch_windows = 0\n", "[lgo]\n", "= = =", "\u{0}\u{1}", "[[collar]]\nname = \"C-1\"\nserial = 5\n"
    ])
    func flawed(flaw: String) throws {
        let (stage, text) = try stage()
        let path = try stage.scratch.dropIn("1.toml", flaw)
        let before = try fileText(path)
        try reload(stage, "the configuration was refused, and the former one stays in force; see: gateway check-config --config \(stage.configuration)")
        #expect(stage.gateway.text().contains("<3>\(path):"))
        try stage.waitForStatus { light($0) == "configuration-refused" }
        // What check-config says is what the journal has.
        let said = try gateway("check-config", "--config", stage.configuration)
        #expect(said.status == 78)
        for line in said.errors.split(separator: "\n").dropLast() { #expect(stage.gateway.text().contains(line), "\(line)") }
        #expect(try fileText(path) == before && fileText(stage.configuration) == text)
        try stage.settle()
        unlink(path)
        try reload(stage, "the configuration was read again: nothing changed")
        try stage.waitForStatus { light($0) == "all-well" }
        stage.stop()
    }

    @Test("however often it is asked to, and whatever it finds, it delivers everything and ends in order")
    func storm() throws {
        let (stage, _) = try stage()
        for round in 0..<60 {
            // Written in place, so that some readings meet half of it.
            try stage.scratch.dropIn("1.toml", "[sync]", "batch_windows = \(1 + round % 128)", round % 3 == 0 ? "[log" : "[log]", "level = \"debug\"")
            stage.gateway.signal(SIGHUP)
            if round % 10 == 0 { try stage.collar.ask("{\"do\":\"drop-link\"}") }
            _ = stage.status()
        }
        unlink("\(stage.scratch.path)/gateway.d/1.toml")
        try reload(stage, "the configuration was read again")
        try stage.settle()
        stage.stop()
    }

    @Test("a request that comes while the gateway starts is kept, and ends nothing")
    func early() throws {
        let stage = try Stage(starting: false)
        #expect(stage.gateway.end(within: .seconds(10)) == 0)
        // Enough to read for a signal to come in between.
        let comment = "# " + String(repeating: "x", count: 1_000_000)
        for number in 0..<3 { try stage.scratch.dropIn("\(number).toml", comment) }
        try stage.start()
        let hangUp: UInt64 = 1 << UInt64(SIGHUP - 1)
        try #require(until { try blocked(stage.gateway.pid) & hangUp != 0 })
        // Long before anything is there that could take it.
        #expect(!hasSignalDescriptor(stage.gateway.pid))
        try reload(stage, "the configuration was read again: nothing changed")
        try stage.settle()
        stage.stop()
    }

    private func hasSignalDescriptor(_ pid: pid_t) -> Bool {
        (0..<64).contains { number in
            var target = [CChar](repeating: 0, count: 64)
            let count = readlink("/proc/\(pid)/fd/\(number)", &target, target.count)
            return String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self) == "anon_inode:[signalfd]"
        }
    }

    /// The signals that a process blocks (proc_pid_status(5)).
    private func blocked(_ pid: pid_t) throws -> UInt64 {
        let line = try fileText("/proc/\(pid)/status").split(separator: "\n").first { $0.hasPrefix("SigBlk:") } ?? ""
        return UInt64(line.split(separator: "\t").last ?? "", radix: 16) ?? 0
    }

    @Test("a configuration that is gone is refused, and the gateway goes on; one that is back is taken")
    func gone() throws {
        let (stage, text) = try stage()
        unlink(stage.configuration)
        try reload(stage, "\(stage.configuration):1:1: error: open \(stage.configuration): No such file or directory")
        try stage.waitForStatus { light($0) == "configuration-refused" }
        #expect(access(stage.configuration, F_OK) != 0)
        try stage.settle()
        try stage.scratch.write(text, to: "gateway.toml")
        try reload(stage, "the configuration was read again: nothing changed")
        try stage.waitForStatus { light($0) == "all-well" }
        stage.stop()
    }
}
