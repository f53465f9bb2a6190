import Outbox
import Platform
import Testing

@Suite("Step 5: settling and clearing")
struct SettleTests {
    private func pending(_ outbox: Outbox) async throws -> PendingClear? { try await outbox.device("C1")?.pendingClear }

    @Test("a receipt frees the place and makes the clear due up to the last window, with that window's CRC")
    func settles() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        #expect(try await pending(outbox) == nil)
        guard case .settled(let clear?) = try await outbox.settle(id) else { return #expect(Bool(false)) }
        #expect(clear.log == 7 && clear.through == 104 && clear.crc == crc(104) && clear.refusals == 0)
        #expect(try await pending(outbox) == clear)
        #expect(try await outbox.snapshot().queued.isEmpty)
        #expect(await failure { try await outbox.load(id) } == .unknownEntry)
        await outbox.close()
    }

    @Test("entries that settle out of order clear only up to the first that has not")
    func outOfOrder() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let ids = [try await outbox.accept(batch(100, 5)), try await outbox.accept(batch(105, 5)), try await outbox.accept(batch(110, 5))]
        #expect(try await outbox.settle(ids[2]) == .settled(nil))
        #expect(try await outbox.settle(ids[1]) == .settled(nil))
        guard case .settled(let clear?) = try await outbox.settle(ids[0]) else { return #expect(Bool(false)) }
        #expect(clear.through == 114 && clear.crc == crc(114))
        await outbox.close()
    }

