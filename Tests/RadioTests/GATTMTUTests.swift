import Testing

@testable import Radio

@Suite("MTU exchange")
struct GATTMTUTests {
    @Test("the smaller of both sides' MTU holds, and never less than 23", arguments: [
        (UInt16(517), "03 05 02", UInt16(517)), (517, "03 B9 00", 185), (247, "03 05 02", 247), (517, "03 17 00", 23), (517, "03 05 00", 23), (517, "03 00 00", 23),
        (517, "03 FF FF", 517),
    ])
    func minimum(ours: UInt16, answer: String, effective: UInt16) throws {
        try converse([.expects(hexText(ATTPDU.exchangeMTURequest(clientReceiveMTU: ours).octets)), .sends(answer)], receiveMTU: ours) { client, _ async throws in
            #expect(await client.mtu == 23)
            #expect(try await client.exchangeMTU() == effective)
            #expect(await client.mtu == effective)
        }
    }

    @Test("the exchange is asked for once on a bearer")
    func once() throws {
        try converse([.expects("02 05 02"), .sends("03 F7 00")]) { client, _ async throws in
            #expect(try await client.exchangeMTU() == 247)
            #expect(try await client.exchangeMTU() == 247)
        }
    }

    @Test("a peer that does not support the exchange keeps 23")
    func notSupported() throws {
        try converse([.expects("02 05 02"), .sends("01 02 00 00 06")]) { client, _ async throws in
            #expect(try await client.exchangeMTU() == 23)
        }
    }

    @Test("another refusal of the exchange is an error")
    func refused() throws {
        try converse([.expects("02 05 02"), .sends("01 02 00 00 0E")]) { client, _ async throws in
            let error = await gattFailure { _ = try await client.exchangeMTU() }
            #expect(error?.attCode == .unlikelyError)
        }
    }

    @Test("the peer's own request is answered with our MTU and applied")
    func peerAsks() throws {
        try converse([.sends("02 64 00"), .expects("12 06 00"), .expects("03 05 02"), .sends("13"), .expects("0A 03 00"),
                      .sendsOctets([0x0B] + [UInt8](repeating: 7, count: 98))]) { client, _ async throws in
            try await client.write([], to: 6)
            #expect(try await client.read(3).count == 98)
            #expect(await client.mtu == 100)
        }
    }

    @Test("the peer's request is answered while ours is open, and both agree afterwards")
    func crossing() throws {
        try converse([.expects("02 05 02"), .sends("02 F7 00"), .expects("03 05 02"), .sends("03 F7 00")]) { client, _ async throws in
            #expect(try await client.exchangeMTU() == 247)
        }
    }

    @Test("values that come between our request and its response are delivered, and the exchange goes on")
    func interleaved() throws {
        try converse([
            .expects("12 04 00 01 00"), .sends("13"),
            .expects("02 05 02"), .sends("1B 03 00 AA"), .sends("02 05 02"), .expects("03 05 02"), .sends("1B 03 00 BB"), .sends("03 05 02"),
        ]) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record)
            #expect(try await client.exchangeMTU() == 517)
            #expect(recorder.values.map(\.value) == [[0xAA], [0xBB]])
        }
    }

    @Test("a value as long as the new MTU may follow the response at once")
    func applied() throws {
        let long = [UInt8](repeating: 0x55, count: 322)
        try converse([
            .expects("12 04 00 01 00"), .sends("13"), .expects("02 05 02"), .sends("03 45 01"), .sendsOctets([0x1B, 0x03, 0x00] + long),
        ]) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record)
            #expect(try await client.exchangeMTU() == 325)
            #expect(recorder.values.map(\.value) == [long])
            #expect(await client.closure == nil)
        }
    }

    @Test("a second exchange while the first is open is refused, and the first goes on")
    func twice() throws {
        try converse([.expects("02 05 02"), .waits(.seconds(1)), .sends("03 F7 00")]) { client, _ async throws in
            async let first = client.exchangeMTU()
            async let second = gattFailure { _ = try await client.exchangeMTU() }
            // Whichever began first has the exchange.
            let outcome = await (try? first, second)
            #expect(outcome.0 == 247)
            #expect(outcome.1?.code == "gatt-procedure-in-progress")
        }
    }
}

extension GATTCharacteristic {
    /// A characteristic with its value at 0x0003 and its configuration at 0x0004.
    static let sample = GATTCharacteristic(uuid: .uuid16(0x2A37), properties: [.notify, .indicate], declarationHandle: 2, valueHandle: 3, endHandle: 5)

    /// The same, with the configuration descriptor found already, so that a script need not walk there.
    static func known(_ client: GATTClient) async -> GATTCharacteristic {
        await client.remember(configuration: 4, of: 3)
        return sample
    }
}
