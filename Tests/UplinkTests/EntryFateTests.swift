import Platform
import Testing
@testable import Uplink

@Suite("The retry machine: conflicts and sizes")
struct ConflictAndSizeTests {
    @Test("422 on a key gives the entry one new key, and again 422 quarantines it")
    func conflict() throws {
        let bench = try Bench()
        bench.transport.answers(["a": status(422), "a-new": status(422)])
        bench.queue([entry("a"), entry("b")])
        #expect(bench.keys == ["a", "a-new", "b"])
        #expect(bench.queue.outcomes.prefix(2) == [.rekey(id: "a"), .quarantine(id: "a", code: "http-422", words: "the backend answered HTTP 422")])
        #expect(bench.queue.settled == ["b"])
        #expect(bench.failures.map(\.willRetry) == [true, false])
    }

    @Test("a new key that is taken settles the entry")
    func newKey() throws {
        let bench = try Bench()
        bench.transport.answers(["a": status(422)])
        bench.queue([entry("a")])
        #expect(bench.queue.outcomes.count == 2 && bench.queue.settled == ["a"])
    }

    @Test("the one new key is spent after a restart too")
    func spent() throws {
        let bench = try Bench()
        bench.transport.answers { _ in status(422) }
        bench.queue([QueuedEntry(id: "a", owner: "anna", count: 3, keyGeneration: 1)])
        #expect(bench.sent.count == 1 && bench.queue.quarantine == ["a"])
    }

    /// A backend that takes at most `limit` windows at a time.
    private func limited(_ limit: Int) -> @Sendable (ScriptedTransport.Sent) -> ScriptedTransport.Reply {
        { sent in (Int(sent.request.header("Hub-Count") ?? "") ?? 0) > limit ? status(413) : .success(receipt(for: sent.request)) }
    }

    @Test("413 halves the entry until its parts fit; every window is delivered once and the entry settles when all parts have", arguments: [1, 2, 7, 40, 63, 64, 126])
    func halves(_ limit: Int) throws {
        let bench = try Bench()
        bench.transport.answers(limited(limit))
        bench.queue([entry("a", count: 127), entry("b", count: 1)])
        bench.advance(10)
        #expect(bench.queue.ids.isEmpty && bench.queue.quarantine.isEmpty)
        let taken = bench.sent.filter { Int($0.request.header("Hub-Count") ?? "") ?? 0 <= limit && $0.key.hasPrefix("a") }
        var windows: [Int] = []
        for sent in taken {
            let first = try #require(sent.request.header("Hub-First").flatMap { Int($0) }), count = try #require(sent.request.header("Hub-Count").flatMap { Int($0) })
            windows += first..<(first + count)
        }
        #expect(windows == Array(4_711..<(4_711 + 127)))
        // A key never stands for two contents.
        #expect(Set(bench.keys).count == Set(bench.sent.map { "\($0.key) \($0.request.header("Hub-First") ?? "") \($0.request.header("Hub-Count") ?? "")" }).count)
        #expect(bench.events.filter { if case .settled("anna", "a", _) = $0 { true } else { false } }.count == 1)
    }

    @Test("the learned limit is told, and only when it is lower than before")
    func learned() throws {
        let bench = try Bench()
        bench.transport.answers(limited(40))
        bench.queue([entry("a", count: 128), entry("b", count: 128)])
        let limits = bench.events.compactMap { if case .limitLearned("anna", let windows) = $0 { windows } else { nil } }
        #expect(limits == [64, 32])
    }

    @Test("413 for one window alone quarantines it (a New Relic client tried for ever)")
    func oneWindow() throws {
        let bench = try Bench()
        bench.transport.answers(limited(0))
        bench.queue([entry("a", count: 1)])
        bench.advance(3_600)
        #expect(bench.sent.count == 1 && bench.queue.quarantine == ["a"])
    }

    @Test("one window that is always too large costs only itself: the other parts are delivered first")
    func oneBadWindow() throws {
        let bench = try Bench()
        bench.transport.answers { sent in
            let first = Int(sent.request.header("Hub-First") ?? "") ?? 0, count = Int(sent.request.header("Hub-Count") ?? "") ?? 0
            return (first..<(first + count)).contains(4_713) ? status(413) : .success(receipt(for: sent.request))
        }
        bench.queue([entry("a", count: 8)])
        bench.advance(1)
        #expect(bench.queue.quarantine == ["a"])
        let delivered = bench.queue.outcomes.reduce(0) { if case .partSettled(_, _, let receipt) = $1 { $0 + receipt.accepted } else { $0 } }
        #expect(delivered == 7)
        #expect(bench.sent.count < 20)
    }

    @Test("parts that were settled before a restart are not sent again")
    func partsAfterRestart() throws {
        let bench = try Bench()
        var split = entry("a", count: 10)
        split.parts = [.init(index: 0, offset: 0, count: 5, settled: true), .init(index: 1, offset: 5, count: 5, settled: false)]
        bench.queue([split])
        #expect(bench.keys == ["a.1"])
        #expect(bench.queue.ids.isEmpty)
    }

