import Platform
import Testing
@testable import Uplink

@Suite("A receipt")
struct ReceiptTests {
    private let delivery = MemoryQueue.delivery("e-1", count: 3, gaps: [DeliveryGap(log: 7, first: 4_712, count: 1, reason: .damaged)], damaged: [4_712])

    private func answer(_ changes: [String: String?] = [:], status: Int = 201, contentType: String? = "application/json") throws -> HTTPResponse {
        let request = try RawWindowsRequest(delivery).request(base: "https://b", token: "t", sent: 0)
        var members = receiptMembers(for: request)
        for (name, value) in changes { members[name] = value }
        return HTTPResponse(status: status, contentType: contentType, body: json(members))
    }

    private func verify(_ response: HTTPResponse, _ other: Delivery? = nil) throws -> Receipt {
        let delivery = other ?? self.delivery
        return try Receipt(verifying: response, for: delivery, digest: RawWindowsRequest(delivery).digest)
    }

    private func refusal(_ response: HTTPResponse, _ other: Delivery? = nil) -> ReceiptRefusal.Field? {
        do {
            _ = try verify(response, other)
            return nil
        } catch {
            return (error as? ReceiptRefusal)?.field
        }
    }

    @Test("that fits in every field confirms", arguments: [200, 201])
    func confirms(_ status: Int) throws {
        let receipt = try verify(answer(status: status, contentType: "Application/JSON ; charset=utf-8"))
        #expect(receipt.id == "r-4711")
        #expect(receipt.accepted == 3 && receipt.gaps == 1 && receipt.rejected.isEmpty)
    }

    @Test("with one wrong field confirms nothing, and the refusal names the field", arguments: [
        ("key", "\"e-2\"", .key), ("key", "7", .key), ("key", nil, .key),
        ("digest", "\"sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:\"", .digest), ("digest", nil, .digest),
        ("log", "8", .log), ("log", "\"7\"", .log), ("log", "4294967303", .log), ("log", nil, .log),
        ("first", "4712", .first), ("first", "4711.0", .first), ("first", "-1", .first), ("first", nil, .first),
        ("accepted", "2", .count), ("accepted", "4", .count), ("accepted", "9223372036854775807", .count), ("accepted", "\"3\"", .accepted), ("accepted", nil, .accepted),
        ("gaps", "0", .gaps), ("gaps", "2", .gaps), ("gaps", "true", .gaps), ("gaps", nil, .gaps),
        ("receipt", "\"\"", .receipt), ("receipt", "null", .receipt), ("receipt", "\"a b\"", .receipt), ("receipt", nil, .receipt),
        ("rejected", nil, .rejected), ("rejected", "{}", .rejected), ("rejected", "[4711]", .rejected), ("rejected", "[{\"sequence\": 4711}]", .rejected),
    ] as [(String, String?, ReceiptRefusal.Field)])
    func wrongField(_ name: String, _ value: String?, _ field: ReceiptRefusal.Field) throws {
        #expect(refusal(try answer([name: value])) == field)
    }

    @Test("may reject a window that was sent as damaged, or with a conflict")
    func rejects() throws {
        let receipt = try verify(answer(["accepted": "1", "rejected": "[{\"sequence\": 4712, \"code\": \"crc\"}, {\"sequence\": 4713, \"code\": \"conflict\"}]"]))
        #expect(receipt.rejected == [.init(sequence: 4_712, code: "crc"), .init(sequence: 4_713, code: "conflict")])
    }

    @Test("may not reject anything else", arguments: [
        ("2", "[{\"sequence\": 4711, \"code\": \"crc\"}]"),
        ("1", "[{\"sequence\": 4712, \"code\": \"crc\"}, {\"sequence\": 4712, \"code\": \"crc\"}]"),
        ("2", "[{\"sequence\": 4714, \"code\": \"conflict\"}]"),
        ("2", "[{\"sequence\": 4710, \"code\": \"conflict\"}]"),
    ])
    func mayNotReject(_ accepted: String, _ rejected: String) throws {
        #expect(refusal(try answer(["accepted": accepted, "rejected": rejected])) == .rejected)
    }

    @Test("counts its range round the end of 32 bits")
    func wraps() throws {
        var delivery = MemoryQueue.delivery("e", count: 4)
        delivery.first = .max - 1
        let request = try RawWindowsRequest(delivery).request(base: "https://b", token: "t", sent: 0)
        func answer(_ sequence: UInt32) -> HTTPResponse {
            let members = receiptMembers(for: request).merging(["accepted": "3", "rejected": "[{\"sequence\": \(sequence), \"code\": \"conflict\"}]"]) { $1 }
            return HTTPResponse(status: 200, contentType: "application/json", body: json(members))
        }
        for sequence: UInt32 in [.max - 1, .max, 0, 1] { #expect(refusal(answer(sequence), delivery) == nil) }
        for sequence: UInt32 in [.max - 2, 2] { #expect(refusal(answer(sequence), delivery) == .rejected) }
    }

    @Test("has status 200 or 201", arguments: [202, 203, 204, 206, 299])
    func statuses(_ status: Int) throws {
        #expect(refusal(try answer(status: status)) == .status)
    }

    @Test("is application/json", arguments: ["text/html", "application/json-seq", "application/jsonx", "", nil])
    func types(_ type: String?) throws {
        #expect(refusal(try answer(contentType: type)) == .contentType)
    }

    @Test("has at most 64 KiB")
    func size() throws {
        var response = try answer()
        response.body += [UInt8](repeating: 32, count: 65_536 - response.body.count)
        #expect(refusal(response) == nil)
        response.body.append(32)
        #expect(refusal(response) == .size)
        response.body.removeLast()
        response.isComplete = false
        #expect(refusal(response) == .size)
    }

    @Test("is one whole JSON object without duplicate names, deep nesting or NUL", arguments: [
        "", "[]", "null", "{", "{}x", "{\"key\": \"a\", \"key\": \"b\"}", "{\"a\": \"\\u0000\"}", "{\"a\": \u{FFFD}}",
        String(repeating: "[", count: 9), "{\"a\":" + String(repeating: "[", count: 9) + String(repeating: "]", count: 9) + "}",
    ])
    func notJSON(_ text: String) {
        #expect(refusal(HTTPResponse(status: 200, contentType: "application/json", body: Array(text.utf8))) == .json)
    }

    @Test("that nests as deep as 64 KiB allow is refused without being followed")
    func deep() {
        #expect(refusal(HTTPResponse(status: 200, contentType: "application/json", body: [UInt8](repeating: UInt8(ascii: "["), count: 65_536))) == .json)
    }

    @Test("survives any damage without confirming another content", arguments: 0..<16 as Range<UInt64>)
    func damage(_ seed: UInt64) throws {
        let sound = try verify(answer())
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            var response = try answer()
            for _ in 0...Int.random(in: 0...3, using: &random) {
                response.body[Int.random(in: 0..<response.body.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let receipt = try? verify(response) else { continue }
            var same = receipt
            same.id = sound.id
            #expect(same == sound)
        }
    }
}
