/// What a read of a range of windows brought.
///
/// What came in order is always kept, however the read ended, so that nothing need be read twice.
public struct RangeRead: Sendable, Hashable {
    /// How a read ended.
    public enum End: Sendable, Hashable {
        /// All windows asked for are here.
        case complete
        /// Result 4: the collar does not hold the whole range, or overwrote it meanwhile. It says what it holds.
        case notHeld(oldest: UInt32, next: UInt32)
        /// Result 3: the log asked for is not, or no longer, the collar's.
        case wrongLog
        /// Result 5: to be asked again at the next heartbeat.
        case busy
        /// The flash gave an error twice at `RangeRead.unreadable`.
        case unreadable
        /// The link was lost, the read stalled or was stopped, or the collar broke the profile.
        case interrupted(CollarError)
    }

    /// Whole windows in sequence order from the first one asked for, 322 bytes each, byte for byte as sent.
    public var windows: [UInt8]
    /// Sequences of windows whose checksum failed twice: they stand in `windows` as they came, under the sequence that was asked for.
    public var damaged: [UInt32]
    /// The sequence right behind the last window, when the flash gave an error there twice: a gap, to be recorded, behind which reading goes on.
    public var unreadable: UInt32?
    /// How the read ended.
    public var end: End
    /// How many requests it took.
    public var requests: Int
    /// How many windows came that could not be used: out of turn, or with a wrong checksum.
    public var discarded: Int

    /// How many windows there are.
    public var count: Int { windows.count / CollarWindow.length }

    /// Puts a result together.
    public init(windows: [UInt8] = [], damaged: [UInt32] = [], unreadable: UInt32? = nil, end: End, requests: Int = 0, discarded: Int = 0) {
        self.windows = windows
        self.damaged = damaged
        self.unreadable = unreadable
        self.end = end
        self.requests = requests
        self.discarded = discarded
    }
}
