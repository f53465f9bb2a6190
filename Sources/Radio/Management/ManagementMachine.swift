/// The management channel as a value: commands in, packets out, answers matched, events in their order. No I/O, no clock.
///
/// One command at a time is with the kernel, the others wait in their order. Three kinds have a place of their own, or a pairing could never end: Pair
/// Device is answered only when it is over, Disconnect and Unpair Device when the link is down, and what a pairing asks must be answered meanwhile.
public struct ManagementMachine: Sendable {
    /// Names one command from `submit` to its outcome.
    public struct Token: Sendable, Hashable {
        let number: UInt64
    }

    /// A place in which one command may be with the kernel.
    public enum Lane: Sendable, Hashable, CaseIterable {
        case ordinary
        /// Answers to what a pairing asks.
        case replies
        case pairing
        case disconnecting

        init(_ opcode: ManagementOpcode) {
            switch opcode {
            case .userConfirmationReply, .userConfirmationNegativeReply, .userPasskeyReply, .userPasskeyNegativeReply, .cancelPairDevice: self = .replies
            case .pairDevice: self = .pairing
            case .disconnect, .unpairDevice: self = .disconnecting
            default: self = .ordinary
            }
        }
    }

    /// How a command ended.
    public enum Outcome: Sendable, Hashable {
        case done(ManagementReply)
        case refused(ManagementStatus)
        /// It succeeded, says the kernel, but what it says besides cannot be read.
        case unreadable(String)
        /// The controller stopped answering.
        case unanswered
        /// The channel closed before the answer.
        case closed
    }

    /// What the shell has to do, in the order given.
    public enum Action: Sendable, Hashable {
        case send([UInt8])
        /// Starts the timer of a lane, in place of one that still runs.
        case startTimer(Lane, Duration)
        case cancelTimer(Lane)
        case finished(Token, Outcome)
        case event(ControllerIndex, ManagementEvent)
        /// A packet that cannot be read; it costs nothing but itself.
        case malformed(String)
        /// An answer that nobody waits for (any more).
        case unexpectedAnswer(ManagementOpcode, ControllerIndex, ManagementStatus)
    }

    private struct Request: Sendable {
        let token: Token
        let command: ManagementCommand
        let index: ControllerIndex
    }

    private struct Traffic: Sendable {
        var inFlight: Request?
        var waiting: [Request] = []
    }

    private enum State: Sendable {
        case open([Lane: Traffic])
        case closed
    }

    private var state = State.open([:])
    private var lastToken: UInt64 = 0

    public init() {}

    /// Whether nothing is with the kernel and nothing waits.
    public var isIdle: Bool {
        guard case .open(let lanes) = state else { return true }
        return lanes.values.allSatisfy { $0.inFlight == nil && $0.waiting.isEmpty }
    }

    /// How long the kernel may take for a command. A disconnection lasts up to the link's supervision timeout (32 s) when the peer has gone; a pairing
    /// up to the connection's 20 s and the Security Manager's 30 s (Core Vol 3 Part H 3.4); switching power on a handful of commands that
    /// each have 2 s.
    public static func patience(for opcode: ManagementOpcode) -> Duration {
        switch opcode {
        case .disconnect, .unpairDevice: .seconds(40)
        case .pairDevice: .seconds(75)
        case .setPowered: .seconds(30)
        default: .seconds(10)
        }
    }

    // MARK: Inputs

    /// Takes a command.
    ///
    /// - Returns: its name, and what is to be done now; on a closed channel that it has ended.
    public mutating func submit(_ command: ManagementCommand, to index: ControllerIndex) -> (token: Token, actions: [Action]) {
        lastToken += 1
        let token = Token(number: lastToken)
        guard case .open(var lanes) = state else { return (token, [.finished(token, .closed)]) }
        let lane = Lane(command.opcode)
        lanes[lane, default: Traffic()].waiting.append(Request(token: token, command: command, index: index))
        state = .open(lanes)
        return (token, next(lane))
    }

