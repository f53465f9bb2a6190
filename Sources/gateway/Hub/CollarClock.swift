import Platform

/// What is known of a collar's clock: its offset now, and the one it had before the hub set it. Windows recorded earlier carry the earlier clock.
struct CollarClock: Sendable {
    private var offset: Int64?
    private var before: (end: UInt64, offset: Int64?)?

    /// The collar and the hub told the time at the same moment.
    ///
    /// - Parameter device: the collar's time, `nil` when its clock is not set.
    mutating func compared(device: UInt32?, hub: WallTime) {
        offset = device.flatMap { hub.synchronised ? Int64($0) - hub.seconds : nil }
    }

    /// The hub set the collar's clock when the next window to come was `next`.
    mutating func wasSet(at next: UInt64) {
        before = (next, offset)
        offset = 0
    }

    /// The collar writes another log: boundaries of the former one mean nothing in it.
    mutating func logChanged() {
        before = nil
    }

    /// Whether windows on both sides of a setting lie in the range, and where the later ones begin.
    func boundary(in range: Range<UInt64>) -> UInt64? {
        guard let end = before?.end, range.contains(end), end > range.lowerBound else { return nil }
        return end
    }

    /// The offset of the clock that stamped the window `sequence`.
    func offset(at sequence: UInt64) -> Int64? {
        if let before, sequence < before.end { return before.offset }
        return offset
    }
}
