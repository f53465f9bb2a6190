import Platform

/// The LEDs of the hub: told what is true and what has happened, it keeps each LED in the pattern of its most urgent state.
///
/// One timer serves all LEDs and sleeps until the next edge of any of them. With every LED steady there is no timer; the only wake-up of a
/// healthy hub is the dip of `LEDPattern.onWithDip`.
public actor IndicatorBoard {
    private let loop: any EventLoop
    private let layout: LEDLayout
    private var output: any LEDOutput
    private var machines: [LEDMachine]
    private var driven: [Bool]
    private var conditions: IndicatorConditions?
    private var timer: (id: TimerID, deadline: BootInstant)?
    private var stopped = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Every LED is off until the first conditions are set.
    ///
    /// - Parameters:
    ///   - loop: the loop that the board lives on, and its clock.
    ///   - output: where the levels go; the board owns it and closes it.
    ///   - layout: which LEDs there are.
    public init(loop: any EventLoop, output: any LEDOutput, layout: LEDLayout = .full) {
        self.loop = loop
        self.output = output
        self.layout = layout
        machines = layout.leds.map { _ in LEDMachine() }
        driven = layout.leds.map { _ in false }
    }

    /// What each LED shows, for `gateway status`; empty before the first conditions, after `stop`, and without LEDs.
    public var shown: [LEDShown] {
        guard let conditions, !stopped else { return [] }
        return layout.leds.map { LEDShown(led: $0, state: layout.priority(of: $0).state(for: conditions)) }
    }

    /// Says everything that is true now. What was true before and is not in `conditions` is no longer.
    public func set(_ conditions: IndicatorConditions) {
        guard !stopped, conditions != self.conditions else { return }
        let before = shown
        self.conditions = conditions
        let shown = self.shown
        guard shown != before else { return }
        output.stateChanged(shown)
        let now = loop.now
        for (index, entry) in shown.enumerated() { machines[index].show(entry.pattern, now: now) }
        drive()
    }

    /// Says that some conditions hold and that others no longer do; the rest stay as they are.
    public func change(adding: IndicatorConditions = [], removing: IndicatorConditions = []) {
        set((conditions ?? []).subtracting(removing).union(adding))
    }

    /// Shows once that something happened. Without an LED for it, or before the first conditions, nothing is shown.
    public func show(_ event: IndicatorEvent) {
        guard !stopped, let led = layout.led(for: event), let index = layout.leds.firstIndex(of: led) else { return }
        machines[index].play(event, now: loop.now)
        drive()
    }

    /// Turns every LED off and closes the output. The board shows nothing from then on.
    public func stop() {
        guard !stopped else { return }
        stopped = true
        for index in machines.indices { machines[index].stop() }
        drive()
        output.close()
    }

    private func elapse() {
        timer = nil
        let now = loop.now
        for index in machines.indices { machines[index].elapse(now: now) }
        drive()
    }

    /// Brings the LEDs to the levels of their machines, and the timer to the next edge.
    private func drive() {
        for (index, led) in layout.leds.enumerated() where machines[index].lit != driven[index] {
            driven[index] = machines[index].lit
            output.set(led, lit: driven[index])
        }
        let next = machines.compactMap(\.due).min()
        guard next != timer?.deadline else { return }
        if let timer { loop.cancel(timer.id) }
        timer = next.map { deadline in
            let id = loop.schedule(at: deadline) { [weak self] in
                // The loop is the board's executor and runs its timers on its own thread, never amid a job.
                self?.assumeIsolated { $0.elapse() }
            }
            return (id, deadline)
        }
    }
}
