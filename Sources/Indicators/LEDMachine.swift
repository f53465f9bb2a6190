import Platform

/// One LED: which segment of what it shows is on, and when the next edge is due.
///
/// Time is given with every input. An edge that is handled late moves everything after it by as much: no flash is ever shorter than
/// written or left out, whatever held the loop up.
struct LEDMachine: Sendable {
    private enum State: Sendable {
        /// Nothing has been asked for yet, or the board has stopped.
        case dark
        /// Segments that are gone through once before the pattern's round starts: the rest of what was shown, and an event.
        case once(due: BootInstant, rest: ArraySlice<LEDSegment>, event: IndicatorEvent?)
        /// Segment `index` of the pattern's round.
        case round(index: Int, due: BootInstant?)
    }

    private var state = State.dark
    private var pattern: LEDPattern?
    private var waiting: [IndicatorEvent] = []
    private(set) var lit = false
    private var since: BootInstant?

    /// When `elapse` has something to do; `nil` when the LED stays as it is until it is told otherwise.
    var due: BootInstant? {
        switch state {
        case .dark: nil
        case .once(let due, _, _): due
        case .round(_, let due): due
        }
    }

    /// Shows `pattern` from now on. The same pattern again changes nothing; one that comes during an event is shown after it.
    mutating func show(_ pattern: LEDPattern, now: BootInstant) {
        guard pattern != self.pattern else { return }
        self.pattern = pattern
        if pattern != .onDippingWithBatches { waiting.removeAll { $0 == .batchRead } }
        if case .once(_, _, let event?) = state, event != .batchRead { return }
        begin(lead(darkBefore: pattern.darkBefore, now: now), event: nil, now: now)
    }

    /// Shows `event` once, after the events before it. One kind waits at most once: ten readings that arrive together are not ten flickers.
    mutating func play(_ event: IndicatorEvent, now: BootInstant) {
        guard let pattern, event != .batchRead || pattern == .onDippingWithBatches, !waiting.contains(event) else { return }
        waiting.append(event)
        if case .once(_, _, .some) = state { return }
        beginWaiting(now: now)
    }

    /// Makes the edge that is due, if one is.
    mutating func elapse(now: BootInstant) {
        guard let due, due <= now else { return }
        switch state {
        case .dark: return
        case .once(_, let rest, let event):
            begin(rest, event: event, now: now)
        case .round(let index, _):
            enterRound((index + 1) % (pattern?.round.count ?? 1), now: now)
        }
    }

    /// Turns the LED off for good.
    mutating func stop() {
        self = LEDMachine()
    }

    private mutating func begin(_ segments: ArraySlice<LEDSegment>, event: IndicatorEvent?, now: BootInstant) {
        if let first = segments.first, let duration = first.duration {
            set(first.lit, now: now)
            state = .once(due: now + duration, rest: segments.dropFirst(), event: event)
        } else if !waiting.isEmpty {
            beginWaiting(now: now)
        } else {
            enterRound(0, now: now)
        }
    }

    private mutating func beginWaiting(now: BootInstant) {
        let event = waiting.removeFirst()
        begin(lead(darkBefore: .zero, now: now) + event.sequence, event: event, now: now)
    }

    private mutating func enterRound(_ index: Int, now: BootInstant) {
        guard let pattern else { return }
        // After an event the LED may not have been dark for as long as a count needs.
        if index == 0, case .once(_, _, .some) = state {
            let lead = lead(darkBefore: pattern.darkBefore, now: now)
            if !lead.isEmpty { return begin(lead, event: nil, now: now) }
        }
        let segment = pattern.round[index]
        set(segment.lit, now: now)
        state = .round(index: index, due: segment.duration.map { now + $0 })
    }

    /// What has to be shown before something new may start: the rest of the least time of the present level, and darkness.
    private func lead(darkBefore dark: Duration, now: BootInstant) -> ArraySlice<LEDSegment> {
        guard let since else { return [] }
        let shown = now - since
        if lit {
            let rest = LEDSegment.leastTime(lit: true) - shown
            return (rest > .zero ? [.lit(rest)] : []) + (dark > .zero ? [.dark(dark)] : [])
        }
        let rest = max(LEDSegment.leastTime(lit: false), dark) - shown
        return rest > .zero ? [.dark(rest)] : []
    }

    private mutating func set(_ lit: Bool, now: BootInstant) {
        guard lit != self.lit else { return }
        self.lit = lit
        since = now
    }
}
