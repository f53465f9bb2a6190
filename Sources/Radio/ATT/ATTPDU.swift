/// The two ends of a range of handles as they stand in a request. They are not checked: 0 and a start behind the end can be said on the air.
struct ATTHandleRange: Sendable, Hashable {
    var start: AttributeHandle
    var end: AttributeHandle
}

/// An attribute with its type, from Find Information.
struct ATTInformation: Sendable, Hashable {
    var handle: AttributeHandle
    var type: BluetoothUUID
}

/// An attribute with its value, from Read By Type and in notifications.
struct ATTHandleValue: Sendable, Hashable {
    var handle: AttributeHandle
    var value: [UInt8]
}

/// A group of attributes with the value of its first, from Read By Group Type.
struct ATTGroup: Sendable, Hashable {
    var range: ATTHandleRange
    var value: [UInt8]
}

/// One PDU of the Attribute Protocol (Core Vol 3 Part F 3.4), named as there.
///
/// Lists in responses are never empty. A PDU whose opcode is unknown is kept as such, so that it can be refused by name.
enum ATTPDU: Sendable, Hashable {
    case errorResponse(request: ATTOpcode, handle: AttributeHandle, code: ATTErrorCode)
    case exchangeMTURequest(clientReceiveMTU: UInt16)
    case exchangeMTUResponse(serverReceiveMTU: UInt16)
    case findInformationRequest(ATTHandleRange)
    case findInformationResponse([ATTInformation])
    /// `type` is always a 16-bit UUID here.
    case findByTypeValueRequest(ATTHandleRange, type: UInt16, value: [UInt8])
    case findByTypeValueResponse([ATTHandleRange])
    case readByTypeRequest(ATTHandleRange, type: BluetoothUUID)
    case readByTypeResponse([ATTHandleValue])
    case readRequest(AttributeHandle)
    case readResponse([UInt8])
    case readBlobRequest(AttributeHandle, offset: UInt16)
    case readBlobResponse([UInt8])
    case readMultipleRequest([AttributeHandle])
    case readMultipleResponse([UInt8])
    case readByGroupTypeRequest(ATTHandleRange, type: BluetoothUUID)
    case readByGroupTypeResponse([ATTGroup])
    case writeRequest(AttributeHandle, value: [UInt8])
    case writeResponse
    case writeCommand(AttributeHandle, value: [UInt8])
    case prepareWriteRequest(AttributeHandle, offset: UInt16, value: [UInt8])
    case prepareWriteResponse(AttributeHandle, offset: UInt16, value: [UInt8])
    case executeWriteRequest(flags: UInt8)
    case executeWriteResponse
    case handleValueNotification(AttributeHandle, value: [UInt8])
    case handleValueIndication(AttributeHandle, value: [UInt8])
    case handleValueConfirmation
    case readMultipleVariableRequest([AttributeHandle])
    /// The values with their lengths, undivided: the last one may be cut at the MTU.
    case readMultipleVariableResponse([UInt8])
    case multipleHandleValueNotification([ATTHandleValue])
    /// `signature` is the 12 octets of Core Vol 3 Part H 2.4.5.
    case signedWriteCommand(AttributeHandle, value: [UInt8], signature: [UInt8])
    case unknown(ATTOpcode, parameters: [UInt8])

    var opcode: ATTOpcode {
        switch self {
        case .errorResponse: .errorResponse
        case .exchangeMTURequest: .exchangeMTURequest
        case .exchangeMTUResponse: .exchangeMTUResponse
        case .findInformationRequest: .findInformationRequest
        case .findInformationResponse: .findInformationResponse
        case .findByTypeValueRequest: .findByTypeValueRequest
        case .findByTypeValueResponse: .findByTypeValueResponse
        case .readByTypeRequest: .readByTypeRequest
        case .readByTypeResponse: .readByTypeResponse
        case .readRequest: .readRequest
        case .readResponse: .readResponse
        case .readBlobRequest: .readBlobRequest
        case .readBlobResponse: .readBlobResponse
        case .readMultipleRequest: .readMultipleRequest
        case .readMultipleResponse: .readMultipleResponse
        case .readByGroupTypeRequest: .readByGroupTypeRequest
        case .readByGroupTypeResponse: .readByGroupTypeResponse
        case .writeRequest: .writeRequest
        case .writeResponse: .writeResponse
        case .writeCommand: .writeCommand
        case .prepareWriteRequest: .prepareWriteRequest
        case .prepareWriteResponse: .prepareWriteResponse
        case .executeWriteRequest: .executeWriteRequest
        case .executeWriteResponse: .executeWriteResponse
        case .handleValueNotification: .handleValueNotification
        case .handleValueIndication: .handleValueIndication
        case .handleValueConfirmation: .handleValueConfirmation
        case .readMultipleVariableRequest: .readMultipleVariableRequest
        case .readMultipleVariableResponse: .readMultipleVariableResponse
        case .multipleHandleValueNotification: .multipleHandleValueNotification
        case .signedWriteCommand: .signedWriteCommand
        case .unknown(let opcode, _): opcode
        }
    }

    /// The attribute a request is about: its handle, or the first of its range; 0x0000 where there is none.
    var subject: AttributeHandle {
        switch self {
        case .findInformationRequest(let range), .findByTypeValueRequest(let range, _, _), .readByTypeRequest(let range, _),
             .readByGroupTypeRequest(let range, _):
            range.start
        case .readRequest(let handle), .readBlobRequest(let handle, _), .writeRequest(let handle, _), .writeCommand(let handle, _),
             .prepareWriteRequest(let handle, _, _), .prepareWriteResponse(let handle, _, _), .handleValueNotification(let handle, _),
             .handleValueIndication(let handle, _), .signedWriteCommand(let handle, _, _), .errorResponse(_, let handle, _):
            handle
        case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
            handles.first ?? .none
        default:
            .none
        }
    }

    /// The attributes that a request or a command names one by one. What it does to them depends on the database being the one that was discovered; a request
    /// about a range does not.
    var namedHandles: [AttributeHandle] {
        switch self {
        case .readRequest(let handle), .readBlobRequest(let handle, _), .writeRequest(let handle, _), .prepareWriteRequest(let handle, _, _),
             .writeCommand(let handle, _), .signedWriteCommand(let handle, _, _):
            [handle]
        case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles): handles
        default: []
        }
    }
}
