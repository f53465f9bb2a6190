/// One ATT bearer as seen by a client (Core Vol 3 Part F 3.3): a value without I/O, clock or log.
///
/// Its shell gives it what came (`receive`) and what is wanted (`submit`, `command`, `confirm`), writes what `nextPDU` says, in that order, and reports each
/// PDU that the socket took (`written`). It runs the transaction timer while `openTransaction` is set.
///
/// One request is open at a time; the others wait in a queue. Responses to the peer and confirmations go before commands, commands before requests.
struct ATTBearer {
    /// Names one request from `submit` to its end.
    struct Token: Sendable, Hashable {
        let number: UInt64
    }

    /// Commands that the socket has not taken yet; beyond that they are refused.
    static let commandLimit = 64

    private struct Request {
        let token: Token
        let opcode: ATTOpcode
        let octets: [UInt8]
    }

    private enum State {
        /// No request is open. → sending (nextPDU), closed
        case idle
        /// A request was given out to be written, and the socket has not taken it yet. → waiting (written), closed
        case sending(Request)
        /// A request is with the peer. → idle (its response), closed
        case waiting(Request)
        /// For good.
        case closed(BearerClosure)
    }

    /// The PDU that the socket is to take next. Once chosen it stays the next, whatever comes in between.
    private enum Outgoing {
        case response([UInt8], appliesMTU: UInt16?)
        case confirmation
        case command([UInt8])
        case request([UInt8])

        var octets: [UInt8] {
            switch self {
            case .response(let octets, _), .command(let octets), .request(let octets): octets
            case .confirmation: ATTPDU.handleValueConfirmation.octets
            }
        }
    }

    private enum Indication {
        case none
        /// The peer waits for our confirmation.
        case unconfirmed
        /// The confirmation is to be written.
        case confirming
    }

    private var state = State.idle
    private var requests: [Request] = []
    private var commands: [[UInt8]] = []
    private var response: (octets: [UInt8], appliesMTU: UInt16?)?
    private var chosen: Outgoing?
    private var exchanged: ATTMTU
    private var indication = Indication.none
    private var lastToken: UInt64 = 0

    /// - Parameter receiveMTU: what we can receive; below 23 it counts as 23.
    init(receiveMTU: UInt16) {
        exchanged = ATTMTU(receivable: receiveMTU)
    }

    /// What we can receive, as we tell the peer.
    var receiveMTU: UInt16 { exchanged.receivable }

    /// ATT_MTU as it holds for what we send.
    var mtu: UInt16 { exchanged.sending }

    /// Why the bearer is closed; `nil` while it is open.
    var closure: BearerClosure? {
        if case .closed(let closure) = state { closure } else { nil }
    }

    /// The request whose time runs.
    var openTransaction: Token? {
        switch state {
        case .sending(let request), .waiting(let request): request.token
        case .idle, .closed: nil
        }
    }

    /// Whether an indication has come that `confirm` has not been called for.
    var isIndicationWaiting: Bool {
        if case .unconfirmed = indication { true } else { false }
    }

    // MARK: What is wanted

    /// Takes a request into the queue.
    ///
    /// - Throws: `GATTError` when the bearer is closed, the PDU does not fit ATT_MTU, or the MTU exchange is already under way.
    mutating func submit(_ pdu: ATTPDU) throws(GATTError) -> Token {
        let octets = try fitting(pdu)
        let token = Token(number: lastToken + 1)
        if pdu.opcode == .exchangeMTURequest {
            guard exchanged.ask(token) else { throw GATTError(.procedureInProgress("MTU exchange")) }
        }
        lastToken += 1
        requests.append(Request(token: token, opcode: pdu.opcode, octets: octets))
        return token
    }

    /// Whether the MTU exchange has still to be asked for.
    var needsMTUExchange: Bool { exchanged.needsExchange }

