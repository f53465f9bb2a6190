/// What a peer wants of the link before it serves a request (Core Vol 3 Part F 4; Part C 10.3).
public enum SecurityRequirement: Sendable, Hashable {
    /// Insufficient Authentication (0x05).
    case authentication
    /// Insufficient Encryption (0x0F): there is a key, and the link is not encrypted with it.
    case encryption
    /// Encryption Key Size Too Short (0x0C).
    case keySize

    /// - Returns: `nil` for an error that security does not help against.
    init?(_ code: ATTErrorCode) {
        switch code {
        case .insufficientAuthentication: self = .authentication
        case .insufficientEncryption: self = .encryption
        case .encryptionKeySizeTooShort: self = .keySize
        default: return nil
        }
    }
}

/// Raises the security of the link to the next level that may satisfy the peer: encrypts it, or pairs.
///
/// Whoever made the link gives it. It must end; it throws when the level cannot be reached. While one call runs, no second one is made for the same
/// requirement.
public typealias RaiseSecurity = @Sendable (SecurityRequirement) async throws -> Void
