import Platform
import Testing

@testable import Simulation

@Suite("A collar that misbehaves")
struct FaultTests {
    /// What a hub saw of a run of ten minutes that asks for windows again and again and links anew after each drop.
    private func run(seed: UInt64, _ faults: CollarFaults) throws -> (seen: [[UInt8]], books: CollarBooks) {
        let bench = try Bench(backlog: 300, seed: seed) { $0.faults = faults }
        bench.ask { $0.start() }
        var seen: [[UInt8]] = []
        var hub = try bench.hub()
        for round in 0..<600 {
            if hub.ended || !bench.ask({ $0.isLinked }) {
                seen += hub.received
                hub = try bench.hub()
            }
            let books = bench.books
            if round % 10 == 0 { _ = try hub.read(log: books.log, first: books.oldest, count: min(100, books.next &- books.oldest)) }
            try hub.settle(.seconds(1))
        }
        bench.ask { $0.stop() }
        return (seen + hub.received, bench.books)
    }

    @Test("one seed gives the same bytes and the same misbehaviour each time, another seed gives others")
    func sameSeed() throws {
        let first = try run(seed: 5, .harsh)
        let again = try run(seed: 5, .harsh)
        let other = try run(seed: 6, .harsh)
        #expect(first.seen == again.seen && first.books == again.books)
        #expect(first.books != other.books && first.seen != other.seen)
        for fault in ["link-drop", "link-drop-in-read", "loss", "duplicate", "late", "bit-flip", "busy", "no-answer", "slow"] {
            #expect((first.books.faults[fault] ?? 0) > 0, "\(fault) never happened")
        }
    }

    @Test("without faults nothing happens but what was asked")
    func noFaults() throws {
        let (_, books) = try run(seed: 5, .none)
        #expect(books.faults.isEmpty && books.links == 1 && books.produced == 900)
    }

    @Test("mild faults take no window away")
    func mildDelivers() throws {
        for seed in UInt64(0)..<2 {
            let (_, books) = try run(seed: seed, .mild)
            #expect(books.formattedAway.isEmpty && books.overwritten.isEmpty && books.logs.count == 1)
        }
        #expect(CollarFaults.mild.flashErrorLastingPerWindow == 0 && CollarFaults.mild.formatPerSecond == 0)
    }

    /// Reads everything of a small backlog once, with one kind of fault.
    private func once(backlog: Int = 20, mtu: UInt16 = 517, _ adjust: (inout CollarFaults) -> Void) throws -> (bench: Bench, hub: ScriptedHub, answers: [[UInt8]]) {
        let bench = try Bench(backlog: backlog) { adjust(&$0.faults) }
        let hub = try bench.hub(mtu: mtu)
        let answers = try hub.read(log: bench.books.log, first: 0, count: UInt32(backlog))
        return (bench, hub, answers)
    }

    private func sequences(_ hub: ScriptedHub) -> [UInt32] { hub.windows.map { word($0[0..<4]) } }

    @Test("a lost window is missing among the others, and counts as sent")
    func loss() throws {
        let (bench, hub, answers) = try once { $0.lossPerWindow = 0.3 }
        let lost = try #require(bench.books.faults["loss"])
        #expect(lost > 0 && hub.windows.count == 20 - lost && answers == [[0x80, 1, 0] + word(20)])
        #expect(bench.ask { $0.state.flash.highestSent } == 19)
        let fragmented = try once(mtu: 185) { $0.lossPerWindow = 0.3 }
        #expect(fragmented.hub.windows.count == 40 - (fragmented.bench.books.faults["loss"] ?? 0), "one fragment of two is lost")
    }

    @Test("a window that comes twice comes twice in a row")
    func duplicate() throws {
        let (bench, hub, _) = try once { $0.duplicatePerWindow = 0.3 }
        let repeats = bench.books.faults["duplicate"] ?? 0
        #expect(repeats > 0 && hub.windows.count == 20 + repeats && Set(sequences(hub)).count == 20)
        #expect(sequences(hub) == sequences(hub).sorted())
    }

    @Test("a late window comes behind the next one, and never after the answer")
    func late() throws {
        let (bench, hub, _) = try once { $0.latePerWindow = 0.4 }
        #expect((bench.books.faults["late"] ?? 0) > 0 && sequences(hub) != sequences(hub).sorted())
        #expect(sequences(hub).sorted() == Array(0..<20))
        let all = try once { $0.latePerWindow = 1 }
        let swapped: [UInt32] = (0..<20).map { $0 ^ 1 }
        #expect(sequences(all.hub) == swapped)
        #expect(all.hub.received.last?[0] == 0x1D)
        let alone = try once(backlog: 1) { $0.latePerWindow = 1 }
        #expect(alone.hub.received.map { $0[0] } == [0x13, 0x1B, 0x1D])
    }

