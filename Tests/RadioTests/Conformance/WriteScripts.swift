import Testing

@testable import Radio

private typealias Call = @Sendable (GATTClient) async throws -> Void

private let value: [UInt8] = [1, 2, 3]

private func taken(_ name: String, _ exchanges: String, raises: Bool = false, isEncrypted: Bool = false, _ call: @escaping Call) -> ConformanceCase {
    ConformanceCase(name, smallDatabase + exchange(exchanges), raises: raises, isEncrypted: isEncrypted) { client, _ async throws in
        try await client.open()
        try await call(client)
    }
}

private func refused(_ name: String, _ exchanges: String, _ code: UInt8, _ call: @escaping Call) -> ConformanceCase {
    ConformanceCase(name, smallDatabase + exchange(exchanges)) { client, _ async throws in
        try await client.open()
        let error = await gattFailure { try await call(client) }
        #expect(error?.attCode?.rawValue == code)
    }
}

private func write(_ handle: AttributeHandle) -> Call { { try await $0.write(value, to: handle) } }
private func writeLong(_ handle: AttributeHandle) -> Call { { try await $0.writeLong(value, to: handle) } }
private func writeReliably(_ handle: AttributeHandle) -> Call { { try await $0.writeReliably([GATTWrite(value, to: handle)]) } }

/// A refused Write Request.
private func refusedWrite(_ name: String, _ handle: String, _ code: String, _ call: @escaping Call) -> ConformanceCase {
    refused(name, "> 12 \(handle) 01 02 03\n< 01 12 \(handle) \(code)", hex(code)[0], call)
}

/// A refused Prepare Write Request: the queue is discarded after it.
private func refusedPrepare(_ name: String, _ handle: String, _ code: String, _ call: @escaping Call) -> ConformanceCase {
    refused(name, "> 16 \(handle) 00 00 01 02 03\n< 01 16 \(handle) \(code)\n> 18 00\n< 19", hex(code)[0], call)
}

private let csrk = SigningKey(littleEndian: hex("D8 51 59 48 45 1F EA 32 0D C0 5A 2E 88 30 81 88"))!

private var single: [ConformanceCase] { [
    taken("TP/GAW/CL/BV-01-C", "> 52 07 00 01 02 03") { try await $0.writeWithoutResponse(value, to: 7) },
    taken("TP/GAW/CL/BV-02-C", "> D2 07 00 01 02 03 00 00 00 00 31 1F 0A CD 1C 3A 5B 0A") {
        try await $0.writeSigned(value, to: 7, key: csrk, counter: 0)
    },
    taken("TP/GAW/CL/BV-02-C/seclevel", "> 52 07 00 01 02 03", isEncrypted: true) { try await $0.writeSigned(value, to: 7, key: csrk, counter: 0) },
    taken("TP/GAW/CL/BV-03-C", "> 12 07 00 01 02 03\n< 13", write(7)),
    refusedWrite("TP/GAW/CL/BI-02-C", "00 00", "01", write(0)),
    refusedWrite("TP/GAW/CL/BI-03-C", "07 00", "03", write(7)),
    refusedWrite("TP/GAW/CL/BI-04-C", "07 00", "08", write(7)),
    refusedWrite("TP/GAW/CL/BI-05-C", "07 00", "05", write(7)),
    taken("TP/GAW/CL/BI-05-C/auto", "> 12 07 00 01 02 03\n< 01 12 07 00 05\n> 12 07 00 01 02 03\n< 13", raises: true, write(7)),
    refusedWrite("TP/GAW/CL/BI-06-C", "07 00", "0C", write(7)),
    refusedWrite("TP/GAW/CL/BI-03-C/length", "07 00", "0D", write(7)),
    taken("TP/GAW/CL/BV-08-C", "> 12 08 00 01 02 03\n< 13", write(8)),
    refusedWrite("TP/GAW/CL/BI-20-C", "00 00", "01", write(0)),
    refusedWrite("TP/GAW/CL/BI-21-C", "08 00", "03", write(8)),
    refusedWrite("TP/GAW/CL/BI-22-C", "08 00", "08", write(8)),
    refusedWrite("TP/GAW/CL/BI-23-C", "08 00", "05", write(8)),
    taken("TP/GAW/CL/BI-23-C/auto", "> 12 08 00 01 02 03\n< 01 12 08 00 05\n> 12 08 00 01 02 03\n< 13", raises: true, write(8)),
    refusedWrite("TP/GAW/CL/BI-24-C", "08 00", "0C", write(8)),
] }

