import Platform

/// The command line of `simulated-collar`.
public struct CollarOptions: Sendable {
    /// Where the link's packet socket is made.
    public var socket = ""
    /// Where the control socket is made.
    public var control = ""
    /// The recording that is replayed.
    public var recording = ""
    /// How the collar is made.
    public var configuration = CollarConfiguration(serial: "", seed: 0)

    /// What `--help` shows.
    public static let usage = """
        usage: simulated-collar --socket PATH --control PATH --serial SERIAL --recording FILE [options]

          --socket PATH              Unix packet socket that stands for the radio link; there while the collar can be connected to
          --control PATH             Unix stream socket of the control protocol, one JSON object a line
          --serial SERIAL            serial number in Device Information
          --recording FILE           samples to replay: CSV with a heading, x,y,z in mg
          --seed N                   decides noise, identities and faults (0)
          --backlog N                windows held at the start (0)
          --capacity N               windows that the flash holds (100000)
          --first-sequence N         sequence of the first window of the backlog (0)
          --window-interval-ms N     time between two windows (1000)
          --heartbeat-interval-ms N  time between two heartbeats (5000)
          --mtu N                    the collar's side of the MTU exchange, 23 to 517 (517)
          --faults none|mild|harsh   how much it misbehaves (none)
          --help

        """

    /// Reads the arguments behind the program's name.
    ///
    /// - Throws: `SimulationError` naming the option that is wrong or missing.
    public init(_ arguments: [String]) throws(SimulationError) {
        var index = 0
        while index < arguments.count {
            let option = arguments[index]
            guard index + 1 < arguments.count else { throw Self.invalid("\(option) has no value, or is no option") }
            try set(option, arguments[index + 1])
            index += 2
        }
        for (name, value) in [("--socket", socket), ("--control", control), ("--serial", configuration.serial), ("--recording", recording)] where value.isEmpty {
            throw Self.invalid("\(name) is missing")
        }
    }

    private mutating func set(_ option: String, _ value: String) throws(SimulationError) {
        switch option {
        case "--socket": socket = value
        case "--control": control = value
        case "--serial": configuration.serial = value
        case "--recording": recording = value
        case "--seed":
            guard let seed = UInt64(value) else { throw Self.invalid("--seed is \"\(value)\", not a number") }
            configuration.seed = seed
        case "--backlog": configuration.backlog = try number(option, value, 0...10_000_000)
        case "--capacity": configuration.capacity = try number(option, value, 1...10_000_000)
        case "--first-sequence": configuration.firstSequence = UInt32(try number(option, value, 0...0xFFFF_FFFF))
        case "--window-interval-ms": configuration.windowInterval = .milliseconds(try number(option, value, 1...86_400_000))
        case "--heartbeat-interval-ms": configuration.heartbeatInterval = .milliseconds(try number(option, value, 1...86_400_000))
        case "--mtu": configuration.mtu = UInt16(try number(option, value, 23...517))
        case "--faults":
            guard let faults = CollarFaults.named(value) else { throw Self.invalid("--faults is \"\(value)\", none of none, mild, harsh") }
            configuration.faults = faults
        default: throw Self.invalid("there is no option \(option)")
        }
    }

    private func number(_ option: String, _ value: String, _ range: ClosedRange<Int>) throws(SimulationError) -> Int {
        guard let number = Int(value), range.contains(number) else {
            throw Self.invalid("\(option) is \"\(value)\", not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func invalid(_ what: String) -> SimulationError {
        SimulationError(.optionInvalid, what, advice: "simulated-collar --help lists the options.")
    }
}
