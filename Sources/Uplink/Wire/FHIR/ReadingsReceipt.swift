import Platform

/// The backend's word about each reading of one Bundle: the transaction-response, verified against the request.
public struct ReadingsReceipt: Sendable, Hashable {
    /// The places of the readings that the backend keeps, those that it had already among them.
    public let accepted: [Int]
    /// The places of the readings that it cannot keep: several resources have the identifier that is the reading's alone (412).
    public let conflicting: [Int]

    /// A receipt as given: what an answer was found to say.
    public init(accepted: [Int], conflicting: [Int] = []) {
        self.accepted = accepted
        self.conflicting = conflicting
    }

    /// The most bytes of a transaction-response: 193 entries with an outcome of a few lines each.
    public static let sizeLimit = 262_144

    /// Reads an answer as the receipt for what was sent.
    ///
    /// It confirms when it is a transaction-response with one entry for each entry of the request, each with the status 200, 201 or 412. A reading is accepted when
    /// all its resources are, and conflicts when one of them does; a device that conflicts makes every reading of the request do so, as none has its device.
    ///
    /// - Throws: `ReceiptRefusal`, which names what is wrong. The answer then confirms nothing.
    public init(verifying response: HTTPResponse, for request: ReadingsRequest) throws(ReceiptRefusal) {
        guard response.status == 200 || response.status == 201 else { throw ReceiptRefusal(.status, "HTTP \(response.status)") }
        let bundle = try Self.resource(response)
        guard bundle["resourceType"]?.string == "Bundle", bundle["type"]?.string == "transaction-response" else {
            throw ReceiptRefusal(.receipt, "not a transaction-response")
        }
        guard let entries = bundle["entry"]?.elements else { throw ReceiptRefusal(.receipt, "entry is no array") }
        guard entries.count == request.readingOfEntry.count else {
            throw ReceiptRefusal(.count, "\(entries.count) entries instead of \(request.readingOfEntry.count)")
        }
        var places: [Int] = []
        var conflicts: Set<Int> = []
        var deviceConflicts = false
        for (entry, place) in zip(entries, request.readingOfEntry) {
            guard let status = entry["response"]?["status"]?.string else { throw ReceiptRefusal(.receipt, "an entry without status") }
            // The code, and perhaps its words (FHIR R4, Bundle.entry.response.status).
            let code = status.prefix { $0 != " " }
            guard ["200", "201", "412"].contains(code) else { throw ReceiptRefusal(.rejected, "an entry with another status than 200, 201 and 412") }
            if let place { if places.last != place { places.append(place) } }
            guard code == "412" else { continue }
            if let place { conflicts.insert(place) } else { deviceConflicts = true }
        }
        accepted = deviceConflicts ? [] : places.filter { !conflicts.contains($0) }
        conflicting = deviceConflicts ? places : places.filter { conflicts.contains($0) }
    }

    /// Which reading a whole request was refused for with HTTP 412: transactions are whole, and the OperationOutcome may say whose fault it is.
    ///
    /// - Returns: the reading's place; `nil` when the answer does not say, and the readings have to be sent one by one to find out.
    public static func conflict(in response: HTTPResponse, for request: ReadingsRequest) -> Int? {
        let places = Set(request.readingOfEntry.compactMap { $0 })
        if places.count == 1 { return places.first }
        guard let outcome = try? resource(response), outcome["resourceType"]?.string == "OperationOutcome" else { return nil }
        for issue in outcome["issue"]?.elements ?? [] {
            for expression in issue["expression"]?.elements ?? [] {
                guard let entry = expression.string.flatMap(Self.entry), request.readingOfEntry.indices.contains(entry) else { continue }
                return request.readingOfEntry[entry]
            }
        }
        return nil
    }

    /// The place of an entry in an expression like `Bundle.entry[3].resource`.
    private static func entry(_ expression: String) -> Int? {
        let prefix = "Bundle.entry["
        guard expression.hasPrefix(prefix) else { return nil }
        let digits = expression.dropFirst(prefix.count).prefix { $0 != "]" }
        return digits.utf8.count <= 4 && digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(digits) : nil
    }

    private static func resource(_ response: HTTPResponse) throws(ReceiptRefusal) -> JSONValue {
        guard MediaType.isJSON(response.contentType) || MediaType.essence(of: response.contentType) == ReadingsRequest.contentType else {
            throw ReceiptRefusal(.contentType, "neither application/fhir+json nor application/json")
        }
        guard response.isComplete, response.body.count <= sizeLimit else { throw ReceiptRefusal(.size, "more than \(sizeLimit) bytes") }
        do throws(JSONError) {
            return try JSONValue(parsing: response.body, size: sizeLimit, depth: 16)
        } catch {
            throw ReceiptRefusal(.json, "\(error)")
        }
    }
}
