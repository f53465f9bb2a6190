import Platform
import Testing

@Suite("The virtual loop")
struct VirtualLoopTests {
    /// A busy little world: tasks that sleep at random, spawn and yield. What happened in which order is its trace.
    private func trace(seed: UInt64) throws -> [String] {
        let loop = VirtualLoop()
        let notes = Notes<String>()
        let random = SharedRandom(loop: loop, seed: seed)
        let start = loop.now
        try loop.run {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        for step in 0..<10 {
                            try? await loop.sleep(for: .milliseconds(await random.next(below: 50)))
                            if await random.next(below: 3) == 0 { await Task.yield() }
                            notes.add("\(number).\(step) at \((loop.now - start).milliseconds)")
                        }
                    }
                }
            }
        }
        return notes.all
    }

    @Test("the same seed gives the same order of everything, another seed another one")
    func deterministic() throws {
        let once = try trace(seed: 5)
        #expect(once.count == 200)
        for _ in 0..<5 { #expect(try trace(seed: 5) == once) }
        #expect(try trace(seed: 6) != once)
    }

    @Test("an hour of sleep takes no time, and the clock stands where it should")
    func jumps() throws {
        let loop = VirtualLoop()
        let start = loop.now
        #expect(start == BootInstant(nanoseconds: 1_000_000_000_000))
        try loop.run { try await loop.sleep(for: .seconds(3_600)) }
        #expect(loop.now - start == .seconds(3_600))
        #expect(loop.wakeUps == 1)
    }

    @Test("a body that can never end is an error that says when")
    func stalled() throws {
        let loop = VirtualLoop()
        loop.advance(by: .seconds(5))
        do {
            try loop.run { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
            Issue.record("the run ended")
        } catch let error as VirtualLoop.Stalled {
            #expect(error.at == BootInstant(nanoseconds: 1_005_000_000_000))
            #expect("\(error)".contains("nothing left to do"))
        }
    }

    @Test("advance runs what is due, end included, and leaves the clock at the end")
    func advance() {
        let loop = VirtualLoop()
        let notes = Notes<Int>()
        let start = loop.now
        for seconds in [1, 2, 3] { _ = loop.schedule(at: start + .seconds(seconds)) { notes.add(seconds) } }
        loop.spawn { notes.add(0) }
        loop.advance(by: .seconds(2))
        #expect(notes.all == [0, 1, 2])
        #expect(loop.now - start == .seconds(2))
        loop.advance(by: .milliseconds(999))
        #expect(notes.all == [0, 1, 2])
        loop.advance(by: .milliseconds(1))
        #expect(notes.all == [0, 1, 2, 3])
        #expect(loop.wakeUps == 3)
        loop.advance(by: .seconds(-5))
        #expect(loop.now - start == .seconds(3))
    }

    @Test("timers of one moment are one wake-up")
    func together() {
        let loop = VirtualLoop()
        for _ in 0..<3 { _ = loop.schedule(after: .seconds(1)) {} }
        _ = loop.schedule(after: .seconds(2)) {}
        loop.advance(by: .seconds(10))
        #expect(loop.wakeUps == 2)
    }
}

actor SharedRandom {
    private let loop: VirtualLoop
    private var generator: SplitMix64
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: VirtualLoop, seed: UInt64) {
        self.loop = loop
        generator = SplitMix64(seed: seed)
    }

    func next(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
}
