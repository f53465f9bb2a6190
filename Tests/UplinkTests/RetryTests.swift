import Platform
import Testing
@testable import Uplink

@Suite("The retry machine: attempts")
struct RetryTests {
    @Test("a new entry in an idle lane is sent at once, and its receipt is written down")
    func atOnce() throws {
        let bench = try Bench()
        bench.queue([entry("a")])
        #expect(bench.times == [0])
        #expect(bench.queue.settled == ["a"])
        #expect(bench.queue.ids.isEmpty)
        bench.add(entry("b"))
        #expect(bench.times == [0, 0])
        #expect(bench.events.contains { if case .settled("anna", "b", _) = $0 { true } else { false } })
    }

    @Test("an entry has three attempts 30 s and 60 s apart and is then exhausted", arguments: [503, 500, 408, 409, 425, 429])
    func threeAttempts(_ code: Int) throws {
        let bench = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        bench.transport.answers(["a": status(code)])
        bench.queue([entry("a")])
        bench.advance(3_600)
        #expect(bench.times == [0, 30, 90])
        let expected = (1...3).map { DeliveryOutcome.attemptFailed(id: "a", code: "http-\(code)", exhausted: $0 == 3) }
        #expect(bench.queue.outcomes == expected)
        #expect(bench.queue.entries == [entry("a", attempts: 3, exhausted: true)])
        #expect(bench.failures.map(\.attempt) == [1, 2, 3])
        #expect(bench.failures.map(\.willRetry) == [true, true, false])
        #expect(bench.failures.map(\.exhausted) == [false, false, true])
        let lane = try bench.lane()
        #expect(lane.state == .idle && lane.exhausted == 1 && lane.lastError?.code == "http-\(code)")
    }

    @Test("so it is without an answer", arguments: [.dns, .refused, .timeout, .lowSpeed, .connectionLost, .tlsHandshake, .other] as [TransportFailure.Kind])
    func unanswered(_ kind: TransportFailure.Kind) throws {
        let bench = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        bench.transport.answers(["a": failure(kind)])
        bench.queue([entry("a")])
        bench.advance(3_600)
        #expect(bench.times == [0, 30, 90])
        #expect(bench.failures.last?.error == DeliveryError(code: kind.rawValue, words: "scripted"))
    }

