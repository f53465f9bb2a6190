/// Read Characteristic Value, continued by Read Long Characteristic Values where one response cannot hold it (Core Vol 3 Part G 4.8.1 and 4.8.3);
/// or the latter alone, from an offset. Descriptors are read in the same way (4.12.1, 4.12.2).
struct LongRead {
    enum Step: Equatable {
        case request(ATTPDU)
        case finished([UInt8])
    }

    private enum State {
        /// Read Request. → continuing (a full response), finished
        case beginning
        /// Read Blob Request from the offset that the caller named: it may lie anywhere. → continuing (a full response), beginning, finished
        case entering
        /// Read Blob Request from the end of what is there. → continuing (a full response), finished
        case continuing
        case finished
    }

    private let handle: AttributeHandle
    /// Where the octets that are collected begin.
    private var offset: Int
    /// How many of them the caller did not ask for.
    private var surplus = 0
    private var state: State
    private var value: [UInt8] = []

    /// The whole value.
    init(_ handle: AttributeHandle) {
        self.handle = handle
        offset = 0
        state = .beginning
    }

    /// What of the value begins at an offset, asked for with Read Blob from the first request on.
    init(_ handle: AttributeHandle, from offset: UInt16) {
        self.handle = handle
        self.offset = Int(offset)
        state = .entering
    }

    var step: Step {
        switch state {
        case .beginning: .request(.readRequest(handle))
        case .entering, .continuing: .request(.readBlobRequest(handle, offset: UInt16(truncatingIfNeeded: offset + value.count)))
        case .finished: .finished(Array(value.dropFirst(surplus)))
        }
    }

    /// Takes the response to the last request.
    ///
    /// - Parameter mtu: the smallest ATT_MTU that may have held when the peer answered; a response that fills it may have been cut.
    mutating func receive(_ response: ATTPDU, mtu: Int) throws(GATTError) {
        switch (response, state) {
        case (.readResponse(let part), .beginning), (.readBlobResponse(let part), .entering), (.readBlobResponse(let part), .continuing):
            guard offset + value.count + part.count <= ATTLimit.maximumValueLength else {
                throw GATTError(.implausible(response.opcode, "has a value of more than \(ATTLimit.maximumValueLength) octets"))
            }
            value += part
            state = part.count >= mtu - 1 && offset + value.count < ATTLimit.maximumValueLength ? .continuing : .finished
        // The value ended exactly with the last response: there is nothing at the offset, or it was never long.
        case (.errorResponse(_, _, .invalidOffset), .continuing), (.errorResponse(_, _, .attributeNotLong), .continuing):
            state = .finished
        // A value that fits one response may be served by Read alone (Part F 3.4.4.5).
        case (.errorResponse(_, _, .attributeNotLong), .entering):
            surplus = offset
            offset = 0
            state = .beginning
        case (.errorResponse(let request, _, let code), _):
            throw GATTError(.att(code, request: request, handle: handle))
        default:
            throw GATTError(.implausible(response.opcode, "answers another procedure"))
        }
        if case .finished = state, surplus > value.count { throw GATTError(.att(.invalidOffset, request: .readBlobRequest, handle: handle)) }
    }
}