private func longest(_ handle: String) -> String {
    let first = hexText([UInt8](repeating: 0xFF, count: 507)), last = "FF FF FF FF FF"
    return """
        > 16 \(handle) 00 00 \(first)
        < 17 \(handle) 00 00 \(first)
        > 16 \(handle) FB 01 \(last)
        < 17 \(handle) FB 01 \(last)
        > 18 01
        < 19
        """
}

private var queued: [ConformanceCase] { [
    taken("TP/GAW/CL/BV-05-C", longest("07 00")) { try await $0.writeLong([UInt8](repeating: 0xFF, count: 512), to: 7) },
    refusedPrepare("TP/GAW/CL/BI-07-C", "00 00", "01", writeLong(0)),
    refusedPrepare("TP/GAW/CL/BI-08-C", "03 00", "03", writeLong(3)),
    refused("TP/GAW/CL/BI-09-C", "> 16 07 00 00 00 01 02 03\n< 17 07 00 00 00 01 02 03\n> 18 01\n< 01 18 07 00 07", 0x07, writeLong(7)),
    refusedPrepare("TP/GAW/CL/BI-11-C", "07 00", "08", writeLong(7)),
    refusedPrepare("TP/GAW/CL/BI-12-C", "07 00", "05", writeLong(7)),
    refusedPrepare("TP/GAW/CL/BI-13-C", "07 00", "0C", writeLong(7)),
    taken("TP/GAW/CL/BV-06-C", "> 16 07 00 00 00 01 02 03\n< 17 07 00 00 00 01 02 03\n> 18 01\n< 19", writeReliably(7)),
    refusedPrepare("TP/GAW/CL/BI-14-C", "00 00", "01", writeReliably(0)),
    refusedPrepare("TP/GAW/CL/BI-15-C", "03 00", "03", writeReliably(3)),
    refusedPrepare("TP/GAW/CL/BI-17-C", "07 00", "08", writeReliably(7)),
    refusedPrepare("TP/GAW/CL/BI-18-C", "07 00", "05", writeReliably(7)),
    taken("TP/GAW/CL/BI-18-C/auto", """
        > 16 07 00 00 00 01 02 03
        < 01 16 07 00 05
        > 16 07 00 00 00 01 02 03
        < 17 07 00 00 00 01 02 03
        > 18 01
        < 19
        """, raises: true, writeReliably(7)),
    refusedPrepare("TP/GAW/CL/BI-19-C", "07 00", "0C", writeReliably(7)),
    taken("TP/GAW/CL/BV-06-C/several", """
        > 16 03 00 00 00 01 02 03
        < 17 03 00 00 00 01 02 03
        > 16 15 F0 00 00 01 02 03
        < 17 15 F0 00 00 01 02 03
        > 16 03 00 03 00 04 05 06
        < 17 03 00 03 00 04 05 06
        > 18 01
        < 19
        """) { try await $0.writeReliably([GATTWrite(value, to: 3), GATTWrite(value, to: 0xF015), GATTWrite([4, 5, 6], to: 3, offset: 3)]) },
    taken("TP/GAW/CL/BV-09-C", longest("08 00")) { try await $0.writeLong([UInt8](repeating: 0xFF, count: 512), to: 8) },
    refusedPrepare("TP/GAW/CL/BI-25-C", "00 00", "01", writeLong(0)),
    refusedPrepare("TP/GAW/CL/BI-26-C", "08 00", "03", writeLong(8)),
    refusedPrepare("TP/GAW/CL/BI-29-C", "08 00", "08", writeLong(8)),
    refusedPrepare("TP/GAW/CL/BI-30-C", "08 00", "05", writeLong(8)),
    refusedPrepare("TP/GAW/CL/BI-31-C", "08 00", "0C", writeLong(8)),
    refusedPrepare("TP/GAW/CL/BI-17-C/queue-full", "07 00", "09", writeReliably(7)),
] }

@Suite("Conformance: writing (GAW)")
struct WriteScripts {
    @Test("the exchange is the test case's", arguments: single + queued)
    func exchanges(_ test: ConformanceCase) throws { try test.check() }
}