    @Test("a bit flipped on the air fails the checksum once, and the second read of that window is right")
    func bitFlip() throws {
        let (bench, hub, _) = try once { $0.bitFlipPerWindow = 1 }
        let log = bench.books.log
        let right = (UInt32(0)..<20).compactMap { sequence in bench.ask { $0.window(log: log, sequence: sequence) } }
        for (window, good) in zip(hub.windows, right) {
            #expect(zip(window, good).filter { $0 != $1 }.count == 1)
            #expect(UInt16(window[8]) | UInt16(window[9]) << 8 != CRC16.checksum(window[0..<8] + window[10...]))
        }
        hub.forget()
        _ = try hub.read(log: log, first: 0, count: 20)
        #expect(hub.windows == right)
    }

    @Test("a window that is wrong in the flash is never disturbed on the air as well")
    func damageStays() throws {
        let (bench, hub, _) = try once {
            $0.bitFlipPerWindow = 1
            $0.damagePerWindow = 1
        }
        let log = bench.books.log
        #expect(hub.windows == (UInt32(0)..<20).compactMap { sequence in bench.ask { $0.window(log: log, sequence: sequence) } })
    }

    @Test("a link that drops in the middle of a read sends part of a window at most, and that one does not count as sent")
    func dropInRead() throws {
        let (bench, hub, answers) = try once(mtu: 185) { $0.linkDropPerWindow = 0.3 }
        #expect(hub.ended && answers.isEmpty)
        let sent = hub.windows.filter { $0[0] == 0 && $0[1] == 0 }.count - 1
        #expect(hub.windows.count == 2 * sent + 1)
        #expect(bench.books.windowsSent == sent)
        #expect(bench.ask { $0.state.flash.highestSent }.map { Int($0) + 1 } ?? 0 == sent)
    }

    @Test("a busy collar answers busy and serves nothing")
    func busy() throws {
        let (bench, hub, answers) = try once { $0.busyPerRequest = 1 }
        #expect(answers == [[0x80, 1, 5]] && hub.windows.isEmpty)
        #expect(try hub.request([2]) == [[0x80, 2, 5]])
        #expect(bench.books.reads == 0)
    }

    @Test("where the answer never comes, the windows have, and the next link is served")
    func noAnswer() throws {
        let (bench, hub, answers) = try once { $0.noAnswerPerRequest = 1 }
        try hub.settle(.seconds(60))
        #expect(answers.isEmpty && hub.windows.count == 20 && !hub.ended)
        #expect(bench.books.faults["no-answer"] == 1)
    }

    @Test("a slow read takes its time")
    func slow() throws {
        let (bench, hub, answers) = try once { $0.slowPerRead = 1 }
        #expect(answers.isEmpty && hub.windows.count == 1)
        try hub.settle(.milliseconds(25 * 19))
        #expect(hub.windows.count == 20 && bench.books.faults["slow"] == 1)
    }

    @Test("faults by the second drop the link, silence it, change the battery and format the log")
    func bySecond() throws {
        for (name, adjust) in [
            ("link-drop", { $0.linkDropPerSecond = 1 }), ("supervision-timeout", { $0.supervisionTimeoutPerSecond = 1 }), ("silence", { $0.silencePerSecond = 1 }),
            ("battery-change", { $0.batteryChangePerSecond = 1 }), ("format", { $0.formatPerSecond = 1 })
        ] as [(String, (inout CollarFaults) -> Void)] {
            let bench = try Bench(backlog: 3) { adjust(&$0.faults) }
            let hub = try bench.hub()
            let log = bench.books.log
            bench.ask { $0.start() }
            try hub.settle(.milliseconds(1_500))
            let books = bench.books
            #expect(books.faults == [name: 1])
            #expect(hub.ended == ["link-drop", "battery-change"].contains(name))
            #expect((books.log != log) == (name == "format"))
            bench.ask { $0.stop() }
        }
    }

    @Test("the sets of faults have their names")
    func names() {
        #expect(CollarFaults.named("none") == CollarFaults.none && CollarFaults.named("mild") == .mild && CollarFaults.named("harsh") == .harsh)
        #expect(CollarFaults.named("wild") == nil)
        #expect(!CollarFaults.none.ticks && CollarFaults.mild.ticks)
    }
}
