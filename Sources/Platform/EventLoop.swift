/// What a descriptor is ready for, and what one waits for (epoll_ctl(2)).
public struct Readiness: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Bytes, a connection or the end of the stream can be read.
    public static let readable = Readiness(rawValue: 1)
    /// The descriptor takes bytes, or a connect has ended.
    public static let writable = Readiness(rawValue: 2)
    /// The peer hung up or the descriptor is in error; reported whether asked for or not.
    public static let hangup = Readiness(rawValue: 4)
}

/// Names one timer of one loop. It is spent when the timer has fired or was cancelled.
public struct TimerID: Sendable, Hashable {
    let number: UInt64
}

/// One thread that runs everything: Swift concurrency's jobs, timers on the boot clock, and descriptors.
///
/// The daemon has one `EpollLoop`; tests put a `VirtualLoop` in its place. As a `SerialExecutor` it is the executor of the
/// gateway's actors, as a `TaskExecutor` it keeps what is not isolated to any actor on the same thread (SE-0392, SE-0417).
/// Apart from `enqueue`, everything here is called on the loop's own thread only; handlers run there too.
public protocol EventLoop: SerialExecutor, TaskExecutor {
    /// The boot clock. All deadlines are given on it.
    var now: BootInstant { get }

    /// Runs `body` once, at `deadline` or as soon after it as the loop gets to it. Timers due together run in order of deadline,
    /// and those of one deadline in the order in which they were made.
    func schedule(at deadline: BootInstant, _ body: @escaping @Sendable () -> Void) -> TimerID

    /// Runs `body` once: as soon as the loop is awake for another reason from `earliest` on, and at `deadline` at the latest. So what is done every
    /// now and then costs no wake-up of its own while there are others.
    func schedule(at deadline: BootInstant, notBefore earliest: BootInstant, _ body: @escaping @Sendable () -> Void) -> TimerID

    /// Forgets a timer that has not fired; does nothing for one that has.
    func cancel(_ timer: TimerID)

    /// Calls `body` whenever the descriptor is ready for something in `interest` or hangs up (level-triggered). A second call for the same
    /// descriptor replaces the first. The descriptor stays its owner's, who calls `unwatch` before closing it.
    ///
    /// - Throws: `SystemError` of epoll_ctl(2), e.g. `EPERM` for a regular file.
    func watch(_ descriptor: CInt, for interest: Readiness, _ body: @escaping @Sendable (Readiness) -> Void) throws(SystemError)

    /// Stops watching. No handler of this descriptor runs after this returns.
    func unwatch(_ descriptor: CInt)
}

extension EventLoop {
    /// Runs `body` once, `delay` from now.
    public func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> TimerID {
        schedule(at: now + delay, body)
    }

    /// Starts a task whose every part stays on this loop's thread.
    ///
    /// Every task of the gateway is begun here, in its actors too. Whatever a task waits for (a continuation, a stream, another task's value)
    /// resumes it through its preferred executor; a `Task` that names none is resumed through the global pool even when
    /// it belongs to an actor of the loop, and that starts the pool's threads.
    @discardableResult
    public func spawn<Success: Sendable>(_ operation: @escaping @Sendable () async -> Success) -> Task<Success, Never> {
        Task(executorPreference: self, operation: operation)
    }

    /// Lets everything that is queued on the loop run before the calling task goes on.
    ///
    /// In place of `Task.yield()`, which in Swift 6.0 goes by way of the global pool whatever executor the task prefers, and so starts its threads.
    public func yield() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            spawn { continuation.resume() }
        }
    }

    /// Suspends the calling task, one that `spawn` has begun, until `deadline`.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(until deadline: BootInstant) async throws {
        let sleeper = Sleeper()
        // A timer that outlived a cancelled sleep would hold its closure, and wake the loop, at the deadline.
        defer { if let timer = sleeper.timer { cancel(timer) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                sleeper.begin(continuation)
                sleeper.armed(schedule(at: deadline) { sleeper.end(.success(())) })
            }
        } onCancel: {
            sleeper.end(.failure(CancellationError()))
        }
    }

    /// Suspends the calling task for `duration`.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(for duration: Duration) async throws {
        try await sleep(until: now + duration)
    }
}
