import CLinux
import Glibc
import Platform
import Synchronization
import Testing

@Suite("Both loops: jobs and descriptors")
struct LoopTests {
    @Test("tasks begin in the order in which they were spawned, and their later parts keep that order", arguments: LoopKind.allCases)
    func jobsInOrder(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let notes = Notes<Int>()
        try loop.run {
            let tasks = (0..<100).map { number in
                loop.spawn {
                    notes.add(number)
                    await Task.yield()
                    notes.add(1_000 + number)
                }
            }
            for task in tasks { await task.value }
        }
        #expect(notes.all == Array(0..<100) + (0..<100).map { 1_000 + $0 })
    }

    @Test("run gives what its body gave, or throws what it threw", arguments: LoopKind.allCases)
    func outcome(_ kind: LoopKind) throws {
        let loop = try kind.make()
        #expect(try loop.run { 42 } == 42)
        #expect(throws: SystemError("probe", code: 5)) { try loop.run { throw SystemError("probe", code: 5) } }
        #expect(try loop.run { "again" } == "again")
    }

    @Test("a watched descriptor reports what it is ready for, again and again until it is taken", arguments: LoopKind.allCases)
    func readiness(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let pair = try SocketPair()
        let raw = pair.near.raw
        let notes = Notes<Readiness>()
        _ = try pair.far.send([1, 2, 3])
        try loop.run {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                do {
                    try loop.watch(raw, for: .readable) { readiness in
                        notes.add(readiness)
                        var byte: UInt8 = 0
                        _ = Glibc.read(raw, &byte, 1)
                        if notes.all.count == 3 {
                            loop.unwatch(raw)
                            continuation.resume()
                        }
                    }
                } catch { continuation.resume(throwing: error) }
            }
        }
        #expect(notes.all == [.readable, .readable, .readable])
    }

    @Test("a second watch takes the place of the first, and the end of a connection is reported", arguments: LoopKind.allCases)
    func replaced(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let pair = try SocketPair()
        let (raw, far) = (pair.near.raw, pair.far.raw)
        let notes = Notes<String>()
        try loop.run {
            try loop.watch(raw, for: .readable) { _ in notes.add("first") }
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                do {
                    try loop.watch(raw, for: .writable) { readiness in
                        if readiness.contains(.hangup) {
                            notes.add("hangup")
                            loop.unwatch(raw)
                            continuation.resume()
                        } else if readiness == .writable {
                            notes.add("writable")
                            shutdown(far, CInt(SHUT_RDWR))
                        }
                    }
                } catch { continuation.resume(throwing: error) }
            }
        }
        #expect(notes.all == ["writable", "hangup"])
    }

    @Test("a descriptor that a handler of the same batch stopped watching is not reported", arguments: LoopKind.allCases)
    func unwatchedInBatch(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let one = try SocketPair()
        let two = try SocketPair()
        let (first, second) = (one.near.raw, two.near.raw)
        let notes = Notes<CInt>()
        for (own, other) in [(first, second), (second, first)] {
            try loop.watch(own, for: .readable) { _ in
                notes.add(own)
                loop.unwatch(own)
                loop.unwatch(other)
            }
        }
        _ = try one.far.send([1])
        _ = try two.far.send([1])
        try loop.run { try await loop.sleep(for: .milliseconds(2)) }
        #expect(notes.all.count == 1)
    }

    @Test("readiness of a closed descriptor is not reported to the one that got its number in the same batch", arguments: LoopKind.allCases)
    func numberReused(_ kind: LoopKind) throws {
        let loop = try kind.make()
        let notes = Notes<String>()
        let pairs = Mutex<[CInt]>([])
        var owned: [CInt] = []
        for _ in 0..<2 {
            var ends: [CInt] = [-1, -1]
            try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            owned += ends
        }
        // A quiet descriptor whose number takes the place of the other one's.
        var quiet: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &quiet) == 0)
        let silent = quiet[0]
        let (first, second) = (owned[0], owned[2])
        for (own, other) in [(first, second), (second, first)] {
            try loop.watch(own, for: .readable) { _ in
                notes.add("ready")
                loop.unwatch(own)
                loop.unwatch(other)
                // Closes the other's file and gives its number to the quiet one, in one step.
                _ = dup2(silent, other)
                pairs.withLock { $0.append(other) }
                do { try loop.watch(other, for: .readable) { _ in notes.add("stale") } } catch { notes.add("\(error)") }
            }
        }
        for far in [owned[1], owned[3]] { _ = write(far, [1] as [UInt8], 1) }
        try loop.run { try await loop.sleep(for: .milliseconds(2)) }
        #expect(notes.all == ["ready"])
        for descriptor in pairs.withLock({ $0 }) { loop.unwatch(descriptor) }
        for descriptor in owned + quiet { close(descriptor) }
    }

    @Test("unwatching what is not watched does nothing", arguments: LoopKind.allCases)
    func needlessUnwatch(_ kind: LoopKind) throws {
        let loop = try kind.make()
        loop.unwatch(-1)
        loop.unwatch(0)
    }
}
