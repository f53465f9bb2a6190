/// How a collar misbehaves: probabilities, from 0 (never) to 1 (always). When and where is decided by the seed.
public struct CollarFaults: Sendable, Hashable {
    /// Each second of a link: the link drops.
    public var linkDropPerSecond = 0.0
    /// Each second of a link: nothing passes any more, until the supervision timeout ends the link.
    public var supervisionTimeoutPerSecond = 0.0
    /// Each second of a link: heartbeats stop until the link ends, which stays up.
    public var silencePerSecond = 0.0
    /// Each second: the battery is changed. The link drops, the clock is not set, the address is another.
    public var batteryChangePerSecond = 0.0
    /// Each second: the log is formatted, with everything that it held.
    public var formatPerSecond = 0.0

    /// Each window sent: the link drops in the middle of it.
    public var linkDropPerWindow = 0.0
    /// Each window sent: one of its notifications does not arrive.
    public var lossPerWindow = 0.0
    /// Each window sent: it comes twice.
    public var duplicatePerWindow = 0.0
    /// Each window sent: it comes after the one behind it.
    public var latePerWindow = 0.0
    /// Each window sent: one bit is flipped on the air. Never twice in a row for one window, and never for one that is wrong in
    /// the flash: two different wrong copies could not be told from a hub that altered one.
    public var bitFlipPerWindow = 0.0

    /// Each window stored: it has a flipped bit for good.
    public var damagePerWindow = 0.0
    /// Each window stored: its first read is a flash error, later ones are not.
    public var flashErrorOncePerWindow = 0.0
    /// Each window stored: every read is a flash error.
    public var flashErrorLastingPerWindow = 0.0

    /// Each request: it is answered busy and not served.
    public var busyPerRequest = 0.0
    /// Each answer: it is not given.
    public var noAnswerPerRequest = 0.0
    /// Each read: it runs at `slowWindowsPerSecond`.
    public var slowPerRead = 0.0
    /// The rate of a slow read.
    public var slowWindowsPerSecond = 40
    /// Notifications that the hub's full buffer does not take are lost instead of waiting.
    public var losesWhenFull = false

    /// No fault at all.
    public init() {}

    /// No fault at all.
    public static let none = CollarFaults()

    /// Everyday faults. Every window can still be delivered: nothing is formatted or unreadable for good.
    public static let mild: CollarFaults = {
        var faults = CollarFaults()
        faults.linkDropPerSecond = 0.01
        faults.supervisionTimeoutPerSecond = 0.003
        faults.silencePerSecond = 0.003
        faults.batteryChangePerSecond = 0.001
        faults.linkDropPerWindow = 0.000_3
        faults.lossPerWindow = 0.002
        faults.duplicatePerWindow = 0.001
        faults.latePerWindow = 0.000_5
        faults.bitFlipPerWindow = 0.001
        faults.damagePerWindow = 0.000_5
        faults.flashErrorOncePerWindow = 0.000_5
        faults.busyPerRequest = 0.02
        faults.noAnswerPerRequest = 0.005
        faults.slowPerRead = 0.05
        return faults
    }()

    /// Everything at once and often; also what loses windows by the collar's own doing.
    public static let harsh: CollarFaults = {
        var faults = CollarFaults()
        faults.linkDropPerSecond = 0.05
        faults.supervisionTimeoutPerSecond = 0.01
        faults.silencePerSecond = 0.01
        faults.batteryChangePerSecond = 0.003
        faults.formatPerSecond = 0.000_5
        faults.linkDropPerWindow = 0.001
        faults.lossPerWindow = 0.01
        faults.duplicatePerWindow = 0.005
        faults.latePerWindow = 0.003
        faults.bitFlipPerWindow = 0.005
        faults.damagePerWindow = 0.002
        faults.flashErrorOncePerWindow = 0.002
        faults.flashErrorLastingPerWindow = 0.000_5
        faults.busyPerRequest = 0.08
        faults.noAnswerPerRequest = 0.02
        faults.slowPerRead = 0.1
        faults.losesWhenFull = true
        return faults
    }()

    /// The set with this name; `nil` when there is none.
    public static func named(_ name: String) -> CollarFaults? {
        switch name {
        case "none": return CollarFaults.none
        case "mild": return mild
        case "harsh": return harsh
        default: return nil
        }
    }

    /// Whether anything happens by the second.
    var ticks: Bool { linkDropPerSecond + supervisionTimeoutPerSecond + silencePerSecond + batteryChangePerSecond + formatPerSecond > 0 }
}