    @Test("an entry that no request can be made of goes into quarantine, and the next one is sent")
    func unsendable() throws {
        let bench = try Bench()
        bench.queue([entry("ä"), entry("b")])
        #expect(bench.keys == ["b"])
        #expect(bench.queue.quarantine == ["ä"])
        #expect(bench.failures.map(\.error.code) == ["entry-unsendable"])
    }
}

@Suite("The retry machine: refusals")
struct RefusalTests {
    @Test("a refused entry is set aside, and quarantined once another is accepted after it", arguments: [400, 404, 415, 410])
    func quarantined(_ code: Int) throws {
        let bench = try Bench()
        bench.transport.answers(["a": status(code)])
        bench.queue([entry("a"), entry("b"), entry("c")])
        #expect(bench.keys == ["a", "b", "c"])
        #expect(bench.queue.settled == ["b", "c"])
        #expect(bench.queue.outcomes[1] == .quarantine(id: "a", code: "http-\(code)", words: "the backend answered HTTP \(code)"))
        #expect(bench.holds.isEmpty)
    }

    @Test("when none is accepted the endpoint is wrong: the lane is held, and nothing goes into quarantine")
    func endpoint() throws {
        let bench = try Bench()
        bench.transport.answers { _ in status(404) }
        bench.queue([entry("a"), entry("b")])
        #expect(bench.keys == ["a", "b"])
        #expect(bench.holds == [.endpoint])
        bench.advance(7_200)
        #expect(bench.queue.quarantine.isEmpty && bench.queue.outcomes.isEmpty)
        bench.transport.answers([:])
        bench.flush()
        #expect(bench.queue.settled == ["a", "b"])
        #expect(bench.holdsEnded == [.endpoint])
    }

    @Test("entries that were refused while the endpoint was wrong are not blamed when a new one is accepted")
    func notBlamed() throws {
        let bench = try Bench()
        bench.transport.answers { _ in status(404) }
        bench.queue([entry("a"), entry("b")])
        bench.transport.answers([:])
        bench.add(entry("c"))
        #expect(bench.queue.settled == ["c", "a", "b"])
        #expect(bench.queue.quarantine.isEmpty)
    }

    @Test("an entry that is refused alone, and again after others were accepted, goes into quarantine in the end")
    func alone() throws {
        let bench = try Bench()
        bench.transport.answers(["a": status(400)])
        bench.queue([entry("a")])
        #expect(bench.holds == [.endpoint])
        bench.add(entry("b"))
        bench.add(entry("c"))
        #expect(bench.queue.settled == ["b", "c"])
        #expect(bench.queue.quarantine == ["a"])
        #expect(bench.queue.ids.isEmpty)
    }

    @Test("what fails in another way proves nothing about what was refused")
    func otherFailure() throws {
        let bench = try Bench()
        bench.transport.answers(["a": status(400), "b": status(503)])
        bench.queue([entry("a"), entry("b")])
        bench.advance(25)
        #expect(bench.queue.quarantine.isEmpty)
        #expect(bench.holds.isEmpty)
        bench.transport.answers(["a": status(400)])
        bench.advance(10)
        #expect(bench.queue.settled == ["b"])
        #expect(bench.queue.quarantine == ["a"])
    }
}

@Suite("The uplink")
struct DeliveryTests {
    @Test("sends an entry again under the same key when its receipt could not be written down")
    func storageFault() throws {
        let bench = try Bench()
        bench.queue.cannotWrite(true)
        bench.queue([entry("a"), entry("b")])
        #expect(bench.keys == ["a"])
        #expect(bench.queue.ids == ["a", "b"])
        #expect(bench.events.contains(.storageFailed(owner: "anna", entry: "a", receipt: "r-4711", DeliveryError(code: "queue-unwritable", words: "the disk is full"))))
        #expect(!bench.events.contains { if case .settled = $0 { true } else { false } })
        bench.queue.cannotWrite(false)
        bench.advance(120)
        #expect(Set(bench.queue.settled) == ["a", "b"])
        #expect(bench.keys.filter { $0 == "a" }.count == 2)
        #expect(bench.queue.entries.isEmpty)
    }

    @Test("does not spin while the disk cannot be read or written", arguments: [true, false])
    func diskFault(_ reading: Bool) throws {
        let bench = try Bench()
        if reading { bench.queue.cannotRead(true) } else { bench.queue.cannotWrite(true) }
        bench.transport.answers { _ in status(413) }
        bench.queue([entry("a"), entry("b")])
        bench.advance(3_600)
        #expect(bench.sent.count < 250)
        #expect(bench.queue.ids == ["a", "b"])
        bench.queue.cannotRead(false)
        bench.queue.cannotWrite(false)
        bench.transport.answers([:])
        bench.advance(120)
        #expect(bench.queue.ids.isEmpty)
    }

