import Platform
import Testing

@testable import Indicators

@Suite("The board")
struct BoardTests {
    @Test("a counted pattern that follows light starts after half a second of dark, so that its first flash can be seen")
    func leadIn() {
        let bench = Bench()
        bench.set([])
        bench.pass(milliseconds: 1_000)
        bench.set(.queueFull)
        bench.pass(milliseconds: 1_500)
        #expect(bench.recorder.times(.uplink) == [0, 1_000, 1_500, 1_650, 1_850, 2_000, 2_200, 2_350])
    }

    @Test("a counted pattern that follows another one does not run into its flashes")
    func countAfterCount() {
        let bench = Bench()
        bench.set(.backendUnreachable)
        bench.pass(milliseconds: 200)
        bench.set([.backendUnreachable, .queueFull])
        bench.pass(milliseconds: 1_400)
        // Dark since 150 ms: the three flashes come half a second later.
        #expect(bench.recorder.times(.uplink) == [0, 150, 650, 800, 1_000, 1_150, 1_350, 1_500])
    }

    @Test("however fast conditions and events change, no LED turns on more often than three times a second, and none is on for less than 0.15 s",
          arguments: UInt64(1)...40)
    func thrashing(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let layout: LEDLayout = seed.isMultiple(of: 2) ? .full : LEDLayout([.radio])
        let bench = Bench(layout)
        for _ in 0..<400 {
            if Int.random(in: 0..<3, using: &random) == 0 {
                bench.show(IndicatorEvent.allCases.randomElement(using: &random) ?? .batchRead)
            } else {
                bench.set(IndicatorConditions(rawValue: UInt16(truncatingIfNeeded: random.next() & random.next()) & 0x1FFF))
            }
            bench.pass(milliseconds: Int.random(in: 0...(seed % 4 == 0 ? 3_000 : 120), using: &random))
        }
        for led in layout.leds {
            let edges = bench.recorder.edges.filter { $0.led == led }
            #expect(edges.count > 20)
            for (edge, next) in zip(edges, edges.dropFirst()) {
                #expect(edge.lit != next.lit, "\(edge) then \(next)")
                #expect(next.at - edge.at >= (edge.lit ? 150 : 200), "\(edge) then \(next)")
            }
        }
    }

    @Test("after any history, one LED comes to show the pattern of the conditions that stay", arguments: UInt64(1)...40)
    func settles(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let bench = Bench()
        for _ in 0..<50 {
            bench.set(IndicatorConditions(rawValue: UInt16(truncatingIfNeeded: random.next()) & 0x1FFF))
            bench.show(IndicatorEvent.allCases.randomElement(using: &random) ?? .batchRead)
            bench.pass(milliseconds: Int.random(in: 0...700, using: &random))
        }
        let last = IndicatorConditions(rawValue: UInt16(truncatingIfNeeded: random.next() & random.next()) & 0x1FFF)
        bench.set(last)
        bench.pass(milliseconds: 30_000)
        let from = bench.recorder.edges.count
        bench.pass(milliseconds: 60_000)
        for led in LED.allCases {
            let pattern = LEDPriority.of(led).state(for: last).pattern
            let edges = bench.recorder.edges.suffix(from: from).filter { $0.led == led }
            let lengths = zip(edges, edges.dropFirst()).map { ($0.lit, $1.at - $0.at) }
            guard pattern.round.count > 1 else {
                #expect(edges.isEmpty)
                #expect(bench.recorder.edges.last { $0.led == led }?.lit == true)
                continue
            }
            let round = pattern.round.map { ($0.lit, $0.duration?.milliseconds ?? 0) }
            let offset = round.indices.first { start in
                lengths.indices.allSatisfy { lengths[$0] == round[(start + $0) % round.count] }
            }
            #expect(offset != nil, "\(pattern.name): \(lengths.prefix(8))")
            #expect(lengths.count > 10)
        }
    }

    @Test("the same conditions again, or a less urgent one behind a shown one, change nothing")
    func unchanged() {
        let bench = Bench()
        bench.set([.queueFull, .backendUnreachable])
        bench.pass(milliseconds: 100)
        bench.set([.queueFull, .backendUnreachable])
        bench.set([.queueFull, .waitingToSend])
        bench.pass(milliseconds: 1_000)
        #expect(bench.recorder.times(.uplink) == [0, 150, 350, 500, 700, 850])
        #expect(bench.recorder.states == [[.allWell, .everyDeviceLinked, .queueFull]])
    }

