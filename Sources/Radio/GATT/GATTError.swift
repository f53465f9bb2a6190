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
        /// The peer answered in form, but what it says cannot be; the text says why.
        case implausible(ATTOpcode, String)
    }

    public let reason: Reason

    public init(_ reason: Reason) { self.reason = reason }

    /// The peer's error code, when it was the peer that refused.
    public var attCode: ATTErrorCode? {
        if case .att(let code, _, _) = reason { code } else { nil }
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
        case .implausible: "report the peer's firmware"
        }
    }
}
