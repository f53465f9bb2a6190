import Platform

/// Tells when nothing was heard for too long, with as few timers as possible.
///
/// The shell keeps one timer. A sign of life moves it only when more than half of the silence allowed has passed since it was set: it is set anew at every
/// other or third heartbeat, never fires while they come, and wakes nobody by itself.
struct SilenceWatch {
    enum Verdict: Equatable {
        /// Something was heard meanwhile: the timer has to be set to this moment.
        case rearm(BootInstant)
        /// Nothing was heard.
        case silent
    }

    private let limit: Duration
    private var last: BootInstant
    private var armed: BootInstant

    /// Begins to listen.
    ///
    /// - Parameter limit: how long nothing may be heard.
    init(limit: Duration, now: BootInstant) {
        self.limit = limit
        last = now
        armed = now + limit
    }

    /// When the timer has to stand at first.
    var deadline: BootInstant { armed }

    /// A sign of life.
    ///
    /// - Returns: where the timer has to be moved to; `nil` when it can stay where it is.
    mutating func heard(at now: BootInstant) -> BootInstant? {
        last = now
        guard armed - now < limit / 2 else { return nil }
        armed = now + limit
        return armed
    }

    /// The timer has fired.
    mutating func fired(at now: BootInstant) -> Verdict {
        let deadline = last + limit
        guard now < deadline else { return .silent }
        armed = deadline
        return .rearm(deadline)
    }
}
