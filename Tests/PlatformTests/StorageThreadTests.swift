import Glibc
import Platform
import Synchronization
import Testing

@Suite("The storage thread")
struct StorageThreadTests {
    @Test("jobs run in order, all on one thread that is not the loop's, and the way back leads to the loop")
    func hops() throws {
        let loop = try EpollLoop()
        let storage = try StorageThread()
        defer { storage.stop() }
        let notes = Notes<Int>()
        let store = Store(storage, notes)
        let own = pthread_self()
        try loop.run {
            var threads: Set<pthread_t> = []
            for number in 0..<100 {
                threads.insert(await store.put(number))
                #expect(pthread_equal(pthread_self(), own) != 0)
            }
            #expect(threads.count == 1)
            #expect(threads.allSatisfy { pthread_equal($0, own) == 0 })
        }
        #expect(notes.all == Array(0..<100))
    }

    @Test("the loop turns while the storage thread is busy")
    func parallel() throws {
        let loop = try EpollLoop()
        let storage = try StorageThread()
        defer { storage.stop() }
        let store = Store(storage, Notes())
        let gate = Mutex(false)
        let fired = try loop.run {
            let busy = loop.spawn { await store.wait { gate.withLock { $0 } } }
            // Were the loop held up by the storage thread, this timer could not fire, and the gate would stay shut.
            try await loop.sleep(for: .milliseconds(5))
            gate.withLock { $0 = true }
            return await busy.value
        }
        #expect(fired)
    }

    @Test("stop runs what is queued first, then ends the thread")
    func stop() throws {
        let storage = try StorageThread()
        let notes = Notes<Int>()
        let store = Store(storage, notes)
        let loop = try EpollLoop()
        let gate = Mutex(false)
        try loop.run {
            _ = loop.spawn { await store.wait { gate.withLock { $0 } } }
            await loop.yield()
            for number in 0..<50 { _ = loop.spawn { _ = await store.put(number) } }
            await loop.yield()
        }
        gate.withLock { $0 = true }
        storage.stop()
        #expect(notes.all == Array(0..<50))
    }

    @Test("a ping is answered by a thread that is idle, and by one that is busy only when it has done what was queued before")
    func ping() throws {
        let storage = try StorageThread()
        defer { storage.stop() }
        #expect(storage.hasAnswered)
        storage.ping()
        #expect(eventually { storage.hasAnswered })
        let loop = try EpollLoop()
        let store = Store(storage, Notes())
        let gate = Mutex(false)
        let begun = Mutex(false)
        try loop.run {
            let busy = loop.spawn {
                await store.wait {
                    begun.withLock { $0 = true }
                    return gate.withLock { $0 }
                }
            }
            await loop.yield()
            #expect(eventually { begun.withLock { $0 } })
            storage.ping()
            storage.ping()
            for _ in 0..<20 {
                _ = poll(nil, 0, 1)
                #expect(!storage.hasAnswered)
            }
            gate.withLock { $0 = true }
            _ = await busy.value
        }
        #expect(eventually { storage.hasAnswered })
    }

    @Test("what belongs to the storage thread alone can be told from elsewhere")
    func isolation() throws {
        let storage = try StorageThread()
        defer { storage.stop() }
        let loop = try EpollLoop()
        let store = Store(storage, Notes())
        #expect(try loop.run { await store.isOnItsThread() })
    }
}

/// Waits for another thread, for at most 5 s.
private func eventually(_ condition: () -> Bool) -> Bool {
    for _ in 0..<5_000 {
        if condition() { return true }
        _ = poll(nil, 0, 1)
    }
    return condition()
}

private actor Store {
    private let thread: StorageThread
    private let notes: Notes<Int>
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ thread: StorageThread, _ notes: Notes<Int>) {
        self.thread = thread
        self.notes = notes
    }

    func put(_ number: Int) -> pthread_t {
        notes.add(number)
        return pthread_self()
    }

    /// Blocks the thread until the condition holds, as a slow disk would; `false` when it never did.
    func wait(_ condition: @Sendable () -> Bool) -> Bool {
        for _ in 0..<5_000 {
            if condition() { return true }
            _ = poll(nil, 0, 1)
        }
        return false
    }

    func isOnItsThread() -> Bool {
        thread.checkIsolated()
        return true
    }
}
