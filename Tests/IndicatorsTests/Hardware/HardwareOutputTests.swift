import Platform
import Testing

@testable import Indicators

@Suite("A board on hardware")
struct HardwareOutputTests {
    private let loop = VirtualLoop()
    private let hardware: ScriptedHardware
    private let sink = MemorySink()

    init() throws { hardware = try ScriptedHardware() }

    private func makeBoard(_ leds: [LED] = LED.allCases) -> IndicatorBoard {
        let loop = self.loop
        let log = Log(sink: sink) { loop.now }
        let places = Dictionary(uniqueKeysWithValues: leds.map { ($0, LEDPlace.line(GPIOLine(name: $0.rawValue))) })
        return IndicatorBoard(
            loop: loop, output: HardwareOutput(loop: loop, places: places, hardware: hardware, watches: false, log: log), layout: LEDLayout(leds))
    }

    private func act(_ board: IndicatorBoard, _ body: @escaping @Sendable (IndicatorBoard) async -> Void) {
        loop.spawn { await body(board) }
        loop.advance(by: .zero)
    }

    private var lines: [String] { sink.records.map { "\($0.event.name): \($0.message)" } }

    @Test("lines are taken dark with the first conditions, and not before")
    func taken() {
        let board = makeBoard()
        loop.advance(by: .seconds(5))
        #expect(hardware.done == [])
        act(board) { await $0.set([.lookingForDevices]) }
        #expect(hardware.done == ["take status dark", "take radio dark", "take uplink dark", "status on", "radio on", "uplink on"])
        #expect(sink.records.isEmpty)
    }

    @Test("on stop every LED is turned off, then released")
    func stopped() {
        let board = makeBoard([.status, .uplink])
        act(board) { await $0.set([]) }
        let before = hardware.done.count
        act(board) { await $0.stop() }
        #expect(hardware.done.dropFirst(before) == ["status off", "uplink off", "status off", "release status", "uplink off", "release uplink"])
    }

    @Test("steady LEDs on hardware cost no wake-up but the dip's")
    func wakeUps() {
        let board = makeBoard()
        act(board) { await $0.set([]) }
        let before = loop.wakeUps
        loop.advance(by: .seconds(3_600))
        #expect(loop.wakeUps - before == 2 * 360)
    }

    @Test("an LED that cannot be had is said once; the others shine, and it joins them lit as it should be when it can")
    func missing() {
        hardware.refuse("radio", .busy)
        let board = makeBoard()
        act(board) { await $0.set([]) }
        #expect(hardware.done == ["take status dark", "refuse radio", "take uplink dark", "status on", "uplink on"])
        loop.advance(by: .seconds(600))
        #expect(lines == [
            "indicator-missing: LED radio cannot be used: in use by \"other\"; free it [line-busy]; the gateway runs on without it and looks again"
        ])
        hardware.refuse("radio", nil)
        loop.advance(by: .seconds(61))
        #expect(hardware.done.contains("take radio lit"))
        #expect(lines.last == "indicator-found: LED radio is there: GPIO line \"radio\"")
    }

    @Test("while one is missing it is looked for less and less often, at least once a minute")
    func patience() {
        hardware.refuse("status", .absent)
        let board = makeBoard([.status])
        act(board) { await $0.set([.pairingOpen]) }
        var moments: [Int64] = []
        let start = loop.now
        var seen = hardware.done.count { $0 == "refuse status" }
        for _ in 0..<3_000 {
            loop.advance(by: .milliseconds(100))
            let count = hardware.done.count { $0 == "refuse status" }
            if count > seen { moments.append((loop.now - start).milliseconds / 1_000) }
            seen = count
        }
        #expect(moments == [1, 3, 7, 15, 31, 63, 123, 183, 243])
        #expect(lines.count == 1)
    }

    @Test("an LED whose chip vanishes is said at its next edge; it comes back lit as it should be, and nobody else is disturbed")
    func vanished() {
        let board = makeBoard([.status, .radio])
        act(board) { await $0.set([.pairingOpen]) }
        hardware.remove("radio")
        loop.advance(by: .seconds(100))
        #expect(lines == ["indicator-missing: LED radio is lost: it is gone; wait [hardware-gone]"])
        hardware.restore("radio")
        loop.advance(by: .seconds(61))
        #expect(lines.count == 2 && lines.last == "indicator-found: LED radio is there: GPIO line \"radio\"")
        let from = hardware.done.count
        loop.advance(by: .seconds(2))
        #expect(hardware.done.dropFirst(from).filter { $0.hasPrefix("radio") }.count == 4)
        #expect(hardware.done.count { $0 == "take status dark" } == 1)
    }

    @Test("another reason than the one that was said is said; the same again is not")
    func reasons() {
        hardware.refuse("status", .absent)
        let board = makeBoard([.status])
        act(board) { await $0.set([]) }
        hardware.refuse("status", .busy)
        loop.advance(by: .seconds(300))
        hardware.refuse("status", IndicatorError(.noGPIO, "none", advice: ""))
        loop.advance(by: .seconds(300))
        #expect(sink.records.map { $0.fields.last?.value } == ["line-not-found", "line-busy", "no-gpio"])
    }

    @Test("a board that was stopped takes nothing any more")
    func stoppedWhileMissing() {
        hardware.refuse("status", .absent)
        let board = makeBoard([.status])
        act(board) { await $0.set([]) }
        act(board) { await $0.stop() }
        hardware.refuse("status", nil)
        let wakeUps = loop.wakeUps
        loop.advance(by: .seconds(3_600))
        #expect(loop.wakeUps == wakeUps)
        #expect(!hardware.done.contains { $0.hasPrefix("take") })
    }
}

@Suite("What is held and what is looked for")
struct FixtureMachineTests {
    @Test("what was never missing is taken without a word")
    func silent() {
        var machine = FixtureMachine()
        #expect(machine.taken() == nil)
        #expect(machine.isHeld && machine.patience == nil)
    }

    @Test("what has gone and is not there is one piece of news; that somebody else has it meanwhile is another")
    func news() {
        var machine = FixtureMachine()
        _ = machine.taken()
        #expect(machine.lost(.gone) == .lost(.gone))
        #expect(machine.refused(.absent) == nil)
        #expect(machine.refused(.busy) == .missing(.busy))
        #expect(machine.refused(.busy) == nil)
        #expect(machine.refused(.absent) == .missing(.absent))
        #expect(machine.taken() == .back)
        #expect(machine.taken() == nil)
    }

    @Test("a sign makes the next look come soon again")
    func nudged() {
        var machine = FixtureMachine()
        for _ in 0..<20 { _ = machine.refused(.absent) }
        #expect(machine.patience == .seconds(60))
        machine.nudge()
        #expect(machine.patience == .seconds(1))
    }

    @Test("what is not held cannot be lost")
    func notHeld() {
        var machine = FixtureMachine()
        #expect(machine.lost(.gone) == nil)
        #expect(machine.patience == nil)
    }
}
