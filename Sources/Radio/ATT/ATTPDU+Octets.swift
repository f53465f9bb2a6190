extension ATTPDU {
    /// The PDU as it goes on the air.
    var octets: [UInt8] {
        switch self {
        case .errorResponse(let request, let handle, let code):
            write { $0.octet(request.rawValue); $0.handle(handle); $0.octet(code.rawValue) }
        case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu):
            write { $0.number16(mtu) }
        case .findInformationRequest(let range):
            write { $0.range(range) }
        case .findInformationResponse(let list):
            write { writer in
                // Format 1 has 16-bit UUIDs, format 2 128-bit ones; they do not mix (3.4.3.2).
                writer.octet(list.first?.type.number16 != nil ? 0x01 : 0x02)
                for entry in list { writer.handle(entry.handle); writer.uuid(entry.type) }
            }
        case .findByTypeValueRequest(let range, let type, let value):
            write { $0.range(range); $0.number16(type); $0.append(value) }
        case .findByTypeValueResponse(let ranges):
            write { writer in for range in ranges { writer.range(range) } }
        case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
            write { $0.range(range); $0.uuid(type) }
        case .readByTypeResponse(let list):
            write { writer in
                writer.octet(UInt8(truncatingIfNeeded: 2 + (list.first?.value.count ?? 0)))
                for entry in list { writer.handle(entry.handle); writer.append(entry.value) }
            }
        case .readByGroupTypeResponse(let list):
            write { writer in
                writer.octet(UInt8(truncatingIfNeeded: 4 + (list.first?.value.count ?? 0)))
                for entry in list { writer.range(entry.range); writer.append(entry.value) }
            }
        case .readRequest(let handle):
            write { $0.handle(handle) }
        case .readBlobRequest(let handle, let offset):
            write { $0.handle(handle); $0.number16(offset) }
        case .readResponse(let value), .readBlobResponse(let value), .readMultipleResponse(let value), .readMultipleVariableResponse(let value),
             .unknown(_, let value):
            write(value.count) { $0.append(value) }
        case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
            write { writer in for handle in handles { writer.handle(handle) } }
        case .writeRequest(let handle, let value), .writeCommand(let handle, let value), .handleValueNotification(let handle, let value),
             .handleValueIndication(let handle, let value):
            write(2 + value.count) { $0.handle(handle); $0.append(value) }
        case .prepareWriteRequest(let handle, let offset, let value), .prepareWriteResponse(let handle, let offset, let value):
            write(4 + value.count) { $0.handle(handle); $0.number16(offset); $0.append(value) }
        case .executeWriteRequest(let flags):
            write { $0.octet(flags) }
        case .multipleHandleValueNotification(let list):
            write { writer in
                for entry in list {
                    writer.handle(entry.handle)
                    writer.number16(UInt16(truncatingIfNeeded: entry.value.count))
                    writer.append(entry.value)
                }
            }
        case .signedWriteCommand(let handle, let value, let signature):
            write(14 + value.count) { $0.handle(handle); $0.append(value); $0.append(signature) }
        case .writeResponse, .executeWriteResponse, .handleValueConfirmation:
            [opcode.rawValue]
        }
    }

    private func write(_ parameters: Int = 0, _ body: (inout ATTWriter) -> Void) -> [UInt8] {
        var writer = ATTWriter(opcode, capacity: max(Int(ATTLimit.defaultMTU), 1 + parameters))
        body(&writer)
        return writer.octets
    }
}

extension ATTWriter {
    fileprivate mutating func range(_ range: ATTHandleRange) {
        handle(range.start)
        handle(range.end)
    }
}
