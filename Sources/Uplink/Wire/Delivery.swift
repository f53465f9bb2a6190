/// One request's worth of raw windows: a contiguous range of one log of one device and one owner.
///
/// Everything in it was fixed when the entry was stored, so that a second attempt is the same request.
public struct Delivery: Sendable, Hashable {
    /// Bytes of one raw window.
    public static let windowSize = 322

    /// The entry's id in the queue, the same for all its parts.
    public var id: String
    /// The idempotency key that this request goes under, unquoted; for a part the derived one (`id.0`).
    public var key: String
    /// The key of the owner whom the windows belong to.
    public var owner: String
    /// The device's serial number, never its address.
    public var device: String
    /// The number of the device's log.
    public var log: UInt32
    /// The sequence of the first window, as on the wire (32 bits, wrapping).
    public var first: UInt32
    /// The number of windows; 0 reports gaps alone.
    public var count: Int
    /// `count` × 322 bytes in sequence order.
    public var body: [UInt8]
    /// What is missing or damaged in or beside the range.
    public var gaps: [DeliveryGap]
    /// The sequences of the windows in `body` whose CRC was wrong: the backend may reject these.
    public var damaged: Set<UInt32>
    /// Unix seconds when the windows were read.
    public var received: Int64
    /// How far the two clocks are to be trusted, as `Hub-Clock` says it, e.g. `synced;device=set;offset=-3`.
    public var clock: String

    public init(id: String, key: String, owner: String, device: String, log: UInt32, first: UInt32, count: Int, body: [UInt8],
                gaps: [DeliveryGap] = [], damaged: Set<UInt32> = [], received: Int64, clock: String) {
        self.id = id
        self.key = key
        self.owner = owner
        self.device = device
        self.log = log
        self.first = first
        self.count = count
        self.body = body
        self.gaps = gaps
        self.damaged = damaged
        self.received = received
        self.clock = clock
    }
}

/// A range of windows that did not arrive whole, and why.
public struct DeliveryGap: Sendable, Hashable {
    /// Why windows are missing or not as the device wrote them.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The ring was written over before the hub could read.
        case overwritten
        /// Somebody else told the device to forget them.
        case clearedElsewhere = "cleared-elsewhere"
        /// The device began a new log.
        case reformatted
        /// The device answers an error for them.
        case unreadable
        /// They belong to a time whose owner chose not to deliver.
        case withheld
        /// The window is in the body, with a wrong CRC.
        case damaged
    }

    /// The number of the device's log.
    public var log: UInt32
    /// The first sequence of the range, as on the wire (32 bits, wrapping).
    public var first: UInt32
    /// The number of windows.
    public var count: Int
    /// Why.
    public var reason: Reason

    public init(log: UInt32, first: UInt32, count: Int, reason: Reason) {
        self.log = log
        self.first = first
        self.count = count
        self.reason = reason
    }
}
