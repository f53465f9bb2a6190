import Platform
import Uplink

/// Readings: one FHIR transaction a request, conditional creates by identifier (uplink contract, "Readings").
extension ModelBackend {
    /// A resource that was created.
    struct Resource: Sendable {
        let json: JSONValue
        let owner: String
        let at: BootInstant
    }

    /// A reading as the record has it.
    struct Reading: Sendable {
        let identifier: String
        let owner: String
        let patient: String
        let systolic: String
        let at: String
    }

    /// The blood pressures that are kept.
    var readings: [Reading] {
        resources.compactMap { identifier, stored in
            let json = stored.json
            guard json["code"]?["coding"]?.elements?.contains(where: { $0["code"]?.string == "85354-9" }) == true else { return nil }
            let systolic = json["component"]?.elements?.first { component in
                component["code"]?["coding"]?.elements?.contains { $0["code"]?.string == "8480-6" } == true
            }
            return Reading(
                identifier: identifier, owner: stored.owner, patient: json["subject"]?["reference"]?.string ?? "",
                systolic: systolic?["valueQuantity"]?["value"]?.encoded() ?? "", at: json["effectiveDateTime"]?.string ?? "")
        }
    }

    func set(contestedReadings: Set<String>) { self.contestedReadings = contestedReadings }

    func takeReadings(_ request: HTTPRequest) -> HTTPResponse {
        func text(_ name: String) -> String { (request.header(name) ?? "").filter { $0 != "\"" } }
        let owner = text("Hub-Owner"), key = text("Idempotency-Key")
        guard request.header("Authorization") == "Bearer \(owners[owner] ?? "nobody")" else {
            foreignTokens += 1
            return HTTPResponse(status: 403, body: [])
        }
        let digest = request.header("Content-Digest") ?? ""
        if let before = answers[key] {
            guard before.digest == digest else { return HTTPResponse(status: 422, body: []) }
            return HTTPResponse(status: 200, contentType: "application/fhir+json", body: Array(before.body.utf8))
        }
        guard digest == RawWindowsRequest.digest(of: request.body), let bundle = try? JSONValue(parsing: request.body, size: 1 << 20, depth: 16),
              bundle["type"]?.string == "transaction", let entries = bundle["entry"]?.elements
        else {
            violations.append("malformed readings \(key)")
            return HTTPResponse(status: 400, body: [])
        }
        var answers: [String] = []
        for entry in entries {
            guard let resource = entry["resource"], let condition = entry["request"]?["ifNoneExist"]?.string, condition.hasPrefix("identifier=") else {
                violations.append("an entry without condition in \(key)")
                return HTTPResponse(status: 400, body: [])
            }
            let identifier = String(condition.dropFirst("identifier=".count))
            let isDevice = resource["resourceType"]?.string == "Device"
            if contestedReadings.contains(identifier) {
                answers.append("412 Precondition Failed")
            } else if let before = resources[identifier] {
                if before.owner != owner, !isDevice { violations.append("\(identifier) came for \(before.owner) and for \(owner)") }
                answers.append("200 OK")
            } else {
                resources[identifier] = Resource(json: resource, owner: owner, at: loop.now)
                answers.append("201 Created")
            }
        }
        let list = answers.map { "{\"response\": {\"status\": \"\($0)\"}}" }.joined(separator: ", ")
        let body = "{\"resourceType\": \"Bundle\", \"type\": \"transaction-response\", \"entry\": [\(list)]}"
        self.answers[key] = Answered(digest: digest, body: body)
        return HTTPResponse(status: 200, contentType: "application/fhir+json", body: Array(body.utf8))
    }
}
