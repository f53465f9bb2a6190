import Synchronization

/// The continuation of one sleep: resumed once, by the timer or by the cancellation, whichever comes first (and from whatever thread).
final class Sleeper: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Void, any Error>)
        case ended(Result<Void, any Error>)
    }

    private let state = Mutex<State>(.idle)
    private let timerID = Mutex<TimerID?>(nil)

    var timer: TimerID? { timerID.withLock { $0 } }

    func armed(_ timer: TimerID) { timerID.withLock { $0 = timer } }

    func begin(_ continuation: CheckedContinuation<Void, any Error>) {
        let early: Result<Void, any Error>? = state.withLock { state in
            if case .ended(let result) = state { return result }
            state = .waiting(continuation)
            return nil
        }
        if let early { continuation.resume(with: early) }
    }

    func end(_ result: Result<Void, any Error>) {
        let continuation: CheckedContinuation<Void, any Error>? = state.withLock { state in
            switch state {
            case .idle:
                state = .ended(result)
                return nil
            case .waiting(let continuation):
                state = .ended(result)
                return continuation
            case .ended:
                return nil
            }
        }
        continuation?.resume(with: result)
    }
}
