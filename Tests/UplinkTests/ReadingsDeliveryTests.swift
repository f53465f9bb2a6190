import Platform
import Testing
@testable import Uplink

/// Real TLS, over real sockets, against the reference backend in a process of its own.
@Suite("Readings delivered to the reference backend", .serialized)
struct ReadingsDeliveryTests {
    private func send(_ requests: [HTTPRequest]) throws -> [HTTPResponse] {
        let settings = CurlSettings(trust: .file("\(try Authority.path())/ca.pem"), connectTimeout: .seconds(10), totalTimeout: .seconds(20), userAgent: "gateway/test")
        let loop = try EpollLoop()
        let transport = try CurlTransport(loop: loop, settings: settings)
        return try loop.run {
            var responses: [HTTPResponse] = []
            for request in requests { responses.append(try await transport.send(request)) }
            await transport.close()
            return responses
        }
    }

    private func request(_ delivery: ReadingsDelivery, to backend: Backend, sent: Int64 = 1_718_464_700) throws -> HTTPRequest {
        let url = ReadingsRequest.url(base: "https://127.0.0.1:\(backend.port)", fhirBase: nil)
        return try ReadingsRequest(delivery).request(url: url, token: "token-of-\(delivery.owner)", sent: sent)
    }

    /// Identifier and stored text of each Observation that an owner has.
    private func held(_ backend: Backend, owner: String) throws -> [String: String] {
        let rows = try backend.tell("{\"query\": \"readings\", \"owner\": \"\(owner)\"}")["readings"]?.elements ?? []
        return Dictionary(rows.filter { $0["type"]?.string == "Observation" }.map { ($0["identifier"]?.string ?? "", $0["json"]?.string ?? "") }) { first, _ in first }
    }

    @Test("every kind of reading is accepted, is kept digit for digit, and a lost answer or a second hub doubles none")
    func delivered() throws {
        let backend = try Backend()
        let delivery = Readings.delivery(Readings.allKinds)
        let again = Readings.delivery(Readings.allKinds, key: "k-2")
        let responses = try send([request(delivery, to: backend), request(delivery, to: backend, sent: 1_718_464_800), request(again, to: backend)])
        for (response, sent) in zip(responses, [delivery, delivery, again]) {
            let receipt = try ReadingsReceipt(verifying: response, for: ReadingsRequest(sent))
            #expect(receipt.accepted == Array(Readings.allKinds.indices) && receipt.conflicting.isEmpty)
        }
        #expect(responses[0].body == responses[1].body)
        let kept = try held(backend, owner: "anna")
        // All but the Devices of two cuffs.
        let observations = try ReadingsRequest(delivery).readingOfEntry.count { $0 != nil }
        #expect(kept.count == observations)
        #expect(kept["r-kpa"]?.contains("\"value\":141.8,") == true && kept["r-kpa"]?.contains("\"value\":119.26,") == true)
        #expect(kept["r-zeros"]?.contains("\"value\":120.0,") == true)
        #expect(kept["r-all-8410608"]?.contains("8410608.5") == true)
        #expect(!kept.values.contains { $0.contains("urn:uuid:") })
    }

    @Test("a full Bundle of 64 readings with pulse and findings is one request and its answer has room")
    func full() throws {
        let backend = try Backend()
        let delivery = Readings.delivery((0..<64).map { Readings.reading("r-\($0)", pulse: .number(DecimalNumber(60)), findings: [.cuffTooLoose]) })
        let response = try send([request(delivery, to: backend)])[0]
        #expect(try ReadingsReceipt(verifying: response, for: ReadingsRequest(delivery)).accepted == Array(0..<64))
    }

    @Test("a reading that another person has is refused, named, and leaves nothing under the wrong owner")
    func wrongOwner() throws {
        let backend = try Backend()
        let annas = Readings.delivery([Readings.reading("r-1")])
        let bens = Readings.delivery([Readings.reading("r-2"), Readings.reading("r-1", pulse: .number(DecimalNumber(60)))], patient: "Patient/ben", key: "k-b", owner: "ben")
        let responses = try send([request(annas, to: backend), request(bens, to: backend)])
        #expect(responses[1].status == 412)
        #expect(ReadingsReceipt.conflict(in: responses[1], for: try ReadingsRequest(bens)) == 1)
        #expect(try held(backend, owner: "ben").isEmpty)
    }
}
