import Platform
import Testing

@testable import Simulation

@Suite("The collar's control point")
struct ControlPointTests {
    @Test("a range is read in order and answered with how many windows were sent")
    func readRange() throws {
        let bench = try Bench(backlog: 20)
        let hub = try bench.hub()
        let books = bench.books
        let answers = try hub.read(log: books.log, first: 3, count: 10)
        #expect(answers == [[0x80, 1, 0] + word(10)])
        #expect(hub.windows == (UInt32(3)..<13).compactMap { sequence in bench.ask { $0.window(log: books.log, sequence: sequence) } })
        #expect(hub.received.last?[0] == 0x1D, "the answer comes after the last window")
        #expect(bench.books.reads == 1 && bench.books.windowsSent == 10)
    }

    @Test("a count of 0 is ok and sends nothing")
    func emptyRead() throws {
        let bench = try Bench(backlog: 5)
        let hub = try bench.hub()
        #expect(try hub.read(log: bench.books.log, first: 0, count: 0) == [[0x80, 1, 0, 0, 0, 0, 0]])
        #expect(hub.windows.isEmpty)
    }

    @Test("another log gets result 3, a range not wholly held gets result 4 with what is held, and neither sends a window")
    func refusedReads() throws {
        let bench = try Bench(backlog: 5)
        let hub = try bench.hub()
        let log = bench.books.log
        #expect(try hub.read(log: log ^ 1, first: 0, count: 1) == [[0x80, 1, 3]])
        #expect(try hub.read(log: log, first: 0, count: 6) == [[0x80, 1, 4] + word(0) + word(5)])
        #expect(try hub.read(log: log, first: 5, count: 1) == [[0x80, 1, 4] + word(0) + word(5)])
        #expect(try hub.read(log: log, first: 0, count: .max) == [[0x80, 1, 4] + word(0) + word(5)])
        #expect(hub.windows.isEmpty)
    }

    @Test("a clear forgets up to and including its sequence, and answers with what is held")
    func clear() throws {
        let bench = try Bench(backlog: 5)
        let hub = try bench.hub()
        let log = bench.books.log
        #expect(try hub.clear(log: log, through: 2) == [[0x80, 3, 7]], "nothing was sent yet")
        _ = try hub.read(log: log, first: 0, count: 3)
        #expect(try hub.clear(log: log, through: 2) == [[0x80, 3, 0] + word(3) + word(5)])
        #expect(try hub.clear(log: log, through: 2) == [[0x80, 3, 0] + word(3) + word(5)])
        #expect(try hub.clear(log: log ^ 1, through: 2) == [[0x80, 3, 3]])
        #expect(try hub.clear(log: log, through: 3) == [[0x80, 3, 7]])
        #expect(try hub.clear(log: log, through: 5) == [[0x80, 3, 7]])
        let books = bench.books
        #expect(books.clears.map(\.through) == [2, 2] && books.clearsRefused == 3)
        #expect(books.clears.allSatisfy { $0.log == log && $0.at == bench.loop.now })
    }

    @Test("the mark of what was sent survives the link and a new battery")
    func sentMarkSurvives() throws {
        let bench = try Bench(backlog: 5)
        let log = bench.books.log
        _ = try bench.hub().read(log: log, first: 0, count: 4)
        bench.ask { $0.dropLink() }
        bench.ask { $0.changeBattery() }
        let hub = try bench.hub()
        #expect(try hub.clear(log: log, through: 3) == [[0x80, 3, 0] + word(4) + word(5)])
        #expect(try hub.clear(log: log, through: 4) == [[0x80, 3, 7]])
    }

    @Test("set time sets the clock that heartbeats and windows show")
    func setTime() throws {
        let bench = try Bench { $0.clock = nil }
        bench.ask { $0.start() }
        let hub = try bench.hub()
        #expect(try hub.request([5])[0][4] & 1 == 0)
        #expect(try hub.request([4] + word(1_800_000_000)) == [[0x80, 4, 0]])
        let status = try hub.request([5])[0]
        #expect(status[4] & 1 == 1 && word(status[19..<23]) == 1_800_000_000)
        try hub.settle(.seconds(2))
        let newest = try #require(bench.ask { $0.window(log: $0.books().log, sequence: 1) })
        #expect(word(newest[4..<8]) == 1_800_000_001, "a window is stamped with its start")
    }

    @Test("status carries the twenty bytes of Beta Metrics where the MTU takes them, and is not supported where it does not")
    func status() throws {
        let bench = try Bench(backlog: 5)
        let hub = try bench.hub(mtu: 26)
        let answer = try hub.request([5])
        #expect(answer == [[0x80, 5, 0] + bench.ask { $0.state.betaMetrics(transferRunning: false, at: bench.loop.now) }])
        #expect(answer[0].count == 23)
        bench.ask { $0.dropLink() }
        #expect(try bench.hub(mtu: 23).request([5]) == [[0x80, 5, 1]])
        bench.ask { $0.dropLink() }
        #expect(try bench.hub(mtu: 25).request([5]) == [[0x80, 5, 1]])
    }

    @Test("an unknown opcode gets result 1", arguments: [0, 6, 0x7F, 0x80, 0xFF] as [UInt8])
    func unknownOpcode(opcode: UInt8) throws {
        #expect(try Bench().hub().request([opcode, 1, 2]) == [[0x80, opcode, 1]])
    }

