import Platform
import Synchronization
import Testing

@testable import Radio

/// Counts how the security of a link was raised.
private final class Raises: Sendable {
    private let made = Mutex<[SecurityRequirement]>([])
    var all: [SecurityRequirement] { made.withLock { $0 } }
    func add(_ requirement: SecurityRequirement) { made.withLock { $0.append(requirement) } }
}

/// The loop, for what is made before there is one.
private final class LoopHolder: Sendable {
    private let held = Mutex<(any EventLoop)?>(nil)
    func hold(_ loop: any EventLoop) { held.withLock { $0 = loop } }
    func sleep(for duration: Duration) async throws {
        let loop = held.withLock { $0 }
        try await loop?.sleep(for: duration)
    }
}

private struct NoKey: Error, CustomStringConvertible {
    var description: String { "there is no key" }
}

@Suite("Security raised for a request")
struct GATTSecurityTests {
    @Test("a refusal for want of security raises it and asks once more", arguments: [
        ("05", SecurityRequirement.authentication), ("0F", .encryption), ("0C", .keySize),
    ])
    func raised(code: String, requirement: SecurityRequirement) throws {
        let raises = Raises()
        try converse(exchange("> 0A 03 00\n< 01 0A 03 00 \(code)\n> 0A 03 00\n< 0B 07"), raiseSecurity: { raises.add($0) }) { client, _ async throws in
            #expect(try await client.read(3) == [7])
        }
        #expect(raises.all == [requirement])
    }

    @Test("a second refusal stands, also for another want")
    func once() throws {
        let raises = Raises()
        try converse(exchange("> 0A 03 00\n< 01 0A 03 00 0F\n> 0A 03 00\n< 01 0A 03 00 05"), raiseSecurity: { raises.add($0) }) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.read(3) } == GATTError(.att(.insufficientAuthentication, request: .readRequest, handle: 3)))
        }
        #expect(raises.all == [.encryption])
    }

    @Test("other refusals raise nothing", arguments: ["01", "02", "08", "0E", "12", "80"])
    func others(code: String) throws {
        let raises = Raises()
        try converse(exchange("> 0A 03 00\n< 01 0A 03 00 \(code)"), raiseSecurity: { raises.add($0) }) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.read(3) }?.attCode?.rawValue == hex(code)[0])
        }
        #expect(raises.all.isEmpty)
    }

    @Test("security that cannot be raised is told with its reason, and the peer's code with it")
    func failed() throws {
        try converse(exchange("> 12 03 00 01\n< 01 12 03 00 05"), raiseSecurity: { _ in throw NoKey() }) { client, _ async throws in
            let error = await gattFailure { try await client.write([1], to: 3) }
            #expect(error == GATTError(.securityNotRaised(.insufficientAuthentication, request: .writeRequest, handle: 3, "there is no key")))
            #expect(error?.attCode == .insufficientAuthentication)
            #expect(error?.code == "gatt-security-not-raised")
        }
    }

    @Test("requests that are refused together share one raise")
    func together() throws {
        let raises = Raises()
        let script = exchange("> 0A 03 00\n< 01 0A 03 00 05\n> 0A 04 00\n< 01 0A 04 00 05\n> 0A 03 00\n< 0B 03\n> 0A 04 00\n< 0B 04")
        let holder = LoopHolder()
        try converse(script, raiseSecurity: { requirement in
            raises.add(requirement)
            try await holder.sleep(for: .seconds(3))
        }) { client, _ async throws in
            holder.hold(client.loop)
            async let first = client.read(3)
            await settle(client)
            async let second = client.read(4)
            #expect(try await first == [3])
            #expect(try await second == [4])
        }
        #expect(raises.all == [.authentication])
    }

    @Test("values and other requests pass while the security is being raised, and a caller that is cancelled is let go")
    func meanwhile() throws {
        let holder = LoopHolder()
        let script = exchange("> 12 04 00 01 00\n< 13\n> 0A 05 00\n< 01 0A 05 00 05\n> 0A 06 00\n< 1B 03 00 01\n< 0B 06")
        try converse(script, raiseSecurity: { _ in try await holder.sleep(for: .seconds(20)) }) { client, recorder async throws in
            holder.hold(client.loop)
            try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record)
            let task = client.loop.spawn { await failure { _ = try await client.read(5) } }
            await settle(client)
            #expect(try await client.read(6) == [6])
            #expect(recorder.values.map(\.value) == [[1]])
            let before = client.loop.now
            task.cancel()
            #expect(await task.value is CancellationError)
            #expect(client.loop.now == before)
        }
    }

    @Test("a bearer that closes while the security is being raised ends the request")
    func closed() throws {
        let holder = LoopHolder()
        let script = exchange("> 0A 05 00\n< 01 0A 05 00 05") + [.waits(.seconds(1)), .hangsUp]
        try converse(script, raiseSecurity: { _ in try await holder.sleep(for: .seconds(20)) }) { client, _ async throws in
            holder.hold(client.loop)
            #expect(await gattFailure { _ = try await client.read(5) } == GATTError(.closed(.hangup)))
        }
    }

    @Test("a discovery is raised for too")
    func discovery() throws {
        let raises = Raises()
        try converse(exchange("> 10 01 00 FF FF 00 28\n< 01 10 01 00 05\n> 10 01 00 FF FF 00 28\n< 01 10 01 00 0A"), raiseSecurity: { raises.add($0) }) { client, _ async throws in
            #expect(try await client.discoverPrimaryServices().isEmpty)
        }
        #expect(raises.all.count == 1)
    }
}
