/// A device address as Bluetooth Core writes it (Volume 6, Part B, section 1.3): 48 bits and their type.
struct DeviceAddress: Sendable, Hashable, CustomStringConvertible {
    /// Which kind of identity address it is. Private addresses change and can stand in no file.
    enum Kind: String, Sendable {
        case `public`
        case random
    }

    /// Six bytes, the most significant first, as they are written.
    let bytes: [UInt8]
    let kind: Kind

    /// Reads `C0:FF:EE:12:34:56`, optionally followed by `/random` or `/public`. Without either the two topmost bits must say
    /// that it is a static random address (section 1.3.2.1), because a public one cannot be told from a private one.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count) else { return nil }
        let pairs = parts[0].split(separator: ":", omittingEmptySubsequences: false)
        let bytes = pairs.compactMap { hexadecimalBytes($0) }
        guard pairs.count == 6, bytes.count == 6, bytes.allSatisfy({ $0.count == 1 }) else { return nil }
        self.bytes = bytes.map { $0[0] }
        if parts.count == 2 {
            guard let kind = Kind(rawValue: String(parts[1])) else { return nil }
            self.kind = kind
        } else {
            kind = .random
        }
        let all = self.bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch kind {
        case .public:
            guard all != 0, all != 0xFFFF_FFFF_FFFF else { return nil }
        case .random:
            // At least one bit of the random part is 0 and at least one is 1.
            let part = all & 0x3FFF_FFFF_FFFF
            guard all >> 46 == 0b11, part != 0, part != 0x3FFF_FFFF_FFFF else { return nil }
        }
    }

    var description: String {
        bytes.map { [$0].hexadecimal.uppercased() }.joined(separator: ":") + "/\(kind.rawValue)"
    }
}

/// The bytes that the digits stand for; `nil` when a digit is none or one is missing.
private func hexadecimalBytes(_ text: Substring) -> [UInt8]? {
    guard text.utf8.count.isMultiple(of: 2), text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit && $0 < 0x80 }) else { return nil }
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while !rest.isEmpty {
        guard let byte = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
        bytes.append(byte)
        rest = rest.dropFirst(2)
    }
    return bytes
}

/// A 128-bit UUID as GATT uses it (RFC 4122, section 3).
struct UUID128: Sendable, Hashable, CustomStringConvertible {
    /// 16 bytes, the most significant first, as they are written.
    let bytes: [UInt8]

    /// - Precondition: 16 bytes; what comes from outside is read as text.
    init(bytes: [UInt8]) {
        precondition(bytes.count == 16, "a UUID has 16 bytes")
        self.bytes = bytes
    }

    /// Reads the 8-4-4-4-12 form, in either case.
    init?(_ text: String) {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
        let bytes = groups.compactMap { hexadecimalBytes($0) }
        guard bytes.count == 5 else { return nil }
        self.init(bytes: Array(bytes.joined()))
    }

    var description: String {
        let digits = Array(bytes.hexadecimal)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}

extension ValueForm where Value == DeviceAddress {
    static let deviceAddress = ValueForm(
        allowed: "a static random address, or any with /public or /random behind it", example: "C0:FF:EE:12:34:56",
        parse: { DeviceAddress($0) }, print: { $0.description })
}

extension ValueForm where Value == UUID128 {
    static let uuid = ValueForm(allowed: "a UUID of 128 bits", example: "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20",
                                parse: { UUID128($0) }, print: { $0.description })
}
