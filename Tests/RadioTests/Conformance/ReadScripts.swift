import Testing

@testable import Radio

/// A case that ends with the peer's refusal.
private func refused(_ name: String, _ request: String, _ refusal: String, _ call: @escaping @Sendable (GATTClient) async throws -> Void) -> ConformanceCase {
    ConformanceCase(name, smallDatabase + exchange("> \(request)\n< \(refusal)")) { client, _ async throws in
        try await client.open()
        let error = await gattFailure { try await call(client) }
        #expect(error?.attCode?.rawValue == hex(refusal)[4])
    }
}

/// The same where the security of the link can be raised: asked once more, the peer serves it.
private func served(_ name: String, _ request: String, _ refusal: String, _ response: String,
                    _ call: @escaping @Sendable (GATTClient) async throws -> Void) -> ConformanceCase {
    ConformanceCase(name, smallDatabase + exchange("> \(request)\n< \(refusal)\n> \(request)\n< \(response)"), raises: true) { client, _ async throws in
        try await client.open()
        try await call(client)
    }
}

private func read(_ handle: AttributeHandle) -> @Sendable (GATTClient) async throws -> Void {
    { client async throws in #expect(try await client.read(handle) == [1, 2, 3]) }
}

private func value(_ handle: AttributeHandle) -> @Sendable (GATTClient) async throws -> Void { { _ = try await $0.read(handle) } }

private var single: [ConformanceCase] { [
    ConformanceCase("TP/GAR/CL/BV-01-C", smallDatabase + exchange("> 0A 03 00\n< 0B 01 02 03")) { client, _ async throws in
        try await client.open()
        try await read(3)(client)
    },
    refused("TP/GAR/CL/BI-01-C", "0A 00 00", "01 0A 00 00 01", value(0)),
    refused("TP/GAR/CL/BI-02-C", "0A 03 00", "01 0A 03 00 02", value(3)),
    refused("TP/GAR/CL/BI-03-C", "0A 03 00", "01 0A 03 00 08", value(3)),
    refused("TP/GAR/CL/BI-04-C", "0A 03 00", "01 0A 03 00 05", value(3)),
    served("TP/GAR/CL/BI-04-C/auto", "0A 03 00", "01 0A 03 00 05", "0B 01 02 03", read(3)),
    refused("TP/GAR/CL/BI-05-C", "0A 03 00", "01 0A 03 00 0C", value(3)),
    refused("TP/GAR/CL/BI-34-C", "0A 03 00", "01 0A 03 00 80", value(3)),
    refused("TP/GAR/CL/BI-35-C", "0A 03 00", "01 0A 03 00 80", value(3)),
    // Descriptors are read as values are.
    ConformanceCase("TP/GAR/CL/BV-06-C", smallDatabase + exchange("> 0A 04 00\n< 0B 01 02 03")) { client, _ async throws in
        try await client.open()
        try await read(4)(client)
    },
    refused("TP/GAR/CL/BI-23-C", "0A 04 00", "01 0A 04 00 02", value(4)),
    refused("TP/GAR/CL/BI-24-C", "0A 00 00", "01 0A 00 00 01", value(0)),
    refused("TP/GAR/CL/BI-25-C", "0A 04 00", "01 0A 04 00 08", value(4)),
    refused("TP/GAR/CL/BI-26-C", "0A 04 00", "01 0A 04 00 05", value(4)),
    served("TP/GAR/CL/BI-26-C/auto", "0A 04 00", "01 0A 04 00 05", "0B 01 02 03", read(4)),
    refused("TP/GAR/CL/BI-27-C", "0A 04 00", "01 0A 04 00 0C", value(4)),
] }

private let shortType = "0D 2A"
private let longType = "0F 0E 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01 00"

private func byUUID(_ name: String, _ type: String, _ exchanges: String, expecting values: [[UInt8]]?, code: UInt8? = nil) -> ConformanceCase {
    ConformanceCase(name, mtuExchange + exchange(exchanges)) { client, _ async throws in
        _ = try await client.exchangeMTU()
        let uuid = BluetoothUUID(littleEndian: hex(type))!
        var found: [[UInt8]]?
        let error = await gattFailure { found = try await client.read(using: uuid).map(\.value) }
        #expect(found == values)
        #expect(error?.attCode?.rawValue == code)
    }
}

private var types: [ConformanceCase] { [
    byUUID("TP/GAR/CL/BV-03-C/1", shortType, """
        > 08 01 00 FF FF \(shortType)
        < 09 05 0A 00 01 02 03
        > 08 0B 00 FF FF \(shortType)
        < 01 08 0B 00 0A
        """, expecting: [[1, 2, 3]]),
    byUUID("TP/GAR/CL/BV-03-C/2", longType, """
        > 08 01 00 FF FF \(longType)
        < 09 05 0A 00 01 02 03
        > 08 0B 00 FF FF \(longType)
        < 01 08 0B 00 0A
        """, expecting: [[1, 2, 3]]),
    byUUID("TP/GAR/CL/BI-06-C", shortType, "> 08 01 00 FF FF \(shortType)\n< 01 08 0B 00 02", expecting: nil, code: 0x02),
    // Attribute Not Found is no failure here: there is no such value, and the list is empty.
    byUUID("TP/GAR/CL/BI-07-C", shortType, "> 08 01 00 FF FF \(shortType)\n< 01 08 0B 00 0A", expecting: []),
    byUUID("TP/GAR/CL/BI-06-C/invalid-handle", shortType, "> 08 01 00 FF FF \(shortType)\n< 01 08 01 00 01", expecting: nil, code: 0x01),
    byUUID("TP/GAR/CL/BI-09-C", shortType, "> 08 01 00 FF FF \(shortType)\n< 01 08 0B 00 08", expecting: nil, code: 0x08),
    byUUID("TP/GAR/CL/BI-10-C", shortType, "> 08 01 00 FF FF \(shortType)\n< 01 08 0B 00 05", expecting: nil, code: 0x05),
    byUUID("TP/GAR/CL/BI-11-C", shortType, "> 08 01 00 FF FF \(shortType)\n< 01 08 0B 00 0C", expecting: nil, code: 0x0C),
] }

private let full = hexText([UInt8](repeating: 0xFF, count: 511))

private func long(_ name: String, _ handle: AttributeHandle, _ exchanges: String, count: Int) -> ConformanceCase {
    ConformanceCase(name, smallDatabase + exchange(exchanges)) { client, _ async throws in
        try await client.open()
        #expect(try await client.read(handle).count == count)
    }
}

private var longValues: [ConformanceCase] { [
    long("TP/GAR/CL/BV-04-C", 3, "> 0A 03 00\n< 0B 01 02 03", count: 3),
    long("TP/GAR/CL/BV-04-C/512B", 3, "> 0A 03 00\n< 0B \(full)\n> 0C 03 00 FF 01\n< 0D FF", count: 512),
    // 511 octets fill the response: the peer says in one of three ways that nothing follows.
    long("TP/GAR/CL/BV-04-C/511B", 3, "> 0A 03 00\n< 0B \(full)\n> 0C 03 00 FF 01\n< 0D", count: 511),
    long("TP/GAR/CL/BV-04-C/511B/invalid-offset", 3, "> 0A 03 00\n< 0B \(full)\n> 0C 03 00 FF 01\n< 01 0C 03 00 07", count: 511),
    long("TP/GAR/CL/BV-04-C/511B/not-long", 3, "> 0A 03 00\n< 0B \(full)\n> 0C 03 00 FF 01\n< 01 0C 03 00 0B", count: 511),
    refused("TP/GAR/CL/BI-12-C", "0A 03 00", "01 0A 03 00 02", value(3)),
    refused("TP/GAR/CL/BI-13-C", "0A 03 00", "01 0A 03 00 07", value(3)),
    refused("TP/GAR/CL/BI-13-C/offset", "0C 03 00 F0 00", "01 0C 03 00 07") { _ = try await $0.readLong(3, from: 0xF0) },
    refused("TP/GAR/CL/BI-14-C", "0A 00 00", "01 0A 00 00 01", value(0)),
    refused("TP/GAR/CL/BI-15-C", "0A 03 00", "01 0A 03 00 08", value(3)),
    refused("TP/GAR/CL/BI-16-C", "0A 03 00", "01 0A 03 00 05", value(3)),
    served("TP/GAR/CL/BI-16-C/auto", "0A 03 00", "01 0A 03 00 05", "0B 01 02 03", read(3)),
    // A script in circulation answers the second Read Request with a Read Blob Response. That answers another request: the bearer is closed for it.
    served("TP/GAR/CL/BI-16-C/auto/other-response", "0A 03 00", "01 0A 03 00 05", "0D 01 02 03") { client async throws in
        let error = await gattFailure { _ = try await client.read(3) }
        #expect(error == GATTError(.closed(.violation(.mismatchedResponse(.readBlobResponse, to: .readRequest)))))
    },
    refused("TP/GAR/CL/BI-17-C", "0A 03 00", "01 0A 03 00 0C", value(3)),
    long("TP/GAR/CL/BV-07-C", 4, "> 0A 04 00\n< 0B 01 02 03", count: 3),
    long("TP/GAR/CL/BV-07-C/512B", 4, "> 0A 04 00\n< 0B \(full)\n> 0C 04 00 FF 01\n< 0D FF", count: 512),
    refused("TP/GAR/CL/BI-28-C", "0A 04 00", "01 0A 04 00 02", value(4)),
    refused("TP/GAR/CL/BI-29-C", "0A 04 00", "01 0A 04 00 07", value(4)),
    refused("TP/GAR/CL/BI-30-C", "0A 00 00", "01 0A 00 00 01", value(0)),
    refused("TP/GAR/CL/BI-31-C", "0A 04 00", "01 0A 04 00 08", value(4)),
    refused("TP/GAR/CL/BI-32-C", "0A 04 00", "01 0A 04 00 05", value(4)),
    served("TP/GAR/CL/BI-32-C/auto", "0A 04 00", "01 0A 04 00 05", "0B 01 02 03", read(4)),
    refused("TP/GAR/CL/BI-33-C", "0A 04 00", "01 0A 04 00 0C", value(4)),
] }

private let two: @Sendable (GATTClient) async throws -> Void = { client async throws in #expect(try await client.readMultiple([3, 7]) == [1, 2, 3]) }
private let twoVariable: @Sendable (GATTClient) async throws -> Void = { _ = try await $0.readMultipleVariable([3, 7]) }

private var multiple: [ConformanceCase] { [
    ConformanceCase("TP/GAR/CL/BV-05-C", smallDatabase + exchange("> 0E 03 00 07 00\n< 0F 01 02 03")) { client, _ async throws in
        try await client.open()
        try await two(client)
    },
    refused("TP/GAR/CL/BI-18-C", "0E 03 00 07 00", "01 0E 03 00 02", two),
    refused("TP/GAR/CL/BI-19-C", "0E 03 00 07 00", "01 0E 03 00 01", two),
    refused("TP/GAR/CL/BI-20-C", "0E 03 00 07 00", "01 0E 03 00 08", two),
    refused("TP/GAR/CL/BI-21-C", "0E 03 00 07 00", "01 0E 03 00 05", two),
    served("TP/GAR/CL/BI-21-C/auto", "0E 03 00 07 00", "01 0E 03 00 05", "0F 01 02 03", two),
    refused("TP/GAR/CL/BI-22-C", "0E 03 00 07 00", "01 0E 03 00 0C", two),
    ConformanceCase("TP/GAR/CL/BV-05-C/variable", smallDatabase + exchange("> 20 03 00 07 00\n< 21 03 00 01 02 03 01 00 0A")) { client, _ async throws in
        try await client.open()
        #expect(try await client.readMultipleVariable([3, 7]) == [
            GATTValue(handle: 3, value: [1, 2, 3], isWhole: true), GATTValue(handle: 7, value: [10], isWhole: true),
        ])
    },
    refused("TP/GAR/CL/BI-18-C/variable", "20 03 00 07 00", "01 20 03 00 02", twoVariable),
    refused("TP/GAR/CL/BI-19-C/variable", "20 03 00 07 00", "01 20 07 00 01", twoVariable),
    refused("TP/GAR/CL/BI-20-C/variable", "20 03 00 07 00", "01 20 03 00 08", twoVariable),
    refused("TP/GAR/CL/BI-21-C/variable", "20 03 00 07 00", "01 20 03 00 05", twoVariable),
    refused("TP/GAR/CL/BI-22-C/variable", "20 03 00 07 00", "01 20 03 00 0C", twoVariable),
] }

@Suite("Conformance: reading (GAR)")
struct ReadScripts {
    @Test("the exchange is the test case's", arguments: single + types + longValues + multiple)
    func exchanges(_ test: ConformanceCase) throws { try test.check() }
}
