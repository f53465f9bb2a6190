import Platform

/// An error with a stable code, in the words of whoever noticed it.
public struct DeliveryError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A short kebab-case string that does not change between releases.
    public var code: String
    /// The original error.
    public var words: String

    public init(code: String, words: String) {
        self.code = code
        self.words = words
    }

    public var description: String { words.isEmpty ? code : "\(code): \(words)" }
}

/// Why a lane sends nothing but probes.
public enum HoldReason: String, Sendable, Hashable, CaseIterable {
    /// The certificate's dates do not fit a clock that nobody has set yet.
    case clock
    /// Somebody else answers in the backend's place, or its certificate is not to be trusted.
    case interception
    /// The backend does not take this owner's token, or there is none.
    case authorisation
    /// The endpoint refuses every entry.
    case endpoint
}

/// A delivery that failed.
public struct DeliveryFailure: Sendable, Hashable {
    public var owner: String
    public var entry: String
    public var error: DeliveryError
    /// Failed attempts of the entry that count, this one included when it counts.
    public var attempt: Int
    /// Whether it will be tried again by itself, before a flush.
    public var willRetry: Bool
    /// Whether it waits for a flush.
    public var exhausted: Bool

    public init(owner: String, entry: String, error: DeliveryError, attempt: Int, willRetry: Bool, exhausted: Bool) {
        self.owner = owner
        self.entry = entry
        self.error = error
        self.attempt = attempt
        self.willRetry = willRetry
        self.exhausted = exhausted
    }
}

/// What the uplink tells the hub, after it was written down.
public enum UplinkEvent: Sendable, Hashable {
    /// A request goes out.
    case sending(owner: String, entry: String)
    /// The entry is settled.
    case settled(owner: String, entry: String, receipt: Receipt)
    /// One part of the entry is settled.
    case partSettled(owner: String, entry: String, part: Int, receipt: Receipt)
    /// The backend keeps these readings of the entry, by their names.
    case readingsAccepted(owner: String, entry: String, readings: [String])
    /// These readings of the entry conflict with what the backend has; they are set aside.
    case readingsConflicted(owner: String, entry: String, readings: [String])
    /// No request can be made of a reading of the entry; it is set aside. Its name, as far as that can be read.
    case readingSetAside(owner: String, entry: String, reading: String?, DeliveryError)
    /// A delivery failed.
    case failed(DeliveryFailure)
    /// The entry goes on under a new key.
    case rekeyed(owner: String, entry: String)
    /// The entry goes on in parts.
    case split(owner: String, entry: String, into: [QueuedEntry.Part])
    /// The entry, or what is left of it, is out of the queue and kept for an operator.
    case quarantined(owner: String, entry: String, DeliveryError)
    /// The backend takes at most this many windows at a time; later batches should not be larger.
    case limitLearned(owner: String, windows: Int)
    /// The backend takes at most this many readings at a time; larger entries go in parts.
    case readingsLimitLearned(owner: String, readings: Int)
    /// The lane sends nothing but probes from now on.
    case holdBegan(owner: String, HoldReason, DeliveryError)
    /// The lane sends again.
    case holdEnded(owner: String, HoldReason)
    /// The queue could not be read or written. A receipt that came is named; the entry goes again under the same key.
    case storageFailed(owner: String, entry: String, receipt: String?, DeliveryError)
}

/// One owner's deliveries to one endpoint at a glance.
public struct LaneStatus: Sendable, Hashable {
    /// What the lane is doing.
    public enum State: Sendable, Hashable {
        /// Nothing to send, or only what waits for the next flush.
        case idle
        case sending(entry: String)
        /// The next attempt comes at this moment of the boot clock.
        case waiting(until: BootInstant)
        /// Only probes are sent; the next one comes at this moment.
        case holding(HoldReason, probe: BootInstant)
    }

    public var owner: String
    public var endpoint: Endpoint
    public var state: State
    /// When the last receipt was written down, on the boot clock.
    public var lastSuccess: BootInstant?
    /// The same moment in the wall clock's words.
    public var lastSuccessWall: WallTime?
    /// The last failure since then, if any.
    public var lastError: DeliveryError?
    /// The number of entries, and how many of them are exhausted.
    public var queued: Int
    public var exhausted: Int

    public init(owner: String, endpoint: Endpoint = .rawWindows, state: State = .idle, lastSuccess: BootInstant? = nil, lastSuccessWall: WallTime? = nil, lastError: DeliveryError? = nil,
                queued: Int = 0, exhausted: Int = 0) {
        self.owner = owner
        self.endpoint = endpoint
        self.state = state
        self.lastSuccess = lastSuccess
        self.lastSuccessWall = lastSuccessWall
        self.lastError = lastError
        self.queued = queued
        self.exhausted = exhausted
    }
}
