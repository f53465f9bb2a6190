import Glibc
import Platform
import Synchronization
import Testing

@testable import Radio

/// Bumble's attribute server in a process of its own, at the other end of a packet socket.
private struct BumblePeer {
    /// The interpreter that has `Tests/Peers/requirements.txt`; `nil` when the environment names none.
    static var python: String? { getenv("HUB_TEST_PYTHON").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }
    /// On the build server nothing is skipped.
    static var required: Bool { getenv("CI").map { String(cString: $0) } == "true" }

    private let process: pid_t

    /// - Returns: the peer, and our end of the connection.
    static func start(sourceFile: String = #filePath) throws -> (peer: BumblePeer, socket: CInt) {
        let python = try #require(Self.python, "HUB_TEST_PYTHON names no interpreter with Tests/Peers/requirements.txt")
        let tests = sourceFile.split(separator: "/", omittingEmptySubsequences: false).dropLast(2).joined(separator: "/")
        let (ours, theirs) = try packetPair()
        let inherited = Descriptor(owning: theirs)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // As 3 it is open across exec; the original is not.
        posix_spawn_file_actions_adddup2(&actions, inherited.raw, 3)
        let words = [python, tests + "/Peers/bumble_gatt_peer.py", "3"]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, python, &actions, nil, &arguments, environ)
        guard code == 0 else {
            _ = close(ours)
            throw SystemError("posix_spawn", code: code, subject: python)
        }
        return (BumblePeer(process: process), ours)
    }

    /// Waits for the peer to end, which it does when the connection has.
    func finish() -> CInt {
        var status: CInt = 0
        _ = retryOnInterrupt { waitpid(process, &status, 0) }
        return status
    }
}

/// The client, for what it is given when it is made.
private final class ClientHolder: Sendable {
    private let held = Mutex<GATTClient?>(nil)
    var client: GATTClient? { held.withLock { $0 } }
    func hold(_ client: GATTClient?) { held.withLock { $0 = client } }
}

@Suite("Against Bumble's attribute server",
       .enabled(if: BumblePeer.python != nil || BumblePeer.required, "HUB_TEST_PYTHON names no interpreter with Tests/Peers/requirements.txt"))
struct GATTBumbleTests {
    private static func uuid(_ number: String) -> BluetoothUUID { BluetoothUUID("6f1e\(number)-2c4b-4d1e-9f3a-8a5b7c9d1e20")! }

    private func withPeer(receiveMTU: UInt16 = 517, raiseSecurity: (@Sendable (GATTClient) async throws -> Void)? = nil, _ body: @escaping @Sendable (GATTClient) async throws -> Void) throws {
        let loop = try EpollLoop()
        let (peer, socket) = try BumblePeer.start()
        var configuration = GATTClientConfiguration()
        configuration.receiveMTU = receiveMTU
        // What raises the security of this link is a write over the link itself.
        let holder = ClientHolder()
        let raise: RaiseSecurity = { _ in
            if let client = holder.client { try await raiseSecurity?(client) }
        }
        let client = GATTClient(descriptor: Descriptor(owning: socket), loop: loop, configuration: configuration,
                                raiseSecurity: raiseSecurity == nil ? nil : raise)
        holder.hold(client)
        defer { holder.hold(nil) }
        let recorder = UpdateRecorder()
        let outcome = Result {
            try loop.run {
                try await client.start(onClose: recorder.ended)
                try await body(client)
            }
        }
        try loop.run { await client.close("the test is over") }
        #expect(peer.finish() == 0)
        try outcome.get()
    }

    private static func collar(_ client: GATTClient) async throws -> [BluetoothUUID: GATTCharacteristic] {
        let services = try await client.discoverPrimaryServices(uuid("0001"))
        let service = try #require(services.first)
        let characteristics = try await client.discoverCharacteristics(of: service)
        return Dictionary(characteristics.map { ($0.uuid, $0) }) { first, _ in first }
    }

    @Test("its whole database is discovered, at the default MTU and after the exchange", arguments: [false, true])
    func discovery(exchanging: Bool) throws {
        try withPeer { client in
            if exchanging {
                let mtu = try await client.exchangeMTU()
                #expect(mtu == 517)
            }
            let services = try await client.discoverPrimaryServices()
            #expect(services.map(\.uuid) == [.uuid16(0x180A), .uuid16(0x180F), Self.uuid("0001"), Self.uuid("0010"), .uuid16(0x1801)])
            let battery = try await client.discoverPrimaryServices(.uuid16(0x180F))
            #expect(battery == [services[1]])
            let absent = try await client.discoverPrimaryServices(.uuid16(0x1810))
            #expect(absent.isEmpty)
            let characteristics = try await client.discoverCharacteristics(of: services[2])
            #expect(characteristics.map(\.uuid) == ["0002", "0003", "0004", "0005", "0006", "0007"].map(Self.uuid))
            #expect(characteristics.map(\.properties) == [.notify, [.write, .indicate], [.read, .write], .read, [.read, .writeWithoutResponse], .read])
            #expect(characteristics.last?.endHandle == services[2].endHandle)
            let descriptors = try await client.discoverDescriptors(of: characteristics[0])
            #expect(descriptors.map(\.uuid) == [.uuid16(0x2901), .clientCharacteristicConfiguration])
            let none = try await client.discoverDescriptors(of: characteristics[2])
            #expect(none.isEmpty)
        }
    }

