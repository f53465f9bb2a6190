import CLinux
import Glibc

/// One thread that runs the jobs of the actors that block: the executor of the outbox.
///
/// Disk writes may take seconds on an SD card; the loop must turn meanwhile.
public final class StorageThread: SerialExecutor, @unchecked Sendable {
    // Unchecked: `jobs`, `asked`, `answered` and `stopping` are guarded by `mutex`; `thread` is written once, before the thread can be joined.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [UnownedJob] = []
    private var asked: UInt64 = 0
    private var answered: UInt64 = 0
    private var stopping = false
    private var thread = pthread_t()

    /// Starts the thread. It takes no signals: those are the loop's.
    ///
    /// - Throws: `SystemError` when the kernel gives no thread.
    public init() throws(SystemError) {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
        var everything = sigset_t()
        var before = sigset_t()
        sigfillset(&everything)
        pthread_sigmask(SIG_SETMASK, &everything, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(&thread, nil, { argument in
            guard let argument else { return nil }
            Unmanaged<StorageThread>.fromOpaque(argument).takeRetainedValue().work()
            return nil
        }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw SystemError("pthread_create", code: code)
        }
        clinux_name_thread(thread, "storage")
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        pthread_mutex_lock(mutex)
        jobs.append(unowned)
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() {
        precondition(pthread_equal(pthread_self(), thread) != 0, "called off the storage thread")
    }

    /// Asks the thread for a sign of life. It answers when it has done what was queued before; whoever asks looks at `hasAnswered` some time later.
    public func ping() {
        pthread_mutex_lock(mutex)
        asked += 1
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Whether every `ping` so far is answered.
    public var hasAnswered: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return answered == asked
    }

    /// Runs what is queued, then ends the thread and waits for it. Nothing may be enqueued afterwards.
    public func stop() {
        pthread_mutex_lock(mutex)
        stopping = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
        pthread_join(thread, nil)
    }

    private func work() {
        while true {
            pthread_mutex_lock(mutex)
            while jobs.isEmpty, asked == answered, !stopping { pthread_cond_wait(condition, mutex) }
            // With nothing queued before it, a ping is answered here and now.
            if jobs.isEmpty { answered = asked }
            let asked = asked
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            let ends = batch.isEmpty && stopping
            pthread_mutex_unlock(mutex)
            if ends { return }
            defer { answer(asked) }
            for job in batch { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    private func answer(_ number: UInt64) {
        pthread_mutex_lock(mutex)
        answered = number
        pthread_mutex_unlock(mutex)
    }
}
