import Platform
import Synchronization
import Testing

@testable import Radio

private final class Databases: Sendable {
    private let seen = Mutex<[GATTDatabase]>([])
    var all: [GATTDatabase] { seen.withLock { $0 } }
    @Sendable func add(_ database: GATTDatabase) { seen.withLock { $0.append(database) } }
}

@Suite("The database, its hash and its changes")
struct GATTDatabaseTests {
    private typealias Scripts = GATTScripts
    private static let cache = GATTDatabaseCache(GATTScripts.database)!

    @Test("a database is discovered whole, Service Changed subscribed, the features said, and the hash read again")
    func opening() throws {
        try converse(Scripts.opening(Scripts.hash)) { client, _ async throws in
            #expect(try await client.openDatabase() == Scripts.database)
        }
    }

    @Test("a database that was kept under the peer's hash is not discovered again")
    func cached() throws {
        try converse(Scripts.hashIs(Scripts.hash) + Scripts.watching) { client, _ async throws in
            #expect(try await client.openDatabase(Self.cache) == Scripts.database)
        }
    }

    @Test("a database that was kept under another hash is discovered")
    func stale() throws {
        let stored = GATTDatabaseCache(GATTDatabase(hash: hex(Scripts.newHash), services: []))
        try converse(Scripts.opening(Scripts.hash)) { client, _ async throws in
            #expect(try await client.openDatabase(stored) == Scripts.database)
        }
    }

    @Test("a peer without a hash is discovered each time, and a refusal of the subscription is no failure")
    func noHash() throws {
        let script = exchange("> 08 01 00 FF FF 2A 2B\n< 01 08 01 00 0A") + Scripts.everything + exchange("> 12 04 00 02 00\n< 01 12 04 00 05\n> 0A 06 00\n< 01 0A 06 00 05")
        try converse(script) { client, _ async throws in
            let database = try await client.openDatabase(Self.cache)
            #expect(database.hash == nil)
            #expect(GATTDatabaseCache(database) == nil)
            #expect(database.services == Scripts.database.services)
        }
    }