    @Test("delays get up to half as much again by chance")
    func jitter() throws {
        let bench = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)), random: .max)
        bench.transport.answers(["a": status(503)])
        bench.queue([entry("a")])
        bench.advance(3_600)
        #expect(zip(bench.times, [0, 45, 135]).allSatisfy { abs($0 - $1) < 0.01 })
        let policy = RetryPolicy()
        #expect(policy.delay(failure: 1, jitter: 0.5) == .milliseconds(37_500))
        #expect(policy.delay(failure: 60, jitter: 1) == .seconds(900))
        #expect(policy.delay(failure: -1, jitter: 7) == .seconds(45))
    }

    @Test("with other figures no wait that has begun is longer than they allow, and the next ones go by them")
    func otherFigures() throws {
        let bench = try Bench(policy: RetryPolicy(backoffBase: .seconds(600), maximumDelay: .seconds(3_600), flushInterval: .seconds(86_400)))
        bench.transport.answers(["a": status(503)])
        bench.queue([entry("a")])
        bench.advance(100)
        #expect(bench.times == [0])
        bench.perform { await $0.policyChanged(RetryPolicy(backoffBase: .seconds(10), maximumDelay: .seconds(15), flushInterval: .seconds(40))) }
        // Nothing goes because the figures changed; the second attempt 15 s later, not after 600 s; the third by the new figures; then the new interval counts.
        bench.advance(100)
        #expect(bench.times == [0, 115, 130, 140, 180])
    }

    @Test("longer figures leave alone what waits already")
    func longerFigures() throws {
        let bench = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        bench.transport.answers(["a": status(503)])
        bench.queue([entry("a")])
        bench.perform { await $0.policyChanged(RetryPolicy(backoffBase: .seconds(100), maximumDelay: .seconds(3_600), flushInterval: .seconds(86_400))) }
        bench.advance(1_000)
        #expect(bench.times == [0, 30, 230])
    }

    @Test("other figures bring the probe of a hold forward, and do not go before the moment that the backend asked for")
    func otherFiguresInAHold() throws {
        let bench = try Bench(policy: RetryPolicy(backoffBase: .seconds(600), maximumDelay: .seconds(3_600), flushInterval: .seconds(86_400)))
        bench.transport.answers(["a": status(404)])
        bench.queue([entry("a")])
        let before = bench.times.count
        bench.advance(100)
        #expect(bench.times.count == before)
        bench.perform { await $0.policyChanged(RetryPolicy(backoffBase: .seconds(5), maximumDelay: .seconds(20), flushInterval: .seconds(86_400))) }
        bench.advance(19)
        #expect(bench.times.count == before)
        bench.advance(2)
        #expect(bench.times.count == before + 1 && bench.times.last == 120)
        let asked = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        asked.transport.answers(["a": status(503, retryAfter: "500")])
        asked.queue([entry("a")])
        asked.perform { await $0.policyChanged(RetryPolicy(backoffBase: .seconds(5), maximumDelay: .seconds(20), flushInterval: .seconds(30))) }
        asked.advance(499)
        #expect(asked.times == [0])
        asked.advance(2)
        #expect(asked.times.count == 2)
    }

    @Test("attempts count on across flushes")
    func countOn() throws {
        let bench = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        bench.transport.answers(["a": status(503)])
        bench.queue([entry("a")])
        bench.advance(100)
        bench.flush()
        #expect(bench.times == [0, 30, 90, 100])
        #expect(bench.queue.entries == [entry("a", attempts: 4, exhausted: true)])
        #expect(bench.failures.last?.attempt == 4)
    }

    @Test("attempts count on across restarts, and no due time does: eve's retry time in the far future cannot happen")
    func restart() throws {
        let bench = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        bench.clock(WallTime(seconds: 0, synchronised: false))
        bench.transport.answers(["a": status(503), "b": status(503)])
        bench.queue([entry("a", attempts: 2), entry("b", attempts: 3, exhausted: true)])
        #expect(bench.sent.map(\.key) == ["a"])
        #expect(bench.queue.entries[0] == entry("a", attempts: 3, exhausted: true))
        // The wall clock jumps by decades; nothing is delayed or hurried.
        bench.clock(WallTime(seconds: 1_700_000_000, synchronised: true))
        bench.advance(3_600)
        #expect(bench.sent.map(\.key) == ["a"])
        bench.flush(.start)
        #expect(bench.sent.map(\.key) == ["a", "a", "b"])
    }

    @Test("a second attempt goes under the same key, and so does one after a restart")
    func sameKey() throws {
        let bench = try Bench()
        bench.transport.answers(["a": failure(.connectionLost)])
        bench.queue([entry("a")])
        bench.advance(60)
        let again = try Bench()
        again.queue(bench.queue.entries)
        let requests = (bench.sent + again.sent).map { $0.request }
        #expect(requests.count == 3)
        #expect(Set(requests.map { $0.headers.filter { $0.name != "Hub-Sent" } }).count == 1)
        #expect(Set(requests.map(\.body)).count == 1)
    }

    @Test("an entry that always fails does not keep the others waiting, and the others keep their order", arguments: [status(500), status(503, retryAfter: "900"), failure(.connectionLost), failure(.timeout)])
    func noStarvation(_ reply: ScriptedTransport.Reply) throws {
        let bench = try Bench()
        bench.transport.answers(["poison": reply])
        bench.queue([entry("poison"), entry("b"), entry("c"), entry("d")])
        bench.advance(3 * 3_600)
        #expect(bench.queue.settled == ["b", "c", "d"])
        #expect(bench.queue.ids == ["poison"])
    }

    @Test("exhausted entries behind one that gets no answer are reached by the flushes")
    func noStarvationExhausted() throws {
        let bench = try Bench()
        bench.transport.answers(["poison": failure(.connectionLost)])
        bench.queue(["poison", "b", "c"].map { entry($0, attempts: 3, exhausted: true) })
        bench.advance(600)
        #expect(bench.queue.settled == ["b", "c"])
    }

    @Test("one owner's trouble does not touch another's entries")
    func lanes() throws {
        let bench = try Bench()
        bench.transport.answers { $0.owner == "anna" ? status(503) : .success(receipt(for: $0.request)) }
        bench.queue([entry("a"), entry("b", owner: "ben"), entry("c", owner: "ben")])
        #expect(bench.queue.settled == ["b", "c"])
    }

    @Test("one request of an owner is out at a time")
    func oneAtATime() throws {
        let bench = try Bench()
        bench.transport.takes(.seconds(1))
        bench.queue([entry("a"), entry("b"), entry("x", owner: "ben")])
        #expect(bench.sent.map(\.key) == ["a", "x"])
        #expect(try bench.lane().state == .sending(entry: "a"))
        bench.flush()
        #expect(bench.sent.count == 2)
        bench.advance(1)
        #expect(bench.sent.map(\.key) == ["a", "x", "b"])
    }
}

@Suite("The retry machine: Retry-After")
struct RetryAfterTests {
    @Test("a 503 or 429 with Retry-After waits for the longer of it and the backoff", arguments: [503, 429])
    func honoured(_ code: Int) throws {
        let bench = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        bench.transport.answers(["a": status(code, retryAfter: "45")])
        bench.queue([entry("a")])
        bench.advance(1_000)
        #expect(bench.times == [0, 45, 105])
    }

    @Test("it is capped")
    func capped() throws {
        let bench = try Bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        bench.transport.answers(["a": status(503, retryAfter: "31536000")])
        bench.queue([entry("a")])
        bench.advance(1_000)
        #expect(bench.times == [0, 900])
    }

