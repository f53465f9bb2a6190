import Platform
import Testing

@testable import Indicators

@Suite("Patterns, to the millisecond")
struct PatternTests {
    @Test("counted flashes are 0.15 s long with 0.2 s between them, then 2.5 s off", arguments: [
        (IndicatorConditions.waitingToSend, [Int64(0), 150, 2_650, 2_800]),
        (.backendUnreachable, [0, 150, 350, 500, 3_000, 3_150, 3_350, 3_500]),
        (.queueFull, [0, 150, 350, 500, 700, 850, 3_350, 3_500, 3_700, 3_850, 4_050, 4_200]),
        (.authorisationRefused, [0, 150, 350, 500, 700, 850, 1_050, 1_200, 3_700, 3_850, 4_050, 4_200, 4_400, 4_550, 4_750, 4_900])
    ])
    func counted(_ condition: IndicatorConditions, _ times: [Int64]) {
        let bench = Bench()
        bench.set(condition)
        bench.pass(milliseconds: Int(times[times.count - 1]))
        #expect(bench.recorder.times(.uplink) == times)
        #expect(bench.recorder.edges.filter { $0.led == .uplink }.map(\.lit) == times.indices.map { $0.isMultiple(of: 2) })
    }

    @Test("five flashes mark a fault, whichever it is, and the count goes on when one fault takes the place of another")
    func fault() {
        let bench = Bench()
        let round: [Int64] = [0, 150, 350, 500, 700, 850, 1_050, 1_200, 1_400, 1_550]
        bench.set(.storageFault)
        bench.pass(milliseconds: 1_000)
        bench.set(.configurationRefused)
        bench.pass(milliseconds: 4_650)
        #expect(bench.recorder.times(.status) == round + round.map { $0 + 4_050 })
    }

    @Test("even blinking is half a second on, half a second off")
    func even() {
        let bench = Bench()
        bench.set(.pairingOpen)
        bench.pass(milliseconds: 2_500)
        #expect(bench.recorder.times(.radio) == [0, 500, 1_000, 1_500, 2_000, 2_500])
    }

    @Test("all well is on, with a dip of 0.2 s every 10 s")
    func dip() {
        let bench = Bench()
        bench.set([])
        bench.pass(milliseconds: 30_000)
        #expect(bench.recorder.times(.status) == [0, 9_800, 10_000, 19_800, 20_000, 29_800, 30_000])
        #expect(bench.recorder.times(.radio) == [0])
        #expect(bench.recorder.times(.uplink) == [0])
    }

    @Test("a hub at rest wakes up for the dip of the status LED and for nothing else")
    func wakeUps() {
        let bench = Bench()
        bench.set([])
        let before = bench.loop.wakeUps
        bench.pass(milliseconds: 3_600_000)
        #expect(bench.loop.wakeUps - before == 2 * 360)
    }

    @Test("steady LEDs without the status LED have no timer at all")
    func steady() throws {
        let bench = Bench(LEDLayout([.uplink, .radio]))
        bench.set(.readingFromDevice)
        bench.pass(milliseconds: 86_400_000)
        #expect(bench.loop.wakeUps == 0)
        #expect(bench.recorder.edges == [Edge(led: .radio, at: 0, lit: true), Edge(led: .uplink, at: 0, lit: true)])
    }

    @Test("edges of several LEDs at one moment cost one wake-up")
    func shared() {
        let bench = Bench()
        bench.set([.starting, .lookingForDevices, .waitingToSend])
        bench.pass(milliseconds: 10 * 2_650)
        #expect(bench.loop.wakeUps == 20)
        #expect(bench.recorder.edges.count == 3 * 21)
    }

    @Test("an edge that is handled late keeps every flash whole and every count right")
    func late() {
        var machine = LEDMachine()
        let start = BootInstant(nanoseconds: 1_000_000_000)
        machine.show(.flashes(3), now: start)
        var now = start
        var lengths: [(lit: Bool, lasted: Duration)] = []
        var late = SplitMix64(seed: 7)
        while lengths.count < 60 {
            guard let due = machine.due else { break }
            let (was, since) = (machine.lit, now)
            now = due + .milliseconds(Int64.random(in: 0...5_000, using: &late))
            machine.elapse(now: now)
            lengths.append((was, now - since))
        }
        #expect(lengths.count == 60)
        for (index, segment) in lengths.enumerated() {
            #expect(segment.lit == index.isMultiple(of: 2))
            #expect(segment.lasted >= (segment.lit ? .milliseconds(150) : .milliseconds(index % 6 == 5 ? 2_500 : 200)))
        }
    }

    @Test("an early or a needless wake-up changes nothing")
    func early() {
        var machine = LEDMachine()
        let start = BootInstant(nanoseconds: 0)
        machine.elapse(now: start)
        #expect(!machine.lit && machine.due == nil)
        machine.show(.even, now: start)
        machine.elapse(now: start + .milliseconds(499))
        #expect(machine.lit && machine.due == start + .milliseconds(500))
    }

    @Test("a count below one is shown as one flash")
    func noFlash() {
        #expect(LEDPattern.flashes(0).round == LEDPattern.flashes(1).round)
        #expect(LEDPattern.flashes(-3).name == "1 flash")
    }

    @Test("no pattern turns an LED on more than three times a second, nor at the rates of medical alarms")
    func rates() {
        for pattern in Set(LEDState.allCases.map(\.pattern)) {
            let segments = pattern.round + pattern.round
            guard pattern.round.count > 1 else { continue }
            var periods = [pattern.round.reduce(Duration.zero) { $0 + ($1.duration ?? .zero) }]
            var sinceOn = Duration.zero
            for (index, segment) in segments.enumerated() {
                if segment.lit, index > 0 {
                    periods.append(sinceOn)
                    sinceOn = .zero
                }
                sinceOn += segment.duration ?? .zero
            }
            for period in periods {
                let hertz = 1_000.0 / Double(period.milliseconds)
                #expect(hertz <= 3, "\(pattern.name)")
                #expect(!(0.4...0.8).contains(hertz) && !(1.4...2.8).contains(hertz), "\(pattern.name) at \(hertz) Hz")
            }
        }
    }
}
