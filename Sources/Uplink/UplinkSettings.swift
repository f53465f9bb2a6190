/// What the uplink is told by the configuration. A demo shortens the intervals; TLS verification has no setting.
public struct UplinkSettings: Sendable {
    /// The backend's base URL, without the slash at its end.
    public let base: String
    /// The file that holds each owner's token, by the owner's key.
    public var tokenFiles: [String: String]
    /// When to try again.
    public var policy: RetryPolicy

    /// - Throws: `UplinkError.unusableBase` unless `base` is an absolute https URL with neither user information, query nor fragment.
    public init(base: String, tokenFiles: [String: String], policy: RetryPolicy = RetryPolicy()) throws(UplinkError) {
        let prefix = "https://"
        let rest = base.dropFirst(prefix.count)
        guard base.lowercased().hasPrefix(prefix), let host = rest.first, host != "/", host != ":",
              base.utf8.allSatisfy({ (33...126).contains($0) && !Array("@?#\"<>\\^`{|}".utf8).contains($0) })
        else { throw .unusableBase(base) }
        self.base = String(base.reversed().drop { $0 == "/" }.reversed())
        self.tokenFiles = tokenFiles
        self.policy = policy
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
