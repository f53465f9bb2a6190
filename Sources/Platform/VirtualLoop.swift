import Glibc
import Synchronization

/// A loop for tests: the same interface, one thread, and a clock that jumps to the next timer as soon as nothing else is left to do.
///
/// With every part of a system on one such loop (storage too, as this is a `SerialExecutor` like any), a run is a function of its
/// inputs and seeds. Descriptors are real (socket pairs within the process) and are asked with poll(2) in the order of
/// their numbers; what was written is there at once, so that no real time passes.
public final class VirtualLoop: EventLoop, @unchecked Sendable {
    /// The body can never end: nothing is queued, no timer stands, no descriptor is ready.
    public struct Stalled: Error, CustomStringConvertible {
        public let at: BootInstant
        public var description: String { "nothing left to do at \(at), and the body has not ended" }
    }

    private let inbox = Mutex<[UnownedJob]>([])
    private var timers = TimerQueue()
    private var watches: [CInt: (generation: UInt64, interest: Readiness, body: @Sendable (Readiness) -> Void)] = [:]
    private var lastGeneration: UInt64 = 0

    /// The virtual boot clock. It starts at 1,000 s, so that "a while ago" is a valid moment.
    public private(set) var now = BootInstant(nanoseconds: 1_000_000_000_000)

    /// How many moments there were at which timers fired, for figures on wake-ups: an `EpollLoop` would have woken as often.
    public private(set) var wakeUps: UInt64 = 0

    public init() {}

    public func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        inbox.withLock { $0.append(unowned) }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() {}

    public func schedule(at deadline: BootInstant, _ body: @escaping @Sendable () -> Void) -> TimerID { timers.add(deadline, body) }

    public func schedule(at deadline: BootInstant, notBefore earliest: BootInstant, _ body: @escaping @Sendable () -> Void) -> TimerID {
        timers.add(deadline, notBefore: earliest, body)
    }

    public func cancel(_ timer: TimerID) { timers.cancel(timer) }

    public func watch(_ descriptor: CInt, for interest: Readiness, _ body: @escaping @Sendable (Readiness) -> Void) throws(SystemError) {
        lastGeneration += 1
        watches[descriptor] = (lastGeneration, interest, body)
    }

    public func unwatch(_ descriptor: CInt) { watches[descriptor] = nil }

    /// Runs until `body` has ended and gives what it gave.
    ///
    /// - Throws: what `body` threw, or `Stalled` when it can never end.
    public func run<Success: Sendable>(until body: @escaping @Sendable () async throws -> Success) throws -> Success {
        let outcome = Mutex<Result<Success, any Error>?>(nil)
        Task(executorPreference: self) {
            let result: Result<Success, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
        }
        while true {
            if let result = outcome.withLock({ $0 }) { return try result.get() }
            if runJobs() || pollDescriptors() { continue }
            guard let deadline = timers.next else { throw Stalled(at: now) }
            advance(to: deadline)
        }
    }

    /// Runs everything that is due up to `duration` from now, and leaves the clock there.
    public func advance(by duration: Duration) {
        let end = now + duration
        while true {
            if runJobs() || pollDescriptors() { continue }
            guard let deadline = timers.next, deadline <= end else { break }
            advance(to: deadline)
        }
        now = max(now, end)
    }

    private func advance(to deadline: BootInstant) {
        now = max(now, deadline)
        wakeUps += 1
        for timer in timers.due(at: now) { timers.take(timer)?() }
    }

    private func runJobs() -> Bool {
        let batch = inbox.withLock { jobs in
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            return batch
        }
        for job in batch {
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        }
        return !batch.isEmpty
    }

    private func pollDescriptors() -> Bool {
        guard !watches.isEmpty else { return false }
        var polls = watches.keys.sorted().map { descriptor in
            let interest = watches[descriptor]?.interest ?? []
            let events = (interest.contains(.readable) ? POLLIN : 0) | (interest.contains(.writable) ? POLLOUT : 0)
            return pollfd(fd: descriptor, events: Int16(events), revents: 0)
        }
        guard poll(&polls, nfds_t(polls.count), 0) > 0 else { return false }
        // An earlier handler of this batch may have closed a descriptor and another may have got its number: as with `EpollLoop`,
        // what was ready then is no news about the new one.
        let asked = lastGeneration
        for entry in polls where entry.revents != 0 {
            guard let watch = watches[entry.fd], watch.generation <= asked else { continue }
            var readiness: Readiness = []
            if entry.revents & Int16(POLLIN) != 0 { readiness.insert(.readable) }
            if entry.revents & Int16(POLLOUT) != 0 { readiness.insert(.writable) }
            if entry.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { readiness.insert(.hangup) }
            watch.body(readiness)
        }
        return true
    }
}
