import Platform
import Radio

/// What the hub knows of one cuff at the moment, for `gateway status` and the LEDs.
struct CuffReport: Sendable {
    /// What is going on with the cuff.
    enum State: String, Sendable {
        /// Not linked: a cuff is switched on for a measurement and for nothing else.
        case away
        /// A link is up and is being set up.
        case linking
        /// Linked, and nothing to do.
        case linked
        /// The cuff measures.
        case measuring
        /// Readings are being taken over.
        case reading
        /// Linked, and its readings cannot be stored.
        case held
    }

    var state = State.away
    /// When the state began.
    var since: BootInstant
    var identity: CuffIdentity?
    /// What is known about the model; `nil` until the cuff has said who it is.
    var model: String?
    /// Since when it has been known that the cuff has little left in its battery; `nil` when it has enough, or nobody knows.
    private(set) var batteryLowSince: BootInstant?
    /// When the last link went down, or the hub began to wait; `nil` while one is up.
    var awaySince: BootInstant?
    /// When a reading was stored last.
    var lastReading: BootInstant?
    /// How its clock was found on the last link.
    var clock: CuffClockCheck?
    /// Why its readings cannot be stored.
    var heldWhy: String?
    /// The last thing that went wrong, until something goes right.
    var lastError: String?

    /// At or below this, a battery is low (percent).
    private static let lowBattery: UInt8 = 20

    /// The cuff has told of its battery.
    ///
    /// - Parameter asks: whether it asks for new batteries.
    mutating func heard(battery: UInt8?, asks: Bool = false, now: BootInstant) {
        guard battery != nil || asks else { return }
        let isLow = asks || battery.map { $0 <= Self.lowBattery } ?? false
        batteryLowSince = isLow ? batteryLowSince ?? now : nil
    }
}
