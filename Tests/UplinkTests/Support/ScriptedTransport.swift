import Platform
import Synchronization
import Uplink

/// A transport that answers from a script and keeps what was sent, and when.
final class ScriptedTransport: HTTPTransport {
    typealias Reply = Result<HTTPResponse, TransportFailure>

    struct Sent: Sendable {
        let request: HTTPRequest
        let at: BootInstant

        /// The entry's key, unquoted.
        var key: String { (request.header("Idempotency-Key") ?? "").filter { $0 != "\"" } }
        var owner: String { (request.header("Hub-Owner") ?? "").filter { $0 != "\"" } }
        var token: String { String((request.header("Authorization") ?? "").dropFirst("Bearer ".count)) }
    }

    private struct State {
        var sent: [Sent] = []
        var answer: @Sendable (Sent) -> Reply = { .success(receipt(for: $0.request)) }
        var latency = Duration.zero
    }

    private let loop: VirtualLoop
    private let state = Mutex(State())

    init(loop: VirtualLoop) { self.loop = loop }

    var sent: [Sent] { state.withLock { $0.sent } }
    var keys: [String] { sent.map(\.key) }

    /// How long every exchange takes from now on.
    func takes(_ latency: Duration) { state.withLock { $0.latency = latency } }

    /// What is answered from now on.
    func answers(_ body: @escaping @Sendable (Sent) -> Reply) { state.withLock { $0.answer = body } }

    /// What is answered from now on, by key; a receipt for the keys that are not named.
    func answers(_ byKey: [String: Reply]) {
        answers { byKey[$0.key] ?? .success(receipt(for: $0.request)) }
    }

    func send(_ request: HTTPRequest) async throws(TransportFailure) -> HTTPResponse {
        let sent = Sent(request: request, at: loop.now)
        let (answer, latency) = state.withLock { state in
            state.sent.append(sent)
            return (state.answer, state.latency)
        }
        if latency > .zero {
            do { try await loop.sleep(for: latency) } catch { throw TransportFailure(.cancelled, "given up") }
        }
        return try answer(sent).get()
    }
}

/// The members of the receipt that a request deserves.
func receiptMembers(for request: HTTPRequest) -> [String: String] {
    let gaps = request.header("Hub-Gaps").map { $0.split(separator: "(").count } ?? 0
    return [
        "receipt": "\"r-\(request.header("Hub-First") ?? "")\"", "key": request.header("Idempotency-Key") ?? "", "digest": "\"\(request.header("Content-Digest") ?? "")\"",
        "log": request.header("Hub-Log") ?? "", "first": request.header("Hub-First") ?? "", "accepted": request.header("Hub-Count") ?? "",
        "gaps": "\(gaps)", "rejected": "[]",
    ]
}

/// A JSON object of members that are JSON texts already.
func json(_ members: [String: String]) -> [UInt8] {
    Array("{\(members.map { "\"\($0.key)\": \($0.value)" }.sorted().joined(separator: ", "))}".utf8)
}

func receipt(for request: HTTPRequest) -> HTTPResponse {
    HTTPResponse(status: 201, contentType: "application/json", body: json(receiptMembers(for: request)))
}

func status(_ status: Int, retryAfter: String? = nil) -> ScriptedTransport.Reply {
    .success(HTTPResponse(status: status, contentType: "application/problem+json", retryAfter: retryAfter, body: Array("{}".utf8)))
}

func failure(_ kind: TransportFailure.Kind) -> ScriptedTransport.Reply { .failure(TransportFailure(kind, "scripted")) }

let portal = ScriptedTransport.Reply.success(HTTPResponse(status: 200, contentType: "text/html", body: Array("<html>Please log in</html>".utf8)))