    @Test("passes over an entry that the queue no longer has")
    func gone() throws {
        let bench = try Bench()
        bench.queue.set([entry("b")])
        bench.perform { await $0.setEntries([entry("a"), entry("b")]) }
        #expect(bench.keys == ["b"] && bench.queue.settled == ["b"])
    }

    @Test("stops within a second, gives up the request in flight and records nothing for it")
    func stops() throws {
        let bench = try Bench()
        bench.transport.takes(.seconds(60))
        bench.queue([entry("a"), entry("x", owner: "ben")])
        #expect(bench.sent.count == 2)
        let before = bench.loop.now
        try bench.loop.run { [uplink = bench.uplink] in await uplink.stop() }
        #expect(bench.loop.now - before <= .seconds(1))
        bench.advance(1_000)
        #expect(bench.queue.outcomes.isEmpty)
        #expect(bench.failures.isEmpty)
        #expect(bench.sent.count == 2)
        bench.flush()
        bench.add(entry("b"))
        bench.advance(1_000)
        #expect(bench.sent.count == 2)
    }

    @Test("takes an input from within an event, and keeps its timer")
    func nested() throws {
        let bench = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        let uplink = bench.uplink
        bench.transport.answers { _ in DeliveryTests.unavailable }
        // Told of the failure, the hub gives an entry that is sent at once; the timer for the first must stand after that.
        bench.onEvent { event in
            guard case .failed(let failure) = event, failure.entry == "a", failure.attempt == 1 else { return }
            uplink.assumeIsolated { $0.setEntries([entry("a", attempts: 1), entry("b")]) }
        }
        bench.queue.set([entry("a"), entry("b")])
        bench.perform { await $0.setEntries([entry("a")]) }
        #expect(bench.keys == ["a", "b"])
        bench.advance(30)
        #expect(bench.keys == ["a", "b", "a", "b"])
    }

    @Test("says what each lane is doing")
    func lanes() throws {
        let bench = try Bench()
        bench.transport.answers(["a": DeliveryTests.unavailable])
        bench.queue([entry("a"), entry("z", attempts: 5, exhausted: true)])
        var lane = try bench.lane()
        #expect(lane.state == .waiting(until: bench.loop.now + .seconds(30)))
        #expect(lane.queued == 2 && lane.exhausted == 1)
        #expect(lane.lastError == DeliveryError(code: "http-503", words: "the backend answered HTTP 503"))
        #expect(lane.lastSuccess == nil)
        bench.transport.answers([:])
        bench.flush()
        lane = try bench.lane()
        #expect(lane.state == .idle && lane.queued == 0 && lane.lastError == nil)
        #expect(lane.lastSuccess == bench.loop.now)
        #expect(lane.lastSuccessWall == WallTime(seconds: 1_700_000_100, synchronised: true))
    }

    private static let unavailable = ScriptedTransport.Reply.success(HTTPResponse(status: 503))

    @Test("logs a failure once, not each time it repeats, and never a token")
    func logs() throws {
        let bench = try Bench()
        bench.transport.answers { _ in DeliveryTests.unavailable }
        bench.queue([entry("a")])
        bench.advance(3_600)
        let failures = bench.sink.records.filter { $0.event == .deliveryFailed }
        #expect(failures.filter { $0.level == .warning }.count == 1)
        #expect(failures.count == bench.sent.count)
        #expect(!bench.sink.records.contains { record in record.message.contains("token-of") || record.fields.contains { $0.value.contains("token-of") } })
    }

    @Test("delivers everything once under random faults, and never charges what is not to be charged", arguments: 0..<40 as Range<UInt64>)
    func randomFaults(_ seed: UInt64) throws {
        let bench = try Bench(owners: ["anna", "ben"], random: seed &* 0x1234_5678_9ABC_DEF1)
        let start = bench.loop.now
        let faults: [ScriptedTransport.Reply] = [
            DeliveryTests.unavailable, failure(.dns), failure(.connectionLost), portal, .success(HTTPResponse(status: 401)), .success(HTTPResponse(status: 503, retryAfter: "40")),
            .success(HTTPResponse(status: 302)), failure(.certificateUntrusted),
        ]
        bench.transport.answers { sent in
            var random = SplitMix64(seed: seed &+ UInt64(bitPattern: sent.at.nanoseconds) &+ UInt64(sent.key.utf8.reduce(0) { $0 * 31 + Int($1) }))
            // An hour of trouble, then none.
            if sent.at - start < .seconds(3_600), Int.random(in: 0..<4, using: &random) > 0 { return faults[Int.random(in: 0..<faults.count, using: &random)] }
            return .success(receipt(for: sent.request))
        }
        bench.queue((0..<16).map { entry("e\($0)", owner: $0 % 2 == 0 ? "anna" : "ben") })
        bench.advance(3_600 + 2_000)
        #expect(bench.queue.ids.isEmpty)
        #expect(Set(bench.queue.settled).count == 16 && bench.queue.settled.count == 16)
        #expect(bench.queue.quarantine.isEmpty)
    }
}