    @Test("neither a flush nor a new entry goes before it, and the flush comes right after it")
    func flushWaits() throws {
        let bench = try Bench()
        bench.transport.answers(["a": status(503, retryAfter: "300")])
        bench.queue([entry("a")])
        bench.advance(10)
        bench.flush()
        bench.flush(.networkBack)
        bench.add(entry("b"))
        bench.advance(289)
        #expect(bench.times == [0])
        bench.transport.answers([:])
        bench.advance(1)
        #expect(bench.times == [0, 300, 300])
        #expect(bench.queue.settled == ["a", "b"])
    }

    @Test("it ends the flush that meets it, and charges nobody else")
    func endsFlush() throws {
        let bench = try Bench()
        bench.transport.answers { _ in status(503, retryAfter: "60") }
        bench.queue([entry("a", attempts: 3, exhausted: true), entry("b", attempts: 3, exhausted: true)])
        bench.flush()
        #expect(bench.sent.map(\.key) == ["a"])
        #expect(bench.queue.entries.map(\.attempts) == [4, 3])
    }
}

@Suite("The retry machine: flushes")
struct FlushTests {
    private func exhausted(_ ids: String...) -> [QueuedEntry] { ids.map { entry($0, attempts: 3, exhausted: true) } }

    @Test("a flush tries pending and exhausted entries in order, each once, and ends", arguments: FlushReason.allCases)
    func pass(_ reason: FlushReason) throws {
        let bench = try Bench()
        bench.transport.answers { _ in status(500) }
        bench.queue([entry("a", attempts: 3, exhausted: true), entry("b"), entry("c", attempts: 3, exhausted: true)])
        #expect(bench.keys == ["b"])
        bench.advance(1)
        bench.flush(reason)
        #expect(bench.keys == ["b", "a", "b", "c"])
        #expect(bench.times.dropFirst() == [1, 1, 1])
    }

    @Test("a flush ends at once when the endpoint does not answer", arguments: [.dns, .refused, .timeout, .lowSpeed, .connectionLost] as [TransportFailure.Kind])
    func unreachable(_ kind: TransportFailure.Kind) throws {
        let bench = try Bench()
        bench.transport.answers { _ in failure(kind) }
        bench.queue(exhausted("a", "b", "c"))
        bench.flush()
        #expect(bench.sent.count == 1)
        #expect(bench.queue.entries.map(\.attempts) == [4, 3, 3])
    }

    @Test("a flush resets the delay")
    func resets() throws {
        let bench = try Bench()
        bench.transport.answers { _ in failure(.refused) }
        bench.queue([entry("a"), entry("b")])
        bench.transport.answers([:])
        bench.advance(2)
        #expect(bench.times == [0])
        bench.flush(.networkBack)
        #expect(bench.times == [0, 2, 2])
    }

    @Test("after a receipt everything of that owner is tried, and nothing of another's")
    func afterReceipt() throws {
        let bench = try Bench()
        bench.queue(exhausted("a") + [entry("x", owner: "ben", attempts: 3, exhausted: true)])
        #expect(bench.keys.isEmpty)
        bench.add(entry("b"))
        #expect(bench.keys == ["b", "a"])
        #expect(bench.queue.ids == ["x"])
    }

    @Test("every 120 s while something is queued, and not at all when nothing is")
    func slow() throws {
        let bench = try Bench()
        bench.transport.answers { _ in status(500) }
        bench.queue(exhausted("a"))
        bench.advance(119)
        #expect(bench.times.isEmpty)
        bench.advance(1 + 240)
        #expect(bench.times == [120, 240, 360])
        bench.transport.answers([:])
        bench.advance(120)
        #expect(bench.queue.ids.isEmpty)
        // With nothing queued no timer is left: the loop has nothing to wait for.
        let (never, continuation) = AsyncStream.makeStream(of: Void.self)
        #expect(throws: VirtualLoop.Stalled.self) {
            try bench.loop.run { for await _ in never {} }
        }
        continuation.finish()
    }

    @Test("what fails in flight when a flush is asked for is tried again by it")
    func inFlight() throws {
        let bench = try Bench()
        bench.transport.takes(.seconds(5))
        bench.transport.answers { _ in failure(.timeout) }
        bench.queue([entry("a")])
        bench.advance(1)
        bench.flush(.networkBack)
        bench.advance(4)
        #expect(bench.times == [0, 5])
    }

    @Test("entries that arrive during a flush are part of it")
    func arriving() throws {
        let bench = try Bench()
        bench.transport.takes(.seconds(1))
        bench.transport.answers { _ in status(500) }
        bench.queue(exhausted("a", "b"))
        bench.flush()
        bench.add(entry("c"))
        bench.advance(10)
        #expect(bench.keys == ["a", "b", "c"])
    }
}
