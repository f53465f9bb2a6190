import Glibc
import Platform
import Synchronization
import Testing

@Suite("The epoll loop")
struct EpollLoopTests {
    @Test("its clock is the boot clock")
    func clock() throws {
        let loop = try EpollLoop()
        var before = timespec()
        clock_gettime(CLOCK_BOOTTIME, &before)
        let now = loop.now
        var after = timespec()
        clock_gettime(CLOCK_BOOTTIME, &after)
        #expect(now.nanoseconds >= Int64(before.tv_sec) * 1_000_000_000 + Int64(before.tv_nsec))
        #expect(now.nanoseconds <= Int64(after.tv_sec) * 1_000_000_000 + Int64(after.tv_nsec))
    }

    /// What the kernel says of this process's timers, whatever the numbers of their descriptors: other tests have hundreds open at the same time.
    private static func timerStates() -> [String] {
        guard let directory = opendir("/proc/self/fdinfo") else { return [] }
        defer { closedir(directory) }
        var states: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            let raw = open("/proc/self/fdinfo/\(name)", O_RDONLY | O_CLOEXEC)
            guard raw >= 0 else { continue }
            let file = Descriptor(owning: raw)
            guard let bytes = try? file.read(upTo: 4_096) else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            if text.contains("clockid:") { states.append(text) }
        }
        return states
    }

    @Test("the kernel's timer is armed on the boot clock for the earliest deadline, and disarmed when none is left")
    func armed() throws {
        let storage = try StorageThread()
        defer { storage.stop() }
        let onlooker = Onlooker(storage)
        let loop = try EpollLoop()
        let deadline = loop.now + .seconds(5_000_000)
        let far = loop.schedule(at: deadline + .seconds(100)) {}
        let near = loop.schedule(at: deadline) {}
        // The timer that has so long to run is this loop's: no other test has one.
        @Sendable func isArmed() -> Bool {
            Self.timerStates().contains { $0.contains("it_value: (4999") && $0.contains("clockid: \(CLOCK_BOOTTIME)\n") }
        }
        // The other thread looks while the loop arms its timer and waits; a bounded number of looks ends the test if it never does.
        @Sendable func becomes(_ wanted: Bool) -> Bool {
            for _ in 0..<20_000 {
                if isArmed() == wanted { return true }
                // Gives the processor away, so that on a busy machine the loop comes to its turn.
                _ = poll(nil, 0, 1)
            }
            return false
        }
        let seen = try loop.run {
            let armed = await onlooker.look { becomes(true) }
            loop.cancel(near)
            loop.cancel(far)
            return [armed, await onlooker.look { becomes(false) }]
        }
        #expect(seen == [true, true])
    }

    @Test("a loop with nothing to do does not turn: it wakes once for a job from another thread")
    func idle() throws {
        let storage = try StorageThread()
        defer { storage.stop() }
        let onlooker = Onlooker(storage)
        let loop = try EpollLoop()
        let turns = try loop.run {
            await onlooker.look {}
            let before = loop.turns
            // The loop waits meanwhile; a quarter of a second is long for a loop that spins.
            await onlooker.look { _ = poll(nil, 0, 250) }
            return loop.turns - before
        }
        #expect(turns <= 2)
    }

    @Test("a timer costs one turn, however far away it is")
    func turnsPerTimer() throws {
        let loop = try EpollLoop()
        let turns = try loop.run {
            try await loop.sleep(for: .milliseconds(1))
            let before = loop.turns
            for _ in 0..<10 { try await loop.sleep(for: .milliseconds(3)) }
            return loop.turns - before
        }
        // The resumption of a sleep is a job of its own: one turn for the timer, one look at the descriptors for the job.
        #expect(turns <= 20)
    }

    @Test("a flood of jobs starves neither timers nor descriptors")
    func flood() throws {
        let loop = try EpollLoop()
        let pair = try SocketPair()
        let raw = pair.near.raw
        let notes = Notes<String>()
        try loop.watch(raw, for: .readable) { _ in
            notes.add("descriptor")
            loop.unwatch(raw)
        }
        _ = loop.schedule(after: .milliseconds(1)) { notes.add("timer") }
        _ = try pair.far.send([1])
        let yields = try loop.run {
            var count = 0
            while notes.all.count < 2, count < 10_000_000 {
                await loop.yield()
                count += 1
            }
            return count
        }
        #expect(yields < 10_000_000)
        #expect(Set(notes.all) == ["descriptor", "timer"])
    }

    @Test("a job from another thread wakes a waiting loop, and all of them run in order")
    func fromOutside() throws {
        let storage = try StorageThread()
        defer { storage.stop() }
        let onlooker = Onlooker(storage)
        let loop = try EpollLoop()
        let notes = Notes<Int>()
        let own = pthread_self()
        try loop.run {
            let tasks = await onlooker.look {
                (0..<200).map { number in
                    loop.spawn { notes.add(pthread_equal(pthread_self(), own) != 0 ? number : -1) }
                }
            }
            for task in tasks { await task.value }
        }
        #expect(notes.all == Array(0..<200))
    }

    @Test("a regular file and a closed number cannot be watched, and say so")
    func refused() throws {
        let loop = try EpollLoop()
        let folder = try Folder()
        let raw = open(try folder.file("plain", [1]), O_RDONLY | O_CLOEXEC)
        let file = Descriptor(owning: raw)
        #expect(throws: SystemError("epoll_ctl", code: EPERM)) { try loop.watch(raw, for: .readable) { _ in } }
        #expect(throws: SystemError("epoll_ctl", code: EBADF)) { try loop.watch(-1, for: .readable) { _ in } }
        _ = file.raw
    }

    @Test("a stopped loop can be run again and has lost nothing")
    func stopped() throws {
        let loop = try EpollLoop()
        let notes = Notes<String>()
        _ = loop.schedule(after: .zero) {
            notes.add("stop")
            loop.stop()
        }
        _ = loop.schedule(after: .milliseconds(1)) {
            notes.add("later")
            loop.stop()
        }
        loop.run()
        #expect(notes.all.first == "stop")
        if notes.all.count == 1 { loop.run() }
        #expect(notes.all == ["stop", "later"])
    }

    @Test("a loop that is let go of closes its descriptors")
    func closed() throws {
        func count() -> Int { (0..<512).filter { isOpen($0) }.count }
        // Other tests open and close at the same time: many loops leaked would be more than those ever have open.
        let before = count()
        for _ in 0..<300 { _ = try EpollLoop() }
        #expect(count() < before + 300)
    }
}

/// Does things on another thread.
actor Onlooker {
    private let thread: StorageThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ thread: StorageThread) { self.thread = thread }

    func look<Sight: Sendable>(_ body: @Sendable () -> Sight) -> Sight { body() }
}
