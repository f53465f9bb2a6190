import Platform

/// Why an ATT bearer is closed. A closed bearer never opens again: the link has to be made anew.
public enum BearerClosure: Error, Sendable, Hashable, CustomStringConvertible {
    /// This side closed it; the text says what for.
    case requested(String)
    /// The peer or the kernel ended the connection in order.
    case hangup
    /// The connection broke; the error is what the kernel said of it.
    case transport(SystemError)
    /// A request was not answered in time (Core Vol 3 Part F 3.3.3).
    case transactionTimeout(ATTOpcode)
    /// The socket has taken nothing for as long as a transaction may last, so the peer is not there to hear.
    case stalled
    /// The peer does not keep to the protocol, so nothing it says can be matched any more.
    case violation(ATTViolation)

    /// A short name that stays the same between releases.
    public var code: String {
        switch self {
        case .requested: "bearer-closed"
        case .hangup: "bearer-hangup"
        case .transport: "bearer-transport"
        case .transactionTimeout: "att-transaction-timeout"
        case .stalled: "bearer-stalled"
        case .violation: "att-violation"
        }
    }

    public var description: String {
        switch self {
        case .requested(let purpose): "closed by this side: \(purpose)"
        case .hangup: "the peer hung up"
        case .transport(let error): "the connection broke: \(error)"
        case .transactionTimeout(let opcode): "no answer to a \(opcode) within the transaction timeout"
        case .stalled: "the socket has taken nothing for the transaction timeout"
        case .violation(let violation): "protocol violation: \(violation)"
        }
    }
}

/// What a peer did against the Attribute Protocol (Core Vol 3 Part F 3.3).
public enum ATTViolation: Sendable, Hashable, CustomStringConvertible {
    /// The octets are no PDU; `opcode` is `nil` when there was not even one.
    case malformed(opcode: ATTOpcode?, fault: String)
    /// A PDU longer than ATT_MTU (3.2.8).
    case oversized(length: Int, mtu: Int)
    /// A response, and no request of ours is open.
    case unsolicitedResponse(ATTOpcode)
    /// A response to something other than the open request.
    case mismatchedResponse(ATTOpcode, to: ATTOpcode)
    /// An Error Response that names something other than the open request.
    case mismatchedError(names: ATTOpcode, open: ATTOpcode)
    /// A confirmation; we never indicate.
    case unsolicitedConfirmation
    /// A second indication before the first was confirmed (3.3.2).
    case indicationBeforeConfirmation(AttributeHandle)
    /// A second request before the first was answered (3.3.2).
    case requestBeforeResponse(ATTOpcode)

    public var description: String {
        switch self {
        case .malformed(nil, let fault): "a PDU \(fault)"
        case .malformed(let opcode?, let fault): "\(opcode) \(fault)"
        case .oversized(let length, let mtu): "a PDU of \(length) octets at ATT_MTU \(mtu)"
        case .unsolicitedResponse(let opcode): "\(opcode) without a request"
        case .mismatchedResponse(let opcode, let request): "\(opcode) to a \(request)"
        case .mismatchedError(let named, let open): "Error Response to a \(named) while a \(open) is open"
        case .unsolicitedConfirmation: "Handle Value Confirmation without an indication"
        case .indicationBeforeConfirmation(let handle): "indication of \(handle) before the last one was confirmed"
        case .requestBeforeResponse(let opcode): "\(opcode) before the last request was answered"
        }
    }
}
