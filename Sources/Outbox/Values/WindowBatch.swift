/// Why windows are missing from an entry, or are in it although they are broken (uplink contract, `Hub-Gaps`).
public enum GapReason: String, Sendable, Hashable, CaseIterable {
    /// The collar wrote newer windows over them before they were read.
    case overwritten
    /// Another hub had them cleared.
    case clearedElsewhere = "cleared-elsewhere"
    /// The collar's log was formatted before they were read.
    case reformatted
    /// The collar's flash gave an error for them twice.
    case unreadable
    /// They belong to somebody for whom this hub may not read.
    case withheld
    /// They are in the body, but their CRC is wrong.
    case damaged
}

/// A range of sequences of one log that is missing, or damaged, and why.
public struct SequenceGap: Sendable, Hashable {
    /// The log of the device that the range belongs to.
    public var log: UInt32
    /// The first sequence, unwrapped.
    public var first: UInt64
    /// The number of sequences, at least 1.
    public var count: UInt64
    /// Why.
    public var reason: GapReason

    /// A gap as given; `Change.enqueue` checks it.
    public init(log: UInt32, first: UInt64, count: UInt64, reason: GapReason) {
        self.log = log
        self.first = first
        self.count = count
        self.reason = reason
    }
}

/// What was read from a device in one go: one contiguous range of one log, of one owner. Storing it makes an entry.
///
/// Together, the body and the gaps of the same log (other than `damaged` ones, which lie within the body) cover exactly the
/// sequences from the log's checkpoint up to `next`.
public struct WindowBatch: Sendable, Hashable {
    /// The device's serial number, never its address.
    public var device: String
    /// The key of the owner that the device had when the windows were recorded.
    public var owner: String
    /// The log, as the collar names it.
    public var log: UInt32
    /// The unwrapped sequence of the first window of the body; with an empty body a sequence between the checkpoint and `next`.
    public var first: UInt64
    /// The windows byte for byte, 322 bytes each, at most 128; empty when there are only gaps to report.
    public var body: [UInt8]
    /// What is missing or damaged. Ranges of other logs of the device (a formatted log's rest) may be among them.
    public var gaps: [SequenceGap]
    /// When the windows were read: Unix seconds by the hub's clock.
    public var received: Int64
    /// The text of the header `Hub-Clock`, e.g. `synced;device=set;offset=-3`.
    public var clock: String
    /// The checkpoint behind this batch: the first sequence that is to be read next.
    public var next: UInt64

    /// A batch as given; `Change.enqueue` checks it.
    public init(
        device: String, owner: String, log: UInt32, first: UInt64, body: [UInt8], gaps: [SequenceGap], received: Int64, clock: String, next: UInt64
    ) {
        self.device = device
        self.owner = owner
        self.log = log
        self.first = first
        self.body = body
        self.gaps = gaps
        self.received = received
        self.clock = clock
        self.next = next
    }

    /// The number of windows in the body.
    public var count: Int { body.count / OutboxSettings.windowSize }
}
