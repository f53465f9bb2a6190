import Platform
import Testing
@testable import Radio

@Suite("Reading a range")
struct CollarRangeReadMachineTests {
    private typealias Step = RangeReadMachine.Step

    private func finished(_ step: Step, _ location: SourceLocation = #_sourceLocation) -> RangeRead {
        if case .finish(let read) = step { return read }
        Issue.record("goes on with \(step)", sourceLocation: location)
        return RangeRead(end: .busy)
    }

    private func take(_ windows: CollarWindow..., in machine: inout RangeReadMachine, fragmented: Bool = false) {
        for window in windows { _ = machine.take(window, fragmented: fragmented) }
    }

    // MARK: All goes well

    @Test("a range that comes whole takes one request")
    func whole() {
        var machine = RangeReadMachine(first: 10, count: 3)
        #expect(machine.start() == .request(first: 10, count: 3))
        take(.intact(10), .intact(11), .intact(12), in: &machine)
        let read = finished(machine.answered(.read(.ok, 3)))
        #expect(read == RangeRead(windows: Forge.run(10, 3), end: .complete, requests: 1))
        #expect(read.count == 3)
    }

    @Test("a range goes over the wrap at 2^32")
    func wrap() {
        var machine = RangeReadMachine(first: 0xFFFF_FFFE, count: 4)
        #expect(machine.start() == .request(first: 0xFFFF_FFFE, count: 4))
        take(.intact(0xFFFF_FFFE), .intact(0xFFFF_FFFF), .intact(0), in: &machine)
        #expect(machine.answered(.read(.ok, 4)) == .request(first: 1, count: 1))
        take(.intact(1), in: &machine)
        #expect(finished(machine.answered(.read(.ok, 1))).windows == Forge.run(0xFFFF_FFFE, 4))
    }

    @Test("a range of no windows is asked, and complete when the collar agrees")
    func empty() {
        var machine = RangeReadMachine(first: 9, count: 0)
        #expect(machine.start() == .request(first: 9, count: 0))
        #expect(finished(machine.answered(.read(.ok, 0))) == RangeRead(end: .complete, requests: 1))
        var wrong = RangeReadMachine(first: 9, count: 0)
        _ = wrong.start()
        #expect(finished(wrong.answered(.read(.wrongLog))).end == .wrongLog)
    }

    // MARK: Gaps

    @Test("behind a gap windows are discarded, and the range is read again from there")
    func gap() {
        var machine = RangeReadMachine(first: 0, count: 5)
        _ = machine.start()
        take(.intact(0), .intact(2), .intact(3), .intact(4), in: &machine)
        #expect(machine.answered(.read(.ok, 5)) == .request(first: 1, count: 4))
        take(.intact(1), .intact(2), .intact(3), .intact(4), in: &machine)
        let read = finished(machine.answered(.read(.ok, 4)))
        #expect(read == RangeRead(windows: Forge.run(0, 5), end: .complete, requests: 2, discarded: 3))
    }

    @Test("windows that did not come at the end are read again from there")
    func missingTail() {
        var machine = RangeReadMachine(first: 0, count: 3)
        _ = machine.start()
        take(.intact(0), in: &machine)
        #expect(machine.answered(.read(.ok, 3)) == .request(first: 1, count: 2))
    }

    @Test("a window that comes twice is taken once")
    func duplicate() {
        var machine = RangeReadMachine(first: 0, count: 3)
        _ = machine.start()
        take(.intact(0), .intact(0), .intact(1), .intact(0), .intact(2), in: &machine)
        #expect(finished(machine.answered(.read(.ok, 3))) == RangeRead(windows: Forge.run(0, 3), end: .complete, requests: 1, discarded: 2))
    }

    @Test("late windows of an earlier read change nothing")
    func lateWindows() {
        var machine = RangeReadMachine(first: 100, count: 2)
        _ = machine.start()
        take(.intact(57), .intact(58), .intact(100), .damaged(59), .intact(101), .intact(102), in: &machine)
        let read = finished(machine.answered(.read(.ok, 2)))
        #expect(read.windows == Forge.run(100, 2))
        #expect(read.end == .complete)
    }

