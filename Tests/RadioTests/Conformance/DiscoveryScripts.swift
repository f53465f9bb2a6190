import Testing

@testable import Radio

private var configuration: [ConformanceCase] { [
    ConformanceCase("TP/GAC/CL/BV-01-C", mtuExchange) { client, _ async throws in
        #expect(try await client.exchangeMTU() == 512)
    },
] }

private var primary: [ConformanceCase] { [
    ConformanceCase("TP/GAD/CL/BV-01-C", mtuExchange + exchange("""
        > 10 01 00 FF FF 00 28
        < 11 06 10 00 13 00 00 18 20 00 29 00 B0 68 30 00 32 00 19 18
        > 10 33 00 FF FF 00 28
        < 11 14 90 00 96 00 EF CD AB 89 67 45 23 01 00 00 00 00 85 60 00 00
        > 10 97 00 FF FF 00 28
        < 01 10 97 00 0A
        """)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        let services = try await client.discoverPrimaryServices()
        #expect(services.map(\.uuid) == [.uuid16(0x1800), .uuid16(0x68B0), .uuid16(0x1819), BluetoothUUID("00006085-0000-0000-0123-456789abcdef")!])
        #expect(services.map(\.endHandle) == [0x13, 0x29, 0x32, 0x96])
    },
    ConformanceCase("TP/GAD/CL/BV-01-C/small", mtuExchange + exchange("""
        > 10 01 00 FF FF 00 28
        < 11 06 10 F0 18 F0 00 18 FF FF FF FF 0A 18
        """)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        #expect(try await client.discoverPrimaryServices().map(\.startHandle) == [0xF010, 0xFFFF])
    },
    ConformanceCase("TP/GAD/CL/BV-02-C/1", mtuExchange + exchange("""
        > 06 01 00 FF FF 00 28 00 18
        < 07 01 00 07 00
        > 06 08 00 FF FF 00 28 00 18
        < 01 06 08 00 0A
        """)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        #expect(try await client.discoverPrimaryServices(.uuid16(0x1800)) == [GATTService(uuid: .uuid16(0x1800), startHandle: 1, endHandle: 7)])
    },
    // The client says a UUID in its shortest form unless it is told to say it in full, as here.
    ConformanceCase("TP/GAD/CL/BV-02-C/2", mtuExchange + exchange("""
        > 06 01 00 FF FF 00 28 FB 34 9B 5F 80 00 00 80 00 10 00 00 0D 18 00 00
        < 07 10 00 17 00
        > 06 18 00 FF FF 00 28 FB 34 9B 5F 80 00 00 80 00 10 00 00 0D 18 00 00
        < 01 06 18 00 0A
        """)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        let services = try await client.discoverPrimaryServices(.uuid16(0x180D), inFull: true)
        #expect(services == [GATTService(uuid: .uuid16(0x180D), startHandle: 0x10, endHandle: 0x17)])
    },
] }

private var parts: [ConformanceCase] { [
    ConformanceCase("TP/GAD/CL/BV-03-C", mtuExchange + exchange("""
        > 08 01 00 FF FF 02 28
        < 09 08 02 00 10 00 1F 00 0F 18
        > 08 03 00 FF FF 02 28
        < 09 06 03 00 20 00 2F 00 04 00 30 00 3F 00
        > 0A 20 00
        < 0B 00 00 3E 39 00 00 00 00 01 23 45 67 89 AB CD EF
        > 0A 30 00
        < 0B 00 00 3B 39 00 00 00 00 01 23 45 67 89 AB CD EF
        > 08 05 00 FF FF 02 28
        < 09 08 05 00 40 00 4F 00 0A 18
        > 08 06 00 FF FF 02 28
        < 01 08 06 00 0A
        """)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        let included = try await client.discoverIncludedServices(of: .range(1, 0xFFFF))
        #expect(included.map(\.handle) == [2, 3, 4, 5])
        #expect(included.map(\.service.startHandle) == [0x10, 0x20, 0x30, 0x40])
        #expect(included.map(\.service.endHandle) == [0x1F, 0x2F, 0x3F, 0x4F])
        #expect(included.map(\.service.uuid.description) == ["180F", "efcdab89-6745-2301-0000-0000393e0000", "efcdab89-6745-2301-0000-0000393b0000", "180A"])
    },
    characteristics("TP/GAD/CL/BV-04-C") { client async throws in
        #expect(try await client.discoverCharacteristics(of: .range(0x10, 0x20)) == [
            GATTCharacteristic(uuid: .uuid16(0x2A25), properties: .read, declarationHandle: 0x11, valueHandle: 0x12, endHandle: 0x12),
            GATTCharacteristic(uuid: longUUID, properties: .read,
                               declarationHandle: 0x13, valueHandle: 0x14, endHandle: 0x20),
        ])
    },
    // Discovery by UUID asks for the same, as only all declarations show where a characteristic ends.
    characteristics("TP/GAD/CL/BV-05-C") { client async throws in
        let found = try await client.discoverCharacteristics(.uuid16(0x2A25), of: .range(0x10, 0x20))
        #expect(found.map(\.valueHandle) == [0x12])
    },
    ConformanceCase("TP/GAD/CL/BV-06-C", mtuExchange + exchange("""
        > 04 13 00 16 00
        < 05 01 13 00 02 29 14 00 03 29
        > 04 15 00 16 00
        < 05 01 15 00 04 29 16 00 05 29
        """)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        let characteristic = GATTCharacteristic(uuid: .uuid16(0x2A00), properties: .read, declarationHandle: 0x11, valueHandle: 0x12, endHandle: 0x16)
        let descriptors = try await client.discoverDescriptors(of: characteristic)
        #expect(descriptors.map(\.uuid.number16) == [0x2902, 0x2903, 0x2904, 0x2905])
    },
] }

