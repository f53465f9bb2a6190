import CCrypto

/// AES-CMAC with a key of 128 bits (RFC 4493), computed by libcrypto.
public enum AESCMAC {
    /// The tag of a message.
    ///
    /// - Parameters:
    ///   - key: 16 bytes, the most significant first.
    ///   - message: any number of bytes.
    /// - Returns: 16 bytes, the most significant first.
    public static func tag(key: [UInt8], message: [UInt8]) -> [UInt8] {
        precondition(key.count == 16, "an AES-128 key has 16 bytes")
        return [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            var written = 0
            // Fails only when libcrypto has no CMAC at all, and then nothing of the gateway can be trusted to work.
            let done = EVP_Q_mac(nil, "CMAC", nil, "AES-128-CBC", nil, key, key.count, message, message.count, buffer.baseAddress, 16, &written)
            precondition(done != nil && written == 16, "libcrypto has no AES-CMAC")
            count = 16
        }
    }
}
