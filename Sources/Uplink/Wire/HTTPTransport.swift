/// A request, complete but for what the transport itself adds (`Host`, `Content-Length`, `User-Agent`).
public struct HTTPRequest: Sendable, Hashable {
    /// The method, e.g. `POST`.
    public var method: String
    /// An absolute `https` URL.
    public var url: String
    /// Header fields in the order in which they are sent. Values hold no line breaks.
    public var headers: [HTTPHeader]
    /// The content.
    public var body: [UInt8]

    public init(method: String, url: String, headers: [HTTPHeader], body: [UInt8]) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// The value of the first field of that name (names are compared without case, RFC 9110 section 5.1).
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// One header field.
public struct HTTPHeader: Sendable, Hashable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// What came back: never more than the transport's limit.
public struct HTTPResponse: Sendable, Hashable {
    /// The status code, 200 to 599; interim answers (1xx) are not shown.
    public var status: Int
    /// `Content-Type`, when there was one.
    public var contentType: String?
    /// `Retry-After`, as it was written.
    public var retryAfter: String?
    /// `Date`, as it was written.
    public var date: String?
    /// The content, cut at the transport's limit.
    public var body: [UInt8]
    /// Whether `body` is all of it. It is not when the limit was reached, or when the connection broke after an error status.
    public var isComplete: Bool

    public init(status: Int, contentType: String? = nil, retryAfter: String? = nil, date: String? = nil, body: [UInt8] = [], isComplete: Bool = true) {
        self.status = status
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.date = date
        self.body = body
        self.isComplete = isComplete
    }
}

/// Why there was no answer.
public struct TransportFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds that the hub reacts to differently, or an operator should see apart. Raw values are stable codes.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The name has no address, or could not be asked for.
        case dns = "dns-failed"
        /// Nobody took the connection.
        case refused = "connection-refused"
        /// The connection or the whole exchange took too long.
        case timeout = "timed-out"
        /// Connected, but hardly a byte moved for too long.
        case lowSpeed = "low-speed"
        /// The connection ended before the answer did.
        case connectionLost = "connection-lost"
        /// The handshake failed for a reason other than the certificate.
        case tlsHandshake = "tls-handshake-failed"
        /// The certificate (or one of its issuers) is not valid yet.
        case certificateNotYetValid = "certificate-not-yet-valid"
        /// The certificate (or one of its issuers) is no longer valid.
        case certificateExpired = "certificate-expired"
        /// The certificate is for another host, from an unknown authority or otherwise not to be trusted.
        case certificateUntrusted = "certificate-untrusted"
        /// The server's public key is not the pinned one.
        case pinMismatch = "pin-mismatch"
        /// The answer's header is larger than the limit.
        case answerTooLarge = "answer-too-large"
        /// The answer is not HTTP.
        case notHTTP = "not-http"
        /// The URL cannot be used: not https, or malformed.
        case unusableURL = "unusable-url"
        /// The request was given up by the hub itself.
        case cancelled = "cancelled"
        /// Anything else.
        case other = "transport-failed"
    }

    public var kind: Kind
    /// The transport's own words and number for it.
    public var words: String

    public init(_ kind: Kind, _ words: String) {
        self.kind = kind
        self.words = words
    }

    public var description: String { "\(kind.rawValue): \(words)" }

    /// Whether the failure came before the request could have mattered: any other request to this endpoint would have failed the same way.
    public var isBeforeRequest: Bool {
        switch kind {
        case .dns, .refused, .tlsHandshake, .certificateNotYetValid, .certificateExpired, .certificateUntrusted, .pinMismatch, .unusableURL: true
        case .timeout, .lowSpeed, .connectionLost, .answerTooLarge, .notHTTP, .cancelled, .other: false
        }
    }
}

/// Carries requests. The daemon uses `CurlTransport`, tests a script.
public protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the answer, whatever its status. Redirects are answers and are not followed.
    ///
    /// - Throws: `TransportFailure` when there is no answer; kind `cancelled` as soon as the calling task is cancelled.
    func send(_ request: HTTPRequest) async throws(TransportFailure) -> HTTPResponse
}
