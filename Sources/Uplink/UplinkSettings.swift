/// What the uplink is told by the configuration. A demo shortens the intervals; TLS verification has no setting.
public struct UplinkSettings: Sendable {
    /// The backend's base URL, without the slash at its end.
    public let base: String
    /// The FHIR server that readings go to, without the slash at its end; `nil` sends them to `{base}/v1/readings`.
    public let fhirBase: String?
    /// Each owner's FHIR Patient, e.g. `Patient/4711`, by the owner's key. Readings of an owner without one wait.
    public var patients: [String: String]
    /// The file that holds each owner's token, by the owner's key.
    public var tokenFiles: [String: String]
    /// When to try again.
    public var policy: RetryPolicy

    /// - Throws: `UplinkError.unusableBase` unless `base` and `fhirBase` are absolute https URLs with neither user information, query nor fragment.
    public init(
        base: String, fhirBase: String? = nil, tokenFiles: [String: String], patients: [String: String] = [:], policy: RetryPolicy = RetryPolicy()
    ) throws(UplinkError) {
        self.base = try Self.checked(base)
        if let fhirBase { self.fhirBase = try Self.checked(fhirBase) } else { self.fhirBase = nil }
        self.tokenFiles = tokenFiles
        self.patients = patients
        self.policy = policy
    }

    /// Where entries of an endpoint go.
    func url(of endpoint: Endpoint) -> String {
        switch endpoint {
        case .rawWindows: "\(base)/v1/raw-windows"
        case .readings: ReadingsRequest.url(base: base, fhirBase: fhirBase)
        }
    }

    private static func checked(_ base: String) throws(UplinkError) -> String {
        let prefix = "https://"
        let rest = base.dropFirst(prefix.count)
        guard base.lowercased().hasPrefix(prefix), let host = rest.first, host != "/", host != ":",
              base.utf8.allSatisfy({ (33...126).contains($0) && !Array("@?#\"<>\\^`{|}".utf8).contains($0) })
        else { throw .unusableBase(base) }
        return String(base.reversed().drop { $0 == "/" }.reversed())
    }
}

/// When to try again: the figures of the retry machine.
public struct RetryPolicy: Sendable, Hashable {
    /// Failed attempts after which an entry waits for a flush.
    public var attempts: Int
    /// The delay after the first failed attempt; it doubles with each further one.
    public var backoffBase: Duration
    /// The longest delay, for backoff, Retry-After and the probes of a hold.
    public var maximumDelay: Duration
    /// The time between flushes while something is queued.
    public var flushInterval: Duration

    public init(attempts: Int = 3, backoffBase: Duration = .seconds(30), maximumDelay: Duration = .seconds(900), flushInterval: Duration = .seconds(120)) {
        self.attempts = max(1, attempts)
        self.backoffBase = max(.milliseconds(1), backoffBase)
        self.maximumDelay = max(self.backoffBase, maximumDelay)
        self.flushInterval = max(.milliseconds(1), flushInterval)
    }

    /// The delay after failure number `failure` (from 1): the base, doubled for each earlier one, plus 0 to 50 % by `jitter` (0 to 1), capped.
    func delay(failure: Int, jitter: Double) -> Duration {
        let doublings = min(max(0, failure - 1), 30)
        let plain = min(backoffBase * (1 << doublings), maximumDelay)
        return min(plain + plain * (min(max(jitter, 0), 1) / 2), maximumDelay)
    }
}

/// Why everything queued should be tried now.
public enum FlushReason: String, Sendable, Hashable, CaseIterable {
    case start
    case networkBack = "network-back"
    case controllerBack = "controller-back"
    case deviceLinked = "device-linked"
    case ownersChanged = "owners-changed"
    case tokenChanged = "token-changed"
    case clockSet = "clock-set"
    case requested
    case receipt
    case interval
}
