import Platform

/// What the hub found when it looked at a cuff's clock, before it set it.
public enum CuffClock: Sendable, Hashable {
    /// The cuff has no clock that can be read.
    case unreadable
    /// It shows no time at all.
    case unset
    /// It shows a time, and the hub's own clock is not synchronised: nobody knows whether it is right.
    case unverified
    /// It is so many seconds ahead of local time; behind when negative.
    case ahead(Int64)

    /// How far a cuff's clock may be off before the hub sets it, and before its times are corrected: what people call the same minute.
    public static let tolerance: Int64 = 60

    /// Looks at a clock.
    ///
    /// - Parameters:
    ///   - shown: what it shows; `nil` when that is no time.
    ///   - now: the hub's clock at that moment.
    ///   - zone: where hub and cuff are.
    public init(shown: CivilTime?, now: WallTime, zone: TimeZoneRules) {
        guard let shown else {
            self = .unset
            return
        }
        guard now.synchronised, let local = zone.civil(at: now.seconds) else {
            self = .unverified
            return
        }
        self = .ahead(shown.secondsSince1970 - local.secondsSince1970)
    }

    /// Whether the hub should set it. A hub whose own clock is not synchronised sets nobody else's.
    public func shouldBeSet(now: WallTime) -> Bool {
        guard now.synchronised else { return false }
        switch self {
        case .unreadable, .unverified: return false
        case .unset: return true
        case .ahead(let seconds): return seconds.magnitude > Self.tolerance.magnitude
        }
    }
}

/// When a reading was taken, and how that is known.
public struct ReadingTime: Sendable, Hashable {
    /// How the moment was found. Raw values are stable names.
    public enum Basis: String, Sendable, Hashable, CaseIterable {
        /// The cuff's clock, taken as it is.
        case cuffClock = "cuff-clock"
        /// The cuff's clock, corrected by how far it was off.
        case correctedCuffClock = "corrected-cuff-clock"
        /// When the hub received it: the cuff gives no time, or one that cannot be.
        case received = "received"
    }

    /// Seconds since 1970, UTC.
    public let moment: Int64
    /// Seconds east of UTC of the place's clocks at that moment.
    public let zoneOffset: Int
    /// How the moment was found.
    public let basis: Basis
    /// What the cuff's clock showed when it measured; `nil` when it does not say.
    public let device: CivilTime?
    /// What is known about that clock.
    public let clock: CuffClock
    /// When the hub received it.
    public let received: WallTime

    public init(moment: Int64, zoneOffset: Int, basis: Basis, device: CivilTime?, clock: CuffClock, received: WallTime) {
        self.moment = moment
        self.zoneOffset = zoneOffset
        self.basis = basis
        self.device = device
        self.clock = clock
        self.received = received
    }

    /// Places a reading in time.
    ///
    /// - Parameters:
    ///   - time: when, by the cuff's clock.
    ///   - clock: what that clock was found to be on this link, before the hub set it.
    ///   - setTo: what local time it was when the cuff was found to have taken a new time on this link: a reading dated from then on has the new
    ///     clock's time.
    ///   - received: the hub's clock when the reading came.
    ///   - zone: where hub and cuff are.
    public init(placing time: CuffTime, clock: CuffClock, setTo: CivilTime? = nil, received: WallTime, zone: TimeZoneRules) {
        let device = time.civil
        var clock = clock
        if let device, let setTo, device.secondsSince1970 >= setTo.secondsSince1970, Self.isPast(zone.moment(of: device), received) { clock = .ahead(0) }
        let (moment, basis) = Self.place(device, clock, received, zone)
        self.init(moment: moment, zoneOffset: zone.offset(moment), basis: basis, device: device, clock: clock, received: received)
    }

    private static func place(_ device: CivilTime?, _ clock: CuffClock, _ received: WallTime, _ zone: TimeZoneRules) -> (Int64, Basis) {
        guard let device else { return (received.seconds, .received) }
        var shown = device
        var basis = Basis.cuffClock
        if case .ahead(let seconds) = clock, seconds.magnitude > CuffClock.tolerance.magnitude {
            let (local, overflow) = device.secondsSince1970.subtractingReportingOverflow(seconds)
            guard !overflow, let corrected = CivilTime(secondsSince1970: local) else { return (received.seconds, .received) }
            shown = corrected
            basis = .correctedCuffClock
        }
        let moment = zone.moment(of: shown)
        // What lies ahead was not measured then. A hub that does not know the time cannot tell.
        return isPast(moment, received) ? (moment, basis) : (received.seconds, .received)
    }

    private static func isPast(_ moment: Int64, _ received: WallTime) -> Bool {
        !received.synchronised || moment <= received.seconds + CuffClock.tolerance
    }
}
