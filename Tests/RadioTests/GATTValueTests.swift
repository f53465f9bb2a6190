import Testing

@testable import Radio

@Suite("Reading and writing")
struct GATTValueTests {
    private static func octets(_ count: Int, _ fill: UInt8) -> [UInt8] { [UInt8](repeating: fill, count: count) }

    @Test("a value shorter than a full response is read with one request")
    func short() throws {
        try converse([.expects("0A 03 00"), .sends("0B 01 02"), .expects("0A 05 00"), .sends("0B")]) { client, _ async throws in
            #expect(try await client.read(3) == [1, 2])
            #expect(try await client.read(5) == [])
        }
    }

    @Test("a value that fills its response is read on, up to a part that does not")
    func long() throws {
        try converse([
            .expects("0A 03 00"), .sendsOctets([0x0B] + Self.octets(22, 1)), .expects("0C 03 00 16 00"), .sendsOctets([0x0D] + Self.octets(22, 2)),
            .expects("0C 03 00 2C 00"), .sends("0D 03"),
        ]) { client, _ async throws in
            #expect(try await client.read(3) == Self.octets(22, 1) + Self.octets(22, 2) + [3])
        }
    }

    @Test("a value that ends exactly with a full response is whole, however the peer says that nothing follows", arguments: ["0D", "01 0C 03 00 07", "01 0C 03 00 0B"])
    func exact(ending: String) throws {
        try converse([.expects("0A 03 00"), .sendsOctets([0x0B] + Self.octets(22, 1)), .expects("0C 03 00 16 00"), .sends(ending)]) { client, _ async throws in
            #expect(try await client.read(3) == Self.octets(22, 1))
        }
    }

    @Test("a refusal in the middle of a long value is an error, not a short value")
    func refusedInTheMiddle() throws {
        try converse([.expects("0A 03 00"), .sendsOctets([0x0B] + Self.octets(22, 1)), .expects("0C 03 00 16 00"), .sends("01 0C 03 00 0E")]) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.read(3) } == GATTError(.att(.unlikelyError, request: .readBlobRequest, handle: 3)))
        }
    }

    @Test("Invalid Offset to the first request is an error, as nothing was read")
    func invalidOffsetAtFirst() throws {
        try converse([.expects("0A 03 00"), .sends("01 0A 03 00 07")]) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.read(3) }?.attCode == .invalidOffset)
        }
    }

    @Test("512 octets are the longest value, and nothing is asked for behind them")
    func longest() throws {
        try converse([.expects("02 05 02"), .sends("03 01 01"), .expects("0A 03 00"), .sendsOctets([0x0B] + Self.octets(256, 1)), .expects("0C 03 00 00 01"),
                      .sendsOctets([0x0D] + Self.octets(256, 2))]) { client, _ async throws in
            _ = try await client.exchangeMTU()
            #expect(try await client.read(3).count == 512)
        }
    }

    @Test("more than 512 octets are no value")
    func tooLong() throws {
        try converse([.expects("02 05 02"), .sends("03 05 02"), .expects("0A 03 00"), .sendsOctets([0x0B] + Self.octets(513, 1))]) { client, _ async throws in
            _ = try await client.exchangeMTU()
            #expect(await gattFailure { _ = try await client.read(3) }?.code == "gatt-implausible-response")
        }
    }

    @Test("a value is not cut short when the MTU grows between its request and its response")
    func growingMTU() throws {
        try converse([
            .expects("0A 03 00"), .sends("02 64 00"), .sendsOctets([0x0B] + Self.octets(22, 1)), .expects("03 05 02"), .expects("0C 03 00 16 00"), .sends("0D 02"),
        ]) { client, _ async throws in
            #expect(try await client.read(3) == Self.octets(22, 1) + [2])
        }
    }

    @Test("a write waits for its response")
    func write() throws {
        try converse([.expects("12 03 00 AA BB"), .waits(.seconds(29)), .sends("13")]) { client, _ async throws in
            try await client.write([0xAA, 0xBB], to: 3)
        }
    }

    @Test("a refused write names the error, the request and the handle")
    func refusedWrite() throws {
        try converse([.expects("12 03 00 AA"), .sends("01 12 03 00 FD")]) { client, _ async throws in
            let error = await gattFailure { try await client.write([0xAA], to: 3) }
            #expect(error == GATTError(.att(.clientCharacteristicConfigurationImproperlyConfigured, request: .writeRequest, handle: 3)))
            #expect(error?.description == "the peer refused a Write Request on 0x0003: Client Characteristic Configuration Descriptor Improperly Configured (0xFD)")
        }
    }

    @Test("reads and writes that are not answered time out after 30 s and close the bearer", arguments: [true, false])
    func timeout(reading: Bool) throws {
        try converse([.expects(reading ? "0A 03 00" : "12 03 00 AA")]) { client, recorder async throws in
            let error = await gattFailure {
                if reading { _ = try await client.read(3) } else { try await client.write([0xAA], to: 3) }
            }
            #expect(error == GATTError(.timeout(reading ? .readRequest : .writeRequest)))
            #expect(error?.code == "att-transaction-timeout")
            let closed = GATTError(.closed(.transactionTimeout(reading ? .readRequest : .writeRequest)))
            #expect(await gattFailure { _ = try await client.read(3) } == closed)
            #expect(await gattFailure { try await client.writeWithoutResponse([], to: 3) } == closed)
            #expect(await gattFailure { try await client.confirmIndication() } == closed)
        }
    }

    @Test("a command is sent at once, past an open request and past those that wait")
    func command() throws {
        try converse([.expects("0A 03 00"), .expects("52 05 00 01"), .sends("0B 07"), .expects("0A 04 00"), .sends("0B 08")]) { client, _ async throws in
            async let first = client.read(3)
            await settle(client)
            async let second = client.read(4)
            await settle(client)
            try await client.writeWithoutResponse([1], to: 5)
            #expect(try await first == [7])
            #expect(try await second == [8])
        }
    }

    @Test("one request is open at a time, and the next goes in the order of the calls")
    func queue() throws {
        try converse([
            .expects("0A 01 00"), .waits(.seconds(1)), .sends("0B 01"), .expects("0A 02 00"), .waits(.seconds(1)), .sends("01 0A 02 00 02"), .expects("12 03 00"), .sends("13"),
            .expects("0A 04 00"), .sends("0B 04"),
        ]) { client, _ async throws in
            async let first = client.read(1)
            await settle(client)
            async let second = gattFailure { _ = try await client.read(2) }
            await settle(client)
            async let third: Void = client.write([], to: 3)
            await settle(client)
            async let fourth = client.read(4)
            #expect(try await first == [1])
            #expect(await second?.attCode == .readNotPermitted)
            try await third
            #expect(try await fourth == [4])
        }
    }

    @Test("what does not fit the MTU is refused before it is sent", arguments: [20, 21])
    func fits(count: Int) throws {
        let value = Self.octets(count, 0)
        try converse(count == 20 ? [.expects("12 03 00 " + hexText(value)), .sends("13"), .expects("52 03 00 " + hexText(value))] : []) { client, _ async throws in
            let written = await gattFailure { try await client.write(value, to: 3) }
            let commanded = await gattFailure { try await client.writeWithoutResponse(value, to: 3) }
            #expect(written == (count == 20 ? nil : GATTError(.doesNotFit(.writeRequest, length: 24, mtu: 23))))
            #expect(commanded == (count == 20 ? nil : GATTError(.doesNotFit(.writeCommand, length: 24, mtu: 23))))
            #expect(await client.closure == nil)
        }
    }
}
