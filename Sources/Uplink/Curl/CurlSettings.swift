/// Which certificate authorities are trusted.
public enum TrustAnchors: Sendable, Hashable {
    /// The system's.
    case system
    /// The authorities in this PEM file, and no others.
    case file(String)
    /// The authorities in this directory of files named by the hash of their subject (openssl-rehash(1)), and no others. Only those needed are read.
    case directory(String)
}

/// Limits and identity of `CurlTransport`.
public struct CurlSettings: Sendable, Hashable {
    public var trust: TrustAnchors
    /// The server's public key, in libcurl's form `sha256//<base64>` (several with `;` between them); checked besides the certificate, never instead.
    public var pinnedPublicKey: String?
    /// The time for name, connection and handshake.
    public var connectTimeout: Duration
    /// The time for the whole exchange.
    public var totalTimeout: Duration
    /// The exchange is given up when less than `lowSpeedBytes` a second moved for `lowSpeedTime` (whole seconds, at least one).
    public var lowSpeedBytes: Int
    public var lowSpeedTime: Duration
    /// The most bytes of content that are taken from an answer: room for a transaction-response to a full Bundle. Each kind of receipt has its own limit.
    public var bodyLimit: Int
    /// The most bytes of header that are taken from an answer.
    public var headerLimit: Int
    /// `User-Agent`, e.g. `gateway/1.0`.
    public var userAgent: String

    public init(trust: TrustAnchors = .system, pinnedPublicKey: String? = nil, connectTimeout: Duration = .seconds(20), totalTimeout: Duration = .seconds(120),
                lowSpeedBytes: Int = 64, lowSpeedTime: Duration = .seconds(30), bodyLimit: Int = 262_144, headerLimit: Int = 16_384, userAgent: String) {
        self.trust = trust
        self.pinnedPublicKey = pinnedPublicKey
        self.connectTimeout = connectTimeout
        self.totalTimeout = totalTimeout
        self.lowSpeedBytes = lowSpeedBytes
        self.lowSpeedTime = lowSpeedTime
        self.bodyLimit = bodyLimit
        self.headerLimit = headerLimit
        self.userAgent = userAgent
    }
}
