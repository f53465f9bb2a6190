import Platform

/// A push button: from edges, with bounces among them, to presses.
///
/// A press is what is let go of before `holdTime`; what lasts as long is held. A button that is down from the start is stuck, or somebody leans on it: it counts
/// from when it is let go of.
struct ButtonMachine: Sendable {
    /// What has happened, or what the machine must know.
    enum Action: Sendable, Hashable {
        case pressed
        case held
        /// The line is to be read, and the answer given to `read`: edges may have been lost.
        case look
    }

    /// How long a level must last to be no bounce.
    static let debounceTime = Duration.milliseconds(20)
    /// How long a button is held that is more than pressed.
    static let holdTime = Duration.seconds(10)

    private enum State: Sendable, Hashable {
        case up
        case down(since: BootInstant)
        /// Down, and nothing follows when it is let go of.
        case spent
    }

    private let debounce: Duration
    private var state: State
    /// A level that has not lasted long enough yet.
    private var candidate: (down: Bool, since: BootInstant)?

    /// - Parameters:
    ///   - down: whether the button is down now.
    ///   - debounced: whether bounces are kept away before the edges come here.
    init(down: Bool, debounced: Bool) {
        state = down ? .spent : .up
        debounce = debounced ? .zero : Self.debounceTime
    }

    /// When `elapse` has something to do.
    var due: BootInstant? {
        // Whether a button is still held is known only when its level has settled.
        if let candidate { return candidate.since + debounce }
        if case .down(let since) = state { return since + Self.holdTime }
        return nil
    }

    /// The level changed, at a moment not before those of earlier edges.
    mutating func edge(down: Bool, at moment: BootInstant) -> [Action] {
        let earlier = settle(by: moment)
        guard debounce > .zero else { return earlier + commit(down: down, at: moment) }
        candidate = (down, moment)
        return earlier
    }

    /// Time has passed.
    mutating func elapse(now: BootInstant) -> [Action] {
        let waited = candidate != nil
        var actions = settle(by: now)
        if waited, candidate == nil { actions.append(.look) }
        if candidate == nil, case .down(let since) = state, now >= since + Self.holdTime {
            state = .spent
            actions.append(.held)
        }
        return actions
    }

    /// The line was read.
    mutating func read(down: Bool, now: BootInstant) -> [Action] {
        candidate == nil ? commit(down: down, at: now) : []
    }

    /// Takes a level that has lasted.
    private mutating func settle(by moment: BootInstant) -> [Action] {
        guard let candidate, moment >= candidate.since + debounce else { return [] }
        self.candidate = nil
        return commit(down: candidate.down, at: candidate.since)
    }

    private mutating func commit(down: Bool, at moment: BootInstant) -> [Action] {
        switch (state, down) {
        case (.up, true):
            state = .down(since: moment)
            return []
        case (.down(let since), false):
            state = .up
            return [moment >= since + Self.holdTime ? .held : .pressed]
        case (.spent, false):
            state = .up
            return []
        case (.up, false), (.down, true), (.spent, true): return []
        }
    }
}