private let longUUID = BluetoothUUID(littleEndian: hex("85 00 EF CD AB 89 67 45 23 01 00 00 00 00 00 00"))!

private func characteristics(_ name: String, _ run: @escaping @Sendable (GATTClient) async throws -> Void) -> ConformanceCase {
    // The error names another handle than the request: nothing hangs on it.
    ConformanceCase(name, mtuExchange + exchange("""
        > 08 10 00 20 00 03 28
        < 09 07 11 00 02 12 00 25 2A
        > 08 12 00 20 00 03 28
        < 09 15 13 00 02 14 00 85 00 EF CD AB 89 67 45 23 01 00 00 00 00 00 00
        > 08 14 00 20 00 03 28
        < 01 08 12 00 0A
        """)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        try await run(client)
    }
}

private var whole: [ConformanceCase] { [
    ConformanceCase("TP/GAD/CL/BV-06-C/client-1", smallDatabase) { client, _ async throws in
        _ = try await client.exchangeMTU()
        let database = try await client.discoverDatabase()
        #expect(database.services.map(\.service.uuid.number16) == [0x1801, 0x180D])
        #expect(database.services.allSatisfy { $0.characteristics.map { $0.descriptors.map(\.uuid.number16) } == [[0x2901]] })
    },
    ConformanceCase("TP/GAD/CL/BV-06-C/client-2", mtuExchange + exchange("""
        > 10 01 00 FF FF 00 28
        < 11 06 01 00 04 00 01 18
        > 10 05 00 FF FF 00 28
        < 11 06 05 00 0A 00 0D 18
        > 10 0B 00 FF FF 00 28
        < 01 10 0B 00 0A
        > 10 01 00 FF FF 01 28
        < 01 10 01 00 0A
        > 08 01 00 04 00 02 28
        < 01 08 01 00 0A
        > 08 05 00 0A 00 02 28
        < 01 08 05 00 0A
        > 08 01 00 04 00 03 28
        < 09 07 02 00 02 03 00 00 2A
        > 08 03 00 04 00 03 28
        < 01 08 03 00 0A
        > 04 04 00 04 00
        < 05 01 04 00 01 29
        > 08 05 00 0A 00 03 28
        < 09 07 07 00 0A 08 00 29 2A
        > 08 08 00 0A 00 03 28
        < 01 08 08 00 0A
        > 04 09 00 0A 00
        < 05 01 0A 00 01 29
        """)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        let database = try await client.discoverDatabase()
        #expect(database.services[1].characteristics[0].descriptors == [GATTDescriptor(uuid: .uuid16(0x2901), handle: 0x0A)])
    },
    ConformanceCase("TP/GAD/CL/BV-06-C/client-3", mtuExchange + exchange("""
        > 10 01 00 FF FF 00 28
        < 11 06 00 01 21 01 00 18 00 02 00 02 01 18
        > 10 01 02 FF FF 00 28
        < 11 06 00 03 20 03 0D 18
        > 10 21 03 FF FF 00 28
        < 01 10 21 03 0A
        > 10 01 00 FF FF 01 28
        < 01 10 01 00 0A
        > 08 00 01 21 01 02 28
        < 01 08 00 01 0A
        > 08 00 03 20 03 02 28
        < 01 08 00 03 0A
        > 08 00 01 21 01 03 28
        < 09 07 10 01 02 11 01 00 2A 20 01 02 21 01 01 2A
        > 08 21 01 21 01 03 28
        < 01 08 21 01 0A
        > 04 12 01 1F 01
        < 01 04 12 01 0A
        > 08 00 03 20 03 03 28
        < 09 07 10 03 0A 11 03 29 2A
        > 08 11 03 20 03 03 28
        < 01 08 11 03 0A
        > 04 12 03 20 03
        < 05 01 20 03 02 29
        """)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        let database = try await client.discoverDatabase()
        #expect(database.services.map(\.characteristics.count) == [2, 0, 1])
    },
] }

@Suite("Conformance: configuration and discovery (GAC, GAD)")
struct DiscoveryScripts {
    @Test("the exchange is the test case's", arguments: configuration + primary + parts + whole)
    func exchanges(_ test: ConformanceCase) throws { try test.check() }
}
