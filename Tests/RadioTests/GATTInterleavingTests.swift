import Testing

@testable import Radio

/// A request with its response, and the call that makes it.
private struct Transaction: Sendable, CustomTestStringConvertible {
    let request: String
    let response: String
    let call: @Sendable (GATTClient) async throws -> Void

    var testDescription: String { "\(ATTOpcode(rawValue: hex(request)[0]))" }
}

private let service = GATTService(uuid: .uuid16(0x180D), startHandle: 0x20, endHandle: 0x21)

private let transactions: [Transaction] = [
    Transaction(request: "02 05 02", response: "03 F7 00") { client async throws in #expect(try await client.exchangeMTU() == 247) },
    Transaction(request: "04 21 00 22 00", response: "05 01 22 00 02 29") {
        _ = try await $0.discoverDescriptors(of: GATTCharacteristic(uuid: .uuid16(0x2A37), properties: [], declarationHandle: 0x1F, valueHandle: 0x20, endHandle: 0x22))
    },
    Transaction(request: "06 01 00 FF FF 00 28 0D 18", response: "07 20 00 FF FF") { _ = try await $0.discoverPrimaryServices(.uuid16(0x180D)) },
    Transaction(request: "08 20 00 21 00 37 2A", response: "09 03 21 00 07") { _ = try await $0.read(using: .uuid16(0x2A37), in: service) },
    Transaction(request: "0A 20 00", response: "0B 07") { client async throws in #expect(try await client.read(0x20) == [7]) },
    Transaction(request: "0C 20 00 01 00", response: "0D 07") { client async throws in #expect(try await client.readLong(0x20, from: 1) == [7]) },
    Transaction(request: "0E 20 00 21 00", response: "0F 07") { client async throws in #expect(try await client.readMultiple([0x20, 0x21]) == [7]) },
    Transaction(request: "10 01 00 FF FF 00 28", response: "11 06 01 00 FF FF 0D 18") { client async throws in #expect(try await client.discoverPrimaryServices().count == 1) },
    Transaction(request: "12 20 00 01", response: "13") { try await $0.write([1], to: 0x20) },
    Transaction(request: "20 20 00 21 00", response: "21 01 00 07 00 00") { client async throws in #expect(try await client.readMultipleVariable([0x20, 0x21]).map(\.value) == [[7], []]) },
    Transaction(request: "0A 20 00", response: "01 0A 20 00 02") { client async throws in
        #expect(await gattFailure { _ = try await client.read(0x20) }?.attCode == .readNotPermitted)
    },
]

@Suite("What a peer sends while a request is open")
struct GATTInterleavingTests {
    @Test("notifications, an indication, requests and commands pass between every request and its response", arguments: transactions)
    fileprivate func everything(_ transaction: Transaction) throws {
        try converse(exchange("""
            > 12 04 00 03 00
            < 13
            > \(transaction.request)
            < 1B 03 00 01
            < 02 17 00
            > 03 05 02
            < 1D 03 00 02
            < 0A 01 00
            > 01 0A 01 00 01
            < 23 03 00 01 00 03 03 00 01 00 04
            < 52 01 00 01
            < 10 01 00 FF FF 00 28
            > 01 10 01 00 0A
            < D2 01 00
            < 1B 03 00 05
            < \(transaction.response)
            > 1E
            """)) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .notificationsAndIndications, handler: recorder.record)
            try await transaction.call(client)
            #expect(recorder.values.map(\.value) == [[1], [2], [3], [4], [5]])
            #expect(recorder.values.map(\.isIndication) == [false, true, false, false, false])
            try await client.confirmIndication()
        }
    }

    @Test("an indication is confirmed while a request is open", arguments: transactions)
    fileprivate func confirmed(_ transaction: Transaction) throws {
        try converse(exchange("""
            > 12 04 00 02 00
            < 13
            > \(transaction.request)
            < 1D 03 00 01
            > 1E
            < 1D 03 00 02
            > 1E
            < \(transaction.response)
            """)) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .indications) { update in
                recorder.record(update)
                client.assumeIsolated { try? $0.confirmIndication() }
            }
            try await transaction.call(client)
            #expect(recorder.values.map(\.value) == [[1], [2]])
        }
    }

    @Test("a peer may ask before, within and after its own MTU exchange, and after ours")
    func exchanges() throws {
        try converse(exchange("""
            < 04 01 00 FF FF
            > 01 04 01 00 0A
            < 02 64 00
            > 03 05 02
            < 08 01 00 FF FF 03 28
            > 01 08 01 00 0A
            > 02 05 02
            < 06 01 00 FF FF 00 28 0D 18
            > 01 06 01 00 0A
            < 03 64 00
            < 0C 01 00 00 00
            > 01 0C 01 00 01
            """)) { client, _ async throws in
            await settle(client)
            #expect(try await client.exchangeMTU() == 100)
            await settle(client)
            #expect(await client.closure == nil)
        }
    }
}
