/// Text forms of bytes.
extension Array where Element == UInt8 {
    /// Lower-case hexadecimal, two digits a byte.
    public var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Base64 with padding (RFC 4648, section 4).
    public var base64: String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        text.reserveCapacity((count + 2) / 3 * 4)
        for start in stride(from: 0, to: count, by: 3) {
            let group = self[start..<Swift.min(start + 3, count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= UInt32(8 * (3 - group.count))
            for position in 0..<4 {
                let used = position <= group.count
                text.append(used ? alphabet[Int(bits >> UInt32(18 - 6 * position) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
