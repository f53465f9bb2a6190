import Platform
import Testing

@testable import Platform

@Suite("Timers")
struct TimerTests {
    @Test("timers run in order of deadline, those of one deadline in the order in which they were made", arguments: LoopKind.allCases)
    func order(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let notes = Notes<Int>()
        let base = loop.now
        for (note, milliseconds) in [(3, 5), (1, 1), (4, 5), (2, 3), (5, 5), (0, 0)] {
            _ = loop.schedule(at: base + .milliseconds(milliseconds)) { notes.add(note) }
        }
        try loop.run { try await loop.sleep(until: base + .milliseconds(6)) }
        #expect(notes.all == [0, 1, 2, 3, 4, 5])
    }

    @Test("a cancelled timer never fires, not even one that was due together with the one that cancels it", arguments: LoopKind.allCases)
    func cancelled(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let notes = Notes<String>()
        let base = loop.now
        let early = loop.schedule(at: base + .milliseconds(1)) { notes.add("cancelled before") }
        loop.cancel(early)
        loop.cancel(early)
        let other = Notes<TimerID>()
        _ = loop.schedule(at: base + .milliseconds(1)) {
            notes.add("first")
            if let late = other.all.first { loop.cancel(late) }
        }
        other.add(loop.schedule(at: base + .milliseconds(1)) { notes.add("cancelled by the first") })
        let spent = loop.schedule(at: base + .milliseconds(2)) { notes.add("last") }
        try loop.run { try await loop.sleep(until: base + .milliseconds(3)) }
        loop.cancel(spent)
        #expect(notes.all == ["first", "last"])
    }

    @Test("a lenient timer comes with the first wake-up from its earliest moment on", arguments: LoopKind.allCases)
    func lenient(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let notes = Notes<String>()
        let base = loop.now
        _ = loop.schedule(at: base + .seconds(3_600), notBefore: base + .milliseconds(4)) { notes.add("lenient") }
        _ = loop.schedule(at: base + .milliseconds(1)) { notes.add("too early") }
        _ = loop.schedule(at: base + .milliseconds(5)) { notes.add("wake-up") }
        try loop.run { try await loop.sleep(until: base + .milliseconds(20)) }
        // On the real clock the first wake-up may itself be late enough.
        if kind == .virtual { #expect(notes.all == ["too early", "wake-up", "lenient"]) }
        #expect(notes.all.first == "too early")
        #expect(Set(notes.all) == ["too early", "wake-up", "lenient"])
    }

    @Test("a lenient timer comes by itself at its deadline, once, and not at all when it is cancelled", arguments: LoopKind.allCases)
    func lenientAlone(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let notes = Notes<String>()
        let base = loop.now
        _ = loop.schedule(at: base + .milliseconds(5), notBefore: base + .milliseconds(3)) { notes.add("alone") }
        let gone = loop.schedule(at: base + .milliseconds(6), notBefore: base) { notes.add("cancelled") }
        loop.cancel(gone)
        if kind == .virtual, let loop = loop as? VirtualLoop {
            loop.advance(by: .milliseconds(4))
            #expect(notes.all == [])
        }
        try loop.run { try await loop.sleep(until: base + .milliseconds(20)) }
        #expect(notes.all == ["alone"])
    }

    @Test("a deadline in the past fires on the next turn", arguments: LoopKind.allCases)
    func past(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let notes = Notes<Int>()
        for (note, nanoseconds) in [(1, Int64.min), (2, -1), (3, 0)] {
            _ = loop.schedule(at: BootInstant(nanoseconds: nanoseconds)) { notes.add(note) }
        }
        let before = loop.now
        try loop.run { try await loop.sleep(until: BootInstant(nanoseconds: 1)) }
        #expect(notes.all == [1, 2, 3])
        if kind == .virtual { #expect(loop.now == before) }
    }

    @Test("a timer that is always due anew keeps neither jobs nor other timers waiting", arguments: LoopKind.allCases)
    func alwaysDue(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let notes = Notes<Int>()
        @Sendable func again() {
            notes.add(0)
            if notes.all.count < 100_000 { _ = loop.schedule(at: BootInstant(nanoseconds: 0)) { again() } }
        }
        again()
        try loop.run {
            await loop.yield()
            try await loop.sleep(for: .zero)
        }
        #expect(notes.all.count < 1_000)
    }

    @Test("a sleep ends at its deadline, not before", arguments: LoopKind.allCases)
    func sleep(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let deadline = loop.now + .microseconds(2_345)
        let woke = try loop.run {
            try await loop.sleep(until: deadline)
            return loop.now
        }
        if kind == .virtual { #expect(woke == deadline) } else { #expect(woke >= deadline) }
    }

    @Test("a cancelled sleep throws at once and leaves no timer behind", arguments: [true, false])
    func cancelledSleep(_ begun: Bool) throws {
        let loop = VirtualLoop()
        let before = loop.now
        try loop.run {
            let task = Task(executorPreference: loop) { try await loop.sleep(for: .seconds(3_600)) }
            if begun { for _ in 0..<5 { await loop.yield() } }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(loop.now == before)
        // Whatever is left would fire within two hours.
        loop.advance(by: .seconds(7_200))
        #expect(loop.wakeUps == 0)
    }

    @Test("a sleep that ran out is not ended again by a cancellation")
    func lateCancellation() throws {
        let loop = VirtualLoop()
        try loop.run {
            let task = Task(executorPreference: loop) { try await loop.sleep(for: .seconds(1)) }
            try await loop.sleep(for: .seconds(2))
            task.cancel()
            try await task.value
        }
    }

    @Test("the queue agrees with a sorted list, whatever is added, cancelled and taken", arguments: UInt64(1)...20)
    func model(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = TimerQueue()
        var model: [(deadline: BootInstant, id: TimerID)] = []
        let fired = Notes<TimerID>()
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0..<3:
                let deadline = BootInstant(nanoseconds: Int64.random(in: 0..<200, using: &random))
                model.append((deadline, queue.add(deadline) {}))
            case 3..<5:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                queue.cancel(model.remove(at: index).id)
            default:
                let now = BootInstant(nanoseconds: Int64.random(in: 0..<40, using: &random))
                let due = model.enumerated().filter { $0.element.deadline <= now }
                    .sorted { ($0.element.deadline, $0.offset) < ($1.element.deadline, $1.offset) }.map(\.element.id)
                model.removeAll { $0.deadline <= now }
                let taken = queue.due(at: now)
                #expect(taken == due)
                for id in taken {
                    #expect(queue.take(id) != nil)
                    #expect(queue.take(id) == nil)
                    fired.add(id)
                }
            }
            #expect(queue.next == model.map(\.deadline).min())
        }
        #expect(!fired.all.isEmpty)
    }
}
