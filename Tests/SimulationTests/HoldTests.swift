import Platform
import Synchronization
import Testing

@testable import Simulation

@Suite("Holds")
struct HoldTests {
    /// The events of a collar as they come.
    private final class Events: Sendable {
        private let list = Mutex<[CollarEvent]>([])
        var all: [CollarEvent] { list.withLock { $0 } }
        init(_ bench: Bench) {
            let observer: @Sendable (CollarEvent) -> Void = { [self] event in list.withLock { $0.append(event) } }
            bench.ask { $0.observe(observer) }
        }
    }

    @Test("held at a read request, the collar sends nothing of it until it is released")
    func readRequest() throws {
        let bench = try Bench(backlog: 5)
        let events = Events(bench)
        let hub = try bench.hub()
        bench.ask { $0.arm(.readRequest) }
        #expect(try hub.request([2]) == [[0x80, 2, 0]], "other requests pass")
        #expect(try hub.read(log: bench.books.log, first: 0, count: 5) == [])
        #expect(try hub.request([5]) == [], "what comes behind waits too")
        try hub.settle(.seconds(6))
        #expect(events.all == [.linked, .held(.readRequest)])
        #expect(hub.windows.isEmpty && hub.heartbeats.count == 1 && bench.books.reads == 0)
        #expect(bench.ask { $0.release() })
        try hub.settle()
        #expect(hub.windows.count == 5)
        #expect(hub.values(of: hub.handles.controlPoint).map { $0[1] }.sorted() == [1, 2, 5])
        #expect(try hub.read(log: bench.books.log, first: 0, count: 5).count == 1, "a hold comes into effect once")
        #expect(!bench.ask { $0.release() })
    }

    @Test("held at a clear request, the collar has forgotten nothing; once released it clears")
    func clearRequest() throws {
        let bench = try Bench(backlog: 5)
        let hub = try bench.hub()
        let log = bench.books.log
        _ = try hub.read(log: log, first: 0, count: 5)
        bench.ask { $0.arm(.clearRequest) }
        #expect(try hub.clear(log: log, through: 2) == [])
        #expect(bench.books.oldest == 0 && bench.books.clears.isEmpty)
        bench.ask { _ = $0.release() }
        try hub.settle()
        #expect(bench.books.oldest == 3 && hub.values(of: hub.handles.controlPoint).last == [0x80, 3, 0] + word(3) + word(5))
    }

    @Test("a link that ends while the collar is held takes the request with it")
    func linkEnds() throws {
        let bench = try Bench(backlog: 5)
        let hub = try bench.hub()
        let log = bench.books.log
        _ = try hub.read(log: log, first: 0, count: 5)
        bench.ask { $0.arm(.clearRequest) }
        _ = try hub.clear(log: log, through: 2)
        bench.ask { $0.dropLink() }
        #expect(!bench.ask { $0.release() })
        #expect(bench.books.oldest == 0)
        #expect(try bench.hub().clear(log: log, through: 2).count == 1)
    }

    @Test("held after the answer to a clear, the clear is done and answered, and nothing follows")
    func clearAnswered() throws {
        let bench = try Bench(backlog: 5)
        let events = Events(bench)
        let hub = try bench.hub()
        let log = bench.books.log
        _ = try hub.read(log: log, first: 0, count: 5)
        bench.ask { $0.arm(.clearAnswered) }
        #expect(try hub.clear(log: log ^ 1, through: 2) == [[0x80, 3, 3]])
        #expect(events.all == [.linked], "a clear that was not carried out is no such moment")
        #expect(try hub.clear(log: log, through: 2).count == 1)
        #expect(events.all.last == .held(.clearAnswered))
        #expect(bench.books.clears.count == 1)
        #expect(try hub.read(log: log, first: 3, count: 2) == [])
        bench.ask { $0.arm(.readRequest) }
        bench.ask { _ = $0.release() }
        try hub.settle()
        #expect(events.all.last == .held(.readRequest), "a request that waited behind one hold can meet the next")
        bench.ask { _ = $0.release() }
        try hub.settle()
        #expect(hub.values(of: hub.handles.controlPoint).last == [0x80, 1, 0] + word(2))
    }

    @Test("a hold that was disarmed does not come into effect")
    func disarm() throws {
        let bench = try Bench(backlog: 5)
        let hub = try bench.hub()
        bench.ask { $0.arm(.readRequest) }
        bench.ask { $0.disarm(.readRequest) }
        #expect(try hub.read(log: bench.books.log, first: 0, count: 5).count == 1)
    }
}
