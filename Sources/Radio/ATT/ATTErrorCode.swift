/// Why a peer refused a request (Core Vol 3 Part F 3.4.1.1, and the Core Specification Supplement Part B for 0xE0 and up). Open: any octet is one.
public struct ATTErrorCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let invalidHandle = ATTErrorCode(rawValue: 0x01)
    public static let readNotPermitted = ATTErrorCode(rawValue: 0x02)
    public static let writeNotPermitted = ATTErrorCode(rawValue: 0x03)
    public static let invalidPDU = ATTErrorCode(rawValue: 0x04)
    /// The link needs authentication before the attribute can be used.
    public static let insufficientAuthentication = ATTErrorCode(rawValue: 0x05)
    public static let requestNotSupported = ATTErrorCode(rawValue: 0x06)
    public static let invalidOffset = ATTErrorCode(rawValue: 0x07)
    public static let insufficientAuthorization = ATTErrorCode(rawValue: 0x08)
    public static let prepareQueueFull = ATTErrorCode(rawValue: 0x09)
    /// Nothing (more) of what was asked for in the range: the usual end of a discovery.
    public static let attributeNotFound = ATTErrorCode(rawValue: 0x0A)
    /// The attribute cannot be read by Read Blob, as it fits a Read Response.
    public static let attributeNotLong = ATTErrorCode(rawValue: 0x0B)
    public static let encryptionKeySizeTooShort = ATTErrorCode(rawValue: 0x0C)
    public static let invalidAttributeValueLength = ATTErrorCode(rawValue: 0x0D)
    public static let unlikelyError = ATTErrorCode(rawValue: 0x0E)
    /// The link needs encryption before the attribute can be used.
    public static let insufficientEncryption = ATTErrorCode(rawValue: 0x0F)
    public static let unsupportedGroupType = ATTErrorCode(rawValue: 0x10)
    public static let insufficientResources = ATTErrorCode(rawValue: 0x11)
    /// The peer's database has changed since it was discovered.
    public static let databaseOutOfSync = ATTErrorCode(rawValue: 0x12)
    public static let valueNotAllowed = ATTErrorCode(rawValue: 0x13)
    public static let writeRequestRejected = ATTErrorCode(rawValue: 0xFC)
    public static let clientCharacteristicConfigurationImproperlyConfigured = ATTErrorCode(rawValue: 0xFD)
    public static let procedureAlreadyInProgress = ATTErrorCode(rawValue: 0xFE)
    public static let outOfRange = ATTErrorCode(rawValue: 0xFF)

    private static let names: [ATTErrorCode: String] = [
        .invalidHandle: "Invalid Handle",
        .readNotPermitted: "Read Not Permitted",
        .writeNotPermitted: "Write Not Permitted",
        .invalidPDU: "Invalid PDU",
        .insufficientAuthentication: "Insufficient Authentication",
        .requestNotSupported: "Request Not Supported",
        .invalidOffset: "Invalid Offset",
        .insufficientAuthorization: "Insufficient Authorization",
        .prepareQueueFull: "Prepare Queue Full",
        .attributeNotFound: "Attribute Not Found",
        .attributeNotLong: "Attribute Not Long",
        .encryptionKeySizeTooShort: "Encryption Key Size Too Short",
        .invalidAttributeValueLength: "Invalid Attribute Value Length",
        .unlikelyError: "Unlikely Error",
        .insufficientEncryption: "Insufficient Encryption",
        .unsupportedGroupType: "Unsupported Group Type",
        .insufficientResources: "Insufficient Resources",
        .databaseOutOfSync: "Database Out Of Sync",
        .valueNotAllowed: "Value Not Allowed",
        .writeRequestRejected: "Write Request Rejected",
        .clientCharacteristicConfigurationImproperlyConfigured: "Client Characteristic Configuration Descriptor Improperly Configured",
        .procedureAlreadyInProgress: "Procedure Already In Progress",
        .outOfRange: "Out Of Range",
    ]

    private static let meanings: [ATTErrorCode: String] = [
        .invalidHandle: "the peer has no attribute of that handle",
        .readNotPermitted: "the attribute cannot be read",
        .writeNotPermitted: "the attribute cannot be written",
        .invalidPDU: "the peer could not read the request",
        .insufficientAuthentication: "the link must be authenticated first",
        .requestNotSupported: "the peer does not know this kind of request",
        .invalidOffset: "the offset lies behind the end of the value",
        .insufficientAuthorization: "somebody at the peer must allow it first",
        .prepareQueueFull: "the peer holds as many prepared writes as it can",
        .attributeNotFound: "the range has no attribute of that kind",
        .attributeNotLong: "the value fits one response and cannot be read in parts",
        .encryptionKeySizeTooShort: "the link's encryption key is too short",
        .invalidAttributeValueLength: "a value of that length is not for this attribute",
        .unlikelyError: "the peer met an error that it has no name for",
        .insufficientEncryption: "the link must be encrypted first",
        .unsupportedGroupType: "attributes of that type do not begin a group",
        .insufficientResources: "the peer has not the means for it now",
        .databaseOutOfSync: "the peer's database has changed since it was discovered",
        .valueNotAllowed: "the attribute does not take that value",
        .writeRequestRejected: "the profile does not allow the write now",
        .clientCharacteristicConfigurationImproperlyConfigured: "the characteristic has not been subscribed as the profile needs it",
        .procedureAlreadyInProgress: "the peer is still at the last such procedure",
        .outOfRange: "the value lies outside of what the profile allows",
    ]

    /// What it means, in words.
    public var meaning: String {
        if let meaning = Self.meanings[self] { return meaning }
        switch rawValue {
        case 0x80...0x9F: return "the service's own specification says what it means"
        case 0xE0...0xFF: return "an error that profiles share, of a later specification"
        default: return "reserved for a later specification"
        }
    }

    /// The name of the specification with the octet, e.g. `Attribute Not Found (0x0A)`.
    public var description: String {
        let octet = "0x" + hexadecimalDigits(UInt64(rawValue), count: 2)
        if let name = Self.names[self] { return "\(name) (\(octet))" }
        switch rawValue {
        case 0x80...0x9F: return "Application Error (\(octet))"
        case 0xE0...0xFF: return "Common Profile Error (\(octet))"
        default: return "reserved error code \(octet)"
        }
    }
}
