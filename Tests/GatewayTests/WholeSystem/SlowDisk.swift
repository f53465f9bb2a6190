import CMisbehavingDisk
import Platform
import Synchronization

/// The storage thread of a hub under virtual time: each call takes as long as the seed says, and a frozen one never ends.
final class SlowDisk: SerialExecutor, Sendable {
    private struct State {
        var dice: SplitMix64
        var queue: [UnownedJob] = []
        var busy = false
        var frozen = false
        var slowest: Duration
    }

    private let loop: any EventLoop
    private let state: Mutex<State>

    /// - Parameter slowest: the longest that one call takes; `.zero` does everything at once.
    init(loop: any EventLoop, seed: UInt64, slowest: Duration) {
        self.loop = loop
        state = Mutex(State(dice: SplitMix64(seed: seed), slowest: slowest))
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let begins = state.withLock { state in
            state.queue.append(job)
            defer { state.busy = true }
            return !state.busy
        }
        if begins { next() }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    func checkIsolated() {}

    /// From now on nothing is read or written.
    func freeze() { state.withLock { $0.frozen = true } }

    func set(slowest: Duration) { state.withLock { $0.slowest = slowest } }

    private func next() {
        let delay = state.withLock { state -> Duration in
            state.slowest == .zero ? .zero : state.slowest * Double.random(in: 0..<1, using: &state.dice)
        }
        _ = loop.schedule(after: delay) { self.work() }
    }

    private func work() {
        guard let job = state.withLock({ $0.frozen || $0.queue.isEmpty ? nil : $0.queue.removeFirst() }) else { return }
        job.runSynchronously(on: asUnownedSerialExecutor())
        let more = state.withLock { state in
            state.busy = !state.queue.isEmpty
            return state.busy
        }
        if more { next() }
    }
}

/// A disk that fails when it is told to, as a VFS of SQLite with a name of its own.
final class FailingDisk: @unchecked Sendable {
    // Unchecked: the C side is used by one loop's thread at a time, as the outbox over it is.
    private static let count = Mutex(0)

    /// SQLite's results for a full disk and for a sync that failed.
    static let full: CInt = 13
    static let syncFailed: CInt = 10 | 4 << 8

    let name: String
    private let disk: OpaquePointer?

    init() {
        name = Self.count.withLock { count in
            count += 1
            return "gateway-tests-\(count)"
        }
        disk = misbehaving_disk_make(name)
    }

    /// Fails the `operation`-th write, sync, truncation or deletion from now and the ones behind it.
    func fail(at operation: Int64, with code: CInt, times: Int64) { misbehaving_disk_fail_at(disk, operation, code, times) }

    func heal() { misbehaving_disk_fail_at(disk, 0, 0, 0) }
}
