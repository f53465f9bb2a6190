import Platform

/// Serialisation of the structured field values that the contract uses (RFC 8941, section 4.1).
enum StructuredField {
    /// A string in quotes (section 4.1.6); nil when it has anything but printable ASCII.
    static func string(_ text: String) -> String? {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            guard (0x20...0x7E).contains(byte) else { return nil }
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// An integer (section 4.1.4); nil beyond 15 digits.
    static func integer(_ number: Int64) -> String? {
        (-999_999_999_999_999...999_999_999_999_999).contains(number) ? String(number) : nil
    }

    /// A byte sequence (section 4.1.8).
    static func bytes(_ bytes: [UInt8]) -> String { ":\(bytes.base64):" }
}
