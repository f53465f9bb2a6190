import Outbox
import Platform
import Testing

@Suite("Logs of a device")
struct LogTests {
    @Test("a formatted log ends its clear, and what was not read of it stays noted until an entry reports it")
    func reformatted() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        try await outbox.settle(try await outbox.accept(batch(100, 5)))
        let late = try await outbox.accept(batch(105, 5))
        try await outbox.accept([.beginLog(device: "C1", log: 9, base: 0, formerEnd: 130), .assign(device: "C1", log: 9, from: 0, owner: "ada")])
        await outbox.close()

        outbox = try await Outbox.open(directory)
        var record = try #require(try await outbox.device("C1"))
        #expect(record.pendingClear == nil && record.current?.log == 9 && record.current?.next == 0)
        #expect(record.unreported == [gap(110, 20, .reformatted)])
        // What was stored of the former log is delivered, and settles nothing of the new one.
        #expect(try await outbox.settle(late) == .settled(nil))
        let report = try await outbox.accept(batch(0, 3, gaps: [gap(110, 20, .reformatted)], next: 3, log: 9))
        record = try #require(try await outbox.device("C1"))
        #expect(record.unreported.isEmpty)
        guard case .settled(let clear?) = try await outbox.settle(report) else { return #expect(Bool(false)) }
        #expect(clear.log == 9 && clear.through == 2)
        #expect(try await outbox.refusal(.beginLog(device: "C1", log: 9, base: 0, formerEnd: nil)) == .logExists)
        // Nothing refers to the former log any more: its books are gone with it.
        #expect(try await outbox.device("C1")?.assignments.map(\.log) == [9])
        await outbox.close()
    }

    @Test("a log that begins anew under its old name is cleared only for what was delivered since")
    func restarted() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let old = try await outbox.accept(batch(100, 50))
        try await outbox.accept([.restartLog(device: "C1", log: 7, base: 0)])
        #expect(try await outbox.refusal(.enqueue(batch(0, 1))) == .wrongOwner)
        try await outbox.accept([.assign(device: "C1", log: 7, from: 0, owner: "ada")])
        let first = try await outbox.accept(batch(0, 100))
        let second = try await outbox.accept(batch(100, 10))
        // The former life's 100 to 149 are settled; the new life's are not.
        #expect(try await outbox.settle(old) == .settled(nil))
        guard case .settled(let clear?) = try await outbox.settle(first) else { return #expect(Bool(false)) }
        #expect(clear.through == 99)
        try await outbox.settle(second)
        #expect(try await outbox.device("C1")?.pendingClear?.through == 109)
        await outbox.close()
    }

    @Test("a log that comes back after it ended is a new line of books")
    func comesBack() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let old = try await outbox.accept(batch(100, 5))
        try await outbox.accept([.beginLog(device: "C1", log: 9, base: 0, formerEnd: nil), .beginLog(device: "C1", log: 7, base: 100, formerEnd: nil)])
        #expect(try await outbox.settle(old) == .settled(nil))
        #expect(try await outbox.device("C1")?.current?.next == 100)
        await outbox.close()
    }

    @Test("a device that formats for ever is stopped until its former logs are reported")
    func formatsForEver() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        for log in UInt32(8)..<72 { try await outbox.accept([.beginLog(device: "C1", log: log, base: 0, formerEnd: 200)]) }
        let another = Change.beginLog(device: "C1", log: 72, base: 0, formerEnd: 200)
        #expect(try await outbox.refusal(another) == .unreportedFull)
        let unreported = try #require(try await outbox.device("C1")?.unreported)
        #expect(unreported.count == OutboxSettings.unreportedLimit)
        try await outbox.accept([.assign(device: "C1", log: 71, from: 0, owner: "ada"), .enqueue(batch(0, 0, gaps: unreported, next: 0, log: 71))])
        #expect(try await outbox.device("C1")?.unreported == [])
        try await outbox.accept([another])
        await outbox.close()
    }

    @Test("devices do not touch each other's books")
    func apart() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        try await outbox.accept([.beginLog(device: "C2", log: 7, base: 0, formerEnd: nil), .assign(device: "C2", log: 7, from: 0, owner: "ada")])
        let first = try await outbox.accept(batch(100, 5))
        let second = try await outbox.accept(batch(0, 200 - 73, device: "C2"))
        try await outbox.settle(second)
        #expect(try await outbox.device("C1")?.pendingClear == nil)
        #expect(try await outbox.device("C2")?.pendingClear?.through == 126)
        try await outbox.settle(first)
        try await outbox.accept([.cleared(device: "C2", log: 7, through: 126)])
        #expect(try await outbox.device("C1")?.pendingClear?.through == 104)
        #expect(try await outbox.device("C2")?.pendingClear == nil)
        #expect(try await outbox.snapshot().devices == ["C1", "C2"])
        #expect(try await outbox.device("C3") == nil)
        await outbox.close()
    }

    @Test("sequences go on across 2^32, stored and cleared unwrapped")
    func wraps() async throws {
        let directory = Directory()
        let base: UInt64 = 0xFFFF_FFFE
        let outbox = try await Outbox.ready(directory, base: base)
        let id = try await outbox.accept(batch(base, 4))
        #expect(try await outbox.device("C1")?.nearby(7) == 0x1_0000_0002)
        guard case .settled(let clear?) = try await outbox.settle(id) else { return #expect(Bool(false)) }
        #expect(clear.through == 0x1_0000_0001 && SequenceNumber.wire(clear.through) == 1)
        await outbox.close()
    }
}
