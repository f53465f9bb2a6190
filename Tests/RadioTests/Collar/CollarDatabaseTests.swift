import Platform
import Synchronization
import Testing
import struct Simulation.CollarTable
@testable import Radio

/// The opcodes that discover: Find Information, Find By Type Value, Read By Type (also of the hash) and Read By Group Type.
private let discovering: [UInt8] = [0x04, 0x06, 0x08, 0x10]
private let readHash: [UInt8] = [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B]

/// Counts what happens on the loop.
private final class Counter: Sendable {
    private let count = Mutex(0)

    /// The count so far, before this one.
    func next() -> Int {
        count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}

@Suite("A collar's database")
struct CollarDatabaseTests {
    private static let serial = "C-1042"

    private static func table(_ attribute: CollarTable.GenericAttribute = .caching, firmware: String = "2.1", at handle: UInt16 = 0x0030) -> CollarTable {
        CollarTable(serial: serial, firmware: firmware, genericAttribute: attribute, profileHandle: handle)
    }

    /// The database of a table as a link discovers it.
    private static func discovered(_ table: CollarTable) throws -> GATTDatabaseCache {
        try CollarFixture.run(table: table, isKept: true) { fixture in
            _ = try await fixture.connection.open()
            return try #require(fixture.databases.all.last)
        }
    }

    private static func opened(_ fixture: CollarFixture) async throws -> [[UInt8]] {
        let identity = try await fixture.connection.open()
        #expect(identity == CollarIdentity(serial: serial, firmware: "2.1", battery: 100))
        return await fixture.collar.pdus
    }

    private static func settle(_ fixture: CollarFixture) async throws { try await fixture.loop.sleep(for: .milliseconds(10)) }

    // MARK: Opening

    @Test("what was kept under the collar's hash is used, and nothing is discovered or given to keep")
    func cached() throws {
        let table = Self.table()
        let cache = try Self.discovered(table)
        let stored = try GATTDatabaseCache(parsing: cache.encoded())
        try CollarFixture.run(table: table, cache: stored, isKept: true) { fixture in
            let pdus = try await Self.opened(fixture)
            #expect(pdus.filter { discovering.contains($0[0]) } == [readHash])
            #expect(pdus.count == 11)
            #expect(fixture.databases.all.isEmpty)
            #expect(await fixture.collar.subscriptions == [table.serviceChanged, table.controlPoint, table.rawWindows, table.betaMetrics])
        }
    }

    @Test("what was kept under another hash is discovered, and given to keep once")
    func stale() throws {
        let former = try Self.discovered(Self.table(at: 0x0040))
        let present = try Self.discovered(Self.table())
        #expect(present != former)
        try CollarFixture.run(table: Self.table(), cache: former, isKept: true) { fixture in
            _ = try await Self.opened(fixture)
            #expect(fixture.databases.all == [present])
        }
    }

    @Test("a kept database without the profile's attributes makes no collar of the peer, whatever its hash")
    func cachedOther() throws {
        let table = Self.table()
        let cache = try Self.discovered(table)
        try CollarFixture.run(table: table, profile: CollarProfile(windows: .uuid16(0x1234)), cache: cache, isKept: true) { fixture in
            let error = await collarError { _ = try await fixture.connection.open() }
            #expect(error?.code == .notACollar)
        }
    }

    @Test("robust caching is announced once, to a collar that has it")
    func announced() throws {
        try CollarFixture.run(table: Self.table(), isKept: true) { fixture in
            let pdus = try await Self.opened(fixture)
            #expect(pdus.filter { $0[0] == 0x12 && $0.count == 4 && $0[3] == 0x05 }.count == 1)
        }
    }

    @Test("a link on which nothing is kept discovers what it needs alone, and asks no more often than this", arguments: [
        (.none, 517, 21), (.none, 23, 23), (.serviceChanged, 517, 25), (.serviceChanged, 23, 28), (.caching, 517, 28),
    ] as [(CollarTable.GenericAttribute, UInt16, Int)])
    func cost(attribute: CollarTable.GenericAttribute, mtu: UInt16, limit: Int) throws {
        for isKept in attribute == .caching ? [false] : [false, true] {
            try CollarFixture.run(mtu: mtu, table: Self.table(attribute), isKept: isKept) { fixture in
                let requests = try await Self.opened(fixture).count
                #expect(requests <= limit)
                #expect(fixture.databases.all.isEmpty)
            }
        }
    }

    @Test("a hash that is refused, or is none, counts for no hash", arguments: [[0x01, 0x08, 0x01, 0x00, 0x02], [0x01, 0x08, 0x01, 0x00, 0x06], [0x09, 0x05, 0x0D, 0x00, 1, 2, 3]] as [[UInt8]])
    func noHash(answer: [UInt8]) throws {
        try CollarFixture.run(table: Self.table(), isKept: true) { fixture in
            await fixture.collar.intercept { $0 == readHash ? answer : nil }
            _ = try await Self.opened(fixture)
            #expect(fixture.databases.all.isEmpty)
        }
    }

