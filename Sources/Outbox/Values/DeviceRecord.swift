/// From `first` on, the windows of this log belong to `owner`, until the next assignment of the same log.
public struct Assignment: Sendable, Hashable {
    /// The log.
    public let log: UInt32
    /// The boundary, unwrapped.
    public let first: UInt64
    /// The owner's key.
    public let owner: String
}

/// The clear that a collar is due: everything of `log` up to and including `through` is settled.
public struct PendingClear: Sendable, Hashable {
    /// The log, as the collar names it.
    public let log: UInt32
    /// The last sequence to forget, unwrapped.
    public let through: UInt64
    /// The CRC of window `through` (its bytes 8 and 9), or `nil` when that sequence was a gap.
    public let crc: UInt16?
    /// How often the collar refused this very clear.
    public let refusals: Int
}

/// The outbox's book on the log that a device writes now.
public struct DeviceLog: Sendable, Hashable {
    /// The log, as the collar names it.
    public let log: UInt32
    /// Where the hub's interest in the log began, unwrapped.
    public let base: UInt64
    /// The checkpoint: the first sequence that is to be read next.
    public let next: UInt64
    /// The end of the contiguous settled prefix that begins at `base`: the first sequence that must not be cleared.
    public let settledEnd: UInt64
    /// The first sequence that the collar has not confirmed to have cleared.
    public let clearedEnd: UInt64
}

/// What the outbox knows of a device.
public struct DeviceRecord: Sendable, Hashable {
    /// The serial number.
    public let serial: String
    /// The log that the device writes now; `nil` before the first contact (and after a broken file was replaced).
    public let current: DeviceLog?
    /// Who the windows of which log belong to, ascending.
    public let assignments: [Assignment]
    /// Whether assignments of this device may have been lost with a broken file. Nothing may be guessed then: without an explicit
    /// `backlog` the device's old windows are held as after a change of owner.
    public let assignmentsLost: Bool
    /// The clear that is due.
    public let pendingClear: PendingClear?
    /// Ranges of former logs that were never read and are not yet reported in any entry. A batch that lists such a gap takes it away.
    public let unreported: [SequenceGap]

    /// The owner of one sequence; `nil` when nobody was assigned.
    public func owner(of sequence: UInt64, log: UInt32) -> String? {
        assignments.last { $0.log == log && $0.first <= sequence }?.owner
    }

    /// A sequence of `log` that is near the present ones, for `SequenceNumber.unwrap`.
    public func nearby(_ log: UInt32) -> UInt64? {
        if let current, current.log == log { return current.next }
        return assignments.last { $0.log == log }?.first
    }
}
