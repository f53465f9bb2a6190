import Platform

/// The LEDs of a board as hardware: GPIO lines, and LEDs of the kernel.
///
/// They are taken when the board first shows something. One that cannot be had, or goes, is said once and looked for: when the kernel tells of a
/// device that came, and now and then. The others shine on meanwhile. On close every LED is turned off, then released.
public struct HardwareOutput: LEDOutput {
    private let keeper: LampKeeper

    /// - Parameters:
    ///   - loop: the board's.
    ///   - places: where the LEDs are, of those there are.
    public init(loop: any EventLoop, places: [LED: LEDPlace], log: Log) {
        self.init(loop: loop, places: places, hardware: SystemHardware(), log: log)
    }

    init(loop: any EventLoop, places: [LED: LEDPlace], hardware: any IndicatorHardware, watches: Bool = true, log: Log) {
        keeper = LampKeeper(loop: loop, places: places, hardware: hardware, watches: watches, log: log)
    }

    public mutating func set(_ led: LED, lit: Bool) {
        keeper.assumeIsolated { $0.set(led, lit: lit) }
    }

    public mutating func stateChanged(_ shown: [LEDShown]) {
        keeper.assumeIsolated { $0.begin() }
    }

    public mutating func close() {
        keeper.assumeIsolated { $0.close() }
    }
}

/// Holds the LEDs, on the loop.
actor LampKeeper {
    private struct Entry {
        let led: LED
        let place: LEDPlace
        var machine = FixtureMachine()
        var lamp: (any Lamp)?
        var lit = false
    }

    private let loop: any EventLoop
    private let hardware: any IndicatorHardware
    private let watches: Bool
    private let log: Log
    private var entries: [Entry]
    private var state = State.idle
    private var watch: DeviceWatch?
    private var retry: TimerID?

    private enum State {
        case idle, running, closed
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: any EventLoop, places: [LED: LEDPlace], hardware: any IndicatorHardware, watches: Bool, log: Log) {
        self.loop = loop
        self.hardware = hardware
        self.watches = watches
        self.log = log
        entries = LED.allCases.compactMap { led in places[led].map { Entry(led: led, place: $0) } }
    }

    /// Takes the LEDs. Done once.
    func begin() {
        guard state == .idle else { return }
        state = .running
        if watches, !entries.isEmpty {
            let nudged: @Sendable () -> Void = { [weak self] in self?.assumeIsolated { $0.nudge() } }
            do throws(SystemError) {
                watch = try DeviceWatch(loop: loop, subsystems: ["gpio", "leds"], onChange: nudged)
            } catch {
                log(.info, .indicatorMissing, "LEDs that come back are found by looking for them now and then: the kernel tells of none (\(error))")
            }
        }
        look()
    }

    func set(_ led: LED, lit: Bool) {
        guard let index = entries.firstIndex(where: { $0.led == led }) else { return }
        entries[index].lit = lit
        guard let lamp = entries[index].lamp else { return }
        do throws(IndicatorError) {
            try lamp.set(lit)
        } catch {
            lose(index, error)
            arm()
        }
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        watch?.stop()
        watch = nil
        if let retry { loop.cancel(retry) }
        retry = nil
        for index in entries.indices {
            guard let lamp = entries[index].lamp else { continue }
            // The board has turned all off; one whose last edge failed is told again. One that is gone needs nothing.
            try? lamp.set(false)
            lamp.release()
            entries[index].lamp = nil
        }
    }

    private func nudge() {
        guard state == .running else { return }
        for index in entries.indices { entries[index].machine.nudge() }
        look()
    }

    /// Sees whether what is held is still there, and tries to take what is missing.
    private func look() {
        for index in entries.indices {
            if let lamp = entries[index].lamp {
                do throws(IndicatorError) { try lamp.check() } catch { lose(index, error) }
            }
            if entries[index].lamp == nil { take(index) }
        }
        arm()
    }

    private func take(_ index: Int) {
        let report: FixtureMachine.Report?
        do throws(IndicatorError) {
            entries[index].lamp = try hardware.lamp(at: entries[index].place, lit: entries[index].lit)
            report = entries[index].machine.taken()
        } catch {
            report = entries[index].machine.refused(error)
        }
        tell(report, index)
    }

    private func lose(_ index: Int, _ error: IndicatorError) {
        entries[index].lamp?.release()
        entries[index].lamp = nil
        let report = entries[index].machine.lost(error)
        tell(report, index)
    }

    private func tell(_ report: FixtureMachine.Report?, _ index: Int) {
        log.report(report, of: "LED \(entries[index].led.rawValue)", at: entries[index].place)
    }

    /// One timer, only while something is missing.
    private func arm() {
        if let retry { loop.cancel(retry) }
        retry = nil
        guard state == .running, let patience = entries.compactMap(\.machine.patience).min() else { return }
        let due: @Sendable () -> Void = { [weak self] in self?.assumeIsolated { $0.elapse() } }
        retry = loop.schedule(after: patience, due)
    }

    private func elapse() {
        retry = nil
        guard state == .running else { return }
        look()
    }
}