    /// Whether a request has not been given out yet.
    func isQueued(_ token: Token) -> Bool { requests.contains { $0.token == token } }

    /// Forgets a request nobody waits for any more, unless it has been given out: then its response is still awaited, as only that
    /// or the timeout ends the transaction (3.3.3).
    mutating func abandon(_ token: Token) {
        guard let position = requests.firstIndex(where: { $0.token == token }) else { return }
        requests.remove(at: position)
        exchanged.takeBack(token)
    }

    /// Takes a command: no response will come.
    ///
    /// - Throws: `GATTError` when the bearer is closed, the PDU does not fit ATT_MTU, or `commandLimit` commands wait already.
    mutating func command(_ pdu: ATTPDU) throws(GATTError) {
        let octets = try fitting(pdu)
        guard commands.count < Self.commandLimit else { throw GATTError(.sendQueueFull) }
        commands.append(octets)
    }

    /// Confirms the indication that the peer waits for.
    ///
    /// - Throws: `GATTError` when there is none, or the bearer is closed.
    mutating func confirm() throws(GATTError) {
        if let closure { throw GATTError(.closed(closure)) }
        guard case .unconfirmed = indication else { throw GATTError(.noIndication) }
        indication = .confirming
    }

    private func fitting(_ pdu: ATTPDU) throws(GATTError) -> [UInt8] {
        if let closure { throw GATTError(.closed(closure)) }
        let octets = pdu.octets
        guard octets.count <= Int(mtu) else { throw GATTError(.doesNotFit(pdu.opcode, length: octets.count, mtu: Int(mtu))) }
        return octets
    }

    // MARK: What is written

    /// The PDU that the socket is to take next; `nil` when there is none. Asked again before `written`, it gives the same.
    mutating func nextPDU() -> [UInt8]? {
        if case .closed = state { return nil }
        if chosen == nil { choose() }
        return chosen?.octets
    }

    private mutating func choose() {
        if let response {
            chosen = .response(response.octets, appliesMTU: response.appliesMTU)
        } else if case .confirming = indication {
            chosen = .confirmation
        } else if !commands.isEmpty {
            chosen = .command(commands.removeFirst())
        } else if case .idle = state, !requests.isEmpty {
            let request = requests.removeFirst()
            chosen = .request(request.octets)
            state = .sending(request)
        }
    }

    /// The socket took the PDU that `nextPDU` gave.
    mutating func written() {
        switch chosen {
        case .response(_, let mtu):
            response = nil
            // 3.4.2.2: the server applies the MTU after its response and before anything else is sent.
            if let mtu { exchanged.apply(mtu) }
        case .confirmation:
            indication = .none
        case .request:
            if case .sending(let request) = state { state = .waiting(request) }
        case .command, nil:
            break
        }
        chosen = nil
    }

    // MARK: What came

    /// What a PDU means for the shell. After each there may be something to write.
    enum Reception: Equatable {
        /// Nothing but what `nextPDU` may say.
        case nothing
        /// The open request has its response, an Error Response included.
        case response(Token, ATTPDU)
        case update(ValueUpdate)
        /// A Multiple Handle Value Notification, in its order.
        case updates([ValueUpdate])
        /// The peer broke the protocol: the bearer is closed.
        case closed(BearerClosure)
    }

    /// Takes one PDU as it came.
    ///
    /// - Parameters:
    ///   - octets: the PDU, or its beginning when it was too long for the buffer.
    ///   - length: its whole length.
    mutating func receive(_ octets: ArraySlice<UInt8>, length: Int) -> Reception {
        if case .closed = state { return .nothing }
        guard length <= Int(exchanged.receiving) else { return violation(.oversized(length: length, mtu: Int(exchanged.receiving))) }
        guard let first = octets.first else { return violation(.malformed(opcode: nil, fault: "is empty")) }
        let opcode = ATTOpcode(rawValue: first)
        // Commands ask for nothing, and there is nothing here that they could write to (3.3: unknown ones are ignored anyway).
        if opcode.role == .command { return .nothing }
        let parsed = Result { () throws(ATTMalformation) in try ATTPDU(parsing: octets) }
        switch (opcode.role, parsed) {
        case (.request, _):
            return receiveRequest(parsed, opcode)
        case (_, .failure(let malformation)):
            return violation(.malformed(opcode: malformation.opcode, fault: malformation.fault))
        case (.response, .success(let pdu)):
            return receiveResponse(pdu)
        case (_, .success(let pdu)):
            return receiveUpdate(pdu)
        }
    }

