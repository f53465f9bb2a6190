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
        trigger.stored(leaving: 1, now: start)
        #expect(!trigger.isDue(draining: true, now: start))
    }

    @Test("after a pass the age of what is left counts from the pass")
    func leftover() {
        var trigger = trigger
        trigger.announced(unread: 130, now: start)
        trigger.stored(leaving: 2, now: start + .seconds(50))
        #expect(!trigger.isDue(draining: true, now: start + .seconds(61)))
        #expect(trigger.isDue(draining: true, now: start + .seconds(110)))
    }

    @Test("an empty collar never makes a pass due")
    func empty() {
        var trigger = trigger
        trigger.demand()
        trigger.announced(unread: 0, now: start)
        #expect(!trigger.isDue(draining: true, now: start + .seconds(3_600)))
    }
}