    @Test("a long value is read whole at every MTU, and read back after a write", arguments: [UInt16(23), 185, 247, 301, 302, 517])
    func longValue(mtu: UInt16) throws {
        try withPeer(receiveMTU: mtu) { client in
            let handle = try #require(try await Self.collar(client)[Self.uuid("0004")]?.valueHandle)
            let effective = try await client.exchangeMTU()
            #expect(effective == mtu)
            let whole = try await client.read(handle)
            #expect(whole == (0..<300).map { UInt8($0 % 256) })
            let longest = [UInt8](repeating: 9, count: min(Int(mtu) - 3, 512))
            try await client.write(longest, to: handle)
            let back = try await client.read(handle)
            #expect(back == longest)
        }
    }

    @Test("refusals come as the errors that they are")
    func refusals() throws {
        try withPeer { client in
            let found = try await Self.collar(client)
            let locked = try #require(found[Self.uuid("0005")]).valueHandle
            let refusedRead = await gattFailure { _ = try await client.read(locked) }
            #expect(refusedRead == GATTError(.att(.insufficientEncryption, request: .readRequest, handle: locked)))
            let nowhere = await gattFailure { _ = try await client.read(0x0FFF) }
            #expect(nowhere?.attCode == .invalidHandle)
            let writtenNowhere = await gattFailure { try await client.write([1], to: 0x0FFF) }
            #expect(writtenNowhere == GATTError(.att(.invalidHandle, request: .writeRequest, handle: 0x0FFF)))
        }
    }

    @Test("a write without response arrives")
    func command() throws {
        try withPeer { client in
            let handle = try #require(try await Self.collar(client)[Self.uuid("0006")]).valueHandle
            try await client.writeWithoutResponse([1, 2, 3], to: handle)
            // Bumble serves what comes in the order in which it came.
            let stored = try await client.read(handle)
            #expect(stored == [1, 2, 3])
        }
    }

    @Test("notifications come in order and before the indication, and the next indication after its confirmation")
    func updates() throws {
        try withPeer { client in
            _ = try await client.exchangeMTU()
            let found = try await Self.collar(client)
            let stream = try #require(found[Self.uuid("0002")])
            let control = try #require(found[Self.uuid("0003")])
            let (updates, continuation) = AsyncStream.makeStream(of: ValueUpdate.self)
            try await client.subscribe(to: stream, as: .notifications) { continuation.yield($0) }
            try await client.subscribe(to: control, as: .indications) { continuation.yield($0) }
            try await client.write([0x01, 200], to: control.valueHandle)
            var received: [ValueUpdate] = []
            for await update in updates {
                received.append(update)
                if update.isIndication { try await client.confirmIndication() }
                if update.value == [0x81] { break }
            }
            let notifications: [[UInt8]] = (0..<200).map { (number: UInt8) in [UInt8](repeating: number, count: 100) }
            #expect(received.prefix(200).map(\.value) == notifications)
            #expect(received.dropFirst(200).map(\.value) == [[0x80, 200], [0x81]])
            #expect(received.dropFirst(200).allSatisfy { $0.handle == control.valueHandle && $0.isIndication })
            try await client.unsubscribe(from: stream)
            try await client.unsubscribe(from: control)
        }
    }

