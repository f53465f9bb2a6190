import Platform

/// What went wrong between the hub and a blood-pressure cuff.
public struct CuffError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Names the kind of failure in logs and in status; a code does not change between releases.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The peer lacks a service or a characteristic of its profile.
        case notACuff = "cuff-not-a-cuff"
        /// A measurement that cannot be read.
        case malformedMeasurement = "cuff-malformed-measurement"
        /// A stored record, or a segment of one, that cannot be read.
        case malformedRecord = "cuff-malformed-record"
        /// A date and time that cannot be read.
        case malformedTime = "cuff-malformed-time"
        /// The bits of what the cuff supports cannot be read.
        case malformedFeature = "cuff-malformed-feature"
        /// An answer of the record access control point, or of the maker's protocol, that cannot be read.
        case malformedAnswer = "cuff-malformed-answer"
        /// A frame of the maker's protocol with a wrong checksum, or bytes between frames.
        case malformedFrame = "cuff-malformed-frame"
        /// A file of the maker's protocol that cannot be read.
        case malformedFile = "cuff-malformed-file"
        /// The cuff refuses a request.
        case refused = "cuff-refused"
        /// The answer to a request did not come.
        case answerTimeout = "cuff-answer-timeout"
        /// The cuff kept its clock although it was set.
        case clockKept = "cuff-clock-kept"
        /// An attribute could not be used: the peer refused it, or its answer makes no sense.
        case attributeFailed = "cuff-attribute-failed"
        /// The link is gone.
        case linkClosed = "cuff-link-closed"
        /// The task that asked was cancelled.
        case cancelled = "cuff-cancelled"
        /// The connection is not open, is being opened a second time, or does something else.
        case notOpen = "cuff-not-open"
    }

    /// The kind of failure.
    public let code: Code
    /// What was wrong, in words.
    public let detail: String

    /// - Parameter detail: what was wrong, in words, without values of health.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// What the reader can do about it.
    public var advice: String {
        switch code {
        case .notACuff: "check the driver and the services configured for this cuff"
        case .malformedMeasurement, .malformedRecord, .malformedTime, .malformedFeature, .malformedAnswer, .malformedFrame, .malformedFile:
            "report this with the cuff's model and firmware revision"
        case .refused: "nothing; the hub asks again on the next link"
        case .answerTimeout, .linkClosed: "nothing; the cuff links again when it has something; if it comes back, look at distance and battery"
        case .clockKept: "set the cuff's clock by hand; until then its readings say how far it is off"
        case .attributeFailed: "check the pairing of this cuff"
        case .cancelled: "nothing; the rest is read later"
        case .notOpen: "nothing; the hub opens a connection before it uses it"
        }
    }

    public var description: String { "\(code.rawValue): \(detail)" }
}

extension CuffError {
    /// The cuff's view of an error of the attribute client, or the error itself.
    init(cause: any Error) {
        switch cause {
        case let error as CuffError:
            self = error
        case let error as GATTError:
            switch error.reason {
            case .closed(let closure): self.init(closure: closure)
            case .timeout: self.init(.linkClosed, "\(error)")
            case .notSupported, .noClientConfiguration: self.init(.notACuff, "\(error)")
            case .notStarted, .alreadyStarted: self.init(.notOpen, "\(error)")
            default: self.init(.attributeFailed, "\(error)")
            }
        case is CancellationError:
            self.init(.cancelled, "the task that asked was cancelled")
        case let error as SystemError:
            self.init(.linkClosed, "\(error)")
        default:
            self.init(.attributeFailed, "\(cause)")
        }
    }

    /// Why the link has gone.
    init(closure: BearerClosure) {
        self.init(.linkClosed, "\(closure)")
    }

    /// What was wrong with the octets of a value.
    init(_ code: Code, _ value: String, _ malformation: ATTMalformation) {
        self.init(code, "\(value) \(malformation.fault)")
    }
}
