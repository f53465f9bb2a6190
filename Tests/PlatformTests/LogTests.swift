import Glibc
import Platform
import Testing

@testable import Platform

let probe = LogEvent("probe", id: "0123456789abcdef0123456789abcdef")

func record(_ message: String, _ fields: LogField..., level: LogLevel = .info) -> LogRecord {
    LogRecord(level: level, event: probe, message: message, fields: fields)
}

@Suite("The log")
struct LogTests {
    @Test("lines below the threshold are not written, and their words not even made")
    func threshold() {
        let sink = MemorySink()
        let log = Log(sink: sink, threshold: .notice) { BootInstant(nanoseconds: 0) }
        let made = Notes<Int>()
        @Sendable func words(_ number: Int) -> String {
            made.add(number)
            return "line \(number)"
        }
        log(.info, probe, words(1))
        log(.debug, probe, words(2))
        log(.notice, probe, words(3), LogField("N", 3))
        log(.critical, probe, words(4))
        #expect(sink.records == [
            LogRecord(level: .notice, event: probe, message: "line 3", fields: [LogField("N", "3")]),
            LogRecord(level: .critical, event: probe, message: "line 4", fields: [])
        ])
        #expect(made.all == [3, 4])
    }

    @Test("the threshold may be moved while lines are written")
    func movedThreshold() {
        let sink = MemorySink()
        let log = Log(sink: sink, threshold: .notice) { BootInstant(nanoseconds: 0) }
        for threshold in [LogLevel.notice, .debug, .error] {
            log.threshold = threshold
            #expect(log.threshold == threshold)
            log(.info, probe, "info at \(threshold)")
            log(.error, probe, "error at \(threshold)")
        }
        #expect(sink.records.map(\.message) == ["error at notice", "info at debug", "error at debug", "error at error"])
    }

    @Test("a budget that is spent leaves lines out, counts them, and fills again with time")
    func budget() {
        var budget = LogBudget(capacity: 1_000, bytesPerMinute: 600)
        let line = record(String(repeating: "x", count: 404))  // 500 with what surrounds it
        var now = BootInstant(nanoseconds: 0)
        let written = LogBudget.Verdict(write: true, skippedBefore: nil)
        let left = LogBudget.Verdict(write: false, skippedBefore: nil)
        #expect((0..<4).map { _ in budget.spend(on: line, now: now) } == [written, written, left, left])
        now = now + .seconds(49)
        #expect(budget.spend(on: line, now: now) == left)
        now = now + .seconds(1)
        #expect(budget.spend(on: line, now: now) == LogBudget.Verdict(write: true, skippedBefore: 3))
        #expect(budget.spend(on: line, now: now) == left)
        now = now + .seconds(86_400 * 365)
        #expect((0..<3).map { _ in budget.spend(on: line, now: now).write } == [true, true, false])
    }

    @Test("errors pass a spent budget, and a line says how many others were left out")
    func errorsPass() {
        let sink = MemorySink()
        let log = Log(sink: sink, budget: LogBudget(capacity: 150, bytesPerMinute: 1)) { BootInstant(nanoseconds: 0) }
        for number in 0..<5 { log(.info, probe, "info \(number)") }
        log(.error, probe, "error")
        #expect(sink.records.map(\.message) == ["info 0", "4 log lines were left out to spare the card", "error"])
        #expect(sink.records[1].event == .logLinesSkipped)
    }

    @Test("lines that come steadily use the whole of what flows back")
    func steady() {
        var budget = LogBudget(capacity: 200, bytesPerMinute: 60_000)
        let line = record("12345678")  // 104 bytes
        var written = 0
        // 1 byte a millisecond flows back, asked for every 1.5 ms over 31.2 s: 300 lines and what the bucket held.
        for step in 0..<20_800 where budget.spend(on: line, now: BootInstant(nanoseconds: Int64(step) * 1_500_000)).write { written += 1 }
        #expect((300...302).contains(written))
    }
}

@Suite("Lines with a prefix")
struct PrefixSinkTests {
    @Test("a line is its level, its message and its fields")
    func form() throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let reading = Descriptor(owning: ends[0])
        let writing = Descriptor(owning: ends[1])
        let sink = PrefixSink(descriptor: writing.raw)
        sink.write(record("entry settled", LogField("ENTRY", 7), LogField("OWNER", "ann"), level: .notice))
        sink.write(record("broken", level: .critical))
        let bytes = try #require(try reading.read(upTo: 4_096))
        #expect(String(decoding: bytes, as: UTF8.self) == "<5>entry settled ENTRY=7 OWNER=ann\n<2>broken\n")
    }

    @Test("nobody starts a line of their own, nor steers the terminal", arguments: [
        "a\n<2>forged", "a\r\n<2>forged", "a\r<2>forged", "a\u{85}<2>forged", "a\u{2028}<2>forged", "a\u{2029}<2>forged", "a\u{0B}<2>forged",
        "a\u{1B}[2J<2>forged", "a\u{9B}2J<2>forged", "a\u{0}<2>forged", "a\u{7F}<2>forged"
    ])
    func injection(_ value: String) {
        for line in [PrefixSink.line(record("m", LogField("F", value))), PrefixSink.line(record(value))] {
            #expect(line.hasPrefix("<6>") && line.hasSuffix("\n"))
            let inner = line.dropLast().unicodeScalars
            #expect(inner.allSatisfy { $0.value >= 32 && !(0x7F...0x9F).contains($0.value) && $0.value != 0x2028 && $0.value != 0x2029 })
            #expect(line.contains("forged"))
        }
    }
}
