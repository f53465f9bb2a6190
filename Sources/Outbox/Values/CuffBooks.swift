/// From when on the readings of a cuff, or of one of its users, are somebody's.
public struct CuffAssignment: Sendable, Hashable {
    /// The user as the cuff counts them; `nil` for the whole cuff.
    public var user: UInt32?
    /// The owner's key.
    public var owner: String
    /// Seconds since 1970; `nil` for everything that the cuff has.
    public var since: Int64?
    /// Whether the first link after this assignment is over: what was in the cuff before it has been sent by then, and nothing undated of a former owner
    /// comes any more. True from the beginning where `since` is `nil`.
    public var contacted: Bool

    /// An assignment as given; `Change.assignCuff` makes them.
    public init(user: UInt32?, owner: String, since: Int64?, contacted: Bool) {
        self.user = user
        self.owner = owner
        self.since = since
        self.contacted = contacted
    }

    /// The most assignments that are kept of one cuff. The oldest that has a successor goes first.
    public static let limit = 64
}

/// A file of a cuff of the BP2 family, or one reading of a file that holds many, that is read and stored.
public struct CuffFileMark: Sendable, Hashable {
    /// The file's name: 1 to 64 visible ASCII characters.
    public var name: String
    /// The 32 bytes of the SHA-256 of its octets.
    public var digest: [UInt8]
    /// Whether the name has been in every list of the cuff since.
    public var isListed: Bool

    /// A mark as given; `Change.markCuffFiles` checks it.
    public init(name: String, digest: [UInt8], isListed: Bool) {
        self.name = name
        self.digest = digest
        self.isListed = isListed
    }

    /// The most marks that are kept of one cuff; the oldest goes first. A file whose mark is gone is read again, and its reading is known by its name.
    public static let limit = 1_024
}

/// How a cuff's clock was when the hub set it: what the cuff measured before carries the times of the former clock.
public struct CuffClockSetting: Sendable, Hashable {
    /// How many seconds it was ahead of local time; behind when negative.
    public var ahead: Int64
    /// The local time that it was set to, as seconds since 1970 in that zone.
    public var setTo: Int64

    /// A setting as given.
    public init(ahead: Int64, setTo: Int64) {
        self.ahead = ahead
        self.setTo = setTo
    }

    /// The most cuffs whose settings are kept; the one that was set longest ago goes first.
    public static let limit = 32
}

/// What the outbox knows of a cuff.
public struct CuffBooks: Sendable, Hashable {
    /// Whose its readings are, the oldest assignment first.
    public let assignments: [CuffAssignment]
    /// What is read of it, in the order of storing.
    public let marks: [CuffFileMark]
    /// Whether assignments of this cuff may have been lost with a broken file. That it has none does not mean then that it never had one: nothing that it
    /// holds may be guessed to be anybody's.
    public let assignmentsLost: Bool

    /// The last setting of its clock; `nil` when there was none, or it is not what was stored.
    public let clock: CuffClockSetting?

    /// Books as given.
    public init(assignments: [CuffAssignment] = [], marks: [CuffFileMark] = [], assignmentsLost: Bool = false, clock: CuffClockSetting? = nil) {
        self.clock = clock
        self.assignments = assignments
        self.marks = marks
        self.assignmentsLost = assignmentsLost
    }
}
