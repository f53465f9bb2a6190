extension ATTPDU {
    /// Reads one PDU. Any octets may come: what is not a PDU is named, and nothing traps.
    ///
    /// Handles and ranges are taken as they are; what they may be is for the receiver to judge.
    init(parsing octets: ArraySlice<UInt8>) throws(ATTMalformation) {
        guard let first = octets.first else { throw ATTMalformation(opcode: nil, fault: "is empty") }
        let opcode = ATTOpcode(rawValue: first)
        var reader = ATTReader(octets.dropFirst(), of: opcode)
        self = try Self.parameters(of: opcode, &reader)
        try reader.end()
    }

    private static func parameters(of opcode: ATTOpcode, _ reader: inout ATTReader) throws(ATTMalformation) -> ATTPDU {
        switch opcode {
        case .errorResponse:
            let request = ATTOpcode(rawValue: try reader.octet("request opcode"))
            return .errorResponse(request: request, handle: try reader.handle(), code: ATTErrorCode(rawValue: try reader.octet("error code")))
        case .exchangeMTURequest:
            return .exchangeMTURequest(clientReceiveMTU: try reader.number16("client receive MTU"))
        case .exchangeMTUResponse:
            return .exchangeMTUResponse(serverReceiveMTU: try reader.number16("server receive MTU"))
        case .findInformationRequest:
            return .findInformationRequest(try reader.range())
        case .findInformationResponse:
            return .findInformationResponse(try reader.information())
        case .findByTypeValueRequest:
            return .findByTypeValueRequest(try reader.range(), type: try reader.number16("attribute type"), value: reader.rest())
        case .findByTypeValueResponse:
            var ranges: [ATTHandleRange] = []
            repeat { ranges.append(try reader.range()) } while reader.remaining > 0
            return .findByTypeValueResponse(ranges)
        case .readByTypeRequest:
            return .readByTypeRequest(try reader.range(), type: try reader.uuidToTheEnd())
        case .readByTypeResponse:
            return .readByTypeResponse(try reader.attributeData())
        case .readRequest:
            return .readRequest(try reader.handle())
        case .readResponse:
            return .readResponse(reader.rest())
        case .readBlobRequest:
            return .readBlobRequest(try reader.handle(), offset: try reader.number16("value offset"))
        case .readBlobResponse:
            return .readBlobResponse(reader.rest())
        case .readMultipleRequest:
            return .readMultipleRequest(try reader.handles())
        case .readMultipleResponse:
            return .readMultipleResponse(reader.rest())
        case .readByGroupTypeRequest:
            return .readByGroupTypeRequest(try reader.range(), type: try reader.uuidToTheEnd())
        case .readByGroupTypeResponse:
            return .readByGroupTypeResponse(try reader.groups())
        case .writeRequest:
            return .writeRequest(try reader.handle(), value: reader.rest())
        case .writeResponse:
            return .writeResponse
        case .writeCommand:
            return .writeCommand(try reader.handle(), value: reader.rest())
        case .prepareWriteRequest:
            return .prepareWriteRequest(try reader.handle(), offset: try reader.number16("value offset"), value: reader.rest())
        case .prepareWriteResponse:
            return .prepareWriteResponse(try reader.handle(), offset: try reader.number16("value offset"), value: reader.rest())
        case .executeWriteRequest:
            return .executeWriteRequest(flags: try reader.octet("flags"))
        case .executeWriteResponse:
            return .executeWriteResponse
        case .handleValueNotification:
            return .handleValueNotification(try reader.handle(), value: reader.rest())
        case .handleValueIndication:
            return .handleValueIndication(try reader.handle(), value: reader.rest())
        case .handleValueConfirmation:
            return .handleValueConfirmation
        case .readMultipleVariableRequest:
            return .readMultipleVariableRequest(try reader.handles())
        case .readMultipleVariableResponse:
            return .readMultipleVariableResponse(reader.rest())
        case .multipleHandleValueNotification:
            return .multipleHandleValueNotification(try reader.handleLengthValues())
        case .signedWriteCommand:
            let handle = try reader.handle()
            guard reader.remaining >= 12 else { throw reader.malformed("ends before its signature") }
            let value = try reader.octets(reader.remaining - 12, "value")
            return .signedWriteCommand(handle, value: value, signature: reader.rest())
        default:
            return .unknown(opcode, parameters: reader.rest())
        }
    }
}

extension ATTReader {
    fileprivate mutating func range() throws(ATTMalformation) -> ATTHandleRange {
        let start = try handle("starting handle")
        return ATTHandleRange(start: start, end: try handle("ending handle"))
    }

    /// Set Of Handles: two or more (3.4.4.7).
    fileprivate mutating func handles() throws(ATTMalformation) -> [AttributeHandle] {
        var handles: [AttributeHandle] = []
        repeat { handles.append(try handle()) } while remaining > 0
        guard handles.count >= 2 else { throw malformed("names fewer than two attributes") }
        return handles
    }

    /// Format and Information Data of a Find Information Response (3.4.3.2).
    fileprivate mutating func information() throws(ATTMalformation) -> [ATTInformation] {
        let format = try octet("format")
        let width: Int
        switch format {
        case 0x01: width = 2
        case 0x02: width = 16
        default: throw malformed("has the unknown format \(format)")
        }
        var list: [ATTInformation] = []
        repeat {
            let handle = try handle()
            list.append(ATTInformation(handle: handle, type: try uuid(octets: width)))
        } while remaining > 0
        return list
    }

    /// Length and Attribute Data List of a Read By Type Response (3.4.4.2).
    fileprivate mutating func attributeData() throws(ATTMalformation) -> [ATTHandleValue] {
        let length = Int(try octet("length"))
        guard length >= 2 else { throw malformed("has entries of \(length) octets") }
        var list: [ATTHandleValue] = []
        repeat {
            let handle = try handle()
            list.append(ATTHandleValue(handle: handle, value: try octets(length - 2, "attribute value")))
        } while remaining > 0
        return list
    }

    /// Length and Attribute Data List of a Read By Group Type Response (3.4.4.10).
    fileprivate mutating func groups() throws(ATTMalformation) -> [ATTGroup] {
        let length = Int(try octet("length"))
        guard length >= 4 else { throw malformed("has entries of \(length) octets") }
        var list: [ATTGroup] = []
        repeat {
            let range = try range()
            list.append(ATTGroup(range: range, value: try octets(length - 4, "attribute value")))
        } while remaining > 0
        return list
    }

    /// Handle Length Value Tuple List of a Multiple Handle Value Notification: two or more (3.4.7.4).
    fileprivate mutating func handleLengthValues() throws(ATTMalformation) -> [ATTHandleValue] {
        var list: [ATTHandleValue] = []
        repeat {
            let handle = try handle()
            let length = Int(try number16("value length"))
            list.append(ATTHandleValue(handle: handle, value: try octets(length, "attribute value")))
        } while remaining > 0
        guard list.count >= 2 else { throw malformed("has fewer than two values") }
        return list
    }
}
