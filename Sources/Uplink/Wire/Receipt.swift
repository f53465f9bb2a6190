/// The backend's word that it keeps what one request brought, verified against that request.
public struct Receipt: Sendable, Hashable {
    /// A window that the backend did not take.
    public struct Rejection: Sendable, Hashable {
        /// The window's sequence, as on the wire.
        public var sequence: UInt32
        /// The backend's reason; `conflict` when it holds other bytes for this sequence.
        public var code: String

        public init(sequence: UInt32, code: String) {
            self.sequence = sequence
            self.code = code
        }
    }

    /// The backend's name for the receipt.
    public var id: String
    /// The idempotency key of the request.
    public var key: String
    /// The digest of the content, in the form of `Content-Digest`.
    public var digest: String
    public var log: UInt32
    public var first: UInt32
    /// The number of windows that the backend keeps, those that it had already among them.
    public var accepted: Int
    /// The number of gaps that the backend keeps.
    public var gaps: Int
    /// The windows that it does not keep: damaged ones, and conflicts.
    public var rejected: [Rejection]

    public init(id: String, key: String, digest: String, log: UInt32, first: UInt32, accepted: Int, gaps: Int, rejected: [Rejection]) {
        self.id = id
        self.key = key
        self.digest = digest
        self.log = log
        self.first = first
        self.accepted = accepted
        self.gaps = gaps
        self.rejected = rejected
    }
}
