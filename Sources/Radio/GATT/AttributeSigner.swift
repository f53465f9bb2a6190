import Platform

/// The key that a peer knows this side's signed writes by (Connection Signature Resolving Key, Core Vol 3 Part H 2.4.2.2).
public struct SigningKey: Sendable, Hashable {
    /// Most significant octet first.
    private let octets: [UInt8]

    /// - Parameter littleEndian: 16 octets as pairing distributes them, least significant first; anything else gives `nil`.
    public init?(littleEndian: [UInt8]) {
        guard littleEndian.count == 16 else { return nil }
        octets = littleEndian.reversed()
    }

    /// Signs the octets of a PDU up to its signature (Core Vol 3 Part H 2.4.5).
    ///
    /// - Parameter counter: the sign counter; with one key each is used once.
    /// - Returns: 12 octets: the counter, and the 64 most significant bits of the AES-CMAC.
    func signature(of message: [UInt8], counter: UInt32) -> [UInt8] {
        let sign = (0..<4).map { UInt8(truncatingIfNeeded: counter >> (8 * UInt32($0))) }
        // The specification's function takes the most significant octet first, and the air carries the least significant first.
        let tag = AESCMAC.tag(key: octets, message: (message + sign).reversed())
        return sign + tag.prefix(8).reversed()
    }
}
