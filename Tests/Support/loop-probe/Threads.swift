import Glibc
import Platform
import Synchronization

/// Which threads the probe's parts were run by: a count of those off the loop's thread for each part.
final class Sightings: Sendable {
    private let loopThread = pthread_self()
    private let strays = Mutex<[(part: String, off: Int, all: Int)]>([])

    func see(_ part: String) {
        let off = pthread_equal(pthread_self(), loopThread) == 0 ? 1 : 0
        strays.withLock { parts in
            if let index = parts.firstIndex(where: { $0.part == part }) {
                parts[index].off += off
                parts[index].all += 1
            } else {
                parts.append((part, off, 1))
            }
        }
    }

    func report() {
        for part in strays.withLock({ $0 }) { print("\(part.part) \(part.off)/\(part.all)") }
    }
}

/// The number of threads of this process, from the kernel's own list.
func threadCount() -> Int {
    guard let folder = opendir("/proc/self/task") else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while let entry = readdir(folder) {
        if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
    }
    return count
}

actor Counter {
    private let loop: EpollLoop
    private let sightings: Sightings
    private var value = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: EpollLoop, sightings: Sightings) {
        self.loop = loop
        self.sightings = sightings
    }

    func bump() async -> Int {
        sightings.see("actor")
        value += 1
        await Task.yield()
        sightings.see("actor-after-yield")
        return value
    }

    /// What an actor starts and waits for: a task, a continuation, a stream.
    func begin() async {
        let (stream, continuation) = AsyncStream<Int>.makeStream()
        let task = Task(executorPreference: loop) {
            await self.follow(stream)
        }
        for number in 0..<5 {
            continuation.yield(number)
            await Task.yield()
        }
        continuation.finish()
        await task.value
        sightings.see("actor-after-task")
    }

    private func follow(_ stream: AsyncStream<Int>) async {
        sightings.see("task-in-actor")
        for await number in stream { value += number }
        try? await loop.sleep(for: .milliseconds(1))
        sightings.see("task-in-actor-after-sleep")
    }
}

actor Shelf {
    private let thread: StorageThread
    private let sightings: Sightings
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(thread: StorageThread, sightings: Sightings) {
        self.thread = thread
        self.sightings = sightings
    }

    func put() { sightings.see("storage") }
}

func free(_ sightings: Sightings) async {
    sightings.see("nonisolated")
    await Task.yield()
    sightings.see("nonisolated-after-yield")
}

func probeThreads() throws {
    let loop = try EpollLoop()
    let sightings = Sightings()
    try loop.run {
        let counter = Counter(loop: loop, sightings: sightings)
        sightings.see("body")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    sightings.see("child-task")
                    _ = await counter.bump()
                    sightings.see("child-task-after-actor")
                    await free(sightings)
                }
            }
        }
        async let one = counter.bump()
        async let two: Void = free(sightings)
        _ = await (one, two)
        sightings.see("after-async-let")

        let (stream, continuation) = AsyncStream<Int>.makeStream()
        let reader = loop.spawn {
            for await _ in stream { sightings.see("stream") }
            sightings.see("stream-end")
        }
        for number in 0..<20 {
            continuation.yield(number)
            await Task.yield()
        }
        continuation.finish()
        await reader.value

        await loop.spawn {
            sightings.see("spawned")
            await withTaskGroup(of: Void.self) { group in
                group.addTask { sightings.see("child-of-spawned") }
            }
        }.value
        try await loop.sleep(for: .milliseconds(1))
        sightings.see("after-sleep")
        await counter.begin()
        let sleeper = loop.spawn {
            try? await loop.sleep(for: .seconds(3_600))
            sightings.see("after-cancelled-sleep")
        }
        await Task.yield()
        sleeper.cancel()
        await sleeper.value
        _ = loop.schedule(after: .zero) { sightings.see("timer") }
        try await loop.sleep(for: .milliseconds(1))
    }
    print("threads \(threadCount())")

    let storage = try StorageThread()
    let shelf = Shelf(thread: storage, sightings: sightings)
    try loop.run {
        for _ in 0..<10 {
            await shelf.put()
            sightings.see("back-from-storage")
        }
    }
    print("threads-with-storage \(threadCount())")
    storage.stop()
    // The kernel takes a joined thread off its list a moment after the join returns.
    for _ in 0..<100_000 where threadCount() > 1 { sched_yield() }
    print("threads-after-storage \(threadCount())")
    sightings.report()
}
