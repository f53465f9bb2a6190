/// One LED or button of the board as hardware: held, or missing and looked for. It decides what is worth a line in the log and when to look again.
struct FixtureMachine: Sendable {
    /// What is to be said.
    enum Report: Sendable, Hashable {
        /// It cannot be had.
        case missing(IndicatorError)
        /// It was held and is no more.
        case lost(IndicatorError)
        /// It is held again, or at last.
        case back
    }

    private enum State: Sendable {
        case untaken
        case held
        /// The reason that was said last, and how often it was looked for since there was a reason to.
        case missing(IndicatorError.Code, tries: Int)
    }

    private var state = State.untaken

    var isHeld: Bool {
        if case .held = state { true } else { false }
    }

    /// How long to wait before it is looked for without any sign that it is back; `nil` when it is not missing.
    var patience: Duration? {
        guard case .missing(_, let tries) = state else { return nil }
        return .seconds(min(60, 1 << min(tries, 6)))
    }

    /// It was taken.
    mutating func taken() -> Report? {
        defer { state = .held }
        if case .missing = state { return .back }
        return nil
    }

    /// It could not be taken. The same reason again, or that something which has gone is not there, is not worth a word.
    mutating func refused(_ error: IndicatorError) -> Report? {
        guard case .missing(let said, let tries) = state else {
            state = .missing(error.code, tries: 0)
            return .missing(error)
        }
        let known = error.code == said || error.code.isAbsence && said.isAbsence
        state = .missing(known ? said : error.code, tries: tries + 1)
        return known ? nil : .missing(error)
    }

    /// It stopped working while it was held.
    mutating func lost(_ error: IndicatorError) -> Report? {
        guard isHeld else { return nil }
        state = .missing(error.code, tries: 0)
        return .lost(error)
    }

    /// There is a sign that something has changed.
    mutating func nudge() {
        if case .missing(let said, _) = state { state = .missing(said, tries: 0) }
    }
}
