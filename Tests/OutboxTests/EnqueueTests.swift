import Outbox
import Platform
import Testing

@Suite("Step 3: storing")
struct EnqueueTests {
    @Test("an entry holds what was read byte for byte, and the checkpoint moves with it")
    func stores() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let read = batch(102, 3, gaps: [gap(100, 2), gap(103, 1, .damaged)], next: 105)
        let id = try await outbox.accept(read)
        let stored = try await outbox.load(id)
        #expect(stored.body == read.body)
        #expect(stored.gaps == read.gaps)
        #expect(stored.digest == SHA256.digest(read.body))
        #expect(stored.clock == read.clock && stored.received == read.received)
        #expect(stored.head.idempotencyKey == id.text && EntryID(id.text) == id)
        #expect(try await outbox.device("C1")?.current?.next == 105)
        await outbox.close()
    }

    @Test("an entry survives closing and opening under the same key")
    func survives() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        try await outbox.accept([.attemptFailed(id, code: "connection-refused", exhausted: false)])
        let before = try await outbox.load(id)
        await outbox.close()
        outbox = try await Outbox.open(directory)
        let after = try await outbox.load(id)
        #expect(after == before)
        #expect(after.head.attempts == 1 && after.head.lastFailure == "connection-refused")
        await outbox.close()
    }

    @Test("a batch that leaves a hole to the checkpoint is refused until a gap names it")
    func hole() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        #expect(try await outbox.refusal(.enqueue(batch(103, 2))) == .hole)
        #expect(try await outbox.refusal(.enqueue(batch(103, 2, gaps: [gap(100, 2)]))) == .hole)
        #expect(try await outbox.refusal(.enqueue(batch(100, 2, next: 103))) == .hole)
        #expect(try await outbox.refusal(.enqueue(batch(103, 2, gaps: [gap(100, 3, log: 8)], next: 105))) == .hole)
        #expect(try await outbox.device("C1")?.current?.next == 100)
        try await outbox.accept(batch(103, 2, gaps: [gap(100, 3)]))
        await outbox.close()
    }

    @Test("a batch that was stored already, or covers a sequence twice, is refused")
    func overlap() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        try await outbox.accept(batch(100, 4))
        #expect(try await outbox.refusal(.enqueue(batch(100, 4))) == .staleCheckpoint)
        #expect(try await outbox.refusal(.enqueue(batch(102, 4))) == .staleCheckpoint)
        #expect(try await outbox.refusal(.enqueue(batch(104, 4, gaps: [gap(106, 3)]))) == .overlap)
        #expect(try await outbox.snapshot().queued.count == 1)
        await outbox.close()
    }

    @Test("gaps alone make an entry without a body")
    func gapsAlone() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 0, gaps: [gap(100, 50, .clearedElsewhere)]))
        let stored = try await outbox.load(id)
        #expect(stored.body.isEmpty && stored.head.count == 0 && stored.head.gapCount == 1)
        #expect(stored.digest == SHA256.digest([]))
        guard case .settled(let clear?) = try await outbox.settle(id) else { return #expect(Bool(false), "no clear is due") }
        #expect(clear.through == 149 && clear.crc == nil)
        await outbox.close()
    }

    @Test("a batch that is malformed by itself is refused and costs nothing else", arguments: [
        WindowBatch(device: "C1", owner: "ada", log: 7, first: 100, body: [1, 2, 3], gaps: [], received: 0, clock: "synced", next: 101),
        batch(100, 129),
        batch(100, 0, next: 100),
        batch(100, 2, next: 101),
        batch(100, 1, gaps: [gap(101, 0)]),
        batch(100, 1, gaps: [gap(101, .max)], next: 101),
        batch(100, 1, gaps: [SequenceGap(log: 7, first: .max, count: 1, reason: .overwritten)], next: 101),
        batch(.max - 200, 1),
        batch(100, 1, gaps: [gap(101, 1, .damaged)], next: 101),
        batch(100, 1, gaps: tooManyGaps),
        WindowBatch(device: "C1", owner: "ada", log: 7, first: 100, body: window(100), gaps: [], received: 0, clock: "a\r\nX: y", next: 101)
    ])
    func malformed(bad: WindowBatch) async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let outcomes = try await outbox.commit([.enqueue(bad), .enqueue(batch(100, 1))])
        guard case .refused(let refusal) = outcomes[0] else { return #expect(Bool(false), "was accepted") }
        #expect(refusal.code == .malformed)
        guard case .enqueued = outcomes[1] else { return #expect(Bool(false), "the good one was lost") }
        await outbox.close()
    }

    @Test("collars fill their 16 of 20 places and no more, and a receipt frees one in the same transaction")
    func full() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory, OutboxSettings())
        var next: UInt64 = 100
        var first: EntryID?
        for _ in 0..<16 {
            let id = try await outbox.accept(batch(next, 128))
            first = first ?? id
            next += 128
        }
        #expect(try await outbox.refusal(.enqueue(batch(next, 1))) == .noPlace)
        #expect(try await outbox.device("C1")?.current?.next == next)
        let snapshot = try await outbox.snapshot()
        #expect(snapshot.freePlaces == 4 && snapshot.freeCollarPlaces == 0)
        let id = try #require(first)
        let outcomes = try await outbox.accept([.settle(id, ReceiptRecord(receipt: "r", key: id.text)), .enqueue(batch(next, 1))])
        #expect(outcomes.count == 2)
        #expect(try await outbox.snapshot().queued.count == 16)
        await outbox.close()
    }

    @Test("a log nobody announced is refused")
    func unknownLog() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        #expect(try await outbox.refusal(.enqueue(batch(100, 1, log: 8))) == .unknownLog)
        #expect(try await outbox.refusal(.enqueue(batch(100, 1, device: "C2"))) == .unknownLog)
        await outbox.close()
    }

    @Test("more changes than a transaction may hold are refused whole")
    func tooMany() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let changes = (0..<5).map { Change.enqueue(batch(100 + UInt64($0), 1)) }
        #expect(await failure { try await outbox.commit(changes) } == .tooManyChanges)
        #expect(try await outbox.snapshot().queued.isEmpty)
        await outbox.close()
    }

    private static let wrapping: [(UInt32, UInt64, UInt64)] = [
        (3, 0xFFFF_FFFE, 0x1_0000_0003), (0xFFFF_FFFF, 0x1_0000_0001, 0xFFFF_FFFF), (5, 5, 5), (0xFFFF_FFFF, 0, 0xFFFF_FFFF),
        (0, 0x3_0000_0000, 0x3_0000_0000)
    ]

    @Test("sequences go on behind 2^32 and unwrap to the nearest", arguments: EnqueueTests.wrapping)
    func wraps(wire: UInt32, near: UInt64, expected: UInt64) {
        #expect(SequenceNumber.unwrap(wire, near: near) == expected)
        #expect(SequenceNumber.wire(expected) == wire)
    }
}

/// One more than an entry may list. Not written in the test's arguments: a closure there crashes Swift 6.0.
private let tooManyGaps = (0..<193).map { gap(101 + $0, 1) }