    private mutating func receiveRequest(_ request: Result<ATTPDU, ATTMalformation>, _ opcode: ATTOpcode) -> Reception {
        // The peer cannot have seen a response that is still here.
        guard response == nil else { return violation(.requestBeforeResponse(opcode)) }
        if case .success(.exchangeMTURequest(let peer)) = request {
            response = (ATTPDU.exchangeMTUResponse(serverReceiveMTU: receiveMTU).octets, appliesMTU: peer)
        } else {
            response = (ATTEmptyServer.answer(to: request, opcode: opcode).octets, appliesMTU: nil)
        }
        return .nothing
    }

    private mutating func receiveResponse(_ pdu: ATTPDU) -> Reception {
        guard case .waiting(let request) = state else { return violation(.unsolicitedResponse(pdu.opcode)) }
        switch pdu {
        case .errorResponse(let named, _, _):
            guard named == request.opcode else { return violation(.mismatchedError(names: named, open: request.opcode)) }
        default:
            guard request.opcode.response == pdu.opcode else { return violation(.mismatchedResponse(pdu.opcode, to: request.opcode)) }
        }
        state = .idle
        exchanged.answered(request.token)
        if case .exchangeMTUResponse(let peer) = pdu { exchanged.apply(peer) }
        return .response(request.token, pdu)
    }

    private mutating func receiveUpdate(_ pdu: ATTPDU) -> Reception {
        switch pdu {
        case .handleValueNotification(let handle, let value):
            // 3.4.7.1: a notification of an invalid handle is ignored.
            return handle == .none ? .nothing : .update(ValueUpdate(handle: handle, value: value, isIndication: false))
        case .handleValueIndication(let handle, let value):
            guard case .none = indication else { return violation(.indicationBeforeConfirmation(handle)) }
            // 3.4.7.2: an indication of an invalid handle is confirmed and discarded.
            indication = handle == .none ? .confirming : .unconfirmed
            return handle == .none ? .nothing : .update(ValueUpdate(handle: handle, value: value, isIndication: true))
        case .multipleHandleValueNotification(let list):
            return .updates(list.filter { $0.handle != .none }.map { ValueUpdate(handle: $0.handle, value: $0.value, isIndication: false) })
        default:
            return violation(.unsolicitedConfirmation)
        }
    }

    private mutating func violation(_ violation: ATTViolation) -> Reception {
        let closure = BearerClosure.violation(violation)
        _ = close(closure)
        return .closed(closure)
    }

    // MARK: The end

    /// The time of a transaction is over.
    ///
    /// - Returns: why the bearer is closed now; `nil` when that transaction had ended before.
    mutating func timedOut(_ token: Token) -> BearerClosure? {
        switch state {
        case .sending(let request) where request.token == token, .waiting(let request) where request.token == token:
            let closure = BearerClosure.transactionTimeout(request.opcode)
            return close(closure) ? closure : nil
        default:
            return nil
        }
    }

    /// Closes the bearer; everything queued is forgotten.
    ///
    /// - Returns: `false` when it was closed already, for the reason that stands.
    mutating func close(_ closure: BearerClosure) -> Bool {
        if case .closed = state { return false }
        state = .closed(closure)
        requests = []
        commands = []
        response = nil
        chosen = nil
        indication = .none
        return true
    }
}
