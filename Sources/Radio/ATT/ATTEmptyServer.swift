/// What a device answers that serves no attributes: the hub is a client, but a peer may look for services on it all the same.
///
/// A discovery finds nothing and ends in the ordinary way; an attribute that is named does not exist.
enum ATTEmptyServer {
    /// The answer to a request other than Exchange MTU, whose parameters may be malformed.
    static func answer(to request: Result<ATTPDU, ATTMalformation>, opcode: ATTOpcode) -> ATTPDU {
        switch request {
        case .failure:
            return .errorResponse(request: opcode, handle: .none, code: .invalidPDU)
        case .success(let pdu):
            return .errorResponse(request: opcode, handle: pdu.subject, code: code(for: pdu))
        }
    }

    private static func code(for request: ATTPDU) -> ATTErrorCode {
        switch request {
        case .findInformationRequest(let range), .findByTypeValueRequest(let range, _, _), .readByTypeRequest(let range, _),
             .readByGroupTypeRequest(let range, _):
            // 3.4.3.1: a range that begins with 0x0000 or behind its end is an invalid handle.
            return range.start == .none || range.start > range.end ? .invalidHandle : .attributeNotFound
        case .readRequest, .readBlobRequest, .readMultipleRequest, .readMultipleVariableRequest, .writeRequest:
            return .invalidHandle
        default:
            // Prepared writes are optional; the rest is unknown.
            return .requestNotSupported
        }
    }
}
