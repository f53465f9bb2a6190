import CLinux
import Glibc
import Synchronization

/// The daemon's loop: epoll(7), one timerfd on the boot clock, an eventfd that other threads ring, a signalfd.
///
/// It belongs to the thread that made it. `run` blocks that thread until `stop`.
public final class EpollLoop: EventLoop, @unchecked Sendable {
    // Unchecked: everything below but `inbox` is touched on the loop's own thread alone, which `onLoop()` makes sure of.
    private struct Watch {
        let generation: UInt32
        let body: @Sendable (Readiness) -> Void
    }

    private let thread = pthread_self()
    private let epoll: Descriptor
    private let bell: Descriptor
    private let alarm: Descriptor
    private var signals: Descriptor?

    private let inbox = Mutex<[UnownedJob]>([])
    private var timers = TimerQueue()
    private var armed: BootInstant?
    private var watches: [CInt: Watch] = [:]
    private var lastGeneration: UInt32 = 0
    private var running = false

    /// How often the loop has come back from waiting, for figures on wake-ups.
    public private(set) var turns: UInt64 = 0

    /// - Throws: `SystemError` when the kernel gives no descriptor.
    public init() throws(SystemError) {
        let epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw .last("epoll_create1") }
        self.epoll = Descriptor(owning: epoll)
        let bell = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard bell >= 0 else { throw .last("eventfd") }
        self.bell = Descriptor(owning: bell)
        let alarm = timerfd_create(CLOCK_BOOTTIME, CInt(TFD_CLOEXEC | TFD_NONBLOCK))
        guard alarm >= 0 else { throw .last("timerfd_create") }
        self.alarm = Descriptor(owning: alarm)
        try watch(bell, for: .readable) { _ in Self.drain(bell) }
        try watch(alarm, for: .readable) { [unowned self] _ in
            Self.drain(alarm)
            armed = nil
        }
    }

    public var now: BootInstant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return BootInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    // MARK: Executor

    public func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        inbox.withLock { $0.append(unowned) }
        if pthread_equal(pthread_self(), thread) == 0 { ring() }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() {
        precondition(pthread_equal(pthread_self(), thread) != 0, "called off the loop's thread")
    }

    // MARK: Timers

    public func schedule(at deadline: BootInstant, _ body: @escaping @Sendable () -> Void) -> TimerID {
        onLoop()
        return timers.add(deadline, body)
    }

    public func schedule(at deadline: BootInstant, notBefore earliest: BootInstant, _ body: @escaping @Sendable () -> Void) -> TimerID {
        onLoop()
        return timers.add(deadline, notBefore: earliest, body)
    }

    public func cancel(_ timer: TimerID) {
        onLoop()
        timers.cancel(timer)
    }

    // MARK: Descriptors

    public func watch(_ descriptor: CInt, for interest: Readiness, _ body: @escaping @Sendable (Readiness) -> Void) throws(SystemError) {
        onLoop()
        lastGeneration &+= 1
        var event = epoll_event()
        event.events = interest.epollEvents
        event.data.u64 = UInt64(lastGeneration) << 32 | UInt64(UInt32(bitPattern: descriptor))
        let operation = watches[descriptor] == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        guard epoll_ctl(epoll.raw, operation, descriptor, &event) == 0 else { throw .last("epoll_ctl") }
        watches[descriptor] = Watch(generation: lastGeneration, body: body)
    }

    public func unwatch(_ descriptor: CInt) {
        onLoop()
        guard watches.removeValue(forKey: descriptor) != nil else { return }
        var event = epoll_event()
        _ = epoll_ctl(epoll.raw, EPOLL_CTL_DEL, descriptor, &event)
    }

    // MARK: Signals

    /// Blocks the signals for every thread made from now on and hands each arrival to `body`, on the loop (signalfd(2)).
    /// Call it before any other thread exists. A second call replaces the first: what is in its set alone is reported, what was in the first
    /// stays blocked.
    ///
    /// - Throws: `SystemError` when the kernel refuses.
    public func watchSignals(_ numbers: [CInt], _ body: @escaping @Sendable (CInt) -> Void) throws(SystemError) {
        onLoop()
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        let code = pthread_sigmask(SIG_BLOCK, &set, nil)
        guard code == 0 else { throw SystemError("pthread_sigmask", code: code) }
        let raw = signalfd(-1, &set, CInt(SFD_CLOEXEC | SFD_NONBLOCK))
        guard raw >= 0 else { throw .last("signalfd") }
        // The descriptor of an earlier call is closed below; its number may be given out again.
        if let former = signals?.raw { unwatch(former) }
        signals = Descriptor(owning: raw)
        try watch(raw, for: .readable) { _ in
            var information = signalfd_siginfo()
            let size = MemoryLayout<signalfd_siginfo>.size
            while retryOnInterrupt({ Glibc.read(raw, &information, size) }) == size {
                body(CInt(information.ssi_signo))
            }
        }
    }

    // MARK: Running

    /// Runs until `stop`. Must be called on the thread that made the loop.
    public func run() {
        onLoop()
        running = true
        while running {
            // A task comes back as a new job at each border between actors. Several batches a turn spare a look at the descriptors for each;
            // a limit keeps jobs that make jobs from keeping timers and sockets waiting.
            for _ in 0..<32 where running {
                if !runJobs() { break }
            }
            if !running { break }
            fireTimers()
            if !running { break }
            wait()
        }
    }

    /// Lets `run` return after what is being run right now.
    public func stop() {
        onLoop()
        running = false
    }

    /// Runs the loop until `body` has ended, and gives what it gave. For commands and tests; the daemon uses `run`.
    public func run<Success: Sendable>(until body: @escaping @Sendable () async throws -> Success) throws -> Success {
        let outcome = Mutex<Result<Success, any Error>?>(nil)
        Task(executorPreference: self) {
            let result: Result<Success, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            self.stop()
        }
        run()
        guard let result = outcome.withLock({ $0 }) else { preconditionFailure("the loop was stopped before its body had ended") }
        return try result.get()
    }

    /// Runs what is queued, but not what that queues; `false` when nothing is.
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

    private func fireTimers() {
        guard timers.hasDue(at: now) else { return }
        for timer in timers.due(at: now) { timers.take(timer)?() }
    }

    private func wait() {
        let idle = inbox.withLock { $0.isEmpty }
        if idle { arm() }
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 16) { events in
            let count = retryOnInterrupt { epoll_wait(epoll.raw, events.baseAddress!, CInt(events.count), idle ? -1 : 0) }
            turns &+= 1
            guard count > 0 else { return }
            for event in events[..<Int(count)] {
                let descriptor = CInt(bitPattern: UInt32(truncatingIfNeeded: event.data.u64))
                // An earlier handler of this batch may have closed the descriptor and another may have got its number.
                guard let watch = watches[descriptor], watch.generation == UInt32(truncatingIfNeeded: event.data.u64 >> 32) else { continue }
                watch.body(Readiness(epollEvents: event.events))
            }
        }
    }

    private func arm() {
        let deadline = timers.next
        guard deadline != armed else { return }
        var setting = itimerspec()
        if let deadline {
            // Zero would disarm; a deadline in the past must ring at once.
            let nanoseconds = max(1, deadline.nanoseconds)
            setting.it_value = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        }
        _ = timerfd_settime(alarm.raw, CInt(TFD_TIMER_ABSTIME), &setting, nil)
        armed = deadline
    }

    private func ring() {
        var one: UInt64 = 1
        _ = Glibc.write(bell.raw, &one, 8)
    }

    private static func drain(_ descriptor: CInt) {
        var count: UInt64 = 0
        _ = Glibc.read(descriptor, &count, 8)
    }

    private func onLoop() {
        // In a release too: the loop's state touched from elsewhere is worse than a restart.
        precondition(pthread_equal(pthread_self(), thread) != 0, "called off the loop's thread")
    }
}

extension Readiness {
    fileprivate var epollEvents: UInt32 {
        (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
    }

    fileprivate init(epollEvents events: UInt32) {
        var readiness: Readiness = []
        if events & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
        if events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.hangup) }
        self = readiness
    }
}
