import Platform
import Testing
@testable import gateway

@Suite("When a pass starts")
struct PassTriggerTests {
    private let start = BootInstant(nanoseconds: 1_000_000_000_000)
    private var trigger = PassTrigger(batchWindows: 128, batchAge: .seconds(60))

    @Test("a full batch makes a pass due at once, even while nothing drains")
    func fullBatch() {
        var trigger = trigger
        trigger.announced(unread: 128, now: start)
        #expect(trigger.isDue(draining: true, now: start))
        #expect(trigger.isDue(draining: false, now: start))
    }

    @Test("one window less waits until the oldest was announced a minute ago")
    func age() {
        var trigger = trigger
        trigger.announced(unread: 5, now: start)
        trigger.announced(unread: 64, now: start + .seconds(55))
        #expect(!trigger.isDue(draining: true, now: start + .milliseconds(59_999)))
        #expect(trigger.isDue(draining: true, now: start + .seconds(60)))
    }

    @Test("other thresholds hold for what was announced before")
    func otherThresholds() {
        var trigger = trigger
        trigger.announced(unread: 20, now: start)
        #expect(!trigger.isDue(draining: true, now: start + .seconds(10)))
        trigger.adopt(batchWindows: 128, batchAge: .seconds(10))
        #expect(trigger.isDue(draining: true, now: start + .seconds(10)))
        trigger.adopt(batchWindows: 20, batchAge: .seconds(3_600))
        #expect(trigger.isDue(draining: false, now: start))
        trigger.adopt(batchWindows: 21, batchAge: .seconds(3_600))
        #expect(!trigger.isDue(draining: true, now: start + .seconds(10)))
    }

    @Test("while nothing drains, age alone starts no pass")
    func undrained() {
        var trigger = trigger
        trigger.announced(unread: 127, now: start)
        #expect(!trigger.isDue(draining: false, now: start + .seconds(3_600)))
    }

    @Test("a flush reads what is there, and is spent when that is stored")
    func demand() {
        var trigger = trigger
        trigger.announced(unread: 3, now: start)
        trigger.demand()
        #expect(trigger.isDue(draining: false, now: start))
        trigger.stored(3, leaving: 1, now: start)
        #expect(!trigger.isDue(draining: true, now: start))
    }

    @Test("a flush reads in as many batches as it takes all that was there, and no window that came later")
    func demandBeyondABatch() {
        var trigger = trigger
        trigger.demand()
        trigger.announced(unread: 300, now: start)
        for left: UInt64 in [172, 44] {
            trigger.stored(128, leaving: left, now: start)
            #expect(trigger.isDue(draining: false, now: start))
        }
        trigger.announced(unread: 46, now: start)
        trigger.stored(44, leaving: 2, now: start)
        #expect(!trigger.isDue(draining: true, now: start))
    }

    @Test("after a pass the age of what is left counts from the pass")
    func leftover() {
        var trigger = trigger
        trigger.announced(unread: 130, now: start)
        trigger.stored(128, leaving: 2, now: start + .seconds(50))
        #expect(!trigger.isDue(draining: true, now: start + .seconds(61)))
        #expect(trigger.isDue(draining: true, now: start + .seconds(110)))
    }

    @Test("a pass for the windows' age reads all of them, in batches as small as the backend wants them")
    func smallBatches() {
        var trigger = trigger
        trigger.announced(unread: 60, now: start)
        let later = start + .seconds(60)
        trigger.begin(draining: true, now: later)
        trigger.stored(20, leaving: 40, now: later)
        #expect(trigger.isDue(draining: true, now: later))
        trigger.stored(20, leaving: 21, now: later)
        trigger.stored(20, leaving: 1, now: later)
        #expect(!trigger.isDue(draining: true, now: later))
    }

    @Test("a pass for a full batch leaves what is less than one, while nothing drains")
    func fullBatchesOnly() {
        var trigger = trigger
        trigger.announced(unread: 130, now: start)
        trigger.begin(draining: false, now: start + .seconds(90))
        trigger.stored(128, leaving: 2, now: start + .seconds(90))
        #expect(!trigger.isDue(draining: false, now: start + .seconds(90)))
    }

    @Test("an empty collar never makes a pass due")
    func empty() {
        var trigger = trigger
        trigger.demand()
        trigger.announced(unread: 0, now: start)
        #expect(!trigger.isDue(draining: true, now: start + .seconds(3_600)))
    }
}