    @Test("windows without a request are not taken")
    func stray() {
        var machine = RangeReadMachine(first: 0, count: 1)
        #expect(machine.take(.intact(0), fragmented: false) == false)
        _ = machine.start()
        #expect(machine.answered(.read(.ok, 1)) == .request(first: 0, count: 1))
    }

    @Test("what the collar says it sent decides nothing when all has come", arguments: [0, 2, 900] as [UInt32])
    func sentIsOnlyAClaim(_ sent: UInt32) {
        var machine = RangeReadMachine(first: 0, count: 2)
        _ = machine.start()
        take(.intact(0), .intact(1), in: &machine)
        #expect(finished(machine.answered(.read(.ok, sent))).end == .complete)
    }

    // MARK: Checksums

    @Test("a window with a wrong checksum is read again alone, and does not hold up the ones behind it")
    func readAgainAlone() {
        var machine = RangeReadMachine(first: 0, count: 4)
        _ = machine.start()
        take(.intact(0), .damaged(1), .intact(2), .intact(3), in: &machine)
        #expect(machine.answered(.read(.ok, 4)) == .request(first: 1, count: 1))
        take(.intact(1), in: &machine)
        #expect(finished(machine.answered(.read(.ok, 1))) == RangeRead(windows: Forge.run(0, 4), end: .complete, requests: 2, discarded: 1))
    }

    @Test("a window whose checksum fails twice is stored as it came under the sequence that was asked for, and listed")
    func damagedTwice() {
        var machine = RangeReadMachine(first: 0, count: 3)
        _ = machine.start()
        take(.intact(0), .damaged(1), .intact(2), in: &machine)
        _ = machine.answered(.read(.ok, 3))
        take(.damaged(1), in: &machine)
        let read = finished(machine.answered(.read(.ok, 1)))
        #expect(read.windows == Forge.bytes(0) + Forge.damaged(1) + Forge.bytes(2))
        #expect(read.damaged == [1])
        #expect(read.end == .complete)
    }

    @Test("damage to the sequence itself is placed by the windows around it, and counts against a sequence only when that was asked for alone")
    func damagedSequence() {
        var machine = RangeReadMachine(first: 0, count: 3)
        _ = machine.start()
        take(.intact(0), .damaged(1, at: 2), .intact(2), in: &machine)
        #expect(machine.answered(.read(.ok, 3)) == .request(first: 1, count: 1))
        take(.damaged(1, at: 2), in: &machine)
        #expect(machine.answered(.read(.ok, 1)) == .request(first: 1, count: 1))
        take(.damaged(1, at: 2), in: &machine)
        let read = finished(machine.answered(.read(.ok, 1)))
        #expect(read.windows == Forge.bytes(0) + Forge.damaged(1, at: 2) + Forge.bytes(2))
        #expect(read.damaged == [1])
    }

    @Test("damaged windows in a row, at the start and at the end are each read alone")
    func damagedEverywhere() {
        var machine = RangeReadMachine(first: 0, count: 6)
        _ = machine.start()
        take(.damaged(0), .intact(1), .damaged(2), .damaged(3, at: 0), .intact(4), .damaged(5), in: &machine)
        var step = machine.answered(.read(.ok, 6))
        for sequence in [0, 2, 3, 5] as [UInt32] {
            #expect(step == .request(first: sequence, count: 1))
            take(.intact(sequence), in: &machine)
            step = machine.answered(.read(.ok, 1))
        }
        let read = finished(step)
        #expect(read.windows == Forge.run(0, 6))
        #expect(read.damaged.isEmpty)
    }

