import Platform
import Testing

@testable import Radio

/// Each kind of PDU, as octets and as what they say.
private let samples: [(String, ATTPDU)] = [
    ("01 08 21 00 0A", .errorResponse(request: .readByTypeRequest, handle: 0x0021, code: .attributeNotFound)),
    ("02 05 02", .exchangeMTURequest(clientReceiveMTU: 517)),
    ("03 F7 00", .exchangeMTUResponse(serverReceiveMTU: 247)),
    ("04 01 00 FF FF", .findInformationRequest(ATTHandleRange(start: 0x0001, end: 0xFFFF))),
    ("05 01 10 00 02 29 11 00 01 29", .findInformationResponse([
        ATTInformation(handle: 0x0010, type: .uuid16(0x2902)), ATTInformation(handle: 0x0011, type: .uuid16(0x2901)),
    ])),
    ("05 02 10 00 20 1E 9D 7C 5B 8A 3A 9F 1E 4D 4B 2C 01 00 1E 6F", .findInformationResponse([
        ATTInformation(handle: 0x0010, type: BluetoothUUID("6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20")!),
    ])),
    ("06 01 00 FF FF 00 28 0F 18", .findByTypeValueRequest(ATTHandleRange(start: 1, end: 0xFFFF), type: 0x2800, value: [0x0F, 0x18])),
    ("07 01 00 05 00 10 00 FF FF", .findByTypeValueResponse([ATTHandleRange(start: 1, end: 5), ATTHandleRange(start: 0x10, end: 0xFFFF)])),
    ("08 01 00 FF FF 03 28", .readByTypeRequest(ATTHandleRange(start: 1, end: 0xFFFF), type: .characteristic)),
    ("09 07 02 00 20 03 00 05 2A", .readByTypeResponse([ATTHandleValue(handle: 2, value: hex("20 03 00 05 2A"))])),
    ("0A 03 00", .readRequest(3)),
    ("0B", .readResponse([])),
    ("0B 01 02", .readResponse([1, 2])),
    ("0C 03 00 16 00", .readBlobRequest(3, offset: 22)),
    ("0D 07", .readBlobResponse([7])),
    ("0E 03 00 04 00", .readMultipleRequest([3, 4])),
    ("0F 01", .readMultipleResponse([1])),
    ("10 01 00 FF FF 00 28", .readByGroupTypeRequest(ATTHandleRange(start: 1, end: 0xFFFF), type: .primaryService)),
    ("11 06 01 00 05 00 00 18 06 00 09 00 01 18", .readByGroupTypeResponse([
        ATTGroup(range: ATTHandleRange(start: 1, end: 5), value: [0x00, 0x18]),
        ATTGroup(range: ATTHandleRange(start: 6, end: 9), value: [0x01, 0x18]),
    ])),
    ("12 03 00 AA", .writeRequest(3, value: [0xAA])),
    ("13", .writeResponse),
    ("16 03 00 01 00 AA", .prepareWriteRequest(3, offset: 1, value: [0xAA])),
    ("17 03 00 01 00 AA", .prepareWriteResponse(3, offset: 1, value: [0xAA])),
    ("18 01", .executeWriteRequest(flags: 1)),
    ("19", .executeWriteResponse),
    ("1B 03 00 01 02", .handleValueNotification(3, value: [1, 2])),
    ("1D 03 00", .handleValueIndication(3, value: [])),
    ("1E", .handleValueConfirmation),
    ("20 03 00 04 00", .readMultipleVariableRequest([3, 4])),
    ("21 01 00 AA", .readMultipleVariableResponse([1, 0, 0xAA])),
    ("23 03 00 01 00 AA 04 00 00 00", .multipleHandleValueNotification([
        ATTHandleValue(handle: 3, value: [0xAA]), ATTHandleValue(handle: 4, value: []),
    ])),
    ("52 03 00 AA", .writeCommand(3, value: [0xAA])),
    ("D2 03 00 AA 00 01 02 03 04 05 06 07 08 09 0A 0B", .signedWriteCommand(3, value: [0xAA], signature: Array(0...11))),
    ("3F 01", .unknown(ATTOpcode(rawValue: 0x3F), parameters: [1])),
]

@Suite("ATT PDUs")
struct ATTPDUTests {
    @Test("every PDU is read as what it says and written as it was", arguments: samples)
    func roundTrip(octets: String, pdu: ATTPDU) throws {
        #expect(try ATTPDU(parsing: hex(octets)[...]) == pdu)
        #expect(hexText(pdu.octets) == octets)
        #expect(pdu.opcode.rawValue == hex(octets)[0])
    }

