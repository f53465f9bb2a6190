/// An entry of the queue as the retry machine sees it.
public struct QueuedEntry: Sendable, Hashable {
    /// A contiguous part of an entry that was too large for the backend.
    public struct Part: Sendable, Hashable {
        /// The number in the derived key, `id.index`. A part that was split further keeps no place here; its successors have numbers of their own.
        public var index: Int
        /// The number of windows, or readings, before it in the entry.
        public var offset: Int
        /// The number of its windows or readings.
        public var count: Int
        /// Whether it has its receipt.
        public var settled: Bool

        public init(index: Int, offset: Int, count: Int, settled: Bool) {
            self.index = index
            self.offset = offset
            self.count = count
            self.settled = settled
        }
    }

    /// The entry's id.
    public var id: String
    /// The key of its owner.
    public var owner: String
    /// Where it goes.
    public var endpoint: Endpoint
    /// The number of its windows or readings.
    public var count: Int
    /// Failed attempts so far, over all flushes and restarts.
    public var attempts: Int
    /// Whether it waits for a flush.
    public var exhausted: Bool
    /// How often it was given a new key.
    public var keyGeneration: Int
    /// Its parts in order, when it was split.
    public var parts: [Part]

    public init(id: String, owner: String, endpoint: Endpoint = .rawWindows, count: Int, attempts: Int = 0, exhausted: Bool = false, keyGeneration: Int = 0,
                parts: [Part] = []) {
        self.endpoint = endpoint
        self.id = id
        self.owner = owner
        self.count = count
        self.attempts = attempts
        self.exhausted = exhausted
        self.keyGeneration = keyGeneration
        self.parts = parts
    }
}

/// What became of an attempt, for the queue to write down.
public enum DeliveryOutcome: Sendable, Hashable {
    /// The whole entry has its receipt: it is settled and its place is free.
    case settled(id: String, receipt: Receipt)
    /// One part has its receipt. The queue settles the entry when all parts have.
    case partSettled(id: String, index: Int, receipt: Receipt)
    /// The backend's word about each reading of an entry of readings, or of one of its parts, under the key that it was sent with. The places in the receipt count
    /// from the first reading of that request. What conflicts is set aside by itself; the queue ends the entry when nothing of it is left.
    case readingsSettled(id: String, key: String, part: Int?, ReadingsReceipt)
    /// One reading, by its place in the entry, cannot be delivered and is set aside by itself; `code` is the stable code of the reason. Of an entry that was sent whole the
    /// others go on under a new key; a part has only this one, and is settled by that.
    case readingSetAside(id: String, part: Int?, position: Int, code: String, words: String)
    /// An attempt failed and counts; `code` is the stable code of the error.
    case attemptFailed(id: String, code: String, exhausted: Bool)
    /// The backend knows the key with another content: the entry goes on under a new key (the next key generation).
    case rekey(id: String)
    /// The entry, or one of its parts, is too large: in the place of everything of it that is not settled come these parts, in order. Their
    /// indices go on behind those that were used.
    case split(id: String, into: [QueuedEntry.Part])
    /// The entry, or what is left of it after its other parts were delivered, cannot be delivered and makes way for the others; `code` is the
    /// stable code of the reason.
    case quarantine(id: String, code: String, words: String)

    /// The entry that it is about.
    public var id: String {
        switch self {
        case .settled(let id, _), .partSettled(let id, _, _), .readingsSettled(let id, _, _, _), .readingSetAside(let id, _, _, _, _), .attemptFailed(let id, _, _),
             .rekey(let id), .split(let id, _), .quarantine(let id, _, _): id
        }
    }
}

/// The durable queue, as the uplink needs it. The hub implements it over the outbox.
public protocol DeliveryQueue: Sendable {
    /// The content of an entry, or of one of its parts: key, range, gaps and body are the queue's choice. What was loaded to be sent stays as it is: nothing joins an
    /// entry of readings from then on.
    ///
    /// - Returns: nil when the entry (or part) is no longer queued.
    /// - Throws: `UplinkError.unsendable` when what is stored is not what was enqueued: the entry goes into quarantine. `UplinkError.unsendableReading` when that is so of one
    ///   reading: that one is set aside. Any other error
    ///   means that the storage fails; the entry is tried again later.
    func load(_ id: String, part: Int?) async throws -> Shipment?

    /// Writes down what became of an attempt, durably, before it returns.
    ///
    /// - Throws: when the storage fails. The entry then stays queued and is sent again under the same key.
    func record(_ outcome: DeliveryOutcome) async throws
}