    @Test("features that the peer has already are not written, and bits of others stay set", arguments: [
        ("05", ""), ("07", ""), ("0B", ""), ("02", "07"), ("01 80", "05 80"), ("", "05"),
    ])
    func features(known: String, written: String) throws {
        let needed = known == "0B" ? "0F" : written
        let script = Scripts.hashIs(Scripts.hash) + exchange("> 12 04 00 02 00\n< 13\n> 0A 06 00\n< 0B \(known)")
        try converse(script + (needed.isEmpty ? [] : exchange("> 12 06 00 \(needed)\n< 13"))) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache)
        }
    }

    @Test("a database that changed while it was discovered is discovered again")
    func changedMeanwhile() throws {
        let script = Scripts.hashIs(Scripts.hash) + Scripts.everything + Scripts.watching + Scripts.hashIs(Scripts.newHash)
            + Scripts.hashIs(Scripts.newHash) + Scripts.everything
        try converse(script) { client, _ async throws in
            let database = try await client.openDatabase()
            #expect(database.hash == hex(Scripts.newHash))
        }
    }

    @Test("a database without end of changes closes the link rather than be believed")
    func unstable() throws {
        var script = Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("< 1D 03 00 01 00 FF FF\n> 1E")
        for _ in 0..<8 { script += exchange("> 08 01 00 FF FF 2A 2B\n< 1D 03 00 01 00 FF FF\n> 1E\n< 09 12 08 00 \(Scripts.hash)") }
        try converse(script) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.openDatabase(Self.cache) }?.code == "bearer-closed")
            #expect(await client.closure?.code == "bearer-closed")
            #expect(await client.database == nil)
        }
    }

    @Test("Service Changed is confirmed, the range discovered again, and the new database handed over")
    func serviceChanged() throws {
        let databases = Databases()
        let script = Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("< 1D 03 00 12 00 13 00\n> 1E") + Scripts.hashIs(Scripts.newHash)
            + Scripts.heartRate(valueAt: "13", configurationAt: "14")
        try converse(script) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache, onChange: databases.add)
            await settle(client)
            #expect(databases.all.count == 1)
            #expect(databases.all.first?.characteristics(.uuid16(0x2A37)).map(\.characteristic.valueHandle) == [0x13])
            #expect(databases.all.first?.hash == hex(Scripts.newHash))
        }
    }

    @Test("a Service Changed that says nothing new is confirmed, and the database stays")
    func nothingNew() throws {
        let databases = Databases()
        try converse(Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("< 1D 03 00 01 00 FF FF\n> 1E") + Scripts.hashIs(Scripts.hash)) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache, onChange: databases.add)
            await settle(client)
            #expect(databases.all.isEmpty)
            #expect(await client.database == Scripts.database)
        }
    }

    @Test("a Service Changed that cannot be read counts for everything", arguments: ["", "10", "10 00 14", "14 00 10 00", "00 00 05 00", "10 00 14 00 00"])
    func unreadable(range: String) throws {
        let script = Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("< 1D 03 00 \(range)\n> 1E") + Scripts.hashIs(Scripts.newHash) + Scripts.everything
        try converse(script) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache)
            await settle(client)
            #expect(await client.database?.hash == hex(Scripts.newHash))
        }
    }

    @Test("a Service Changed that was sent as soon as the link was up is heard when the subscription is made")
    func keptFromBefore() throws {
        let script = exchange("< 1D 03 00 10 00 14 00") + Scripts.hashIs(Scripts.hash) + exchange("> 1E\n> 12 04 00 02 00\n< 13")
        try converse(script + exchange("> 08 01 00 FF FF 2A 2B\n< 09 12 08 00 \(Scripts.hash)\n> 0A 06 00\n< 0B 05")) { client, _ async throws in
            await settle(client)
            #expect(try await client.openDatabase(Self.cache) == Scripts.database)
        }
    }

    /// A second after the database is open it changes, and the new hash comes a second after it was asked for.
    private static let changing = Scripts.hashIs(Scripts.hash) + Scripts.watching + [.waits(.seconds(1))] + exchange("< 1D 03 00 10 00 14 00\n> 1E\n> 08 01 00 FF FF 2A 2B")
        + [.waits(.seconds(1))] + exchange("< 09 12 08 00 \(Scripts.newHash)")

    @Test("a request for a handle in the changed range waits, and goes when the handle still means the same; others pass")
    func waits() throws {
        let script = Scripts.hashIs(Scripts.hash) + Scripts.watching + [.waits(.seconds(1))] + exchange("< 1D 03 00 10 00 14 00\n> 1E\n> 08 01 00 FF FF 2A 2B")
            + [.waits(.seconds(1))] + exchange("< 09 12 08 00 \(Scripts.newHash)\n> 0A 06 00\n< 0B 05")
            + Scripts.heartRate(valueAt: "12", configurationAt: "13") + exchange("> 0A 12 00\n< 0B 07")
        try converse(script) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache)
            try await client.loop.sleep(for: .milliseconds(1500))
            #expect(await client.changed != nil)
            async let value = client.read(0x12)
            #expect(try await client.read(6) == [5])
            #expect(try await value == [7])
        }
    }

    @Test("a request whose handle means something else afterwards is not sent, and a command not even while that is unknown")
    func moved() throws {
        try converse(Self.changing + Scripts.heartRate(valueAt: "13", configurationAt: "14")) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache)
            try await client.loop.sleep(for: .milliseconds(1500))
            #expect(await gattFailure { try await client.writeWithoutResponse([1], to: 0x12) } == GATTError(.databaseChanged(0x12)))
            #expect(await gattFailure { _ = try await client.read(0x12) } == GATTError(.databaseChanged(0x12)))
        }
    }

    @Test("a request that waited for its turn when the database changed is taken back, and not sent to what its handle means now")
    func withdrawn() throws {
        let script = Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("> 0A 06 00") + [.waits(.seconds(1))]
            + exchange("< 1D 03 00 10 00 14 00\n> 1E\n< 0B 05\n> 08 01 00 FF FF 2A 2B\n< 09 12 08 00 \(Scripts.newHash)")
            + Scripts.heartRate(valueAt: "13", configurationAt: "14")
        try converse(script) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache)
            async let open = client.read(6)
            await settle(client)
            #expect(await gattFailure { try await client.write([1], to: 0x12) } == GATTError(.databaseChanged(0x12)))
            #expect(try await open == [5])
        }
    }

    @Test("a caller that is cancelled while it waits for the database is let go at once")
    func cancelled() throws {
        try converse(Self.changing + Scripts.heartRate(valueAt: "12", configurationAt: "13")) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache)
            try await client.loop.sleep(for: .milliseconds(1500))
            let task = client.loop.spawn { await failure { _ = try await client.read(0x12) } }
            await settle(client)
            task.cancel()
            #expect(await task.value is CancellationError)
            #expect(await client.changed != nil)
            try await client.loop.sleep(for: .seconds(2))
            #expect(await client.changed == nil)
        }
    }

    @Test("Database Out Of Sync has the database discovered, and the request made once more when the handle means the same")
    func outOfSync() throws {
        let script = Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("> 12 12 00 01\n< 01 12 12 00 12") + Scripts.hashIs(Scripts.newHash)
            + Scripts.everything + exchange("> 12 12 00 01\n< 13")
        try converse(script) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache)
            try await client.write([1], to: 0x12)
            #expect(await client.database?.hash == hex(Scripts.newHash))
        }
    }

    @Test("Database Out Of Sync under the hash that is known has the request made once more at once, and no third time")
    func outOfSyncKnown() throws {
        let script = Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("> 0A 12 00\n< 01 0A 12 00 12") + Scripts.hashIs(Scripts.hash)
            + exchange("> 0A 12 00\n< 01 0A 12 00 12")
        try converse(script) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache)
            #expect(await gattFailure { _ = try await client.read(0x12) }?.attCode == .databaseOutOfSync)
        }
    }

    @Test("Database Out Of Sync for a handle that is another attribute now sends nothing to it")
    func outOfSyncMoved() throws {
        let script = Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("> 12 12 00 01\n< 01 12 12 00 12") + Scripts.hashIs(Scripts.newHash) + exchange("""
            > 10 01 00 FF FF 00 28
            < 11 06 01 00 09 00 01 18
            > 10 0A 00 FF FF 00 28
            < 01 10 0A 00 0A
            > 10 01 00 FF FF 01 28
            < 01 10 01 00 10
            > 08 01 00 09 00 02 28
            < 01 08 01 00 0A
            > 08 01 00 09 00 03 28
            < 09 07 02 00 20 03 00 05 2A
            > 08 03 00 09 00 03 28
            < 01 08 03 00 0A
            > 04 04 00 09 00
            < 05 01 04 00 02 29
            > 04 05 00 09 00
            < 01 04 05 00 0A
            """)
        try converse(script) { client, _ async throws in
            _ = try await client.openDatabase(Self.cache)
            let error = await gattFailure { try await client.write([1], to: 0x12) }
            #expect(error == GATTError(.databaseChanged(0x12)))
            #expect(error?.code == "gatt-database-changed")
        }
    }

    @Test("Database Out Of Sync to a client that knows no database is told as it is")
    func outOfSyncUnknown() throws {
        try converse(exchange("> 0A 12 00\n< 01 0A 12 00 12")) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.read(0x12) }?.attCode == .databaseOutOfSync)
        }
    }

    @Test("a changed database that cannot be discovered closes the bearer: a handle may mean anything")
    func undiscoverable() throws {
        let script = Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("< 1D 03 00 10 00 14 00\n> 1E\n> 08 01 00 FF FF 2A 2B\n< 01 08 01 00 0E")
        try converse(script) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.openDatabase(Self.cache) }?.code == "bearer-closed")
            #expect(await client.closure?.code == "bearer-closed")
        }
    }

    @Test("a Database Hash that is not one is refused")
    func noSuchHash() throws {
        try converse(exchange("> 08 01 00 FF FF 2A 2B\n< 09 06 08 00 01 02 03 04")) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.readDatabaseHash() }?.code == "gatt-implausible-response")
        }
    }

    @Test("subscriptions find their descriptor in the database that is known")
    func subscription() throws {
        try converse(Scripts.hashIs(Scripts.hash) + Scripts.watching + exchange("> 12 13 00 01 00\n< 13")) { client, recorder async throws in
            let database = try await client.openDatabase(Self.cache)
            let found = try #require(database.characteristics(.uuid16(0x2A37)).first?.characteristic)
            try await client.subscribe(to: found, as: .notifications, handler: recorder.record)
        }
    }

    @Test("a handle stands for its attribute with its type, its characteristic and its service")
    func attributes() {
        let database = Scripts.database
        #expect(database.attribute(1) == .service(.uuid16(0x1801)))
        #expect(database.attribute(2) == .declaration(of: .serviceChanged, service: .uuid16(0x1801)))
        #expect(database.attribute(3) == .value(of: .serviceChanged, .indicate, service: .uuid16(0x1801)))
        #expect(database.attribute(4) == .descriptor(.clientCharacteristicConfiguration, of: .serviceChanged, service: .uuid16(0x1801)))
        #expect(database.attribute(9) == nil)
        #expect(database.attribute(0x0A) == nil)
        #expect(database.attribute(0x14) == nil)
    }
}
