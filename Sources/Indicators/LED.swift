/// The three LEDs of the board, told apart by position: from left to right, or from the top down.
public enum LED: String, CaseIterable, Sendable {
    /// The gateway itself: does it run, is anything broken.
    case status
    /// Bluetooth: the controller, the collars, the cuffs.
    case radio
    /// The way to the backend.
    case uplink
}

/// Which LEDs a board has.
///
/// Each is optional. With two, each shows its own states and what the missing one would have said is not shown. One alone
/// shows the most urgent state of all (`LEDPriority.single`) and every event.
public struct LEDLayout: Sendable, Hashable {
    /// The LEDs there are, in the order of `LED.allCases`.
    public let leds: [LED]

    /// - Parameter leds: in any order; one named twice counts once.
    public init(_ leds: some Sequence<LED>) {
        let present = Set(leds)
        self.leds = LED.allCases.filter(present.contains)
    }

    /// All three.
    public static let full = LEDLayout(LED.allCases)
    /// No LED at all: the board does nothing.
    public static let none = LEDLayout([])

    /// The states that `led` chooses from.
    public func priority(of led: LED) -> LEDPriority {
        leds.count == 1 ? .single : .of(led)
    }

    /// The LED that shows `event`; `nil` when the board has none for it.
    public func led(for event: IndicatorEvent) -> LED? {
        leds.count == 1 ? leds[0] : leds.first { $0 == event.led }
    }
}
