import Glibc
import Platform
import Testing
@testable import gateway

/// The gateway killed at each point of a window's way, and started again.
@Suite("Killed at every step", .serialized, .enabled(if: Stage.isPossible, "python3 and openssl, for the reference backend, are not installed"))
struct CrashPointTests {
    /// Waits for the first write to the write-ahead log.
    private func waitForWrite(in directory: String, _ act: () throws -> Void) throws {
        let watch = Descriptor(owning: inotify_init1(CInt(IN_CLOEXEC)))
        try #require(watch.raw >= 0 && inotify_add_watch(watch.raw, directory, UInt32(IN_MODIFY)) >= 0)
        try act()
        var entry = pollfd(fd: watch.raw, events: Int16(POLLIN), revents: 0)
        let written = retryOnInterrupt { poll(&entry, 1, 20_000) }
        try #require(written > 0, "nothing was written")
    }

    @Test("before the first window of a read has come")
    func beforeRead() throws {
        let stage = try Stage()
        // The first reads may be over before the hold is set; another comes with the next windows.
        try stage.collar.ask("{\"do\":\"hold\",\"at\":\"read-request\"}")
        _ = try stage.collar.event("held")
        try stage.crash()
        try stage.settle()
        stage.stop()
    }

    @Test("in the transaction that stores a batch")
    func inTransaction() throws {
        let stage = try Stage()
        try stage.collar.ask("{\"do\":\"hold\",\"at\":\"read-request\"}")
        _ = try stage.collar.event("held")
        try waitForWrite(in: "\(stage.scratch.path)/outbox") { try stage.collar.ask("{\"do\":\"release\"}") }
        try stage.crash()
        try stage.settle()
        stage.stop()
    }

    @Test("after the backend has stored an entry and before its receipt was: the same entry comes again under the same key, and is known")
    func beforeReceipt() throws {
        let stage = try Stage(starting: false)
        #expect(stage.gateway.end(within: .seconds(10)) == 0)
        try stage.backend.ask("{\"fault\":\"hold\"}")
        try stage.start()
        let key = try #require(try stage.backend.event("stored-held")["key"]?.string)
        try stage.gateway.kill9()
        try stage.backend.ask("{\"drop\":\"\(key)\"}")
        #expect(try stage.books()["clears"]?.list.isEmpty == true)
        try stage.start()
        try stage.settle()
        let again = try stage.requests().filter { header("idempotency-key", of: $0) == "\"\(key)\"" }
        #expect(again.count == 2)
        #expect(Set(again.map { $0["body_sha256"]?.string }).count == 1)
        #expect(again.last?["status"]?.integer == 200)
        stage.stop()
    }

    @Test("after the receipt was stored and before the collar was cleared: the clear comes after the start")
    func beforeClear() throws {
        let stage = try Stage()
        try stage.collar.ask("{\"do\":\"hold\",\"at\":\"clear-request\"}")
        _ = try stage.collar.event("held")
        try stage.gateway.kill9()
        let clears = try stage.books()["clears"]?.list.count
        try stage.start()
        try stage.settle()
        #expect(try stage.books()["clears"]?.list.count ?? 0 > clears ?? 0)
        stage.stop()
    }

    @Test("after the collar was cleared and before the hub knew: the clear is sent again and does no harm")
    func afterClear() throws {
        let stage = try Stage()
        try stage.collar.ask("{\"do\":\"hold\",\"at\":\"clear-answered\"}")
        _ = try stage.collar.event("held")
        try stage.crash()
        try stage.settle()
        #expect(try stage.books()["clears_refused"]?.integer == 0)
        stage.stop()
    }

    @Test("while it starts, again and again")
    func starting() throws {
        let stage = try Stage(interval: 50)
        for milliseconds in [1, 3, 8, 15, 30, 60, 120] {
            // A moment that nothing else tells: how far a start has come.
            poll(nil, 0, CInt(milliseconds))
            try stage.crash()
        }
        try stage.settle()
        stage.stop()
    }
}
