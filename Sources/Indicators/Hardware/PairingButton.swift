import Platform

/// The pairing button: a press is told to whoever opens pairing. Held for ten seconds it forgets nothing, unless that was allowed.
///
/// A line that cannot be had is said once and looked for, as with LEDs.
public actor PairingButton {
    private let loop: any EventLoop
    private let hardware: any IndicatorHardware
    private let watches: Bool
    private let line: GPIOLine
    private let resets: Bool
    private let log: Log

    private var onPress: (@Sendable () -> Void)?
    private var onReset: (@Sendable () -> Void)?
    private var fixture = FixtureMachine()
    private var held: (any ButtonLine)?
    private var machine: ButtonMachine?
    private var timer: TimerID?
    private var watch: DeviceWatch?
    private var running = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - loop: the loop that the button lives on.
    ///   - resets: whether holding it for ten seconds calls `onReset`.
    public init(loop: any EventLoop, line: GPIOLine, resets: Bool, log: Log) {
        self.init(loop: loop, line: line, resets: resets, hardware: SystemHardware(), log: log)
    }

    init(loop: any EventLoop, line: GPIOLine, resets: Bool, hardware: any IndicatorHardware, watches: Bool = true, log: Log) {
        self.loop = loop
        self.hardware = hardware
        self.watches = watches
        self.line = line
        self.resets = resets
        self.log = log
    }

    /// Takes the line. Done once.
    ///
    /// - Parameters:
    ///   - onPress: called on the loop for each press.
    ///   - onReset: called on the loop when the button was held for ten seconds and `resets` is set.
    public func start(onPress: @escaping @Sendable () -> Void, onReset: @escaping @Sendable () -> Void) {
        guard self.onPress == nil else { return }
        self.onPress = onPress
        self.onReset = onReset
        running = true
        if watches {
            let nudged: @Sendable () -> Void = { [weak self] in self?.assumeIsolated { $0.nudge() } }
            // Without it a missing line is looked for at intervals only.
            watch = try? DeviceWatch(loop: loop, subsystems: ["gpio"], onChange: nudged)
        }
        look()
    }

    /// Releases the line. No closure is called from then on.
    public func stop() {
        running = false
        watch?.stop()
        watch = nil
        letGo()
        arm()
    }

    private func nudge() {
        guard running else { return }
        fixture.nudge()
        look()
    }

    private func look() {
        if let held {
            do throws(IndicatorError) { _ = try held.pressed() } catch { lose(error) }
        }
        if held == nil { take() }
        arm()
    }

    private func take() {
        let report: FixtureMachine.Report?
        do throws(IndicatorError) {
            let line = try hardware.button(on: self.line, debounce: ButtonMachine.debounceTime)
            let down = try line.pressed()
            let ready: @Sendable (Readiness) -> Void = { [weak self] _ in self?.assumeIsolated { $0.ready() } }
            do throws(SystemError) {
                try loop.watch(line.descriptor, for: .readable, ready)
            } catch {
                line.release()
                throw IndicatorError(error, on: "GPIO \(self.line)")
            }
            held = line
            machine = ButtonMachine(down: down, debounced: line.debounced)
            report = fixture.taken()
            if down { log(.warning, .buttonPressed, "the pairing button is down and counts from when it is let go of; if nobody presses it, see active and the wiring") }
        } catch {
            report = fixture.refused(error)
        }
        log.report(report, of: "pair_button", at: "GPIO \(line)")
    }

    private func lose(_ error: IndicatorError) {
        letGo()
        let report = fixture.lost(error)
        log.report(report, of: "pair_button", at: "GPIO \(line)")
    }

    private func letGo() {
        guard let held else { return }
        loop.unwatch(held.descriptor)
        held.release()
        self.held = nil
        machine = nil
    }

    private func ready() {
        guard let held else { return }
        do throws(IndicatorError) {
            let now = loop.now
            for edge in try held.edges() {
                act(machine?.edge(down: edge.pressed, at: now + (.zero - edge.age)) ?? [])
            }
        } catch {
            lose(error)
        }
        arm()
    }

    private func elapse() {
        timer = nil
        guard running else { return }
        if machine == nil { look() } else { act(machine?.elapse(now: loop.now) ?? []) }
        arm()
    }

    private func act(_ actions: [ButtonMachine.Action]) {
        for action in actions {
            switch action {
            case .pressed:
                log(.notice, .buttonPressed, "the pairing button was pressed")
                onPress?()
            case .held where resets:
                log(.notice, .buttonHeld, "the pairing button was held for ten seconds: reset")
                onReset?()
            case .held:
                log(.notice, .buttonHeld, "the pairing button was held for ten seconds: nothing is forgotten, as pair_button has no reset = true")
            case .look: readLine()
            }
        }
    }

    private func readLine() {
        guard let held else { return }
        do throws(IndicatorError) {
            let down = try held.pressed()
            act(machine?.read(down: down, now: loop.now) ?? [])
        } catch {
            lose(error)
        }
    }

    /// One timer: for the machine while the button is held, for the next look while it is missing.
    private func arm() {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard running, let deadline = machine?.due ?? fixture.patience.map({ loop.now + $0 }) else { return }
        let due: @Sendable () -> Void = { [weak self] in self?.assumeIsolated { $0.elapse() } }
        timer = loop.schedule(at: deadline, due)
    }
}
