import Platform
import Testing
@testable import Uplink

@Suite("A request of readings")
struct ReadingsRequestTests {
    private func body(_ delivery: ReadingsDelivery) throws -> String {
        String(decoding: try ReadingsRequest(delivery).request(url: "https://b", token: "t", sent: 0).body, as: UTF8.self)
    }

    private func unsendable(_ delivery: ReadingsDelivery) -> Bool {
        do throws(UplinkError) {
            _ = try ReadingsRequest(delivery)
            return false
        } catch {
            return error.code == "entry-unsendable"
        }
    }

    @Test("has the headers of the contract, and nothing of an attempt but its token and time")
    func headers() throws {
        let request = try ReadingsRequest(Readings.delivery())
        let first = request.request(url: ReadingsRequest.url(base: "https://b", fhirBase: nil), token: "one", sent: 1)
        let second = try ReadingsRequest(Readings.delivery()).request(url: ReadingsRequest.url(base: "https://b", fhirBase: "https://f/fhir"), token: "two", sent: 2)
        #expect(first.method == "POST" && first.url == "https://b/v1/readings" && second.url == "https://f/fhir")
        #expect(first.body == second.body)
        #expect(first.header("Content-Type") == "application/fhir+json" && first.header("Accept") == "application/fhir+json")
        #expect(first.header("Idempotency-Key") == "\"k-1\"" && first.header("Hub-Owner") == "\"anna\"")
        #expect(first.header("Content-Digest") == RawWindowsRequest.digest(of: first.body))
        let changing: Set<String> = ["Authorization", "Hub-Sent"]
        #expect(first.headers.filter { !changing.contains($0.name) } == second.headers.filter { !changing.contains($0.name) })
        #expect(first.header("Authorization") == "Bearer one" && second.header("Hub-Sent") == "2")
    }

