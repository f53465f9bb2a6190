/// Where the levels of a board go: GPIO lines, kernel LEDs, the terminal.
///
/// The board owns its output and calls it on the loop alone. A call must not block; an output that cannot do what it is told
/// says so in the log by itself, as there is nothing a pattern could do about it.
public protocol LEDOutput: Sendable {
    /// Turns `led` on or off. Called for each edge and only for edges; every LED starts off.
    mutating func set(_ led: LED, lit: Bool)

    /// Other states are shown from now on. Called once at the first conditions, then for each change, before the edges that it brings.
    mutating func stateChanged(_ shown: [LEDShown])

    /// The board has stopped: every LED has been turned off. What the output holds is let go of.
    mutating func close()
}

extension LEDOutput {
    /// Lines know only levels.
    public mutating func stateChanged(_ shown: [LEDShown]) {}
}

/// What one LED of a board shows.
public struct LEDShown: Sendable, Hashable {
    /// Which LED; the only one of a board stands for all three.
    public let led: LED
    /// The state it shows.
    public let state: LEDState
    /// How it shows it.
    public var pattern: LEDPattern { state.pattern }

    public init(led: LED, state: LEDState) {
        self.led = led
        self.state = state
    }
}