    @Test("a quarantined entry stops clears before it, but not the reading, until it is delivered")
    func quarantineStopsClears() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let ids = [try await outbox.accept(batch(100, 5)), try await outbox.accept(batch(105, 5)), try await outbox.accept(batch(110, 5))]
        try await outbox.accept([.quarantine(ids[1], reason: "refused-400")])
        try await outbox.settle(ids[0])
        try await outbox.settle(ids[2])
        #expect(try await pending(outbox)?.through == 104)
        let later = try await outbox.accept(batch(115, 1))
        try await outbox.settle(later)
        #expect(try await pending(outbox)?.through == 104)
        try await outbox.accept([.release(ids[1])])
        try await outbox.settle(ids[1])
        #expect(try await pending(outbox)?.through == 115)
        await outbox.close()
    }

    @Test("a receipt for another key, or for an entry nobody has, settles nothing")
    func wrongKey() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        let stranger = try #require(EntryID(String(repeating: "a", count: 32)))
        #expect(try await outbox.refusal(.settle(id, ReceiptRecord(receipt: "r", key: stranger.text))) == .wrongKey)
        #expect(try await outbox.refusal(.settle(stranger, ReceiptRecord(receipt: "r", key: stranger.text))) == .unknownEntry)
        #expect(try await pending(outbox) == nil)
        #expect(try await outbox.snapshot().queued.count == 1)
        await outbox.close()
    }

    @Test("a receipt that was committed before is known, also after a start")
    func settledBefore() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        try await outbox.settle(id)
        await outbox.close()
        outbox = try await Outbox.open(directory)
        let again = try await outbox.commit([.settle(id, ReceiptRecord(receipt: "r-\(id)", key: id.text))])
        #expect(again == [.settledBefore])
        await outbox.close()
    }

    @Test("rejected windows are kept byte for byte and count as settled")
    func rejected() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5, gaps: [gap(102, 1, .damaged)]))
        try await outbox.settle(id, rejected: [.init(sequence: 102, code: "crc"), .init(sequence: 104, code: "conflict")])
        let evidence = try await outbox.evidence()
        #expect(evidence.map(\.sequence) == [102, 104] && evidence.map(\.code) == ["crc", "conflict"])
        #expect(evidence.map(\.window) == [window(102), window(104)])
        #expect(evidence.allSatisfy { $0.owner == "ada" && $0.device == "C1" && $0.log == 7 && $0.receipt.hasPrefix("r-") })
        #expect(try await pending(outbox)?.through == 104)
        let outcomes = try await outbox.accept([.discardEvidence(through: evidence[0].number, by: "operator", at: 5)])
        guard case .audited = outcomes[0] else { return #expect(Bool(false)) }
        #expect(try await outbox.evidence().map(\.sequence) == [104])
        await outbox.close()
    }

    @Test("rejections outside the entry, doubled, or beyond the bounds of the evidence are refused, and the entry stays")
    func rejectedBadly() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 12))
        func settle(_ sequences: [UInt64]) -> Change {
            .settle(id, ReceiptRecord(receipt: "r", key: id.text, rejected: sequences.map { .init(sequence: $0, code: "conflict") }))
        }
        #expect(try await outbox.refusal(settle([112])) == .malformed)
        #expect(try await outbox.refusal(settle([99])) == .malformed)
        #expect(try await outbox.refusal(settle([101, 101])) == .malformed)
        #expect(try await outbox.refusal(settle(Array(100..<109))) == .evidenceFull)
        #expect(try await outbox.evidence().isEmpty)
        #expect(try await outbox.snapshot().queued.map(\.id) == [id])
        try await outbox.accept([settle(Array(100..<108))])
        await outbox.close()
    }

    @Test("gaps of a settled entry are settled, before and behind its body")
    func gaps() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(103, 2, gaps: [gap(100, 3), gap(105, 2, .unreadable)]))
        guard case .settled(let clear?) = try await outbox.settle(id) else { return #expect(Bool(false)) }
        #expect(clear.through == 106 && clear.crc == nil)
        await outbox.close()
    }

    @Test("the pending clear is one row that moves, and goes only when the collar confirms just that")
    func cleared() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        try await outbox.settle(try await outbox.accept(batch(100, 5)))
        try await outbox.settle(try await outbox.accept(batch(105, 5)))
        try await outbox.accept([.cleared(device: "C1", log: 7, through: 104)])
        #expect(try await pending(outbox)?.through == 109)
        #expect(try await outbox.device("C1")?.current?.clearedEnd == 105)
        try await outbox.accept([.cleared(device: "C1", log: 8, through: 109)])
        #expect(try await pending(outbox)?.through == 109)
        try await outbox.accept([.cleared(device: "C1", log: 7, through: 109)])
        #expect(try await pending(outbox) == nil)
        // What settles behind a hole moves no prefix and must not bring the clear back.
        let held = try await outbox.accept(batch(110, 1))
        try await outbox.settle(try await outbox.accept(batch(111, 1)))
        #expect(try await pending(outbox) == nil)
        try await outbox.settle(held)
        #expect(try await pending(outbox)?.through == 111)
        await outbox.close()
    }

    @Test("a clear beyond what is settled is never noted as done")
    func clearedTooFar() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        try await outbox.settle(try await outbox.accept(batch(100, 5)))
        let held = try await outbox.accept(batch(105, 5))
        try await outbox.accept([.cleared(device: "C1", log: 7, through: .max)])
        #expect(try await outbox.device("C1")?.current?.clearedEnd == 105)
        try await outbox.settle(held)
        #expect(try await pending(outbox)?.through == 109)
        await outbox.close()
    }

    @Test("a refused clear is counted until the clear moves; one of a log that is gone ends")
    func clearRefused() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        try await outbox.settle(try await outbox.accept(batch(100, 5)))
        try await outbox.accept([.clearRefused(device: "C1", log: 7, through: 104), .clearRefused(device: "C1", log: 7, through: 103)])
        #expect(try await pending(outbox)?.refusals == 1)
        try await outbox.settle(try await outbox.accept(batch(105, 5)))
        #expect(try await pending(outbox)?.refusals == 0)
        try await outbox.accept([.logEnded(device: "C1", log: 8)])
        #expect(try await pending(outbox) != nil)
        try await outbox.accept([.logEnded(device: "C1", log: 7)])
        #expect(try await pending(outbox) == nil)
        await outbox.close()
    }

    @Test("attempts count on, exhausted entries stay in the queue, and a start finds them in order")
    func attempts() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let ids = [try await outbox.accept(batch(100, 1)), try await outbox.accept(batch(101, 1))]
        for attempt in 1...4 { try await outbox.accept([.attemptFailed(ids[0], code: "http-503", exhausted: attempt >= 3)]) }
        await outbox.close()
        outbox = try await Outbox.open(directory)
        let queued = try await outbox.snapshot().queued
        #expect(queued.map(\.id) == ids)
        #expect(queued[0].attempts == 4 && queued[0].exhausted && queued[0].lastFailure == "http-503")
        #expect(queued[1].attempts == 0 && !queued[1].exhausted)
        await outbox.close()
    }
}