    // MARK: Changes

    @Test("a change around the profile subscribes it again, once each, and the link goes on", arguments: [true, false])
    func changeAround(isKept: Bool) throws {
        try CollarFixture.run(table: Self.table(), isKept: isKept) { fixture in
            _ = try await Self.opened(fixture)
            // The firmware has brought another characteristic of Device Information; the collar has forgotten who subscribed.
            let other = CollarTable(serial: Self.serial, firmware: "2.1", hardware: "B", genericAttribute: .caching)
            await fixture.collar.change(to: other)
            await fixture.collar.tellChange(from: 0x0001, to: 0xFFFF)
            try await Self.settle(fixture)
            let subscriptions = await fixture.collar.subscriptions
            let profile = [other.controlPoint, other.rawWindows, other.betaMetrics]
            #expect(subscriptions == [other.serviceChanged!] + profile + profile)
            let beats = fixture.events.all.count { if case .heartbeat = $0 { true } else { false } }
            await fixture.collar.beat()
            try await Self.settle(fixture)
            #expect(fixture.events.all.count { if case .heartbeat = $0 { true } else { false } } == beats + 1, "each is heard once")
            #expect(await fixture.collar.hungUpAt == nil)
            #expect(fixture.databases.all.count == (isKept ? 2 : 0))
            #expect(fixture.databases.all.last?.database.services(.uuid16(0x180A)).first?.characteristics.count == (isKept ? 3 : nil))
        }
    }

    @Test("a profile that has moved ends the link with a code of its own, and the next one finds it")
    func moved() throws {
        let other = Self.table(at: 0x0050)
        let cache = try CollarFixture.run(table: Self.table(), isKept: true) { fixture in
            _ = try await Self.opened(fixture)
            await fixture.collar.change(to: other)
            await fixture.collar.tellChange(from: 0x0030, to: 0xFFFF)
            try await Self.settle(fixture)
            #expect(await fixture.collar.hungUpAt != nil)
            guard case .closed(let error)? = fixture.events.all.last else {
                Issue.record("not closed")
                return try #require(fixture.databases.all.last)
            }
            #expect(error.code == .databaseChanged)
            #expect(fixture.databases.all.count == 2)
            return try #require(fixture.databases.all.last)
        }
        try CollarFixture.run(table: other, cache: cache, isKept: true) { fixture in
            let pdus = try await Self.opened(fixture)
            #expect(pdus.filter { discovering.contains($0[0]) } == [readHash])
            #expect(await fixture.collar.subscriptions.contains(other.rawWindows))
        }
    }

    @Test("Database Out Of Sync discovers what the collar has now, and the request follows where the attributes are what they were")
    func outOfSync() throws {
        try CollarFixture.run(table: Self.table(), isKept: true, script: { collar, _ in collar.answer(4) }) { fixture in
            _ = try await Self.opened(fixture)
            let other = CollarTable(serial: Self.serial, firmware: "2.1", hardware: "B", genericAttribute: .caching)
            await fixture.collar.change(to: other, keepingSubscriptions: true)
            let requests = Counter()
            await fixture.collar.intercept { pdu in pdu[0] == 0x12 && pdu.count > 6 && requests.next() == 0 ? [0x01, 0x12, pdu[1], pdu[2], 0x12] : nil }
            #expect(try await fixture.connection.setTime(7) == .set)
            #expect(await fixture.collar.requests == [[4, 7, 0, 0, 0]])
            #expect(fixture.databases.all.count == 2)
        }
    }

    @Test("a change that comes before the link is open leaves every subscription made, or no link", arguments: 0..<64)
    func changeWhileOpening(position: Int) throws {
        for at in [0x0030, 0x0050] as [UInt16] {
            let other = CollarTable(serial: Self.serial, firmware: "2.1", hardware: "B", genericAttribute: .caching, profileHandle: at)
            try CollarFixture.run(table: Self.table(), isKept: true) { fixture in
                let collar = fixture.collar
                let seen = Counter()
                await collar.intercept { _ in
                    guard seen.next() == position else { return nil }
                    // Behind the answer to this one.
                    collar.loop.spawn {
                        await collar.change(to: other)
                        await collar.tellChange(from: 1, to: 0xFFFF)
                    }
                    return nil
                }
                let error = await collarError { _ = try await fixture.connection.open() }
                try await Self.settle(fixture)
                let isUp = await collar.hungUpAt == nil
                if error != nil { #expect(!isUp) }
                if at == 0x0030 { #expect(isUp, "\(fixture.events.all)") } else { #expect(error == nil || !isUp) }
                guard isUp else { return }
                #expect(await collar.isSubscribedWhole)
                let before = fixture.events.all.count
                await collar.beat()
                try await Self.settle(fixture)
                #expect(fixture.events.all.count == before + 1)
            }
        }
    }
}