    @Test("a reading is one Observation with what is derived from it, behind its cuff, each made only if there is none of its identifier")
    func entries() throws {
        let reading = Readings.reading("r-1", pulse: .number(DecimalNumber(51)), findings: [.irregularPulse])
        let request = try ReadingsRequest(Readings.delivery([reading, Readings.reading("r-2")]))
        #expect(request.readingOfEntry == [nil, 0, 0, 0, 1])
        let bundle = try JSONValue(parsing: Array(try body(Readings.delivery([reading, Readings.reading("r-2")])).utf8))
        let entries = try #require(bundle["entry"]?.elements)
        #expect(entries.map { $0["request"]?["ifNoneExist"]?.string } == ["identifier=BP107-\(Self.deviceDigest)", "identifier=r-1", "identifier=r-1-149546", "identifier=r-1-8410608", "identifier=r-2"])
        #expect(entries.map { $0["request"]?["url"]?.string } == ["Device", "Observation", "Observation", "Observation", "Observation"])
        for derived in entries[2...3] { #expect(derived["resource"]?["derivedFrom"]?.elements?.first?["reference"] == entries[1]["fullUrl"]) }
        for observation in entries[1...] { #expect(observation["resource"]?["device"]?["reference"] == entries[0]["fullUrl"]) }
        #expect(Set(entries.compactMap { $0["fullUrl"]?.string }).count == 5)
    }

    private static let deviceDigest = String(BundleIdentity.device(Readings.cuff).suffix(16))

    @Test("digits are those that the cuff sent")
    func digits() throws {
        // The examples of the Personal Health Device guide, "Mder FLOATs and SFLOATs".
        let numbers: [(DecimalNumber, String)] = [
            (DecimalNumber(2), "2"), (DecimalNumber(20, exponent: -1), "2.0"), (DecimalNumber(200, exponent: -2), "2.00"), (DecimalNumber(2, exponent: 1), "20"),
            (DecimalNumber(2, exponent: 2), "200"), (DecimalNumber(1_234), "1234"), (DecimalNumber(-1_234), "-1234"), (DecimalNumber(189, exponent: -1), "18.9")
        ]
        for (number, text) in numbers {
            #expect(try body(Readings.delivery([Readings.reading(systolic: .number(number))])).contains("\"valueQuantity\":{\"value\":\(text),\"unit\":\"mmHg\""))
        }
    }

    @Test("kPa become mmHg with as many decimals", arguments: [
        (DecimalNumber(189, exponent: -1), "141.8"), (DecimalNumber(11), "83"), (DecimalNumber(159, exponent: -1), "119.3"), (DecimalNumber(1_600, exponent: -2), "120.01"),
        (DecimalNumber(0), "0"), (DecimalNumber(-1, exponent: -1), "-0.8"), (DecimalNumber(1, exponent: 1), "75"), (DecimalNumber(133_322_387_415, exponent: -9), "1000.000000000")
    ])
    func kilopascals(number: DecimalNumber, text: String) {
        #expect(number.millimetresOfMercury?.description == text)
    }

    @Test("every pressure in hundredths of a kPa can be told from its neighbours, and numbers beyond any pressure are none")
    func kilopascalSteps() {
        // Enough of them that the rest behind the last decimal is now small, now large.
        let converted = (0..<4_000).map { DecimalNumber($0, exponent: -2).millimetresOfMercury }
        #expect(Set(converted).count == 4_000)
        // Against binary arithmetic, which is good enough for a hundredth.
        let expected = (0..<4_000).map { Int64((Double($0) * 1_000 / 133.322387415).rounded()) }
        #expect(converted.map { $0?.coefficient } == expected)
        #expect(DecimalNumber(.max).millimetresOfMercury == nil)
        #expect(DecimalNumber(.min, exponent: 127).millimetresOfMercury == nil)
        #expect(DecimalNumber(1, exponent: 18).millimetresOfMercury != nil)
    }

    @Test("a time is written in the place's own zone")
    func times() throws {
        for (offset, text) in [(7_200, "2024-06-15T17:17:27+02:00"), (0, "2024-06-15T15:17:27+00:00"), (-12_600, "2024-06-15T11:47:27-03:30"), (50_400, "2024-06-16T05:17:27+14:00")] {
            #expect(try body(Readings.delivery([Readings.reading(zoneOffset: offset)])).contains("\"effectiveDateTime\":\"\(text)\""))
        }
        for offset in [30, 54_000, -54_000] { #expect(unsendable(Readings.delivery([Readings.reading(zoneOffset: offset)]))) }
        #expect(unsendable(Readings.delivery([Readings.reading(moment: .max)])))
    }

    @Test("64 readings go in one request, 65 do not, nor none, nor one twice")
    func count() throws {
        func many(_ count: Int) -> ReadingsDelivery { Readings.delivery((0..<count).map { Readings.reading("r-\($0)") }) }
        #expect(try ReadingsRequest(many(64)).readingOfEntry.count == 65)
        #expect(unsendable(many(65)) && unsendable(many(0)))
        #expect(unsendable(Readings.delivery([Readings.reading(), Readings.reading(pulse: .absent(.error))])))
    }

    @Test("what has no form in the contract is not sent", arguments: ["anna", "Patient/", "Patient/a b", "Observation/1", "x/Patient/1", "Patient/1/2", "Patient/ä"])
    func patients(patient: String) {
        #expect(unsendable(Readings.delivery(patient: patient)))
    }

    @Test("a patient is a reference of the server's or one by its URL", arguments: ["Patient/1", "Patient/a-b.C", "https://ehr.example/fhir/Patient/7"])
    func goodPatients(patient: String) throws {
        #expect(try body(Readings.delivery(patient: patient)).contains("\"subject\":{\"reference\":\"\(patient)\"}"))
    }

    @Test("names that would be something else in a URL, and cuffs that are no text, are not sent")
    func hostileNames() {
        for id in ["", "a&b=c", "a b", "ä", "a%20", String(repeating: "a", count: 201)] { #expect(unsendable(Readings.delivery([Readings.reading(id)]))) }
        for serial in ["", " ", "a\u{0}", String(repeating: "a", count: 257)] {
            #expect(unsendable(Readings.delivery([Readings.reading(cuff: .init(serial: serial))])))
        }
    }

    @Test("two readings of one time are two, and one cuff of two firmware texts is one device")
    func sameTime() throws {
        let other = BloodPressureReading.Cuff(serial: Readings.cuff.serial, manufacturer: Readings.cuff.manufacturer, model: "B1 rev 2")
        let request = try ReadingsRequest(Readings.delivery([Readings.reading("r-1"), Readings.reading("r-2", cuff: other)]))
        #expect(request.readingOfEntry == [nil, 0, 1])
    }

    // MARK: The judgement of others

    @Test("Bundles of every kind of reading are valid FHIR R4 and keep the guide's rules",
          .enabled(if: BundleJudge.isHere, "HUB_TEST_PYTHON names no interpreter with Tests/Peers/requirements.txt"))
    func valid() throws {
        var texts = try Readings.allKinds.map { try body(Readings.delivery([$0])) }
        texts.append(try body(Readings.delivery(Readings.allKinds)))
        texts.append(try body(Readings.delivery((0..<64).map { Readings.reading("r-\($0)", pulse: .number(DecimalNumber(60)), findings: [.cuffTooLoose]) })))
        for problems in try BundleJudge.problems(texts) { #expect(problems == []) }
    }

    @Test("the judge finds what was broken on purpose",
          .enabled(if: BundleJudge.isHere, "HUB_TEST_PYTHON names no interpreter with Tests/Peers/requirements.txt"))
    func judgeJudges() throws {
        let text = try body(Readings.delivery([Readings.reading("r-1", pulse: .number(DecimalNumber(51)), findings: [.irregularPulse])]))
        let breaks: [(String, String)] = [
            ("\"status\":\"final\"", "\"status\":\"finished\""), ("\"code\":\"8462-4\"", "\"code\":\"8480-6\""), ("mm[Hg]", "kPa"), ("phd-observation", "phd"),
            ("\"value\":124", "\"value\":\"124\""), ("2024-06-15T17", "2024-13-15T17"), ("8410608.2", "8410608.9"), ("\"code\":\"Y\"", "\"code\":\"yes\""), ("identifier=r-1\"", "identifier=r-2\""),
            ("\"method\":\"POST\"", "\"method\":\"PUT\""), ("\"type\":\"transaction\"", "\"type\":\"batch\""), ("\"/min\"", "\"{beat}\""), ("\"subject\"", "\"focus\"")
        ]
        let broken = breaks.map { text.replacing($0.0, with: $0.1, maxReplacements: 1) }
        for (original, problems) in zip(breaks, try BundleJudge.problems(broken)) { #expect(!problems.isEmpty, "\(original)") }
    }
}

@Suite("The receipt for readings")
struct ReadingsReceiptTests {
    private static let readings = [Readings.reading("r-1", pulse: .number(DecimalNumber(51))), Readings.reading("r-2"), Readings.reading("r-3", findings: [.bodyMovement])]
    /// Device, r-1, its pulse, r-2, r-3, its status.
    private static let count = 6

    private func request() throws -> ReadingsRequest { try ReadingsRequest(Readings.delivery(Self.readings)) }

    private func refusal(_ response: HTTPResponse) throws -> ReceiptRefusal.Field? {
        let request = try request()
        do throws(ReceiptRefusal) {
            _ = try ReadingsReceipt(verifying: response, for: request)
            return nil
        } catch {
            return error.field
        }
    }

    @Test("one 200 or 201 for each resource confirms, with or without its words")
    func confirms() throws {
        for statuses in [[String](repeating: "201 Created", count: 6), ["200", "201", "200 OK", "201", "201", "200"]] {
            let receipt = try ReadingsReceipt(verifying: Readings.response(statuses), for: request())
            #expect(receipt.accepted == [0, 1, 2] && receipt.conflicting.isEmpty)
        }
    }

    @Test("412 sets aside the reading it is about, and no other one")
    func conflicts() throws {
        func receipt(_ place: Int) throws -> ReadingsReceipt {
            var statuses = [String](repeating: "201", count: Self.count)
            statuses[place] = "412 Precondition Failed"
            return try ReadingsReceipt(verifying: Readings.response(statuses), for: request())
        }
        #expect(try receipt(2).conflicting == [0] && receipt(2).accepted == [1, 2])
        #expect(try receipt(3).conflicting == [1] && receipt(3).accepted == [0, 2])
        #expect(try receipt(5).conflicting == [2])
        #expect(try receipt(0).conflicting == [0, 1, 2] && receipt(0).accepted.isEmpty)
    }

    @Test("anything else confirms nothing")
    func nothing() throws {
        let good = [String](repeating: "201", count: Self.count)
        #expect(try refusal(Readings.response(good, status: 202)) == .status)
        #expect(try refusal(Readings.response(Array(good.dropLast()))) == .count)
        #expect(try refusal(Readings.response(good + ["201"])) == .count)
        #expect(try refusal(Readings.response(good, contentType: "text/html")) == .contentType)
        #expect(try refusal(Readings.response(good, contentType: nil)) == .contentType)
        for status in ["204", "400 Bad Request", "500", "", "2010", " 201"] { #expect(try refusal(Readings.response(Array(good.dropLast()) + [status])) == .rejected) }
        var cut = Readings.response(good)
        cut.isComplete = false
        #expect(try refusal(cut) == .size)
        for text in ["<html>", "[]", "{}", "{\"resourceType\":\"Bundle\",\"type\":\"batch-response\",\"entry\":[]}", "{\"resourceType\":\"Bundle\",\"type\":\"transaction-response\"}"] {
            #expect(try refusal(HTTPResponse(status: 200, contentType: "application/json", body: Array(text.utf8))) != nil)
        }
        let silent: JSONValue = .object(["resourceType": .string("Bundle"), "type": .string("transaction-response"), "entry": .array([JSONValue](repeating: .object([:]), count: Self.count))])
        #expect(try refusal(HTTPResponse(status: 200, contentType: "application/json", body: Array(silent.encoded().utf8))) == .receipt)
    }

    @Test("a request refused as a whole is one reading's fault when the outcome names its entry, or there is one reading alone")
    func wholeConflict() throws {
        func outcome(_ expression: String) -> HTTPResponse {
            let text = #"{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"multiple-matches","expression":["\#(expression)"]}]}"#
            return HTTPResponse(status: 412, contentType: "application/fhir+json", body: Array(text.utf8))
        }
        let request = try request()
        #expect(ReadingsReceipt.conflict(in: outcome("Bundle.entry[3].request"), for: request) == 1)
        #expect(ReadingsReceipt.conflict(in: outcome("Bundle.entry[2]"), for: request) == 0)
        for expression in ["Bundle.entry[0]", "Bundle.entry[6]", "Bundle.entry[-1]", "Bundle.entry[", "Bundle.entry[99999]", "Observation.code"] {
            #expect(ReadingsReceipt.conflict(in: outcome(expression), for: request) == nil)
        }
        let html = HTTPResponse(status: 412, contentType: "text/html", body: [])
        #expect(ReadingsReceipt.conflict(in: html, for: request) == nil)
        #expect(ReadingsReceipt.conflict(in: html, for: try ReadingsRequest(Readings.delivery())) == 0)
    }

    @Test("random changes of an answer never trap and never confirm more readings than were sent")
    func hostile() throws {
        var random = SplitMix64(seed: 11)
        let request = try request()
        let good = Readings.response([String](repeating: "201", count: Self.count)).body
        for _ in 0..<5_000 {
            var body = good
            for _ in 0..<(1 + random.next() % 4) { body[Int(random.next() % UInt64(body.count))] = UInt8(truncatingIfNeeded: random.next()) }
            let response = HTTPResponse(status: 200, contentType: "application/json", body: body)
            if let receipt = try? ReadingsReceipt(verifying: response, for: request) { #expect(Set(receipt.accepted + receipt.conflicting) == [0, 1, 2]) }
            _ = ReadingsReceipt.conflict(in: response, for: request)
        }
    }
}
