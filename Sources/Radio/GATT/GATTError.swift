/// A GATT procedure that failed: what failed, under a code that stays the same between releases, and what can be done.
///
/// A call that was cancelled throws `CancellationError` instead.
public struct GATTError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Reason: Sendable, Hashable {
        /// The peer refused the request on this attribute (for a discovery: the first of the range that was asked).
        case att(ATTErrorCode, request: ATTOpcode, handle: AttributeHandle)
        /// The peer did not answer this request in time; the bearer is closed.
        case timeout(ATTOpcode)
        /// The bearer is closed, or was closed while the call waited.
        case closed(BearerClosure)
        /// The client was not started, or started twice.
        case notStarted, alreadyStarted
        /// A PDU is longer than ATT_MTU allows; nothing was sent.
        case doesNotFit(ATTOpcode, length: Int, mtu: Int)
        /// Too many commands wait for the socket; nothing was sent.
        case sendQueueFull
        /// This procedure is under way already.
        case procedureInProgress(String)
        /// No indication waits for a confirmation.
        case noIndication
        /// The characteristic does not have the property that the call needs.
        case notSupported(BluetoothUUID, String)
        /// The characteristic has no Client Characteristic Configuration descriptor in its range.
        case noClientConfiguration(BluetoothUUID)
        /// The peer refused the request for want of security, and the link's could not be raised; the text says why.
        case securityNotRaised(ATTErrorCode, request: ATTOpcode, handle: AttributeHandle, String)
        /// The peer's database has changed, and this handle is not what it was when it was discovered; nothing was sent to it.
        case databaseChanged(AttributeHandle)
        /// The peer's database goes on changing as fast as it is discovered.
        case databaseUnstable
        /// A value would reach to so many octets, and none has more than 512; nothing was sent.
        case valueTooLong(AttributeHandle, Int)
        /// A part of a queued write came back from the peer other than it was sent; nothing was written.
        case changedOnTheWay(AttributeHandle)
        /// Fewer handles than the request needs; nothing was sent.
        case tooFewHandles(Int)
        /// Stored octets are no database; the text says what is wrong with them.
        case unreadableCache(String)
        /// The peer answered in form, but what it says cannot be; the text says why.
        case implausible(ATTOpcode, String)
    }

    public let reason: Reason

    public init(_ reason: Reason) { self.reason = reason }

    /// The peer's error code, when it was the peer that refused.
    public var attCode: ATTErrorCode? {
        switch reason {
        case .att(let code, _, _), .securityNotRaised(let code, _, _, _): code
        default: nil
        }
    }

    /// Whether it came with the end of the bearer.
    var endsBearer: Bool {
        switch reason {
        case .closed, .timeout: true
        default: false
        }
    }

    /// Whether a queued write that failed with it has left nothing in the peer's queue.
    var endsQueue: Bool {
        switch reason {
        case .securityNotRaised, .databaseChanged: false
        default: true
        }
    }

    /// A short name that stays the same between releases.
    public var code: String {
        switch reason {
        case .att: "att-error"
        case .timeout: "att-transaction-timeout"
        case .closed(let closure): closure.code
        case .notStarted: "gatt-not-started"
        case .alreadyStarted: "gatt-already-started"
        case .doesNotFit: "att-does-not-fit"
        case .sendQueueFull: "att-send-queue-full"
        case .procedureInProgress: "gatt-procedure-in-progress"
        case .noIndication: "gatt-no-indication"
        case .notSupported: "gatt-not-supported"
        case .noClientConfiguration: "gatt-no-client-configuration"
        case .securityNotRaised: "gatt-security-not-raised"
        case .databaseChanged: "gatt-database-changed"
        case .databaseUnstable: "gatt-database-unstable"
        case .valueTooLong: "gatt-value-too-long"
        case .changedOnTheWay: "gatt-changed-on-the-way"
        case .tooFewHandles: "gatt-too-few-handles"
        case .unreadableCache: "gatt-unreadable-cache"
        case .implausible: "gatt-implausible-response"
        }
    }

    /// What failed.
    public var description: String {
        switch reason {
        case .att(let code, let request, let handle): "the peer refused a \(request) on \(handle): \(code)"
        case .timeout(let request): "the peer did not answer a \(request) within the transaction timeout"
        case .closed(let closure): "the bearer is closed: \(closure)"
        case .notStarted: "the GATT client has not been started"
        case .alreadyStarted: "the GATT client has been started before"
        case .doesNotFit(let opcode, let length, let mtu): "a \(opcode) of \(length) octets does not fit ATT_MTU \(mtu)"
        case .sendQueueFull: "\(ATTBearer.commandLimit) commands wait for the socket already"
        case .procedureInProgress(let name): "the \(name) is under way already"
        case .noIndication: "no indication waits for a confirmation"
        case .notSupported(let uuid, let property): "characteristic \(uuid) does not have the property \(property)"
        case .noClientConfiguration(let uuid): "characteristic \(uuid) has no Client Characteristic Configuration descriptor"
        case .securityNotRaised(let code, let request, let handle, let why):
            "the peer refused a \(request) on \(handle): \(code); the link's security was not raised: \(why)"
        case .databaseChanged(let handle): "the peer's database has changed, and \(handle) with it"
        case .databaseUnstable: "the peer's database goes on changing while it is discovered"
        case .valueTooLong(let handle, let length): "a value of \(length) octets for \(handle) is more than \(ATTLimit.maximumValueLength)"
        case .changedOnTheWay(let handle): "a part of the value for \(handle) came back changed"
        case .tooFewHandles(let count): "\(count) handles are too few for this request"
        case .unreadableCache(let fault): "the stored database \(fault)"
        case .implausible(let opcode, let fault): "\(opcode) \(fault)"
        }
    }

    /// What the reader can do.
    public var remedy: String {
        switch reason {
        case .att(.insufficientAuthentication, _, _), .att(.insufficientEncryption, _, _), .att(.encryptionKeySizeTooShort, _, _):
            "raise the security of the link (pair), then try again"
        case .att(.databaseOutOfSync, _, _), .att(.invalidHandle, _, _): "discover the peer's services again"
        case .att: "see the peer's profile for what it allows"
        case .timeout, .closed: "connect again"
        case .notStarted: "call start first"
        case .alreadyStarted: "make a new client for a new connection"
        case .doesNotFit: "exchange the MTU first, or send less at once"
        case .sendQueueFull: "wait until the peer has taken some, or write with response"
        case .procedureInProgress: "wait for its end"
        case .noIndication: "confirm each indication once"
        case .notSupported, .noClientConfiguration: "check the configured UUIDs against the peer's profile"
        case .securityNotRaised: "pair the device with this hub, then try again"
        case .databaseChanged: "look the attribute up in the new database"
        case .databaseUnstable: "connect again when the peer's update is over"
        case .valueTooLong: "write a shorter value"
        case .changedOnTheWay: "write again"
        case .tooFewHandles: "read a single value by itself"
        case .unreadableCache: "discard it; the database is discovered anew"
        case .implausible: "report the peer's firmware"
        }
    }
}
