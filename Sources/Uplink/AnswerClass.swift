/// What an answer, or its absence, means: the contract's table.
public enum AnswerClass: Sendable, Hashable {
    /// A receipt for exactly what was sent.
    case confirmed(Receipt)
    /// The backend's word about each reading that was sent.
    case readingsConfirmed(ReadingsReceipt)
    /// A reading conflicts with what the backend has, and the request was refused whole (412); its place in the request, `nil` when the answer does not say.
    case readingConflict(place: Int?)
    /// The same request may succeed later.
    ///
    /// - after: what the backend asked for with `Retry-After`.
    /// - answered: whether the backend answered at all.
    /// - beforeRequest: without an answer, whether any other request would have failed the same way.
    case retry(after: Duration?, answered: Bool, beforeRequest: Bool)
    /// The hub's clock is not set, and the certificate's dates do not fit it.
    case clock
    /// Somebody else answers in the backend's place.
    case interception
    /// The token is not taken.
    case authorisation
    /// The key is known with another content.
    case conflict
    /// The content is too large.
    case tooLarge
    /// The backend will never take this request.
    case refused
}

/// The readings of a request, as far as an answer is to be understood by them.
public struct SentReadings: Sendable, Hashable {
    /// The idempotency key that they went under.
    public var key: String
    /// Their names in order.
    public var names: [String]

    public init(key: String, names: [String]) {
        self.key = key
        self.names = names
    }
}

/// An attempt's answer with the error behind it.
public struct Answer: Sendable, Hashable {
    public var meaning: AnswerClass
    /// Absent when it is confirmed.
    public var error: DeliveryError?
    /// What was sent, when that were readings.
    public var readings: SentReadings?

    /// Puts an HTTP answer into its class.
    ///
    /// - Parameter digest: the `Content-Digest` of the request.
    public init(_ response: HTTPResponse, to delivery: Delivery, digest: String) {
        guard (200..<300).contains(response.status) else {
            self.init(refusal: response)
            return
        }
        do throws(ReceiptRefusal) {
            self.init(.confirmed(try Receipt(verifying: response, for: delivery, digest: digest)))
        } catch {
            self.init(noReceipt: error, response)
        }
    }

    /// Puts an HTTP answer to readings into its class.
    ///
    /// - Parameter sent: what `request` was made of.
    public init(_ response: HTTPResponse, to request: ReadingsRequest, _ sent: SentReadings) {
        switch response.status {
        case 200..<300:
            do throws(ReceiptRefusal) {
                self.init(.readingsConfirmed(try ReadingsReceipt(verifying: response, for: request)))
            } catch {
                self.init(noReceipt: error, response)
            }
        case 412:
            self.init(refusal: response)
            meaning = .readingConflict(place: ReadingsReceipt.conflict(in: response, for: request))
        default: self.init(refusal: response)
        }
        readings = sent
    }

    private init(_ meaning: AnswerClass) {
        self.meaning = meaning
    }

    private init(noReceipt refusal: ReceiptRefusal, _ response: HTTPResponse) {
        meaning = .interception
        error = DeliveryError(code: refusal.code, words: "HTTP \(response.status) without a receipt: \(refusal.words)")
    }

    /// An answer that is no receipt by its status.
    private init(refusal response: HTTPResponse) {
        let status = response.status
        error = DeliveryError(code: "http-\(status)", words: "the backend answered HTTP \(status)")
        switch status {
        case 511: meaning = .interception
        case 408, 409, 425, 429, 500..<600:
            meaning = .retry(after: RetryAfter.delay(response.retryAfter, date: response.date), answered: true, beforeRequest: false)
        case 401, 403: meaning = .authorisation
        case 413: meaning = .tooLarge
        case 422: meaning = .conflict
        case 400..<500: meaning = .refused
        default: meaning = .interception
        }
    }

    /// Puts the lack of an answer into its class.
    ///
    /// - Parameter clockSynchronised: whether the wall clock was set from a time source.
    public init(_ failure: TransportFailure, clockSynchronised: Bool) {
        error = DeliveryError(code: failure.kind.rawValue, words: failure.words)
        switch failure.kind {
        case .dns, .refused, .timeout, .lowSpeed, .connectionLost, .tlsHandshake, .cancelled, .other:
            meaning = .retry(after: nil, answered: false, beforeRequest: failure.isBeforeRequest)
        case .certificateNotYetValid, .certificateExpired: meaning = clockSynchronised ? .interception : .clock
        case .certificateUntrusted, .pinMismatch, .answerTooLarge, .notHTTP: meaning = .interception
        case .unusableURL: meaning = .refused
        }
    }
}
