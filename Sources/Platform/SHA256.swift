import CCrypto

/// SHA-256 (FIPS 180-4), computed by libcrypto.
public enum SHA256 {
    /// The 32 bytes of the digest.
    public static func digest(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            // EVP_Digest fails only when libcrypto has no SHA-256 at all, and then nothing of the gateway can be trusted to work.
            let done = EVP_Digest(bytes, bytes.count, buffer.baseAddress, nil, EVP_sha256(), nil)
            precondition(done == 1, "libcrypto has no SHA-256")
            count = 32
        }
    }
}
