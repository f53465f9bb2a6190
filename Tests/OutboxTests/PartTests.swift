import Outbox
import Platform
import Testing

@Suite("Keys and parts")
struct PartTests {
    @Test("a conflict gives one new key, which a start keeps, and no second one")
    func rekey() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        guard case .rekeyed(let key) = try await outbox.accept([.rekey(id)])[0] else { return #expect(Bool(false)) }
        #expect(key != id.text && key.utf8.count == 32)
        #expect(try await outbox.refusal(.rekey(id)) == .keySpent)
        await outbox.close()
        outbox = try await Outbox.open(directory)
        let head = try #require(try await outbox.snapshot().queued.first)
        #expect(head.id == id && head.idempotencyKey == key && head.keyGeneration == 1)
        #expect(try await outbox.refusal(.settle(id, ReceiptRecord(receipt: "r", key: id.text))) == .wrongKey)
        try await outbox.settle(id)
        await outbox.close()
    }

    @Test("a split entry keeps its one place and settles with the receipt of its last part")
    func split() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 10))
        let halves = [PartRange(first: 100, count: 5), PartRange(first: 105, count: 5)]
        guard case .split(let parts) = try await outbox.accept([.split(id, halves)])[0] else { return #expect(Bool(false)) }
        #expect(parts.map(\.key) == ["\(id).0", "\(id).1"] && parts.map(\.range) == halves)
        #expect(try await outbox.refusal(.settle(id, ReceiptRecord(receipt: "r", key: id.text))) == .wrongKey)
        #expect(try await outbox.refusal(.settlePart(id, index: 0, ReceiptRecord(receipt: "r", key: parts[1].key))) == .wrongKey)
        #expect(try await outbox.refusal(.settlePart(id, index: 2, ReceiptRecord(receipt: "r", key: parts[1].key))) == .unknownPart)

        let second = ReceiptRecord(receipt: "r1", key: parts[1].key, rejected: [.init(sequence: 109, code: "conflict")])
        #expect(try await outbox.accept([.settlePart(id, index: 1, second)]) == [.partSettled(remaining: 1)])
        #expect(try await outbox.device("C1")?.pendingClear == nil)
        await outbox.close()

        outbox = try await Outbox.open(directory)
        let head = try #require(try await outbox.snapshot().queued.first)
        #expect(head.parts.map(\.receipt) == [nil, "r1"])
        #expect(try await outbox.accept([.settlePart(id, index: 1, second)]) == [.settledBefore])
        guard case .settled(let clear?) = try await outbox.accept([.settlePart(id, index: 0, ReceiptRecord(receipt: "r0", key: parts[0].key))])[0]
        else { return #expect(Bool(false)) }
        #expect(clear.through == 109 && clear.crc == crc(109))
        #expect(try await outbox.evidence().map(\.window) == [window(109)])
        #expect(try await outbox.snapshot().queued.isEmpty)
        #expect(try await outbox.accept([.settlePart(id, index: 0, ReceiptRecord(receipt: "r0", key: parts[0].key))]) == [.settledBefore])
        await outbox.close()
    }

    @Test("a part that is still too large is split again under keys that were never used")
    func splitAgain() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 8))
        try await outbox.accept([.split(id, [PartRange(first: 100, count: 4), PartRange(first: 104, count: 4)])])
        try await outbox.accept([.settlePart(id, index: 0, ReceiptRecord(receipt: "r", key: "\(id).0"))])
        let finer = [PartRange(first: 104, count: 1), PartRange(first: 105, count: 3)]
        guard case .split(let parts) = try await outbox.accept([.split(id, finer)])[0] else { return #expect(Bool(false)) }
        #expect(parts.map(\.key) == ["\(id).2", "\(id).3"])
        guard case .rekeyed(let key) = try await outbox.accept([.rekey(id)])[0] else { return #expect(Bool(false)) }
        let head = try await outbox.load(id).head
        #expect(head.parts.map(\.key) == ["\(id).0", "\(key).2", "\(key).3"])
        try await outbox.accept([
            .settlePart(id, index: 3, ReceiptRecord(receipt: "r", key: "\(key).3")), .settlePart(id, index: 2, ReceiptRecord(receipt: "r", key: "\(key).2"))
        ])
        #expect(try await outbox.device("C1")?.pendingClear?.through == 107)
        await outbox.close()
    }

    @Test("parts that do not cover just the entry are refused", arguments: [
        [], [PartRange(first: 100, count: 5)], [PartRange(first: 100, count: 5), PartRange(first: 105, count: 6)],
        [PartRange(first: 100, count: 5), PartRange(first: 106, count: 4)], [PartRange(first: 105, count: 5), PartRange(first: 100, count: 5)],
        [PartRange(first: 100, count: 0), PartRange(first: 100, count: 10)], [PartRange(first: 100, count: -1), PartRange(first: 99, count: 11)],
        [PartRange(first: .max, count: .max)]
    ])
    func badSplit(ranges: [PartRange]) async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 10))
        #expect(try await outbox.refusal(.split(id, ranges)) == .malformed)
        #expect(try await outbox.snapshot().queued.first?.parts == [])
        await outbox.close()
    }
}
