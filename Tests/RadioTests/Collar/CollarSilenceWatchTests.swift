import Platform
import Testing
@testable import Radio

@Suite("Silence")
struct CollarSilenceWatchTests {
    private func at(_ seconds: Int64) -> BootInstant { BootInstant(nanoseconds: seconds * 1_000_000_000) }

    @Test("nothing heard from the start is silence after the limit")
    func neverHeard() {
        var watch = SilenceWatch(limit: .seconds(15), now: at(100))
        #expect(watch.deadline == at(115))
        #expect(watch.fired(at: at(115)) == .silent)
    }

    @Test("silence is told a full limit after the last sign, wherever the timer stood")
    func lastSign() {
        var watch = SilenceWatch(limit: .seconds(15), now: at(0))
        #expect(watch.heard(at: at(5)) == nil)
        #expect(watch.fired(at: at(15)) == .rearm(at(20)))
        #expect(watch.fired(at: at(20)) == .silent)
    }

    @Test("while heartbeats come every 5 s the timer is moved before it fires, at every second one")
    func neverFiresWhileHeard() {
        var watch = SilenceWatch(limit: .seconds(15), now: at(0))
        var timer = watch.deadline
        var moves = 0
        for beat in 1...1_000 {
            let now = at(5 * Int64(beat))
            #expect(timer > now)
            if let moved = watch.heard(at: now) {
                timer = moved
                moves += 1
            }
        }
        #expect(moves == 500)
    }
}
