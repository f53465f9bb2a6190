/// One client's request and answer, without the socket.
///
///     receiving ──line──▶ answering ──answer──▶ sending ──all sent──▶ ended
///         │                   │                    │
///         └── too long, no request: sending        └── from every state: the peer is gone, or time is up: ended
struct ControlExchange {
    private enum State {
        case receiving([UInt8])
        case answering
        case sending(ArraySlice<UInt8>)
        case ended
    }

    /// What the shell does next.
    enum Action: Equatable {
        /// Wait until more can be read.
        case read
        /// Do the request and come back with `answered`.
        case handle(ControlRequest)
        /// Send these bytes and say with `sent` how many were taken.
        case send([UInt8])
        /// Close the connection.
        case close
        /// Nothing.
        case none
    }

    private var state = State.receiving([])

    /// Bytes came; none is the end of the stream.
    mutating func received(_ bytes: [UInt8]) -> Action {
        guard case .receiving(var line) = state else { return .none }
        if bytes.isEmpty { return end() }
        line += bytes
        guard let feed = line.firstIndex(of: UInt8(ascii: "\n")) else {
            if line.count >= ControlRequest.limit { return send(ControlError.tooLong.line) }
            state = .receiving(line)
            return .read
        }
        if feed >= ControlRequest.limit { return send(ControlError.tooLong.line) }
        do throws(ControlError) {
            let request = try ControlRequest(parsing: Array(line[..<feed]))
            state = .answering
            return .handle(request)
        } catch {
            return send(error.line)
        }
    }

    /// The request was done.
    mutating func answered(_ line: [UInt8]) -> Action {
        guard case .answering = state else { return .none }
        return send(line)
    }

    /// The client is refused before it has asked.
    mutating func refused(_ error: ControlError) -> Action { send(error.line) }

    /// The socket took this many bytes of the last `send`.
    mutating func sent(_ count: Int) -> Action {
        guard case .sending(let rest) = state else { return .none }
        let left = rest.dropFirst(count)
        if left.isEmpty { return end() }
        state = .sending(left)
        return .send(Array(left))
    }

    /// The peer is gone, or the time is up.
    mutating func end() -> Action {
        if case .ended = state { return .none }
        state = .ended
        return .close
    }

    private mutating func send(_ line: [UInt8]) -> Action {
        state = .sending(line[...])
        return .send(line)
    }
}
