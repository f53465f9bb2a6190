import Platform
import Synchronization
@testable import Uplink

/// A FHIR server in memory that takes transactions whole or not at all, and knows keys as the contract asks.
final class FHIRServer: Sendable {
    private struct State {
        /// The owner of each Observation, by identifier.
        var held: [String: String] = [:]
        var bodies: [String: [UInt8]] = [:]
        var answers: [String: HTTPResponse] = [:]
    }

    private let state = Mutex(State())
    /// Readings that meet something of somebody else's.
    let conflicts: Set<String>
    /// Whether the outcome says which entry it is.
    let names: Bool
    /// The most readings of one Bundle.
    let limit: Int

    init(conflicts: Set<String> = [], names: Bool = true, limit: Int = .max) {
        self.conflicts = conflicts
        self.names = names
        self.limit = limit
    }

    /// The owner of each reading that is held.
    var held: [String: String] { state.withLock { $0.held } }

    func answer(_ sent: ScriptedTransport.Sent) -> ScriptedTransport.Reply {
        let request = sent.request
        guard request.header("Content-Type") == ReadingsRequest.contentType else { return .success(receipt(for: request)) }
        let entries = Self.entries(request)
        if Self.readings(request).count > limit { return status(413) }
        return state.withLock { state in
            let key = "\(sent.owner) \(sent.key)"
            if let before = state.bodies[key] {
                return before == request.body ? .success(state.answers[key] ?? HTTPResponse(status: 500)) : status(422)
            }
            for (place, entry) in entries.enumerated() where conflicts.contains(entry) || state.held[entry].map({ $0 != sent.owner }) == true {
                return .success(Self.outcome(names ? place : nil))
            }
            let statuses = entries.map { $0 == Self.device || state.held[$0] != nil ? "200 OK" : "201 Created" }
            for entry in entries where entry != Self.device { state.held[entry] = sent.owner }
            state.bodies[key] = request.body
            state.answers[key] = Readings.response(statuses)
            return .success(Readings.response(statuses))
        }
    }

    /// The names of the readings in a request, in order.
    static func readings(_ request: HTTPRequest) -> [String] {
        entries(request).filter { $0 != device && !$0.hasSuffix("-149546") && !$0.hasSuffix("-8410608") }
    }

    private static let device = "a device"

    /// The identifier of each entry.
    private static func entries(_ request: HTTPRequest) -> [String] {
        guard let bundle = try? JSONValue(parsing: request.body) else { return [] }
        return (bundle["entry"]?.elements ?? []).map { entry in
            guard entry["request"]?["url"] == .string("Observation") else { return device }
            return String((entry["request"]?["ifNoneExist"]?.string ?? "").dropFirst("identifier=".count))
        }
    }

    private static func outcome(_ place: Int?) -> HTTPResponse {
        let expression = place.map { ",\"expression\":[\"Bundle.entry[\($0)]\"]" } ?? ""
        let text = "{\"resourceType\":\"OperationOutcome\",\"issue\":[{\"severity\":\"error\",\"code\":\"multiple-matches\"\(expression)}]}"
        return HTTPResponse(status: 412, contentType: "application/fhir+json", body: Array(text.utf8))
    }
}
