/// Error codes of ATT (Core, Vol 3, Part F, 3.4.1.1) and of the Core Specification Supplement, Part B.
public struct ATTError: Error, Sendable, Hashable, RawRepresentable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let invalidHandle = ATTError(rawValue: 0x01)
    public static let readNotPermitted = ATTError(rawValue: 0x02)
    public static let writeNotPermitted = ATTError(rawValue: 0x03)
    public static let invalidPDU = ATTError(rawValue: 0x04)
    public static let requestNotSupported = ATTError(rawValue: 0x06)
    public static let invalidOffset = ATTError(rawValue: 0x07)
    public static let attributeNotFound = ATTError(rawValue: 0x0A)
    public static let invalidAttributeValueLength = ATTError(rawValue: 0x0D)
    public static let insufficientEncryption = ATTError(rawValue: 0x0F)
    public static let unsupportedGroupType = ATTError(rawValue: 0x10)
    public static let valueNotAllowed = ATTError(rawValue: 0x13)
    public static let improperlyConfigured = ATTError(rawValue: 0xFD)
}

/// Opcodes of ATT (Core, Vol 3, Part F, 3.4.8).
enum ATTOpcode {
    static let error: UInt8 = 0x01
    static let exchangeMTURequest: UInt8 = 0x02
    static let exchangeMTUResponse: UInt8 = 0x03
    static let findInformationRequest: UInt8 = 0x04
    static let findInformationResponse: UInt8 = 0x05
    static let findByTypeValueRequest: UInt8 = 0x06
    static let findByTypeValueResponse: UInt8 = 0x07
    static let readByTypeRequest: UInt8 = 0x08
    static let readByTypeResponse: UInt8 = 0x09
    static let readRequest: UInt8 = 0x0A
    static let readResponse: UInt8 = 0x0B
    static let readBlobRequest: UInt8 = 0x0C
    static let readBlobResponse: UInt8 = 0x0D
    static let readByGroupTypeRequest: UInt8 = 0x10
    static let readByGroupTypeResponse: UInt8 = 0x11
    static let writeRequest: UInt8 = 0x12
    static let writeResponse: UInt8 = 0x13
    static let notification: UInt8 = 0x1B
    static let indication: UInt8 = 0x1D
    static let confirmation: UInt8 = 0x1E
    static let writeCommand: UInt8 = 0x52

    /// The command flag: a PDU that is never answered (3.3.1).
    static let commandFlag: UInt8 = 0x40
}