    @Test("conditions can be changed one at a time")
    func change() {
        let bench = Bench()
        bench.perform { await $0.change(adding: [.starting, .lookingForDevices]) }
        bench.perform { await $0.change(adding: .waitingToSend, removing: .starting) }
        bench.perform { await $0.change(removing: .lookingForDevices) }
        #expect(bench.recorder.states == [
            [.starting, .lookingForDevices, .everythingDelivered],
            [.allWell, .lookingForDevices, .waitingToSend],
            [.allWell, .everyDeviceLinked, .waitingToSend]
        ])
    }

    @Test("what is shown can be asked for, in words")
    func asked() throws {
        let bench = Bench()
        let board = bench.board
        #expect(try bench.loop.run { await board.shown }.isEmpty)
        bench.set([.clockUnset, .deviceAway])
        let shown = try bench.loop.run { await board.shown }
        #expect(shown.map { "\($0.led.rawValue): \($0.state.words) (\($0.pattern.name))" } == [
            "status: clock not set, uploads held (3 flashes)",
            "radio: a device has been away for long (2 flashes)",
            "uplink: everything delivered (on)"
        ])
    }

    @Test("one LED alone shows the most urgent state of all, whichever position it has", arguments: LED.allCases)
    func single(_ led: LED) {
        let bench = Bench(LEDLayout([led]))
        bench.set([.waitingToSend, .lookingForDevices])
        bench.set([.waitingToSend, .lookingForDevices, .queueFull])
        bench.set([.waitingToSend, .noController, .queueFull])
        bench.set([])
        #expect(bench.recorder.states == [[.lookingForDevices], [.queueFull], [.noController], [.allWell]])
        bench.pass(milliseconds: 20_150)
        // The first flash is let be seen before the pattern of the last state starts.
        #expect(bench.recorder.times(led) == [0, 9_950, 10_150, 19_950, 20_150])
        #expect(bench.recorder.edges.allSatisfy { $0.led == led })
    }

    @Test("without LEDs the board does nothing and costs nothing")
    func none() {
        let bench = Bench(.none)
        bench.set([.storageFault, .pairingOpen])
        bench.show(.readingStored)
        bench.pass(milliseconds: 60_000)
        bench.stop()
        #expect(bench.recorder.edges.isEmpty && bench.recorder.states.isEmpty)
        #expect(bench.loop.wakeUps == 0)
        #expect(bench.recorder.closed == 1)
    }

    @Test("a layout has each LED once, in order")
    func layout() {
        #expect(LEDLayout([.uplink, .status, .uplink]).leds == [.status, .uplink])
        #expect(LEDLayout.full.leds == [.status, .radio, .uplink])
    }

    @Test("on stop every LED is off and no timer is left, and nothing turns one on again")
    func stop() throws {
        let bench = Bench()
        bench.set([.pairingOpen])
        bench.pass(milliseconds: 100)
        bench.show(.readingAccepted)
        bench.stop()
        let edges = bench.recorder.edges
        for led in LED.allCases { #expect(edges.last { $0.led == led }?.lit == false) }
        let wakeUps = bench.loop.wakeUps
        bench.set([.storageFault])
        bench.show(.readingStored)
        bench.stop()
        bench.pass(milliseconds: 60_000)
        #expect(bench.recorder.edges == edges)
        #expect(bench.loop.wakeUps == wakeUps)
        #expect(bench.recorder.closed == 1)
        let board = bench.board
        #expect(try bench.loop.run { await board.shown }.isEmpty)
    }

    @Test("a board that is let go of leaves no timer that does anything")
    func released() {
        let loop = VirtualLoop()
        let recorder = Recorder(loop)
        do {
            let board = IndicatorBoard(loop: loop, output: recorder.output)
            loop.spawn { await board.set(.pairingOpen) }
            loop.advance(by: .zero)
        }
        loop.advance(by: .seconds(10))
        #expect(recorder.times(.radio) == [0])
    }

    @Test("the version of libgpiod that is loaded has the form of a version")
    func version() {
        let parts = libraryVersion().split(separator: ".")
        #expect(parts.count >= 2)
        #expect(parts[0] == "1" || parts[0] == "2")
        #expect(parts.dropFirst().allSatisfy { $0.first?.isNumber == true })
    }
}
