/// Write Long Characteristic Values, Reliable Writes and their like for descriptors (Core Vol 3 Part G 4.9.4, 4.9.5, 4.12.4): values are prepared part by part in
/// the peer's queue and take effect together.
///
/// Every part comes back, and is compared. A part that came back changed or was refused has the whole queue discarded, so that nothing takes effect.
struct QueuedWrite {
    enum Step: Equatable {
        case request(ATTPDU)
        case finished
    }

    private enum State {
        /// Prepare Write Request for what of a write begins at `done`. → preparing (further on), executing, cancelling
        case preparing(write: Int, done: Int)
        /// Execute Write Request that writes all. → finished
        case executing
        /// Execute Write Request that discards all, for that reason. → failed
        case cancelling(GATTError)
        case finished
        case failed(GATTError)
    }

    /// Opcode, handle and offset of a Prepare Write Request.
    private static let overhead = 5

    private let writes: [GATTWrite]
    private var state: State
    private var part: ArraySlice<UInt8> = []

    /// - Throws: when a value would reach beyond 512 octets; nothing is to be sent then.
    init(_ writes: [GATTWrite]) throws(GATTError) {
        for write in writes {
            let end = Int(write.offset) + write.value.count
            guard end <= ATTLimit.maximumValueLength else { throw GATTError(.valueTooLong(write.handle, end)) }
        }
        self.writes = writes
        state = writes.isEmpty ? .finished : .preparing(write: 0, done: 0)
    }

    /// What is to be done next.
    ///
    /// - Parameter mtu: ATT_MTU as it holds now; a part is as long as it allows.
    /// - Throws: why nothing was written, when the queue is discarded.
    mutating func step(mtu: Int) throws(GATTError) -> Step {
        switch state {
        case .preparing(let position, let done):
            let write = writes[position]
            part = write.value.dropFirst(done).prefix(mtu - Self.overhead)
            return .request(.prepareWriteRequest(write.handle, offset: write.offset + UInt16(done), value: Array(part)))
        case .executing: return .request(.executeWriteRequest(flags: 0x01))
        case .cancelling: return .request(.executeWriteRequest(flags: 0x00))
        case .finished: return .finished
        case .failed(let error): throw error
        }
    }

    /// Takes the response to the last request.
    mutating func receive(_ response: ATTPDU) {
        switch state {
        case .preparing(let position, let done):
            let write = writes[position]
            switch response {
            case .prepareWriteResponse(write.handle, offset: write.offset + UInt16(done), value: Array(part)):
                let end = done + part.count
                if end < write.value.count {
                    state = .preparing(write: position, done: end)
                } else {
                    state = position + 1 < writes.count ? .preparing(write: position + 1, done: 0) : .executing
                }
            case .prepareWriteResponse:
                state = .cancelling(GATTError(.changedOnTheWay(write.handle)))
            case .errorResponse(let request, _, let code):
                state = .cancelling(GATTError(.att(code, request: request, handle: write.handle)))
            default:
                state = .failed(GATTError(.implausible(response.opcode, "answers another procedure")))
            }
        case .executing:
            switch response {
            case .executeWriteResponse: state = .finished
            // The peer names the attribute that it refused to write (Part F 3.4.6.3).
            case .errorResponse(let request, let handle, let code): state = .failed(GATTError(.att(code, request: request, handle: handle)))
            default: state = .failed(GATTError(.implausible(response.opcode, "answers another procedure")))
            }
        // Whatever the peer says to the discarding, the reason for it is the one to tell.
        case .cancelling(let error): state = .failed(error)
        case .finished, .failed: break
        }
    }
}
