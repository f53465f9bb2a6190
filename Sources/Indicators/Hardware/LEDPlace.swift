/// A GPIO line as people name it: by the name that the board gives it, never by a number.
public struct GPIOLine: Sendable, Hashable, CustomStringConvertible {
    /// The line's name, e.g. `GPIO17`; at most 31 bytes, as the kernel keeps them.
    public let name: String
    /// The label of the chip to look on; `nil` looks on every chip.
    public let chip: String?
    /// Whether the line is active when its voltage is low.
    public let activeLow: Bool

    public init(name: String, chip: String? = nil, activeLow: Bool = false) {
        self.name = name
        self.chip = chip
        self.activeLow = activeLow
    }

    /// `line "GPIO17"`, `line "GPIO17" on chip "pinctrl-bcm2711"`.
    public var description: String { "line \"\(name)\"" + (chip.map { " on chip \"\($0)\"" } ?? "") }
}

/// Where one LED of a board is.
public enum LEDPlace: Sendable, Hashable, CustomStringConvertible {
    /// On a GPIO line that the gateway drives itself.
    case line(GPIOLine)
    /// An LED that belongs to the kernel: a name below `/sys/class/leds`.
    case kernel(String)

    public var description: String {
        switch self {
        case .line(let line): "GPIO \(line)"
        case .kernel(let name): "kernel LED \"\(name)\""
        }
    }
}
