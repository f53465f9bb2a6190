import Platform
import Testing

@testable import Indicators

@Suite("Events: once, then back")
struct EventTests {
    /// All well, and the edges of that forgotten: the radio and uplink LEDs are on since 0 ms.
    private func resting(_ layout: LEDLayout = .full) -> Bench {
        let bench = Bench(layout)
        bench.set([])
        bench.pass(milliseconds: 1_000)
        return bench
    }

    @Test("a stored reading flickers twice, between two dark half seconds, then the LED is on again")
    func stored() {
        let bench = resting()
        bench.show(.readingStored)
        bench.pass(milliseconds: 5_000)
        #expect(bench.recorder.times(.radio) == [0, 1_000, 1_500, 1_650, 1_850, 2_000, 2_500])
    }

    @Test("an accepted reading flickers three times on the uplink LED")
    func accepted() {
        let bench = resting()
        bench.show(.readingAccepted)
        bench.pass(milliseconds: 5_000)
        #expect(bench.recorder.times(.uplink) == [0, 1_000, 1_500, 1_650, 1_850, 2_000, 2_200, 2_350, 2_850])
        #expect(bench.recorder.times(.radio) == [0])
    }

    @Test("a failed measurement turns the LED off for 2 s")
    func failed() {
        let bench = resting()
        bench.show(.measurementFailed)
        bench.pass(milliseconds: 5_000)
        #expect(bench.recorder.times(.radio) == [0, 1_000, 3_000])
    }

    @Test("each batch dips an LED that shows reading, and at most one dip a second")
    func dips() {
        let bench = Bench()
        bench.set(.readingFromDevice)
        bench.pass(milliseconds: 1_000)
        for _ in 0..<20 {
            bench.show(.batchRead)
            bench.pass(milliseconds: 100)
        }
        bench.pass(milliseconds: 10_000)
        #expect(bench.recorder.times(.radio) == [0, 1_000, 1_200, 2_000, 2_200, 3_000, 3_200])
    }

    @Test("a batch changes nothing on an LED that shows something else", arguments: [
        IndicatorConditions.lookingForDevices, .deviceAway, .pairingOpen, []
    ])
    func noDip(_ conditions: IndicatorConditions) {
        let (one, other) = (Bench(), Bench())
        for bench in [one, other] { bench.set(conditions) }
        for bench in [one, other] { bench.pass(milliseconds: 1_000) }
        one.show(.batchRead)
        for bench in [one, other] { bench.pass(milliseconds: 9_000) }
        #expect(one.recorder.edges == other.recorder.edges)
    }

    @Test("after an event a counted pattern starts with its first flash")
    func countAfter() {
        let bench = Bench()
        bench.set(.deviceAway)
        bench.pass(milliseconds: 400)
        bench.show(.readingStored)  // 0.05 s into the second flash, which is let finish
        bench.pass(milliseconds: 3_000)
        #expect(bench.recorder.times(.radio) == [0, 150, 350, 500, 1_000, 1_150, 1_350, 1_500, 2_000, 2_150, 2_350, 2_500])
    }

    @Test("readings that arrive together flicker at most twice over, a failure among them is shown too")
    func coalesced() {
        let bench = resting()
        for _ in 0..<10 { bench.show(.readingStored) }
        bench.show(.measurementFailed)
        bench.pass(milliseconds: 20_000)
        // 1.5 s, 1.5 s, 2 s: then on for good.
        #expect(bench.recorder.times(.radio) == [0, 1_000, 1_500, 1_650, 1_850, 2_000, 3_000, 3_150, 3_350, 3_500, 6_000])
    }

    @Test("a state that comes during an event is shown after it")
    func stateDuring() {
        let bench = resting()
        bench.show(.measurementFailed)
        bench.pass(milliseconds: 500)
        bench.set(.pairingOpen)
        bench.pass(milliseconds: 3_000)
        #expect(bench.recorder.times(.radio) == [0, 1_000, 3_000, 3_500, 4_000, 4_500])
    }

    @Test("a state that comes during a dip is shown at once")
    func stateDuringDip() {
        let bench = Bench()
        bench.set(.readingFromDevice)
        bench.pass(milliseconds: 1_000)
        bench.show(.batchRead)
        bench.show(.batchRead)
        bench.pass(milliseconds: 100)
        bench.set(.noController)
        bench.pass(milliseconds: 600)
        #expect(bench.recorder.times(.radio) == [0, 1_000, 1_500, 1_650])
    }

    @Test("an event before the first conditions, or for an LED that is not there, shows nothing")
    func nowhere() {
        let early = Bench()
        early.show(.readingStored)
        early.pass(milliseconds: 5_000)
        #expect(early.recorder.edges.isEmpty && early.loop.wakeUps == 0)
        let two = resting(LEDLayout([.status, .uplink]))
        two.show(.readingStored)
        two.pass(milliseconds: 5_000)
        #expect(two.recorder.edges.count == 2)
    }

    @Test("one LED alone shows the events of all")
    func single() {
        let bench = Bench(LEDLayout([.status]))
        bench.set([])
        bench.pass(milliseconds: 1_000)
        bench.show(.readingStored)
        bench.pass(milliseconds: 2_000)
        bench.show(.readingAccepted)
        bench.pass(milliseconds: 1_000)
        #expect(bench.recorder.times(.status) == [0, 1_000, 1_500, 1_650, 1_850, 2_000, 2_500, 3_000, 3_500, 3_650, 3_850, 4_000])
    }
}
