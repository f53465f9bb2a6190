/// Read Characteristic Value, continued by Read Long Characteristic Values where one response cannot hold it (Core Vol 3 Part G 4.8.1 and 4.8.3).
struct LongRead {
    enum Step: Equatable {
        case request(ATTPDU)
        case finished([UInt8])
    }

    private enum State {
        /// Read Request. → reading (a full response), finished
        case beginning
        /// Read Blob Request from the end of what is there. → reading (a full response), finished
        case continuing
        case finished
    }

    private let handle: AttributeHandle
    private var state = State.beginning
    private var value: [UInt8] = []

    init(_ handle: AttributeHandle) { self.handle = handle }

    var step: Step {
        switch state {
        case .beginning: .request(.readRequest(handle))
        case .continuing: .request(.readBlobRequest(handle, offset: UInt16(value.count)))
        case .finished: .finished(value)
        }
    }

    /// Takes the response to the last request.
    ///
    /// - Parameter mtu: the smallest ATT_MTU that may have held when the peer answered; a response that fills it may have been cut.
    mutating func receive(_ response: ATTPDU, mtu: Int) throws(GATTError) {
        switch (response, state) {
        case (.readResponse(let part), .beginning), (.readBlobResponse(let part), .continuing):
            guard value.count + part.count <= ATTLimit.maximumValueLength else {
                throw GATTError(.implausible(response.opcode, "has a value of more than \(ATTLimit.maximumValueLength) octets"))
            }
            value += part
            state = part.count >= mtu - 1 && value.count < ATTLimit.maximumValueLength ? .continuing : .finished
        // The value ended exactly with the last response: there is nothing at the offset, or it was never long.
        case (.errorResponse(_, _, .invalidOffset), .continuing), (.errorResponse(_, _, .attributeNotLong), .continuing):
            state = .finished
        case (.errorResponse(let request, _, let code), _):
            throw GATTError(.att(code, request: request, handle: handle))
        default:
            throw GATTError(.implausible(response.opcode, "answers another procedure"))
        }
    }
}