    @Test("octets that are no PDU are named", arguments: [
        ("", "is empty"),
        ("01 08 21 00", "ends before its error code"),
        ("01 08 21 00 0A 00", "has 1 octets too many"),
        ("02 05", "ends before its client receive MTU"),
        ("03", "ends before its server receive MTU"),
        ("04 01 00 FF", "ends before its ending handle"),
        ("05 01", "ends before its attribute handle"),
        ("05 03 10 00 02 29", "has the unknown format 3"),
        ("05 01 10 00 02", "ends before its UUID"),
        ("05 02 10 00 02 29", "ends before its UUID"),
        ("07", "ends before its starting handle"),
        ("07 01 00 05", "ends before its ending handle"),
        ("08 01 00 FF FF 03 28 00 00", "has a UUID of 4 octets"),
        ("09", "ends before its length"),
        ("09 07", "ends before its attribute handle"),
        ("09 01 02", "has entries of 1 octets"),
        ("09 07 02 00 20 03 00 05", "ends before its attribute value"),
        ("0A 03", "ends before its attribute handle"),
        ("0E 03 00", "names fewer than two attributes"),
        ("11 03 01 00 05 00", "has entries of 3 octets"),
        ("11 06 01 00 05 00 00 18 06", "ends before its starting handle"),
        ("13 00", "has 1 octets too many"),
        ("1B 03", "ends before its attribute handle"),
        ("1D", "ends before its attribute handle"),
        ("1E 00", "has 1 octets too many"),
        ("23 03 00 02 00 AA", "ends before its attribute value"),
        ("23 03 00 01 00 AA", "has fewer than two values"),
        ("D2 03 00 AA 00 01 02", "ends before its signature"),
    ])
    func malformed(octets: String, fault: String) {
        do {
            let pdu = try ATTPDU(parsing: hex(octets)[...])
            Issue.record("read as \(pdu)")
        } catch {
            #expect(error.fault == fault)
            #expect(error.opcode?.rawValue == hex(octets).first)
        }
    }

    @Test("each request has its response, and nothing else has one")
    func responses() {
        for octet in UInt8.min...UInt8.max {
            let opcode = ATTOpcode(rawValue: octet)
            if let response = opcode.response {
                #expect(opcode.role == .request)
                #expect(response.rawValue == octet + 1)
                #expect(response.role == .response)
            }
            if octet & 0x40 != 0 { #expect(opcode.role == .command) }
        }
        #expect(ATTOpcode(rawValue: 0x3F).role == .request)
        #expect(ATTOpcode.writeRequest.response == .writeResponse)
    }

    @Test("error codes have the names of the specification, and unknown ones their range")
    func errorNames() {
        #expect("\(ATTErrorCode.attributeNotFound)" == "Attribute Not Found (0x0A)")
        #expect("\(ATTErrorCode(rawValue: 0x81))" == "Application Error (0x81)")
        #expect("\(ATTErrorCode(rawValue: 0xE3))" == "Common Profile Error (0xE3)")
        #expect("\(ATTErrorCode(rawValue: 0x42))" == "reserved error code 0x42")
    }

    @Test("mutated PDUs never trap, and what is read of them is written as it was", arguments: UInt64(1)...8)
    func mutations(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var read = 0
        for _ in 0..<8_000 {
            var octets = hex(samples.randomElement(using: &random)!.0)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                switch Int.random(in: 0..<5, using: &random) {
                case 0 where !octets.isEmpty: octets[Int.random(in: 0..<octets.count, using: &random)] = .random(in: 0...255, using: &random)
                case 1 where !octets.isEmpty: octets[Int.random(in: 0..<octets.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2 where !octets.isEmpty: octets.remove(at: Int.random(in: 0..<octets.count, using: &random))
                case 3: octets.insert(.random(in: 0...255, using: &random), at: Int.random(in: 0...octets.count, using: &random))
                default: octets.removeLast(Int.random(in: 0...octets.count, using: &random))
                }
            }
            // A slice that does not begin at 0 is what a cursor gets wrong first.
            let padded = [0x5A] + octets
            guard let pdu = try? ATTPDU(parsing: padded[1...]) else { continue }
            read += 1
            #expect(pdu.octets == octets || pdu.octets.count == octets.count)
            #expect(try ATTPDU(parsing: pdu.octets[...]) == pdu)
        }
        #expect(read > 1_000)
    }
}
