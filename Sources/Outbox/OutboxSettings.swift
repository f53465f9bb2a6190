/// The bounds of an outbox. The space for all of them is provisioned when the file is made.
public struct OutboxSettings: Sendable, Hashable {
    /// Entries that may be queued at once, of every kind of device.
    public var places: Int
    /// Entries of collars that may be queued at once; the rest of `places` is kept for cuffs.
    public var collarPlaces: Int
    /// Entries that may lie in quarantine.
    public var quarantineCapacity: Int
    /// Entries that may be sealed because their owner is not configured.
    public var sealedCapacity: Int
    /// Rejected windows that may be kept as evidence.
    public var evidenceCapacity: Int
    /// Receipts of settled entries that are remembered, so that a receipt that is committed twice is known; the oldest goes first.
    public var receiptMemory: Int
    /// Readings that were delivered and are remembered, so that a cuff that repeats them sends nothing new; the oldest goes first.
    public var readingMemory: Int
    /// Marks of files that were read from cuffs, of all of them together; the oldest goes first.
    public var fileMarkMemory: Int
    /// Lines of the audit of operators' acts that are kept; the oldest goes first.
    public var auditMemory: Int
    /// Bonds that may be stored: those of one controller with every device, and of a few controllers that were exchanged.
    public var bondCapacity: Int
    /// Devices whose address may be adopted.
    public var adoptionCapacity: Int
    /// Pages (4,096 bytes) in the write-ahead log after which SQLite copies them into the database (`wal_autocheckpoint`).
    public var checkpointPages: Int
    /// Changes that one `commit` may hold. With the largest change it bounds a transaction, and so the write-ahead log.
    public var changeLimit: Int
    /// Files of broken outboxes that are kept; the oldest goes first.
    public var asideLimit: Int
    /// The SQLite VFS to use; `nil` is the system's. Tests put a disk that misbehaves there.
    public var vfs: String?

    /// The bounds of the product: 20 places, 16 of them for collars.
    public init(
        places: Int = 20, collarPlaces: Int = 16, quarantineCapacity: Int = 20, sealedCapacity: Int = 20, evidenceCapacity: Int = 2_560,
        receiptMemory: Int = 64, readingMemory: Int = 2_048, fileMarkMemory: Int = 2_048, auditMemory: Int = 256, bondCapacity: Int = 32, adoptionCapacity: Int = 32, checkpointPages: Int = 256,
        changeLimit: Int = 16, asideLimit: Int = 4, vfs: String? = nil
    ) {
        self.places = places
        self.collarPlaces = collarPlaces
        self.quarantineCapacity = quarantineCapacity
        self.sealedCapacity = sealedCapacity
        self.evidenceCapacity = evidenceCapacity
        self.receiptMemory = receiptMemory
        self.readingMemory = readingMemory
        self.fileMarkMemory = fileMarkMemory
        self.auditMemory = auditMemory
        self.bondCapacity = bondCapacity
        self.adoptionCapacity = adoptionCapacity
        self.checkpointPages = checkpointPages
        self.changeLimit = changeLimit
        self.asideLimit = asideLimit
        self.vfs = vfs
    }

    /// The most windows in one entry.
    public static let windowLimit = 128
    /// The size of a raw window (collar profile, section Window).
    public static let windowSize = 322
    /// The most readings in one entry.
    public static let readingLimit = 64
    /// The most bytes of one reading.
    public static let readingSize = 768
    /// The most gaps in one entry: each window of the body may be damaged, and half as many ranges may be missing around them.
    public static let gapLimit = 192
    /// The most former logs of a device whose rests wait to be reported.
    public static let unreportedLimit = 64
    /// Sequences are below this bound; a device that counts windows from 32 bits never gets near it.
    public static let sequenceLimit: UInt64 = 1 << 62
}
