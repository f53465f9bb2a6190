import Platform
import Synchronization
import Testing

@testable import Indicators

@Suite("The button: from edges to presses")
struct ButtonMachineTests {
    private let start = BootInstant(nanoseconds: 1_000_000_000_000)
    private func at(_ milliseconds: Int64) -> BootInstant { start + .milliseconds(milliseconds) }

    /// Feeds edges at their times, elapses whatever comes due, and gives what followed with its time.
    private func play(_ edges: [(Int64, Bool)], until end: Int64, debounced: Bool = false, downFirst: Bool = false) -> [String] {
        var machine = ButtonMachine(down: downFirst, debounced: debounced)
        var level = downFirst
        var log: [String] = []
        func note(_ actions: [ButtonMachine.Action], _ now: BootInstant) {
            for action in actions {
                if action == .look {
                    let more = machine.read(down: level, now: now)
                    note(more, now)
                } else {
                    log.append("\(action) \((now - start).milliseconds)")
                }
            }
        }
        func pass(to limit: BootInstant) {
            while let due = machine.due, due <= limit { note(machine.elapse(now: due), due) }
        }
        for (time, down) in edges {
            // What comes due at the very moment of an edge is settled by the edge.
            pass(to: at(time) + .nanoseconds(-1))
            level = down
            note(machine.edge(down: down, at: at(time)), at(time))
        }
        pass(to: at(end))
        return log
    }

    @Test("down and up is one press, told when it is let go of", arguments: [false, true])
    func press(_ debounced: Bool) {
        #expect(play([(0, true), (300, false)], until: 60_000, debounced: debounced) == ["pressed \(debounced ? 300 : 320)"])
    }

    @Test("bounces at both ends make it no more than one press")
    func bounces() {
        let edges: [(Int64, Bool)] = [
            (0, true), (1, false), (3, true), (4, false), (9, true), (200, false), (201, true), (205, false), (206, true), (211, false)
        ]
        #expect(play(edges, until: 60_000) == ["pressed 231"])
    }

    @Test("a spike shorter than the debounce time is nothing")
    func spike() {
        #expect(play([(0, true), (19, false)], until: 60_000) == [])
        #expect(play([(0, true), (20, false)], until: 60_000) == ["pressed 40"])
    }

    @Test("held for ten seconds it is told then, once, and letting go says nothing more", arguments: [false, true])
    func held(_ debounced: Bool) {
        #expect(play([(0, true), (15_000, false)], until: 60_000, debounced: debounced) == ["held 10000"])
        #expect(play([(0, true)], until: 600_000, debounced: debounced) == ["held 10000"])
        #expect(play([(0, true), (9_999, false)], until: 60_000, debounced: debounced).first?.hasPrefix("pressed") == true)
    }

    @Test("a bounce while it is held starts no new count")
    func heldWithBounce() {
        #expect(play([(0, true), (5_000, false), (5_002, true)], until: 60_000) == ["held 10000"])
        // At the very end: the count is told when the level has settled.
        #expect(play([(0, true), (9_995, false), (9_999, true)], until: 60_000) == ["held 10019"])
    }

    @Test("a button that is down from the start counts from when it is let go of", arguments: [false, true])
    func stuck(_ debounced: Bool) {
        #expect(play([(20_000, false)], until: 60_000, debounced: debounced, downFirst: true) == [])
        #expect(play([(100, false), (1_000, true), (1_100, false)], until: 60_000, debounced: debounced, downFirst: true).count == 1)
    }

    @Test("edges that are heard of late, all at once, still make a press: their own times count")
    func late() {
        var machine = ButtonMachine(down: false, debounced: false)
        #expect(machine.edge(down: true, at: at(0)) == [])
        #expect(machine.edge(down: false, at: at(150)) == [])
        #expect(machine.elapse(now: at(3_000)) == [.pressed, .look])
    }

    @Test("a hold whose end is heard of late is held, not pressed")
    func lateHold() {
        var machine = ButtonMachine(down: false, debounced: true)
        #expect(machine.edge(down: true, at: at(0)) == [])
        #expect(machine.edge(down: false, at: at(11_000)) == [.held])
    }

    @Test("when edges were lost, the level that is read sets it right")
    func lost() {
        var machine = ButtonMachine(down: false, debounced: false)
        _ = machine.edge(down: true, at: at(0))
        #expect(machine.elapse(now: at(20)) == [.look])
        #expect(machine.read(down: false, now: at(20)) == [.pressed])
        #expect(machine.due == nil)
    }

    @Test("a button at rest has nothing due")
    func rest() {
        #expect(ButtonMachine(down: false, debounced: false).due == nil)
        #expect(ButtonMachine(down: true, debounced: true).due == nil)
    }

    @Test("whatever the bounces, presses and holds are those of the level that lasts", arguments: UInt64(1)...60)
    func property(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var edges: [(Int64, Bool)] = []
        var expected: [String] = []
        var time: Int64 = 100
        for _ in 0..<30 {
            let length = Int.random(in: 0..<5, using: &random) == 0 ? Int64.random(in: 10_100...14_000, using: &random) : Int64.random(in: 60...9_900, using: &random)
            for (begin, down) in [(time, true), (time + length, false)] {
                var moment = begin
                edges.append((moment, down))
                for bounce in 0..<(2 * Int.random(in: 0...3, using: &random)) {
                    moment += Int64.random(in: 1...6, using: &random)
                    edges.append((moment, bounce.isMultiple(of: 2) ? !down : down))
                }
            }
            expected.append(length > 10_050 ? "held" : "pressed")
            time += length + Int64.random(in: 80...5_000, using: &random)
        }
        let log = play(edges, until: time + 60_000).map { String($0.prefix { $0 != " " }) }
        #expect(log == expected)
    }
}

