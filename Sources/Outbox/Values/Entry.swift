/// Names an entry for ever: 32 lower-case hexadecimal digits from the injected randomness. It is the entry's first idempotency key.
public struct EntryID: Sendable, Hashable, CustomStringConvertible {
    /// The 32 digits.
    public let text: String

    /// - Returns: `nil` unless `text` is 32 lower-case hexadecimal digits.
    public init?(_ text: String) {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }) else { return nil }
        self.text = text
    }

    init(trusted text: String) { self.text = text }

    public var description: String { text }
}

/// The kind of device that an entry came from. Collars may use only some of the places.
public enum DeviceKind: Int, Sendable, Hashable, CaseIterable {
    /// An activity collar: raw windows.
    case collar = 0
    /// A blood-pressure cuff: readings.
    case cuff = 1
}

/// A range of an entry's windows that is sent as a request of its own, because the whole was too large (413).
public struct PartRange: Sendable, Hashable {
    /// The first sequence, unwrapped.
    public var first: UInt64
    /// The number of windows, at least 1.
    public var count: Int

    /// A range as given; `Change.split` checks it.
    public init(first: UInt64, count: Int) {
        self.first = first
        self.count = count
    }
}

/// One part of a split entry.
public struct EntryPart: Sendable, Hashable {
    /// The number within the entry; numbers are never used twice, so that a key never stands for two bodies.
    public let index: Int
    /// The windows of the part.
    public let range: PartRange
    /// The part's idempotency key, e.g. `….0`.
    public let key: String
    /// The receipt's name, once the part has one.
    public let receipt: String?
}

/// Where an entry lies.
public enum EntryState: Int, Sendable, Hashable, CaseIterable {
    /// In one of the 20 places, to be sent.
    case queued = 0
    /// Set aside; its range is not settled.
    case quarantined = 1
    /// Kept apart because its owner is not configured; its range is not settled.
    case sealed = 2
}

/// What is known about an entry without reading its windows.
public struct EntryHead: Sendable, Hashable {
    /// The entry's name.
    public let id: EntryID
    /// Where it lies.
    public let state: EntryState
    /// The kind of device that it came from.
    public let kind: DeviceKind
    /// The owner's key, fixed at enqueue.
    public let owner: String
    /// The device's serial number. Readings of several cuffs may be in one entry: it is empty then, and where only one can be it is a hint.
    public let device: String
    /// The log.
    public let log: UInt32
    /// The sequence of the first window, unwrapped.
    public let first: UInt64
    /// The number of windows.
    public let count: Int
    /// The size of the body.
    public let byteCount: Int
    /// The number of gaps that it reports.
    public let gapCount: Int
    /// Attempts that failed; they count on across flushes and restarts.
    public let attempts: Int
    /// Whether the attempts are used up until the next flush.
    public let exhausted: Bool
    /// The code of the last failed attempt.
    public let lastFailure: String?
    /// 0 at first, 1 after the one new key that a 422 allows.
    public let keyGeneration: Int
    /// The idempotency key to send: the id, or the new key of generation 1. Parts have keys of their own.
    public let idempotencyKey: String
    /// The place in the order of enqueueing; smaller is older.
    public let order: Int64
    /// Why it was set aside, for one in quarantine.
    public let quarantineReason: String?
    /// When the windows were read, Unix seconds.
    public let received: Int64
    /// The parts, in order of sequence; empty unless the entry was split.
    public let parts: [EntryPart]
}

/// An entry with everything that is sent about it.
public struct StoredEntry: Sendable, Hashable {
    /// The head.
    public let head: EntryHead
    /// The windows byte for byte.
    public let body: [UInt8]
    /// The gaps, in the order in which they were given.
    public let gaps: [SequenceGap]
    /// When the windows were read, Unix seconds.
    public let received: Int64
    /// The text of `Hub-Clock`.
    public let clock: String
    /// The 32 bytes of the body's SHA-256, computed at enqueue and checked on every load.
    public let digest: [UInt8]
}

/// A verified receipt: what the backend gave for one key.
public struct ReceiptRecord: Sendable, Hashable {
    /// A window that the backend did not take.
    public struct Rejection: Sendable, Hashable {
        /// Its sequence, unwrapped.
        public var sequence: UInt64
        /// The backend's code, e.g. `crc` or `conflict`.
        public var code: String

        /// A rejection as given; `Change.settle` checks it.
        public init(sequence: UInt64, code: String) {
            self.sequence = sequence
            self.code = code
        }
    }

    /// The backend's name for the receipt.
    public var receipt: String
    /// The idempotency key that it came for.
    public var key: String
    /// The windows that were rejected. They count as settled and are kept as evidence.
    public var rejected: [Rejection]

    /// A receipt as given. That it is one (uplink contract, section Receipt) was checked before.
    public init(receipt: String, key: String, rejected: [Rejection] = []) {
        self.receipt = receipt
        self.key = key
        self.rejected = rejected
    }
}

/// A rejected window, kept.
public struct EvidenceRecord: Sendable, Hashable {
    /// The number by which it is discarded.
    public let number: Int64
    /// The device's serial number.
    public let device: String
    /// The owner's key.
    public let owner: String
    /// The log.
    public let log: UInt32
    /// The sequence, unwrapped.
    public let sequence: UInt64
    /// The backend's code.
    public let code: String
    /// The receipt that rejected it.
    public let receipt: String
    /// The 322 bytes.
    public let window: [UInt8]
}
