/// The first octet of an ATT PDU (Core Vol 3 Part F 3.3.1 and 3.4.8). Open: any octet is one, known or not.
public struct ATTOpcode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let errorResponse = ATTOpcode(rawValue: 0x01)
    public static let exchangeMTURequest = ATTOpcode(rawValue: 0x02)
    public static let exchangeMTUResponse = ATTOpcode(rawValue: 0x03)
    public static let findInformationRequest = ATTOpcode(rawValue: 0x04)
    public static let findInformationResponse = ATTOpcode(rawValue: 0x05)
    public static let findByTypeValueRequest = ATTOpcode(rawValue: 0x06)
    public static let findByTypeValueResponse = ATTOpcode(rawValue: 0x07)
    public static let readByTypeRequest = ATTOpcode(rawValue: 0x08)
    public static let readByTypeResponse = ATTOpcode(rawValue: 0x09)
    public static let readRequest = ATTOpcode(rawValue: 0x0A)
    public static let readResponse = ATTOpcode(rawValue: 0x0B)
    public static let readBlobRequest = ATTOpcode(rawValue: 0x0C)
    public static let readBlobResponse = ATTOpcode(rawValue: 0x0D)
    public static let readMultipleRequest = ATTOpcode(rawValue: 0x0E)
    public static let readMultipleResponse = ATTOpcode(rawValue: 0x0F)
    public static let readByGroupTypeRequest = ATTOpcode(rawValue: 0x10)
    public static let readByGroupTypeResponse = ATTOpcode(rawValue: 0x11)
    public static let writeRequest = ATTOpcode(rawValue: 0x12)
    public static let writeResponse = ATTOpcode(rawValue: 0x13)
    public static let prepareWriteRequest = ATTOpcode(rawValue: 0x16)
    public static let prepareWriteResponse = ATTOpcode(rawValue: 0x17)
    public static let executeWriteRequest = ATTOpcode(rawValue: 0x18)
    public static let executeWriteResponse = ATTOpcode(rawValue: 0x19)
    public static let handleValueNotification = ATTOpcode(rawValue: 0x1B)
    public static let handleValueIndication = ATTOpcode(rawValue: 0x1D)
    public static let handleValueConfirmation = ATTOpcode(rawValue: 0x1E)
    public static let readMultipleVariableRequest = ATTOpcode(rawValue: 0x20)
    public static let readMultipleVariableResponse = ATTOpcode(rawValue: 0x21)
    public static let multipleHandleValueNotification = ATTOpcode(rawValue: 0x23)
    public static let writeCommand = ATTOpcode(rawValue: 0x52)
    public static let signedWriteCommand = ATTOpcode(rawValue: 0xD2)

    /// What a PDU is to the one who receives it.
    enum Role: Sendable, Hashable {
        case request
        case response
        case command
        case notification
        case indication
        case confirmation
    }

    private struct Properties {
        let name: String
        let role: Role
        /// The opcode of the response, for a request.
        var response: ATTOpcode?
    }

    private static let table: [ATTOpcode: Properties] = [
        .errorResponse: Properties(name: "Error Response", role: .response),
        .exchangeMTURequest: Properties(name: "Exchange MTU Request", role: .request, response: .exchangeMTUResponse),
        .exchangeMTUResponse: Properties(name: "Exchange MTU Response", role: .response),
        .findInformationRequest: Properties(name: "Find Information Request", role: .request, response: .findInformationResponse),
        .findInformationResponse: Properties(name: "Find Information Response", role: .response),
        .findByTypeValueRequest: Properties(name: "Find By Type Value Request", role: .request, response: .findByTypeValueResponse),
        .findByTypeValueResponse: Properties(name: "Find By Type Value Response", role: .response),
        .readByTypeRequest: Properties(name: "Read By Type Request", role: .request, response: .readByTypeResponse),
        .readByTypeResponse: Properties(name: "Read By Type Response", role: .response),
        .readRequest: Properties(name: "Read Request", role: .request, response: .readResponse),
        .readResponse: Properties(name: "Read Response", role: .response),
        .readBlobRequest: Properties(name: "Read Blob Request", role: .request, response: .readBlobResponse),
        .readBlobResponse: Properties(name: "Read Blob Response", role: .response),
        .readMultipleRequest: Properties(name: "Read Multiple Request", role: .request, response: .readMultipleResponse),
        .readMultipleResponse: Properties(name: "Read Multiple Response", role: .response),
        .readByGroupTypeRequest: Properties(name: "Read By Group Type Request", role: .request, response: .readByGroupTypeResponse),
        .readByGroupTypeResponse: Properties(name: "Read By Group Type Response", role: .response),
        .writeRequest: Properties(name: "Write Request", role: .request, response: .writeResponse),
        .writeResponse: Properties(name: "Write Response", role: .response),
        .prepareWriteRequest: Properties(name: "Prepare Write Request", role: .request, response: .prepareWriteResponse),
        .prepareWriteResponse: Properties(name: "Prepare Write Response", role: .response),
        .executeWriteRequest: Properties(name: "Execute Write Request", role: .request, response: .executeWriteResponse),
        .executeWriteResponse: Properties(name: "Execute Write Response", role: .response),
        .handleValueNotification: Properties(name: "Handle Value Notification", role: .notification),
        .handleValueIndication: Properties(name: "Handle Value Indication", role: .indication),
        .handleValueConfirmation: Properties(name: "Handle Value Confirmation", role: .confirmation),
        .readMultipleVariableRequest: Properties(name: "Read Multiple Variable Request", role: .request, response: .readMultipleVariableResponse),
        .readMultipleVariableResponse: Properties(name: "Read Multiple Variable Response", role: .response),
        .multipleHandleValueNotification: Properties(name: "Multiple Handle Value Notification", role: .notification),
        .writeCommand: Properties(name: "Write Command", role: .command),
        .signedWriteCommand: Properties(name: "Signed Write Command", role: .command),
    ]

    /// The Command Flag (bit 6): a PDU that is ignored when it is not understood.
    var isCommand: Bool { rawValue & 0x40 != 0 }

    /// The role in the table; an unknown opcode is a command when it has the flag, else a request (Core Vol 3 Part F 3.3).
    var role: Role { Self.table[self]?.role ?? (isCommand ? .command : .request) }

    /// The opcode that answers this one; `nil` unless this is a request of the table.
    var response: ATTOpcode? { Self.table[self]?.response }

    /// The name of the specification, or the octet where it has none.
    public var description: String {
        Self.table[self]?.name ?? "opcode 0x" + hexadecimalDigits(UInt64(rawValue), count: 2)
    }
}