    @Test("a damaged window hides no gap: the window lost before it is not taken for it")
    func damagedBesideLost() {
        var machine = RangeReadMachine(first: 0, count: 5)
        _ = machine.start()
        take(.intact(0), .damaged(2), .intact(3), .intact(4), in: &machine)
        #expect(machine.answered(.read(.ok, 5)) == .request(first: 1, count: 4))
    }

    @Test("when the good copy comes after the bad one it is taken")
    func goodAfterBad() {
        var machine = RangeReadMachine(first: 0, count: 1)
        _ = machine.start()
        take(.damaged(0), .intact(0), in: &machine)
        let read = finished(machine.answered(.read(.ok, 1)))
        #expect(read.windows == Forge.bytes(0))
        #expect(read.damaged.isEmpty)
    }

    @Test("when every window is damaged, each costs one more request and all are stored")
    func allDamaged() {
        var machine = RangeReadMachine(first: 0, count: 20)
        _ = machine.start()
        for sequence in 0..<20 as Range<UInt32> { take(.damaged(sequence), in: &machine) }
        var step = machine.answered(.read(.ok, 20))
        while case .request(let first, 1) = step {
            take(.damaged(first), in: &machine)
            step = machine.answered(.read(.ok, 1))
        }
        let read = finished(step)
        #expect(read.damaged == Array(0..<20))
        #expect(read.count == 20)
        #expect(read.requests == 21)
    }

    // MARK: Mixtures of fragments

    @Test("a window of fragments right before a gap may be two halves, and is read again alone")
    func mixture() {
        var machine = RangeReadMachine(first: 0, count: 4)
        _ = machine.start()
        take(.intact(0), .intact(1), .intact(3), in: &machine, fragmented: true)
        #expect(machine.answered(.read(.ok, 4)) == .request(first: 1, count: 1))
        take(.intact(1), in: &machine, fragmented: true)
        #expect(machine.answered(.read(.ok, 1)) == .request(first: 2, count: 2))
        take(.intact(2), .intact(3), in: &machine, fragmented: true)
        #expect(finished(machine.answered(.read(.ok, 2))).windows == Forge.run(0, 4))
    }

    @Test("a window of fragments before a missing tail is read again alone too, but not when the collar sent no more")
    func mixtureAtTheEnd() {
        var machine = RangeReadMachine(first: 0, count: 3)
        _ = machine.start()
        take(.intact(0), .intact(1), in: &machine, fragmented: true)
        #expect(machine.answered(.read(.ok, 3)) == .request(first: 1, count: 1))

        var stopped = RangeReadMachine(first: 0, count: 3)
        _ = stopped.start()
        take(.intact(0), .intact(1), in: &stopped, fragmented: true)
        stopped.stop()
        #expect(finished(stopped.answered(.read(.ok, 2))).windows == Forge.run(0, 2))
    }

    // MARK: Results

    @Test("result 3 ends the read; what came before belongs to the log that was asked for and is kept")
    func wrongLog() {
        var machine = RangeReadMachine(first: 0, count: 3)
        _ = machine.start()
        take(.intact(0), in: &machine)
        #expect(finished(machine.answered(.read(.wrongLog))) == RangeRead(windows: Forge.run(0, 1), end: .wrongLog, requests: 1))
    }

    @Test("result 4 ends the read with what is held; what came in order is kept, what came behind a hole is not")
    func notHeld() {
        var machine = RangeReadMachine(first: 0, count: 5)
        _ = machine.start()
        take(.intact(0), .damaged(1), .intact(2), in: &machine)
        let read = finished(machine.answered(.read(.notHeld, 4, 90)))
        #expect(read.end == .notHeld(oldest: 4, next: 90))
        #expect(read.windows == Forge.run(0, 1))
    }

    @Test("result 5 ends the read as busy")
    func busy() {
        var machine = RangeReadMachine(first: 0, count: 5)
        _ = machine.start()
        #expect(finished(machine.answered(.read(.busy))).end == .busy)
    }

