import Platform
import Uplink

/// A backend within the process that keeps the uplink contract, and breaks it when it is told to: the other end of the whole under virtual time.
actor ModelBackend: HTTPTransport {
    /// What can go wrong with one request, each with its probability.
    struct Faults: Sendable {
        var refused = 0.0
        var unavailable = 0.0
        var portal = 0.0
        var foreignReceipt = 0.0
        /// Stored, and then the answer is lost.
        var answerLost = 0.0

        static let none = Faults()
        static let many = Faults(refused: 0.1, unavailable: 0.1, portal: 0.05, foreignReceipt: 0.05, answerLost: 0.1)
    }

    struct WindowKey: Hashable, Sendable {
        let device: String
        let log: UInt32
        let sequence: UInt32
    }

    struct Stored: Sendable {
        let bytes: [UInt8]
        let owner: String
        let at: BootInstant
    }

    struct Answered {
        let digest: String
        let body: String
    }

    let loop: any EventLoop
    let owners: [String: String]
    private var dice: SplitMix64
    var answers: [String: Answered] = [:]

    var faults: Faults
    /// Every key is taken for another body's (422).
    var contestsKeys = false
    /// Windows that it says it has with other bytes already.
    var contestedWindows: Set<UInt32> = []
    /// No connection at all.
    var isAway = false
    /// Owners whose requests get no connection.
    private var awayOwners: Set<String> = []
    /// The most windows of one request; more are answered with 413.
    private var limit = Int.max
    /// How many more requests get a connection.
    private var accepting = Int.max
    /// Requests are taken and never answered.
    private var isMute = false
    private(set) var windows: [WindowKey: Stored] = [:]
    private(set) var gaps: [WindowKey: (reason: String, at: BootInstant)] = [:]
    /// What was created of readings, by identifier.
    var resources: [String: Resource] = [:]
    /// Readings that it says it has twice already, by identifier (412).
    var contestedReadings: Set<String> = []
    private(set) var duplicates = 0
    private(set) var conflicts: [WindowKey] = []
    private(set) var requests = 0
    var violations: [String] = []
    /// Requests that said another owner's name than the token's.
    var foreignTokens = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter owners: tokens by the owner's key.
    init(loop: any EventLoop, owners: [String: String], seed: UInt64, faults: Faults) {
        self.loop = loop
        self.owners = owners
        self.faults = faults
        dice = SplitMix64(seed: seed)
    }

    func set(away: Bool) { isAway = away }
    func set(away owners: Set<String>) { awayOwners = owners }
    func set(limit: Int) { self.limit = limit }
    func set(accepting: Int) { self.accepting = accepting }
    func set(mute: Bool) { isMute = mute }
    func set(faults: Faults) { self.faults = faults }
    func set(contestsKeys: Bool) { self.contestsKeys = contestsKeys }
    func set(contestedWindows: Set<UInt32>) { self.contestedWindows = contestedWindows }

    func send(_ request: HTTPRequest) async throws(TransportFailure) -> HTTPResponse {
        do { try await loop.sleep(for: .milliseconds(40)) } catch { throw TransportFailure(.cancelled, "given up") }
        requests += 1
        while isMute {
            do { try await loop.sleep(for: .seconds(1)) } catch { throw TransportFailure(.cancelled, "given up") }
        }
        let owner = (request.header("Hub-Owner") ?? "").filter { $0 != "\"" }
        accepting -= 1
        if accepting < 0 || isAway || awayOwners.contains(owner) || happens(faults.refused) { throw TransportFailure(.refused, "connection refused") }
        if happens(faults.unavailable) { return HTTPResponse(status: 503, contentType: "text/plain", retryAfter: "5", body: []) }
        if happens(faults.portal) { return HTTPResponse(status: 200, contentType: "text/html", body: Array("<html>Log in</html>".utf8)) }
        if request.body.count > limit.multipliedReportingOverflow(by: 322).partialValue, limit != .max { return HTTPResponse(status: 413, body: []) }
        let response = request.url.hasSuffix("/v1/readings") ? takeReadings(request) : take(request)
        if happens(faults.answerLost) { throw TransportFailure(.connectionLost, "reset") }
        if response.status == 200, happens(faults.foreignReceipt) {
            let text = String(decoding: response.body, as: UTF8.self)
            guard let cut = text.range(of: "\"key\": \"") else { return response }
            return HTTPResponse(status: 200, contentType: "application/json", body: Array((text[..<cut.upperBound] + "0" + text[cut.upperBound...]).utf8))
        }
        return response
    }

    private func happens(_ probability: Double) -> Bool {
        probability > 0 && Double.random(in: 0..<1, using: &dice) < probability
    }

    /// The contract: everything is checked, then stored, then answered.
    private func take(_ request: HTTPRequest) -> HTTPResponse {
        func text(_ name: String) -> String {
            let value = request.header(name) ?? ""
            return value.hasPrefix("\"") ? String(value.dropFirst().dropLast()) : value
        }
        let owner = text("Hub-Owner")
        guard request.header("Authorization") == "Bearer \(owners[owner] ?? "nobody")" else {
            foreignTokens += 1
            return HTTPResponse(status: 403, body: [])
        }
        if contestsKeys { return HTTPResponse(status: 422, body: []) }
        let key = text("Idempotency-Key")
        let digest = request.header("Content-Digest") ?? ""
        if let before = answers[key] {
            guard before.digest == digest else { return HTTPResponse(status: 422, body: []) }
            return HTTPResponse(status: 200, contentType: "application/json", body: Array(before.body.utf8))
        }
        guard let log = UInt32(text("Hub-Log")), let first = UInt32(text("Hub-First")), let count = Int(text("Hub-Count")),
              request.body.count == count * 322, digest == RawWindowsRequest.digest(of: request.body) else {
            violations.append("malformed request \(key)")
            return HTTPResponse(status: 400, body: [])
        }
        let device = text("Hub-Device")
        let named = namedGaps(request.header("Hub-Gaps"))
        let damaged = Set(named.filter { $0.reason == "damaged" }.flatMap { gap in (0..<gap.count).map { gap.first &+ $0 } })
        var rejected: [String] = []
        for index in 0..<count {
            let sequence = first &+ UInt32(index)
            let bytes = Array(request.body[index * 322..<(index + 1) * 322])
            let id = WindowKey(device: device, log: log, sequence: sequence)
            if !damaged.contains(sequence), Self.sequence(bytes) != sequence { violations.append("window \(sequence) carries another sequence") }
            if contestedWindows.contains(sequence) {
                rejected.append("{\"sequence\": \(sequence), \"code\": \"conflict\"}")
            } else if let before = windows[id] {
                duplicates += 1
                if before.bytes != bytes {
                    conflicts.append(id)
                    rejected.append("{\"sequence\": \(sequence), \"code\": \"conflict\"}")
                }
                if before.owner != owner { violations.append("window \(sequence) of \(device) came for \(before.owner) and for \(owner)") }
            } else {
                windows[id] = Stored(bytes: bytes, owner: owner, at: loop.now)
            }
        }
        for gap in named where gap.reason != "damaged" {
            for offset in 0..<min(gap.count, 100_000) {
                let id = WindowKey(device: device, log: gap.log, sequence: gap.first &+ offset)
                if gaps[id] == nil { gaps[id] = (gap.reason, loop.now) }
            }
        }
        let body = """
            {"receipt": "r-\(requests)", "key": "\(key)", "digest": "\(digest)", "log": \(log), "first": \(first), \
            "accepted": \(count - rejected.count), "gaps": \(named.count), "rejected": [\(rejected.joined(separator: ", "))]}
            """
        answers[key] = Answered(digest: digest, body: body)
        return HTTPResponse(status: 201, contentType: "application/json", body: Array(body.utf8))
    }

    private func namedGaps(_ header: String?) -> [(log: UInt32, first: UInt32, count: UInt32, reason: String)] {
        guard let header else { return [] }
        return header.split(separator: ",").compactMap { member in
            let parts = member.split(whereSeparator: { " ();".contains($0) })
            guard parts.count == 4, let log = UInt32(parts[0]), let first = UInt32(parts[1]), let count = UInt32(parts[2]) else {
                violations.append("unreadable gap \(member)")
                return nil
            }
            return (log, first, count, String(parts[3].dropFirst("reason=\"".count).dropLast()))
        }
    }

    private static func sequence(_ window: [UInt8]) -> UInt32 {
        window[0..<4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension String {
    /// The first place where `part` stands.
    func range(of part: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(part) { return start..<index(start, offsetBy: part.count) }
            start = index(after: start)
        }
        return nil
    }
}
