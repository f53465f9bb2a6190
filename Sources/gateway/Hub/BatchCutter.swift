/// Where a run of windows must be cut into batches of its own: where the time steps by more than a minute, or the kind of clock changes
/// (seconds since 1970 against seconds since the collar started).
enum BatchCutter {
    /// Bytes of one window (collar profile, "Window").
    static let windowSize = 322
    /// Times below this are seconds since the collar started (collar profile, "Window", offset 4).
    static let firstCalendarSecond: UInt32 = 1_000_000_000
    /// The largest step between neighbours, in seconds.
    static let largestStep: Int64 = 60

    /// The kind of clock that stamped a window.
    enum ClockKind: Sendable, Equatable {
        case calendar
        case sinceStart
    }

    /// One part of the run.
    struct Part: Sendable, Equatable {
        /// Index of the first window.
        let start: Int
        /// Number of windows, at least one.
        let count: Int
        /// The clock of the part; `nil` when every window in it is damaged, so that nothing it says about time can be believed.
        let clock: ClockKind?
    }

    /// Cuts `windows` (whole windows one after another).
    ///
    /// - Parameters:
    ///   - damaged: indices of windows whose check sum is wrong: their time says nothing and cuts nowhere.
    ///   - forced: an index where a part must end because the hub set the collar's clock there.
    static func cut(_ windows: [UInt8], damaged: Set<Int>, forced: Int? = nil) -> [Part] {
        let count = windows.count / windowSize
        var parts: [Part] = []
        var start = 0
        var last: (time: UInt32, kind: ClockKind)?
        for index in 0..<count {
            if index == forced, index > start {
                parts.append(Part(start: start, count: index - start, clock: last?.kind))
                start = index
                last = nil
            }
            guard !damaged.contains(index) else { continue }
            let time = time(of: index, in: windows)
            let kind: ClockKind = time < firstCalendarSecond ? .sinceStart : .calendar
            if let before = last, index > start, kind != before.kind || abs(Int64(time) - Int64(before.time)) > largestStep {
                parts.append(Part(start: start, count: index - start, clock: before.kind))
                start = index
            }
            last = (time, kind)
        }
        if start < count { parts.append(Part(start: start, count: count - start, clock: last?.kind)) }
        return parts
    }

    private static func time(of index: Int, in windows: [UInt8]) -> UInt32 {
        let offset = index * windowSize + 4
        return windows[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