    @Test("after a flash error the range is read again from there, and goes on when that works")
    func flashErrorOnce() {
        var machine = RangeReadMachine(first: 0, count: 4)
        _ = machine.start()
        take(.intact(0), .intact(1), in: &machine)
        #expect(machine.answered(.read(.flashError, 2)) == .request(first: 2, count: 2))
        take(.intact(2), .intact(3), in: &machine)
        let read = finished(machine.answered(.read(.ok, 2)))
        #expect(read.windows == Forge.run(0, 4))
        #expect(read.unreadable == nil)
    }

    @Test("twice a flash error at the same window is a gap right behind what came")
    func flashErrorTwice() {
        var machine = RangeReadMachine(first: 0, count: 4)
        _ = machine.start()
        take(.intact(0), .intact(1), in: &machine)
        _ = machine.answered(.read(.flashError, 2))
        let read = finished(machine.answered(.read(.flashError, 2)))
        #expect(read.end == .unreadable)
        #expect(read.unreadable == 2)
        #expect(read.windows == Forge.run(0, 2))
    }

    @Test("a flash error at one window and then another is not twice the same")
    func flashErrorsApart() {
        var machine = RangeReadMachine(first: 0, count: 4)
        _ = machine.start()
        #expect(machine.answered(.read(.flashError, 0)) == .request(first: 0, count: 4))
        take(.intact(0), in: &machine)
        #expect(machine.answered(.read(.flashError, 1)) == .request(first: 1, count: 3))
        take(.intact(1), .intact(2), .intact(3), in: &machine)
        #expect(finished(machine.answered(.read(.ok, 3))).end == .complete)
    }

    @Test("windows lost before an unreadable one are read before the gap is reported")
    func lossBeforeFlashError() {
        var machine = RangeReadMachine(first: 0, count: 6)
        _ = machine.start()
        take(.intact(0), .intact(2), .intact(3), in: &machine)
        #expect(machine.answered(.read(.flashError, 4)) == .request(first: 1, count: 5))
        take(.intact(1), .intact(3), in: &machine)
        // The second error at 4 settles that: only what lies before it is asked for.
        #expect(machine.answered(.read(.flashError, 4)) == .request(first: 2, count: 2))
        take(.intact(2), .intact(3), in: &machine)
        let read = finished(machine.answered(.read(.ok, 2)))
        #expect(read.windows == Forge.run(0, 4))
        #expect(read.unreadable == 4)
    }

    @Test("a flash error outside of what was asked for is a broken answer", arguments: [9, 14, 0xFFFF_FFFF] as [UInt32])
    func flashErrorElsewhere(_ sequence: UInt32) {
        var machine = RangeReadMachine(first: 10, count: 4)
        _ = machine.start()
        take(.intact(10), in: &machine)
        let read = finished(machine.answered(.read(.flashError, sequence)))
        #expect(interruption(read.end) == .malformedAnswer)
        #expect(read.windows == Forge.run(10, 1))
    }

    @Test("results that say the firmware does not fit end the read under their own codes")
    func firmware() {
        let codes: [(UInt8, CollarError.Code)] = [(1, .unsupportedOpcode), (2, .badLength), (7, .unexpectedResult), (8, .unexpectedResult), (255, .unexpectedResult)]
        for (result, code) in codes {
            var machine = RangeReadMachine(first: 0, count: 2)
            _ = machine.start()
            #expect(interruption(finished(machine.answered(.read(ControlResult(rawValue: result)))).end) == code)
        }
    }

    @Test("an answer whose payload has the wrong length ends the read and keeps what came")
    func brokenPayload() {
        for answer in [ControlAnswer.read(.ok), .read(.ok, 1, 2), .read(.notHeld, 1), .read(.flashError)] {
            var machine = RangeReadMachine(first: 0, count: 2)
            _ = machine.start()
            take(.intact(0), in: &machine)
            let read = finished(machine.answered(answer))
            #expect(interruption(read.end) == .malformedAnswer)
            #expect(read.windows == Forge.run(0, 1))
        }
    }

    // MARK: Ends

