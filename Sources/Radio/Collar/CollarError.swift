import Platform

/// What went wrong between the hub and a collar.
public struct CollarError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Names the kind of failure in logs and in status; a code does not change between releases.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The peer lacks a service or a characteristic of the profile.
        case notACollar = "collar-not-a-collar"
        /// The peer gives no serial number, by which alone a collar is known.
        case noSerialNumber = "collar-no-serial-number"
        /// Beta Metrics that cannot be read.
        case malformedMetrics = "collar-malformed-metrics"
        /// An answer of the control point that cannot be read.
        case malformedAnswer = "collar-malformed-answer"
        /// An answer that nothing asked for.
        case unsolicitedAnswer = "collar-unsolicited-answer"
        /// Raw windows that nothing asked for.
        case strayWindow = "collar-stray-window"
        /// Result 1: the firmware does not know the opcode.
        case unsupportedOpcode = "collar-unsupported-opcode"
        /// Result 2: the firmware wants another length of this request.
        case badLength = "collar-bad-length"
        /// A result that the profile does not have for this opcode.
        case unexpectedResult = "collar-unexpected-result"
        /// Result 5: the collar does something else.
        case busy = "collar-busy"
        /// Windows that the collar says it holds and never sends.
        case windowsMissing = "collar-windows-missing"
        /// Neither a window nor an answer came for too long.
        case readStalled = "collar-read-stalled"
        /// The answer to a request did not come.
        case answerTimeout = "collar-answer-timeout"
        /// No heartbeat came on a link that is up.
        case silent = "collar-silent"
        /// The read was ended by a stop.
        case stopped = "collar-read-stopped"
        /// An attribute could not be used: the peer refused it, or its answer makes no sense.
        case attributeFailed = "collar-attribute-failed"
        /// The collar has forgotten the subscriptions (ATT error 0xFD).
        case notSubscribed = "collar-not-subscribed"
        /// The collar's attributes have changed while they were in use: its firmware was updated, or rearranges them.
        case databaseChanged = "collar-database-changed"
        /// The link is gone.
        case linkClosed = "collar-link-closed"
        /// The task that asked was cancelled.
        case cancelled = "collar-cancelled"
        /// The connection is not open, or is being opened a second time.
        case notOpen = "collar-not-open"
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
        case .notACollar: "check the UUIDs configured for this collar, or whether the device is one"
        case .noSerialNumber, .malformedMetrics, .malformedAnswer, .unsolicitedAnswer, .strayWindow, .unsupportedOpcode, .badLength,
             .unexpectedResult:
            "report this with the collar's firmware revision to its maker; what it holds stays on it"
        case .busy: "nothing; the hub asks again at the next heartbeat"
        case .windowsMissing, .readStalled, .answerTimeout, .silent, .linkClosed:
            "nothing; the hub connects and reads again; if it comes back, look at distance, battery and interference"
        case .stopped, .cancelled: "nothing; the rest is read later"
        case .attributeFailed: "check the pairing and the security configured for this collar"
        case .databaseChanged: "nothing; the hub connects again and discovers the collar anew; if it comes back, report it with the firmware revision"
        case .notSubscribed: "nothing; the hub subscribes again on the next link"
        case .notOpen: "nothing; the hub opens a connection before it uses it"
        }
    }

    public var description: String { "\(code.rawValue): \(detail)" }
}

extension CollarError {
    /// The collar's view of an error of the attribute client, or the error itself.
    init(cause: any Error) {
        switch cause {
        case let error as CollarError:
            self = error
        case let error as GATTError:
            switch error.reason {
            case .att(.clientCharacteristicConfigurationImproperlyConfigured, _, _):
                self.init(.notSubscribed, "\(error)")
            case .closed(let closure):
                self.init(closure: closure)
            case .timeout:
                self.init(.linkClosed, "\(error)")
            case .notSupported, .noClientConfiguration:
                self.init(.notACollar, "\(error)")
            case .notStarted, .alreadyStarted:
                self.init(.notOpen, "\(error)")
            case .databaseChanged, .databaseUnstable:
                self.init(.databaseChanged, "\(error)")
            case .att, .securityNotRaised, .doesNotFit, .valueTooLong, .changedOnTheWay, .tooFewHandles,
                 .unreadableCache, .sendQueueFull, .procedureInProgress, .noIndication, .implausible:
                self.init(.attributeFailed, "\(error)")
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
}