    @Test("a request of the wrong length gets result 2 and does nothing", arguments: [1, 2, 3, 4, 5] as [UInt8])
    func wrongLength(opcode: UInt8) throws {
        let bench = try Bench(backlog: 3)
        let hub = try bench.hub()
        let right = [1: 12, 2: 0, 3: 8, 4: 4, 5: 0][opcode] ?? 0
        for length in [right - 1, right + 1] where length >= 0 {
            #expect(try hub.request([opcode] + [UInt8](repeating: 0, count: length)) == [[0x80, opcode, 2]])
        }
        #expect(bench.books.clears.isEmpty && bench.books.reads == 0)
    }

    @Test("while a read runs a second one is busy, and everything else is served")
    func busy() throws {
        let bench = try Bench(backlog: 20) { $0.windowsPerSecond = 10 }
        let hub = try bench.hub()
        let log = bench.books.log
        #expect(try hub.read(log: log, first: 0, count: 20) == [])
        #expect(try hub.read(log: log, first: 0, count: 1) == [[0x80, 1, 5]])
        #expect(try hub.request([5])[0][4] & 8 == 8, "b3: transfer running")
        #expect(try hub.request([4] + word(1_800_000_000)) == [[0x80, 4, 0]])
        try hub.settle(.seconds(3))
        #expect(hub.values(of: hub.handles.controlPoint).last == [0x80, 1, 0] + word(20))
        #expect(hub.windows.map { word($0[0..<4]) } == Array(0..<20))
        #expect(try hub.request([5])[0][4] & 8 == 0)
    }

    @Test("stop answers the running read with what was sent, then itself")
    func stop() throws {
        let bench = try Bench(backlog: 20) { $0.windowsPerSecond = 10 }
        let hub = try bench.hub()
        _ = try hub.read(log: bench.books.log, first: 0, count: 20)
        try hub.settle(.milliseconds(450))
        let sent = UInt32(hub.windows.count)
        #expect(sent == 5)
        #expect(try hub.request([2]) == [[0x80, 1, 0] + word(sent), [0x80, 2, 0]])
        try hub.settle(.seconds(3))
        #expect(hub.windows.count == Int(sent))
        #expect(try hub.request([2]) == [[0x80, 2, 0]])
    }

    @Test("formatting ends a running read with result 3, before any window of the new log")
    func formatDuringRead() throws {
        let bench = try Bench(backlog: 20) { $0.windowsPerSecond = 10 }
        let hub = try bench.hub()
        let log = bench.books.log
        _ = try hub.read(log: log, first: 0, count: 20)
        try hub.settle(.milliseconds(250))
        bench.ask { $0.format() }
        try hub.settle(.seconds(2))
        #expect(hub.windows.count == 3)
        #expect(hub.values(of: hub.handles.controlPoint) == [[0x80, 1, 3]])
        #expect(bench.books.log != log)
        #expect(try hub.read(log: log, first: 0, count: 1) == [[0x80, 1, 3]])
        #expect(try hub.clear(log: log, through: 1) == [[0x80, 3, 3]])
    }

    @Test("a window overwritten while its range is read ends the read with result 4 and what is held")
    func lostDuringRead() throws {
        let bench = try Bench(backlog: 10) {
            $0.capacity = 10
            $0.windowsPerSecond = 1
            $0.windowInterval = .milliseconds(500)
        }
        let hub = try bench.hub()
        let log = bench.books.log
        _ = try hub.read(log: log, first: 0, count: 10)
        bench.ask { $0.start() }
        try hub.settle(.milliseconds(2_100))
        let answer = try #require(hub.values(of: hub.handles.controlPoint).last)
        #expect(answer[..<3] == [0x80, 1, 4])
        #expect(word(answer[3..<7]) == 3 && word(answer[7..<11]) == 13)
        #expect(try hub.request([5])[0][4] & 4 == 4, "b2: overwritten")
        #expect(bench.books.overwritten == [WindowRange(log: log, first: 0, count: 4)])
    }

    @Test("a flash error ends the read with result 6 and the sequence, after the windows before it")
    func flashError() throws {
        let bench = try Bench(backlog: 10)
        bench.ask { $0.withState { $0.flash.failReads(of: 4, lasting: false) } }
        let hub = try bench.hub()
        let log = bench.books.log
        #expect(try hub.read(log: log, first: 2, count: 5) == [[0x80, 1, 6] + word(4)])
        #expect(hub.windows.map { word($0[0..<4]) } == [2, 3])
        #expect(try hub.read(log: log, first: 4, count: 3) == [[0x80, 1, 0] + word(3)])
    }

    @Test("a read across the wrap of the sequences is in order")
    func readAcrossWrap() throws {
        let bench = try Bench(backlog: 10) { $0.firstSequence = 0xFFFF_FFFB }
        let hub = try bench.hub()
        #expect(try hub.read(log: bench.books.log, first: 0xFFFF_FFFD, count: 7) == [[0x80, 1, 0] + word(7)])
        #expect(hub.windows.map { word($0[0..<4]) } == [0xFFFF_FFFD, 0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1, 2, 3])
    }

    @Test("answers are indicated one at a time, the next one after the confirmation")
    func oneIndication() throws {
        let bench = try Bench()
        let hub = try bench.hub()
        hub.confirms = false
        #expect(try hub.request([2]) == [[0x80, 2, 0]])
        #expect(try hub.request([5]) == [])
        #expect(try hub.exchange([0x1E]).count == 1)
        #expect(try hub.exchange([0x1E]) == [])
    }

    @Test("an indication that is not confirmed for 30 s ends the link")
    func unconfirmed() throws {
        let bench = try Bench()
        let hub = try bench.hub()
        hub.confirms = false
        _ = try hub.request([2])
        try hub.settle(.seconds(29))
        #expect(!hub.ended)
        try hub.settle(.seconds(2))
        #expect(hub.ended && !bench.ask { $0.isLinked })
    }
}
