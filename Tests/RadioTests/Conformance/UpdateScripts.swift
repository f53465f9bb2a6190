import Testing

@testable import Radio

/// Services 0xF010-0xF018 and 0xFFFF, and a secondary one at 0x0001-0x0010 that the first includes. Its characteristic notifies and indicates.
private let includedDatabase = mtuExchange + exchange("""
    > 10 01 00 FF FF 00 28
    < 11 06 10 F0 18 F0 00 18 FF FF FF FF 0A 18
    > 10 01 00 FF FF 01 28
    < 11 06 01 00 10 00 0A 18
    > 10 11 00 FF FF 01 28
    < 01 10 11 00 0A
    > 08 10 F0 18 F0 02 28
    < 09 08 11 F0 01 00 0F 00 0A 18
    > 08 12 F0 18 F0 02 28
    < 01 08 12 F0 0A
    > 08 01 00 10 00 02 28
    < 01 08 01 00 0A
    > 08 10 F0 18 F0 03 28
    < 09 07 12 F0 02 13 F0 00 2A
    > 08 13 F0 18 F0 03 28
    < 09 15 14 F0 82 15 F0 EF CD AB 89 67 45 23 01 00 00 00 00 09 B0 00 00
    > 08 15 F0 18 F0 03 28
    < 09 07 17 F0 02 18 F0 01 2A
    > 08 18 F0 18 F0 03 28
    < 01 08 18 F0 0A
    > 04 16 F0 16 F0
    < 05 01 16 F0 00 29
    > 08 01 00 10 00 03 28
    < 09 07 02 00 B2 03 00 29 2A
    > 08 03 00 10 00 03 28
    < 01 08 03 00 0A
    > 04 04 00 10 00
    < 05 01 04 00 02 29 05 00 01 29
    > 04 06 00 10 00
    < 01 04 06 00 0A
    """)

/// Subscribes the characteristic at 0x0003 both ways, as the scripts do.
private func subscribe(_ client: GATTClient, _ recorder: UpdateRecorder) async throws {
    try await client.open()
    let database = await client.database
    let found = try #require(database?.characteristic(valueHandle: 3)?.characteristic)
    try await client.subscribe(to: found, as: .notificationsAndIndications, handler: recorder.record)
}

private var updates: [ConformanceCase] { [
    ConformanceCase("TP/GAN/CL/BV-01-C", includedDatabase + exchange("""
        > 12 04 00 03 00
        < 13
        < 1B 03 00 01 02 03
        """)) { client, recorder async throws in
        try await subscribe(client, recorder)
        await settle(client)
        #expect(recorder.values == [ValueUpdate(handle: 3, value: [1, 2, 3], isIndication: false)])
    },
    ConformanceCase("TP/GAN/CL/BV-01-C/multiple", includedDatabase + exchange("""
        > 12 04 00 03 00
        < 13
        < 23 03 00 01 00 0A 03 00 02 00 0B 0C
        """)) { client, recorder async throws in
        try await subscribe(client, recorder)
        await settle(client)
        #expect(recorder.values.map(\.value) == [[0x0A], [0x0B, 0x0C]])
    },
    // The confirmation is the caller's to give, when it has done what the peer may forget the value for.
    ConformanceCase("TP/GAI/CL/BV-01-C", includedDatabase + exchange("""
        > 12 04 00 03 00
        < 13
        < 1D 03 00 01 02 03
        > 1E
        """)) { client, recorder async throws in
        try await subscribe(client, recorder)
        await settle(client)
        #expect(recorder.values == [ValueUpdate(handle: 3, value: [1, 2, 3], isIndication: true)])
        try await client.confirmIndication()
    },
] }

private let hash = "00 11 22 33 44 55 66 77 88 99 AA BB CC DD EE FF"
private let newHash = "FF EE DD CC BB AA 99 88 77 66 55 44 33 22 11 00"

private var changes: [ConformanceCase] { [
    // Only what the indication names is discovered again.
    ConformanceCase("TP/GAS/CL/BV-01-C", GATTScripts.opening(hash) + exchange("""
        < 1D 03 00 10 00 14 00
        > 1E
        """) + GATTScripts.hashIs(newHash) + exchange("""
        > 10 10 00 14 00 00 28
        < 11 06 10 00 14 00 0D 18
        > 10 10 00 14 00 01 28
        < 01 10 10 00 0A
        > 08 10 00 14 00 02 28
        < 01 08 10 00 0A
        > 08 10 00 14 00 03 28
        < 09 07 11 00 1A 13 00 37 2A
        > 08 12 00 14 00 03 28
        < 01 08 12 00 0A
        > 04 14 00 14 00
        < 05 01 14 00 02 29
        """)) { client, _ async throws in
        _ = try await client.openDatabase()
        await settle(client)
        let database = await client.database
        #expect(database?.hash == hex(newHash))
        #expect(database?.characteristics(.uuid16(0x2A37)).map(\.characteristic.valueHandle) == [0x13])
        #expect(database?.characteristics(.serviceChanged).count == 1)
    },
] }

private var timeouts: [ConformanceCase] { [
    // After the timeout nothing more is sent, whatever is asked for.
    ConformanceCase("TP/GAT/CL/BV-01-C", exchange("> 0A 03 00")) { client, recorder async throws in
        #expect(await gattFailure { _ = try await client.read(3) } == GATTError(.timeout(.readRequest)))
        await nothingMore(client)
        await settle(client)
        #expect(recorder.closures == [.transactionTimeout(.readRequest)])
    },
    ConformanceCase("TP/GAT/CL/BV-02-C", exchange("> 12 03 00 01")) { client, recorder async throws in
        #expect(await gattFailure { try await client.write([1], to: 3) } == GATTError(.timeout(.writeRequest)))
        await nothingMore(client)
        await settle(client)
        #expect(recorder.closures == [.transactionTimeout(.writeRequest)])
    },
    ConformanceCase("TP/GAT/CL/BV-01-C/mtu", exchange("> 02 00 02")) { client, _ async throws in
        #expect(await gattFailure { _ = try await client.exchangeMTU() } == GATTError(.timeout(.exchangeMTURequest)))
        await nothingMore(client)
    },
    ConformanceCase("TP/GAT/CL/BV-02-C/queue", exchange("> 16 03 00 00 00 01")) { client, _ async throws in
        #expect(await gattFailure { try await client.writeLong([1], to: 3) } == GATTError(.timeout(.prepareWriteRequest)))
        await nothingMore(client)
    },
] }

private func nothingMore(_ client: GATTClient) async {
    #expect(await gattFailure { _ = try await client.read(4) }?.code == "att-transaction-timeout")
    #expect(await gattFailure { try await client.writeWithoutResponse([1], to: 4) }?.code == "att-transaction-timeout")
    #expect(await gattFailure { try await client.writeLong([1], to: 4) }?.code == "att-transaction-timeout")
    #expect(await gattFailure { _ = try await client.discoverDatabase() }?.code == "att-transaction-timeout")
    #expect(await gattFailure { try await client.confirmIndication() }?.code == "att-transaction-timeout")
}

@Suite("Conformance: values from the peer, Service Changed, timeouts (GAN, GAI, GAS, GAT)")
struct UpdateScripts {
    @Test("the exchange is the test case's", arguments: updates + changes + timeouts)
    func exchanges(_ test: ConformanceCase) throws { try test.check() }
}
