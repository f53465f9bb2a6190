@testable import Outbox
import Platform
import Testing

@Suite("Owners")
struct OwnerTests {
    @Test("windows are stored only for the owner that the device had when they were recorded")
    func boundary() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        _ = try await outbox.configureOwners(["ada", "bob"])
        try await outbox.accept([.assign(device: "C1", log: 7, from: 110, owner: "bob")])
        #expect(try await outbox.refusal(.enqueue(batch(100, 10, owner: "bob"))) == .wrongOwner)
        #expect(try await outbox.refusal(.enqueue(batch(100, 12))) == .wrongOwner)
        let first = try await outbox.accept(batch(100, 10))
        #expect(try await outbox.refusal(.enqueue(batch(110, 2))) == .wrongOwner)
        let second = try await outbox.accept(batch(110, 2, owner: "bob"))
        #expect(try await outbox.load(first).head.owner == "ada")
        #expect(try await outbox.load(second).head.owner == "bob")
        let record = try #require(try await outbox.device("C1"))
        #expect(record.owner(of: 109, log: 7) == "ada" && record.owner(of: 110, log: 7) == "bob" && record.owner(of: 99, log: 7) == nil)
        await outbox.close()
    }

    @Test("what is stored keeps its owner: no assignment reaches back before the checkpoint or another boundary")
    func noRewriting() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        _ = try await outbox.configureOwners(["ada", "bob"])
        try await outbox.accept(batch(100, 10))
        #expect(try await outbox.refusal(.assign(device: "C1", log: 7, from: 105, owner: "bob")) == .assignmentInPast)
        try await outbox.accept([.assign(device: "C1", log: 7, from: 120, owner: "bob")])
        #expect(try await outbox.refusal(.assign(device: "C1", log: 7, from: 115, owner: "ada")) == .assignmentInPast)
        #expect(try await outbox.refusal(.assign(device: "C1", log: 8, from: 200, owner: "bob")) == .unknownLog)
        await outbox.close()
    }

    @Test("boundaries of one log say nothing about another log of the device, whatever its number", arguments: [UInt32(3), 9])
    func otherLog(log: UInt32) async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        _ = try await outbox.configureOwners(["ada", "bob"])
        try await outbox.accept(batch(100, 5))
        try await outbox.accept([.beginLog(device: "C1", log: log, base: 90, formerEnd: nil)])
        #expect(try await outbox.refusal(.enqueue(batch(90, 20, log: log))) == .wrongOwner)
        try await outbox.accept([.assign(device: "C1", log: log, from: 90, owner: "bob")])
        #expect(try await outbox.refusal(.enqueue(batch(90, 20, log: log))) == .wrongOwner)
        try await outbox.accept(batch(90, 20, owner: "bob", log: log))
        await outbox.close()
    }

    @Test("windows before the first boundary may get an owner, those between two boundaries have one")
    func before() async throws {
        let directory = Directory()
        let outbox = try await Outbox.open(directory)
        _ = try await outbox.configureOwners(["ada", "bob"])
        try await outbox.accept([
            .beginLog(device: "C1", log: 7, base: 50, formerEnd: nil), .assign(device: "C1", log: 7, from: 100, owner: "ada"),
            .assign(device: "C1", log: 7, from: 200, owner: "ada")
        ])
        #expect(try await outbox.refusal(.assign(device: "C1", log: 7, from: 150, owner: "bob")) == .assignmentInPast)
        #expect(try await outbox.refusal(.enqueue(batch(50, 2, owner: "bob"))) == .wrongOwner)
        try await outbox.accept([.assign(device: "C1", log: 7, from: 50, owner: "bob"), .enqueue(batch(50, 50, owner: "bob"))])
        #expect(try await outbox.refusal(.enqueue(batch(100, 2, owner: "bob"))) == .wrongOwner)
        try await outbox.accept(batch(100, 2))
        await outbox.close()
    }

    @Test("serial numbers and owners that could not go into a header are refused, so that no two devices become one", arguments: ["", "A\0B", "A\r\nB", "ä"])
    func texts(bad: String) async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        #expect(try await outbox.refusal(.beginLog(device: bad, log: 1, base: 0, formerEnd: nil)) == .malformed)
        #expect(try await outbox.refusal(.assign(device: "C1", log: 7, from: 100, owner: bad)) == .malformed)
        await outbox.close()
    }

    @Test("a device without an assignment, and an owner who is not configured, store nothing")
    func nobody() async throws {
        let directory = Directory()
        let outbox = try await Outbox.open(directory)
        try await outbox.accept([.beginLog(device: "C1", log: 7, base: 100, formerEnd: nil)])
        #expect(try await outbox.refusal(.enqueue(batch(100, 1))) == .wrongOwner)
        try await outbox.accept([.assign(device: "C1", log: 7, from: 100, owner: "ada")])
        #expect(try await outbox.refusal(.enqueue(batch(100, 1))) == .ownerNotConfigured)
        _ = try await outbox.configureOwners(["ada"])
        try await outbox.accept(batch(100, 1))
        await outbox.close()
    }

    @Test("what the former owner's windows were withheld from is reported by the new owner, without a byte of them")
    func withheld() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        _ = try await outbox.configureOwners(["bob"])
        try await outbox.accept([.assign(device: "C1", log: 7, from: 150, owner: "bob")])
        let id = try await outbox.accept(batch(150, 2, gaps: [gap(100, 50, .withheld)], owner: "bob"))
        #expect(try await outbox.load(id).gaps == [gap(100, 50, .withheld)])
        try await outbox.settle(id)
        #expect(try await outbox.device("C1")?.pendingClear?.through == 151)
        await outbox.close()
    }

    @Test("a new login leaves the former owner's entries sealed: not sent, not lost, back with their owner")
    func sealing() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let ids = [try await outbox.accept(batch(100, 5)), try await outbox.accept(batch(105, 5))]
        let before = try await outbox.load(ids[0])
        let report = try await outbox.configureOwners(["bob"])
        #expect(report == OwnersReport(sealed: 2, unsealed: 0, waiting: []))
        var snapshot = try await outbox.snapshot()
        #expect(snapshot.queued.isEmpty && snapshot.sealed.map(\.id) == ids && snapshot.freePlaces == 4)
        #expect(try await outbox.refusal(.release(ids[0])) == .ownerNotConfigured)
        await outbox.close()

        outbox = try await Outbox.open(directory)
        try await outbox.accept([.assign(device: "C1", log: 7, from: 110, owner: "bob")])
        let other = try await outbox.accept(batch(110, 5, owner: "bob"))
        try await outbox.settle(other)
        #expect(try await outbox.device("C1")?.pendingClear == nil)
        let back = try await outbox.configureOwners(["ada", "bob"])
        #expect(back == OwnersReport(sealed: 0, unsealed: 2, waiting: []))
        snapshot = try await outbox.snapshot()
        #expect(snapshot.queued.map(\.id) == ids && snapshot.sealed.isEmpty)
        let after = try await outbox.load(ids[0])
        #expect(after == before)
        for id in ids { try await outbox.settle(id) }
        #expect(try await outbox.device("C1")?.pendingClear?.through == 114)
        await outbox.close()
    }

    @Test("a change of owners that the sealed store cannot hold is refused whole")
    func sealedFull() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        for first in [UInt64(100), 101, 102] { try await outbox.accept(batch(first, 1)) }
        #expect(await failure { try await outbox.configureOwners(["bob"]) } == .sealedFull)
        let snapshot = try await outbox.snapshot()
        #expect(snapshot.queued.count == 3 && snapshot.sealed.isEmpty && snapshot.owners == ["ada"])
        await outbox.close()
    }

    @Test("entries that come back take no place that is promised to a device, and wait for the next one")
    func waiting() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let ids = [try await outbox.accept(batch(100, 1)), try await outbox.accept(batch(101, 1))]
        _ = try await outbox.configureOwners(["bob"])
        let report = try await outbox.configureOwners(["ada", "bob"], reserved: 2)
        #expect(report.unsealed == 1 && report.waiting == [ids[1]])
        try await outbox.accept([.release(ids[1])])
        #expect(try await outbox.snapshot().queued.map(\.id) == ids)
        await outbox.close()
    }

    @Test("a receipt for a request that was in flight while its owner went still settles")
    func inFlight() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        _ = try await outbox.configureOwners(["bob"])
        try await outbox.settle(id)
        #expect(try await outbox.snapshot().sealed.isEmpty)
        #expect(try await outbox.device("C1")?.pendingClear?.through == 104)
        await outbox.close()
    }

    @Test("purging sealed entries is explicit, touches one owner, and leaves an audit line")
    func purge() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        _ = try await outbox.configureOwners(["bob"])
        try await outbox.accept([.purgeSealed(owner: "bob", by: "uid 0", at: 9)])
        #expect(try await outbox.snapshot().sealed.map(\.id) == [id])
        guard case .audited(let line) = try await outbox.accept([.purgeSealed(owner: "ada", by: "uid 0", at: 10)])[0] else { return #expect(Bool(false)) }
        #expect(line == AuditLine(at: 10, by: "uid 0", act: "purged 1 sealed entries of ada with 5 windows"))
        #expect(try await outbox.auditTrail().map(\.at) == [9, 10])
        #expect(try await outbox.snapshot().sealed.isEmpty)
        #expect(try await outbox.device("C1")?.pendingClear?.through == 104)
        await outbox.close()
    }

    @Test("an operator's release leaves an audit line, one by the hub itself does not, and a refused one leaves nothing")
    func releaseAudited() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let ids = [try await outbox.accept(batch(100, 5)), try await outbox.accept(batch(105, 5))]
        try await outbox.accept([.quarantine(ids[0], reason: "conflict"), .quarantine(ids[1], reason: "conflict")])
        #expect(try await outbox.snapshot().quarantined.map(\.received) == [try await outbox.load(ids[0]).received, try await outbox.load(ids[1]).received])
        #expect(try await outbox.accept([.release(ids[1])]) == [.done])
        let line = AuditLine(at: 8, by: "uid 0", act: "released entry \(ids[0]) into the queue: 5 windows of C1, log 7, from 100, owner ada")
        #expect(try await outbox.accept([.release(ids[0], by: "uid 0", at: 8)]) == [.audited(line)])
        #expect(try await outbox.auditTrail() == [line])
        try await outbox.accept([.quarantine(ids[0], reason: "conflict")])
        _ = try await outbox.configureOwners(["bob"])
        #expect(try await outbox.refusal(.release(ids[0], by: "uid 0", at: 9)) == .ownerNotConfigured)
        #expect(try await outbox.auditTrail() == [line])
        await outbox.close()
    }

    @Test("quarantine is bounded: what does not fit is refused and stays in the queue")
    func quarantineFull() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let ids = [try await outbox.accept(batch(100, 1)), try await outbox.accept(batch(101, 1)), try await outbox.accept(batch(102, 1))]
        try await outbox.accept([.quarantine(ids[0], reason: "refused"), .quarantine(ids[1], reason: "refused")])
        #expect(try await outbox.refusal(.quarantine(ids[0], reason: "again")) == .notQueued)
        #expect(try await outbox.refusal(.quarantine(ids[2], reason: "refused")) == .quarantineFull)
        var snapshot = try await outbox.snapshot()
        #expect(snapshot.queued.map(\.id) == [ids[2]] && snapshot.quarantined.map(\.quarantineReason) == ["refused", "refused"])
        // An operator settles one: its range is settled, an audit line stays.
        #expect(try await outbox.refusal(.settleQuarantined(ids[2], by: "op", at: 1)) == .notQuarantined)
        try await outbox.accept([.settleQuarantined(ids[0], by: "op", at: 1), .quarantine(ids[2], reason: "refused")])
        #expect(try await outbox.device("C1")?.pendingClear?.through == 100)
        snapshot = try await outbox.snapshot()
        #expect(snapshot.quarantined.map(\.id) == [ids[1], ids[2]])
        #expect(try await outbox.auditTrail().count == 1)
        await outbox.close()
    }
}