@Suite("The pairing button on its line")
struct PairingButtonTests {
    private let loop = VirtualLoop()
    private let hardware: ScriptedHardware
    private let sink = MemorySink()
    private let calls = Calls()

    private final class Calls: Sendable {
        let all = Mutex<[String]>([])
        func add(_ call: String) { all.withLock { $0.append(call) } }
    }

    init() throws { hardware = try ScriptedHardware() }

    private func makeButton(resets: Bool = false) -> PairingButton {
        let loop = self.loop, calls = self.calls
        let button = PairingButton(
            loop: loop, line: GPIOLine(name: "button", activeLow: true), resets: resets, hardware: hardware, watches: false, log: Log(sink: sink) { loop.now })
        let press: @Sendable () -> Void = { calls.add("press") }, reset: @Sendable () -> Void = { calls.add("reset") }
        perform(button) { await $0.start(onPress: press, onReset: reset) }
        return button
    }

    private func perform(_ button: PairingButton, _ body: @escaping @Sendable (PairingButton) async -> Void) {
        loop.spawn { await body(button) }
        loop.advance(by: .zero)
    }

    private func change(_ down: Bool) {
        hardware.button(down: down, ages: [(down, .zero)])
        loop.advance(by: .zero)
    }

    private var made: [String] { calls.all.withLock { $0 } }
    private var words: [String] { sink.records.map(\.message) }

    @Test("a press opens pairing once")
    func press() {
        let button = makeButton()
        change(true)
        loop.advance(by: .milliseconds(200))
        #expect(made == [])
        change(false)
        loop.advance(by: .milliseconds(30))
        #expect(made == ["press"])
        loop.advance(by: .seconds(100))
        #expect(made == ["press"])
        perform(button) { await $0.stop() }
        #expect(hardware.done == ["take button", "release button"])
    }

    @Test("held for ten seconds it forgets nothing and says so, unless that is allowed", arguments: [false, true])
    func held(_ resets: Bool) {
        let button = makeButton(resets: resets)
        change(true)
        loop.advance(by: .seconds(12))
        change(false)
        loop.advance(by: .seconds(1))
        #expect(made == (resets ? ["reset"] : []))
        #expect(words == [
            resets ? "the pairing button was held for ten seconds: reset"
                : "the pairing button was held for ten seconds: nothing is forgotten, as pair_button has no reset = true"
        ])
        perform(button) { await $0.stop() }
    }

    @Test("where the kernel debounces, edges count as they come, and no timer runs for them")
    func debounced() {
        hardware.state.withLock { $0.debounced = true }
        let button = makeButton()
        let wakeUps = loop.wakeUps
        hardware.button(down: false, ages: [(true, .milliseconds(120)), (false, .milliseconds(20))])
        loop.advance(by: .zero)
        #expect(made == ["press"])
        #expect(loop.wakeUps == wakeUps)
        perform(button) { await $0.stop() }
    }

    @Test("a line that goes is said and taken again when it is back; a press that was begun is forgotten")
    func vanished() {
        let button = makeButton()
        change(true)
        hardware.remove("button")
        hardware.button(down: false, ages: [])
        loop.advance(by: .seconds(200))
        #expect(words == ["pair_button is lost: it is gone; wait [hardware-gone]"])
        hardware.restore("button")
        loop.advance(by: .seconds(61))
        #expect(words.last == "pair_button is there: GPIO line \"button\"")
        #expect(made == [])
        change(true)
        loop.advance(by: .milliseconds(100))
        change(false)
        loop.advance(by: .milliseconds(100))
        #expect(made == ["press"])
        perform(button) { await $0.stop() }
    }

    @Test("a line that somebody else has is said once, and nothing else happens")
    func busy() {
        hardware.refuse("button", .busy)
        let button = makeButton()
        loop.advance(by: .seconds(3_600))
        #expect(words == ["pair_button cannot be used: in use by \"other\"; free it [line-busy]; the gateway runs on without it and looks again"])
        perform(button) { await $0.stop() }
        let wakeUps = loop.wakeUps
        loop.advance(by: .seconds(3_600))
        #expect(loop.wakeUps == wakeUps)
    }

    @Test("a button that is down when it is taken is said, and is no press")
    func stuck() {
        hardware.state.withLock { $0.down = true }
        let button = makeButton(resets: true)
        loop.advance(by: .seconds(60))
        change(false)
        loop.advance(by: .seconds(1))
        #expect(made == [])
        #expect(words.count == 1 && words[0].hasPrefix("the pairing button is down"))
        perform(button) { await $0.stop() }
    }

    @Test("a button at rest costs no wake-up")
    func rest() {
        let button = makeButton()
        let wakeUps = loop.wakeUps
        loop.advance(by: .seconds(86_400))
        #expect(loop.wakeUps == wakeUps)
        perform(button) { await $0.stop() }
    }
}