    /// Takes one packet as it came.
    public mutating func receive(_ octets: ArraySlice<UInt8>) -> [Action] {
        guard case .open = state else { return [] }
        switch ManagementPacket(parsing: octets) {
        case .malformed(let fault):
            return [.malformed(fault)]
        case .answer(let opcode, let index, let status, let parameters):
            return answered(opcode, index, status, parameters)
        case .event(let index, let event):
            // A controller that has gone answers nothing any more; what was asked of it must not hold up the rest.
            return (event == .indexRemoved ? removed(index) : []) + [.event(index, event)]
        }
    }

    /// The timer of a lane has fired.
    public mutating func timerFired(_ lane: Lane) -> [Action] {
        guard case .open(var lanes) = state, let request = lanes[lane]?.inFlight else { return [] }
        lanes[lane]?.inFlight = nil
        state = .open(lanes)
        return [.finished(request.token, .unanswered)] + next(lane)
    }

    /// The channel is gone. Everything that waits ends; nothing is taken any more.
    public mutating func close() -> [Action] {
        guard case .open(let lanes) = state else { return [] }
        state = .closed
        return Lane.allCases.flatMap { lane -> [Action] in
            guard let traffic = lanes[lane] else { return [] }
            let timer: [Action] = traffic.inFlight == nil ? [] : [.cancelTimer(lane)]
            return timer + ([traffic.inFlight].compactMap { $0 } + traffic.waiting).map { .finished($0.token, .closed) }
        }
    }

    // MARK: Parts

    private mutating func next(_ lane: Lane) -> [Action] {
        guard case .open(var lanes) = state, var traffic = lanes[lane], traffic.inFlight == nil, !traffic.waiting.isEmpty else { return [] }
        let request = traffic.waiting.removeFirst()
        traffic.inFlight = request
        lanes[lane] = traffic
        state = .open(lanes)
        return [.send(request.command.packet(for: request.index)), .startTimer(lane, Self.patience(for: request.command.opcode))]
    }

    private mutating func answered(
        _ opcode: ManagementOpcode, _ index: ControllerIndex, _ status: ManagementStatus, _ parameters: [UInt8]
    ) -> [Action] {
        let lane = Lane(opcode)
        guard case .open(var lanes) = state, let request = lanes[lane]?.inFlight, request.command.opcode == opcode, request.index == index,
              Self.concerns(request.command, parameters)
        else { return [.unexpectedAnswer(opcode, index, status)] }
        lanes[lane]?.inFlight = nil
        state = .open(lanes)
        let outcome: Outcome
        if status != .success {
            outcome = .refused(status)
        } else if let reply = ManagementReply(to: opcode, parsing: parameters[...]) {
            outcome = .done(reply)
        } else {
            outcome = .unreadable("\(parameters.count) octets")
        }
        return [.cancelTimer(lane), .finished(request.token, outcome)] + next(lane)
    }

    /// Whether an answer is about the device that was asked about: one that came too late for the last command is not taken for the next one's.
    private static func concerns(_ command: ManagementCommand, _ parameters: [UInt8]) -> Bool {
        guard command.opcode != .loadConnectionParameters, let address = command.address, parameters.count >= 7 else { return true }
        var reader = OctetReader(parameters[...])
        return reader.address() == address
    }

    private mutating func removed(_ index: ControllerIndex) -> [Action] {
        var actions: [Action] = []
        for lane in Lane.allCases {
            guard case .open(var lanes) = state, var traffic = lanes[lane] else { continue }
            if let request = traffic.inFlight, request.index == index {
                traffic.inFlight = nil
                actions += [.cancelTimer(lane), .finished(request.token, .refused(.invalidIndex))]
            }
            actions += traffic.waiting.filter { $0.index == index }.map { .finished($0.token, .refused(.invalidIndex)) }
            traffic.waiting.removeAll { $0.index == index }
            lanes[lane] = traffic
            state = .open(lanes)
            actions += next(lane)
        }
        return actions
    }
}

extension ManagementMachine.Outcome {
    /// The reply, or the error that `opcode` failed with.
    public func get(for opcode: ManagementOpcode) throws(BluetoothError) -> ManagementReply {
        switch self {
        case .done(let reply): return reply
        case .refused(let status): throw BluetoothError(.refused(opcode, status))
        case .unreadable(let fault): throw BluetoothError(.unreadable(opcode, fault))
        case .unanswered: throw BluetoothError(.unanswered(opcode))
        case .closed: throw BluetoothError(.controlChannelClosed)
        }
    }
}
