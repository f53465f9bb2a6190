import Platform
import Testing

@testable import Radio

@Suite("Queued writes")
struct GATTQueuedWriteTests {
    private static let twenty = [UInt8](1...20)
    private static let first = hexText([UInt8](1...18))

    @Test("a value is prepared in parts of ATT_MTU - 5 octets and written as a whole")
    func parts() throws {
        try converse(exchange("> 16 03 00 00 00 \(Self.first)\n< 17 03 00 00 00 \(Self.first)\n> 16 03 00 12 00 13 14\n< 17 03 00 12 00 13 14\n> 18 01\n< 19")) { client, _ async throws in
            try await client.writeLong(Self.twenty, to: 3)
        }
    }

    @Test("a part that comes back changed has the queue discarded", arguments: [
        "17 03 00 00 00 01 02 04", "17 03 00 00 00 01 02", "17 03 00 01 00 01 02 03", "17 04 00 00 00 01 02 03",
    ])
    func changed(echo: String) throws {
        try converse(exchange("> 16 03 00 00 00 01 02 03\n< \(echo)\n> 18 00\n< 19")) { client, _ async throws in
            let error = await gattFailure { try await client.writeLong([1, 2, 3], to: 3) }
            #expect(error == GATTError(.changedOnTheWay(3)))
            #expect(error?.code == "gatt-changed-on-the-way")
        }
    }

    @Test("a full queue in the middle is discarded, and the refusal is told")
    func full() throws {
        try converse(exchange("> 16 03 00 00 00 01\n< 17 03 00 00 00 01\n> 16 04 00 00 00 02\n< 01 16 04 00 09\n> 18 00\n< 19")) { client, _ async throws in
            let error = await gattFailure { try await client.writeReliably([GATTWrite([1], to: 3), GATTWrite([2], to: 4)]) }
            #expect(error == GATTError(.att(.prepareQueueFull, request: .prepareWriteRequest, handle: 4)))
        }
    }

    @Test("the refusal stays the one that is told when the peer will not even discard")
    func discardRefused() throws {
        try converse(exchange("> 16 03 00 00 00 01\n< 01 16 03 00 03\n> 18 00\n< 01 18 00 00 06")) { client, _ async throws in
            #expect(await gattFailure { try await client.writeLong([1], to: 3) }?.attCode == .writeNotPermitted)
        }
    }

    @Test("a refusal at the end names the attribute that the peer names, and nothing is discarded after it")
    func execute() throws {
        try converse(exchange("> 16 03 00 00 00 01\n< 17 03 00 00 00 01\n> 16 04 00 00 00 02\n< 17 04 00 00 00 02\n> 18 01\n< 01 18 04 00 0D")) { client, _ async throws in
            let error = await gattFailure { try await client.writeReliably([GATTWrite([1], to: 3), GATTWrite([2], to: 4)]) }
            #expect(error == GATTError(.att(.invalidAttributeValueLength, request: .executeWriteRequest, handle: 4)))
        }
    }

    @Test("an empty value is prepared once, and nothing to write is nothing to send")
    func empty() throws {
        try converse(exchange("> 16 03 00 00 00\n< 17 03 00 00 00\n> 18 01\n< 19")) { client, _ async throws in
            try await client.writeReliably([])
            try await client.writeLong([], to: 3)
        }
    }

    @Test("a value that would reach beyond 512 octets is not begun", arguments: [(513, UInt16(0)), (2, 511), (1, 0xFFFF)])
    func tooLong(count: Int, offset: UInt16) throws {
        try converse([]) { client, _ async throws in
            let error = await gattFailure { try await client.writeLong([UInt8](repeating: 0, count: count), to: 3, offset: offset) }
            #expect(error == GATTError(.valueTooLong(3, count + Int(offset))))
        }
    }

    @Test("a second queued write while one is under way is refused, and other requests pass between the parts")
    func second() throws {
        try converse(exchange("> 16 03 00 00 00 01\n") + [.waits(.seconds(1))] + exchange("< 17 03 00 00 00 01\n> 0A 09 00\n< 0B 09\n> 18 01\n< 19")) { client, _ async throws in
            async let write: Void = client.writeLong([1], to: 3)
            await settle(client)
            #expect(await gattFailure { try await client.writeLong([2], to: 4) } == GATTError(.procedureInProgress("queued write")))
            #expect(try await client.read(9) == [9])
            try await write
        }
    }

    @Test("a cancelled write has its queue discarded before another can begin")
    func cancelled() throws {
        try converse(exchange("> 16 03 00 00 00 01\n") + [.waits(.seconds(1))] + exchange("< 17 03 00 00 00 01\n> 18 00\n< 19\n> 16 04 00 00 00 02\n< 17 04 00 00 00 02\n> 18 01\n< 19")) { client, _ async throws in
            let task = client.loop.spawn { await failure { try await client.writeLong([1], to: 3) } }
            await settle(client)
            task.cancel()
            #expect(await task.value is CancellationError)
            #expect(await gattFailure { try await client.writeLong([2], to: 4) }?.code == "gatt-procedure-in-progress")
            try await client.loop.sleep(for: .seconds(2))
            try await client.writeLong([2], to: 4)
        }
    }

    @Test("parts grow when the MTU does in between")
    func growing() throws {
        let rest = hexText([UInt8](19...40))
        try converse(exchange("> 16 03 00 00 00 \(Self.first)\n< 02 64 00\n> 03 05 02\n< 17 03 00 00 00 \(Self.first)\n> 16 03 00 12 00 \(rest)\n< 17 03 00 12 00 \(rest)\n> 18 01\n< 19")) { client, _ async throws in
            try await client.writeLong([UInt8](1...40), to: 3)
        }
    }

    @Test("whether reliable writes are allowed is read from the extended properties")
    func extended() throws {
        try converse(exchange("> 04 04 00 05 00\n< 05 01 04 00 02 29 05 00 00 29\n> 0A 05 00\n< 0B 01 00")) { client, _ async throws in
            let plain = GATTCharacteristic(uuid: .uuid16(0x2A00), properties: .write, declarationHandle: 2, valueHandle: 3, endHandle: 5)
            let extended = GATTCharacteristic(uuid: .uuid16(0x2A00), properties: [.write, .extendedProperties], declarationHandle: 2, valueHandle: 3, endHandle: 5)
            #expect(try await client.supportsReliableWrites(plain) == false)
            #expect(try await client.supportsReliableWrites(extended))
        }
    }
}