    @Test("the peer's own requests are answered in between")
    func peerAsks() throws {
        try withPeer { client in
            let found = try await Self.collar(client)
            let control = try #require(found[Self.uuid("0003")]).valueHandle
            try await client.write([0x02] + hex("02 F7 00"), to: control)
            try await client.write([0x02] + hex("10 01 00 FF FF 00 28"), to: control)
            try await client.write([0x02] + hex("08 01 00 FF FF 00 2A"), to: control)
            let heard = try await client.read(try #require(found[Self.uuid("0007")]).valueHandle)
            #expect(hexText(heard) == "03 03 05 02 05 01 10 01 00 0A 05 01 08 01 00 0A")
            let mtu = await client.mtu
            #expect(mtu == 247)
        }
    }

    @Test("included services are found, the long UUID among them", arguments: [false, true])
    func included(exchanging: Bool) throws {
        try withPeer { client in
            if exchanging { _ = try await client.exchangeMTU() }
            let services = try await client.discoverPrimaryServices()
            let including = try #require(services.first { $0.uuid == Self.uuid("0010") })
            let included = try await client.discoverIncludedServices(of: including)
            #expect(included.map(\.service) == [services[1], services[2]])
        }
    }

    @Test("several values are read at once, with and without their lengths")
    func multiple() throws {
        try withPeer { client in
            let database = try await client.discoverDatabase()
            let handles = try ["0011", "0012"].map { try #require(database.characteristics(Self.uuid($0)).first).characteristic.valueHandle }
            let together = try await client.readMultiple(handles)
            #expect(together == Array("onetwo".utf8))
            let apart = try await client.readMultipleVariable(handles)
            #expect(apart.map(\.value) == [Array("one".utf8), Array("two".utf8)])
            #expect(apart.map(\.isWhole) == [true, true])
            let unknown = await gattFailure { _ = try await client.readMultiple([handles[0], 0x0FFF]) }
            #expect(unknown?.attCode == .attributeNotFound)
            let byType = try await client.read(using: Self.uuid("0012"))
            #expect(byType == [GATTValue(handle: handles[1], value: Array("two".utf8), isWhole: true)])
        }
    }

    @Test("a long value is written in parts at every MTU and read back", arguments: [UInt16(23), 64, 517])
    func longWrite(mtu: UInt16) throws {
        try withPeer(receiveMTU: mtu) { client in
            let handle = try #require(try await Self.collar(client)[Self.uuid("0004")]?.valueHandle)
            _ = try await client.exchangeMTU()
            let value = (0..<512).map { UInt8(truncatingIfNeeded: $0 * 7) }
            try await client.writeLong(value, to: handle)
            let back = try await client.read(handle)
            #expect(back == value)
            let tail = try await client.readLong(handle, from: 500)
            #expect(tail == Array(value.suffix(12)))
            let beyond = await gattFailure { _ = try await client.readLong(handle, from: 513) }
            #expect(beyond == GATTError(.att(.invalidOffset, request: .readBlobRequest, handle: handle)))
        }
    }

    @Test("several values are written together; a refusal names the attribute, and a full queue writes nothing")
    func reliableWrites() throws {
        try withPeer { client in
            let database = try await client.discoverDatabase()
            let first = try #require(database.characteristics(Self.uuid("0011")).first).characteristic.valueHandle
            let second = try #require(database.characteristics(Self.uuid("0012")).first).characteristic.valueHandle
            try await client.writeReliably([GATTWrite([1, 2], to: first), GATTWrite([3], to: second)])
            let values = try await client.readMultiple([first, second])
            #expect(values == [1, 2, 3])
            let refused = await gattFailure { try await client.writeLong([UInt8](repeating: 0, count: 21), to: second) }
            #expect(refused == GATTError(.att(ATTErrorCode(rawValue: 0x80), request: .executeWriteRequest, handle: second)))
            // Bumble's queue holds 64 parts, of 18 octets each at this MTU.
            let long = [UInt8](repeating: 9, count: 512)
            let full = await gattFailure { try await client.writeReliably([GATTWrite(long, to: first), GATTWrite(long, to: first), GATTWrite(long, to: first)]) }
            #expect(full?.attCode == .prepareQueueFull)
            let kept = try await client.read(first)
            #expect(kept == [1, 2])
            try await client.writeLong([4], to: first)
            let last = try await client.read(first)
            #expect(last == [4])
        }
    }

    @Test("the database is opened with its hash, kept, and opened from what was kept; a change is noticed and discovered")
    func database() throws {
        try withPeer { client in
            _ = try await client.exchangeMTU()
            let (changes, continuation) = AsyncStream.makeStream(of: GATTDatabase.self)
            let database = try await client.openDatabase { continuation.yield($0) }
            let kept = try GATTDatabaseCache(parsing: try #require(GATTDatabaseCache(database)).encoded())
            let again = try await client.openDatabase(kept) { continuation.yield($0) }
            #expect(again == database)
            let features = try #require(database.characteristics(.clientSupportedFeatures).first).characteristic.valueHandle
            let announced = try await client.read(features)
            #expect(announced == [0x05])
            let control = try #require(database.characteristics(Self.uuid("0003")).first).characteristic.valueHandle
            try await client.write([0x03], to: control)
            var seen: GATTDatabase?
            for await change in changes {
                seen = change
                break
            }
            let new = try #require(seen)
            #expect(new.hash != database.hash)
            #expect(new.services.dropLast() == database.services[...])
            let added = try #require(new.characteristics(Self.uuid("0021")).first).characteristic.valueHandle
            let value = try await client.read(added)
            #expect(value == Array("new".utf8))
        }
    }

    @Test("a locked value is read after the security was raised")
    func raised() throws {
        try withPeer(raiseSecurity: { client in
            let control = try #require(try await Self.collar(client)[Self.uuid("0003")]).valueHandle
            try await client.write([0x04], to: control)
        }) { client in
            let locked = try #require(try await Self.collar(client)[Self.uuid("0005")]).valueHandle
            let value = try await client.read(locked)
            #expect(value == Array("secret".utf8))
        }
    }
}