    @Test("a read that is stopped keeps what came and asks for no more")
    func stopped() {
        var machine = RangeReadMachine(first: 0, count: 5)
        _ = machine.start()
        take(.intact(0), .intact(1), in: &machine)
        machine.stop()
        let read = finished(machine.answered(.read(.ok, 2)))
        #expect(interruption(read.end) == .stopped)
        #expect(read.windows == Forge.run(0, 2))
    }

    @Test("a lost link keeps what came in order")
    func interrupted() {
        var machine = RangeReadMachine(first: 0, count: 5)
        _ = machine.start()
        take(.intact(0), .intact(1), .damaged(2), .intact(3), in: &machine)
        let error = CollarError(.linkClosed, "gone")
        #expect(machine.interrupt(error) == RangeRead(windows: Forge.run(0, 2), end: .interrupted(error), requests: 1, discarded: 1))
    }

    @Test("windows that never come cost three requests in a row")
    func patience() {
        var machine = RangeReadMachine(first: 0, count: 5)
        _ = machine.start()
        take(.intact(0), in: &machine)
        for _ in 0..<3 { #expect(machine.answered(.read(.ok, 5)) == .request(first: 1, count: 4)) }
        let read = finished(machine.answered(.read(.ok, 4)))
        #expect(interruption(read.end) == .windowsMissing)
        #expect(read.windows == Forge.run(0, 1))
        #expect(read.requests == 4)
    }

    @Test("more windows than were asked for are no sign of life")
    func babble() {
        var machine = RangeReadMachine(first: 0, count: 2)
        _ = machine.start()
        #expect(machine.take(.intact(50), fragmented: false) == true)
        #expect(machine.take(.intact(50), fragmented: false) == true)
        #expect(machine.take(.intact(50), fragmented: false) == false)
        #expect(machine.take(.intact(0), fragmented: false) == false)
    }

    @Test("whatever a collar sends and answers, a read ends after a bounded number of requests, with whole windows in order")
    func anyCollar() {
        for seed in 0..<400 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let first = seed % 2 == 0 ? UInt32.max - 5 : 0
            let count = UInt32.random(in: 0...12, using: &random)
            var machine = RangeReadMachine(first: first, count: count)
            var step = machine.start()
            var requests = 0
            while case .request(let from, let length) = step {
                requests += 1
                guard requests <= 3 * Int(count) + 8 else {
                    Issue.record("seed \(seed) goes on")
                    break
                }
                for offset in 0..<(length + 2) where Bool.random(using: &random) {
                    let sequence = Int.random(in: 0...4, using: &random) == 0 ? from &+ UInt32.random(in: 0...9, using: &random) &- 4 : from &+ offset
                    let byte = [0, 3, 100, 321].randomElement(using: &random) ?? 0
                    let window = Int.random(in: 0...3, using: &random) == 0 ? CollarWindow.damaged(sequence, at: byte) : .intact(sequence)
                    _ = machine.take(window, fragmented: Bool.random(using: &random))
                }
                let sent = UInt32.random(in: 0...length, using: &random)
                let results: [ControlAnswer] = [.read(.ok, sent), .read(.ok, length), .read(.ok, .max), .read(.flashError, from &+ sent)]
                step = machine.answered(results.randomElement(using: &random) ?? .read(.busy))
            }
            let read = finished(step)
            for (position, start) in stride(from: 0, to: read.windows.count, by: 322).enumerated() {
                let sequence = first &+ UInt32(position)
                let bytes = Array(read.windows[start..<(start + 322)])
                #expect(read.damaged.contains(sequence) || bytes == Forge.bytes(sequence), "seed \(seed)")
            }
            #expect(read.count <= Int(count))
            if read.end == .complete { #expect(read.count == Int(count)) }
            if let unreadable = read.unreadable { #expect(unreadable == first &+ UInt32(read.count)) }
            #expect((read.end == .unreadable) == (read.unreadable != nil))
        }
    }
}
