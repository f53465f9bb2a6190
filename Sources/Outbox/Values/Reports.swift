/// What opening the outbox found and did.
public struct OpeningReport: Sendable, Hashable {
    /// Whether a new file was made.
    public var created = false
    /// The version of the schema that was found, when it was older and has been migrated.
    public var migratedFrom: Int?
    /// Where a broken file was moved, and how it was broken.
    public var movedAside: MovedAside?
    /// Entries taken over from the broken file.
    public var salvaged = 0
    /// Entries of the broken file that could not be taken over: their bytes were wrong or unreadable.
    public var unsalvaged = 0
    /// Whether assignments may have been lost with the broken file.
    public var assignmentsLost = false
    /// Bonds taken over from the broken file.
    public var salvagedBonds = 0
    /// Stored bonds and adopted addresses whose digest is wrong. They count as not stored: the devices are paired or adopted again.
    public var damagedBonds = 0
    /// Stored entries whose digest is wrong. They stay where they are until the caller sets them aside.
    public var damaged: [EntryID] = []
    /// Why the disk space for all the places could not be provisioned; `nil` when it is.
    public var unprovisioned: OutboxError?

    /// A broken file that was moved out of the way.
    public struct MovedAside: Sendable, Hashable {
        /// The new path of the database file; its write-ahead log lies beside it.
        public var path: String
        /// What was wrong with it.
        public var cause: String
    }
}

/// The state of the outbox at one moment.
public struct OutboxSnapshot: Sendable, Hashable {
    /// The queued entries, oldest first.
    public let queued: [EntryHead]
    /// The entries in quarantine, oldest first.
    public let quarantined: [EntryHead]
    /// The sealed entries, oldest first.
    public let sealed: [EntryHead]
    /// The number of rejected windows that are kept as evidence.
    public let evidence: Int
    /// Places that no entry takes.
    public let freePlaces: Int
    /// Places that a collar's entry could take.
    public let freeCollarPlaces: Int
    /// The serial numbers of all devices with books, ascending.
    public let devices: [String]
    /// The owners that are configured.
    public let owners: Set<String>
    /// The size of the files.
    public let space: SpaceReport
}

/// How much of the provision is used.
public struct SpaceReport: Sendable, Hashable {
    /// Pages (4,096 bytes) of the database file.
    public let pages: Int
    /// Those of them that hold nothing.
    public let freePages: Int
    /// The size of the write-ahead log file in bytes.
    public let logBytes: Int64
    /// The pages and log bytes that the settings ask for.
    public let provision: Provision
}

/// What a change of the configured owners did.
public struct OwnersReport: Sendable, Hashable {
    /// Entries moved to the sealed store.
    public let sealed: Int
    /// Entries that came back with their owner.
    public let unsealed: Int
    /// Sealed entries of configured owners for which no place was free: release them when one is.
    public let waiting: [EntryID]
}
