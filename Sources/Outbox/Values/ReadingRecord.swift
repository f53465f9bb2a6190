/// A reading of a cuff, to be stored or as it was stored. What is in `octets` is the hub's business; the outbox keeps it byte for byte.
public struct ReadingRecord: Sendable, Hashable {
    /// The reading's stable name, 1 to 96 visible ASCII characters. A name is stored once.
    public var name: String
    /// The key of the owner whose reading it is; empty only for one that is set aside because nobody knows.
    public var owner: String
    /// The serial number of the cuff.
    public var device: String
    /// When the hub received it: Unix seconds by its clock.
    public var received: Int64
    /// What will be sent about it, 1 to 768 bytes.
    public var octets: [UInt8]

    /// A reading as given; the changes that store it check it.
    public init(name: String, owner: String, device: String, received: Int64, octets: [UInt8]) {
        self.name = name
        self.owner = owner
        self.device = device
        self.received = received
        self.octets = octets
    }
}

/// An entry of readings with everything that is sent about it.
public struct StoredReadings: Sendable, Hashable {
    /// The head; its sequences are the places of the readings, from 0.
    public let head: EntryHead
    /// The readings in the order in which they were stored.
    public let readings: [ReadingRecord]
    /// Whether further readings may still join it. It must be frozen before it is sent.
    public let isOpen: Bool
}

/// A verified receipt for an entry of readings, or for one of its parts.
public struct ReadingsReceiptRecord: Sendable, Hashable {
    /// The idempotency key that it came for: the entry's, or a part's.
    public var key: String
    /// The places, in the entry, of the readings that the backend keeps.
    public var accepted: [Int]
    /// The places of those that it cannot keep; each is set aside.
    public var conflicting: [Int]
    /// The stable code under which those are set aside.
    public var reason: String

    /// A receipt as given. That it is one (uplink contract, section Blood pressure) was checked before.
    public init(key: String, accepted: [Int], conflicting: [Int] = [], reason: String = "reading-conflict") {
        self.key = key
        self.accepted = accepted
        self.conflicting = conflicting
        self.reason = reason
    }
}
