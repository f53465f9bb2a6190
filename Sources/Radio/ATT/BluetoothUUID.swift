/// A UUID as Bluetooth uses it (Core Vol 3 Part B 2.5.1): 128 bits, of which 16- and 32-bit numbers are short forms upon the Bluetooth Base UUID.
///
/// Two forms of one UUID are equal. On the air the shortest form that ATT knows (16 or 128 bits) is used.
public struct BluetoothUUID: Sendable, Hashable, LosslessStringConvertible {
    private let high: UInt64
    private let low: UInt64

    // 00000000-0000-1000-8000-00805F9B34FB
    private static let baseHigh: UInt64 = 0x0000_0000_0000_1000
    private static let baseLow: UInt64 = 0x8000_0080_5F9B_34FB

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The UUID that a 16-bit number stands for, e.g. `.uuid16(0x2902)`.
    public static func uuid16(_ number: UInt16) -> BluetoothUUID { .uuid32(UInt32(number)) }

    /// The UUID that a 32-bit number stands for.
    public static func uuid32(_ number: UInt32) -> BluetoothUUID {
        BluetoothUUID(high: UInt64(number) << 32 | baseHigh, low: baseLow)
    }

    /// Reads octets in the order of the air, least significant first.
    ///
    /// - Parameter octets: 2, 4 or 16 of them; anything else gives `nil`.
    public init?(littleEndian octets: some Collection<UInt8>) {
        func number(_ part: some Sequence<UInt8>) -> UInt64 { part.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        switch octets.count {
        case 2, 4: self = .uuid32(UInt32(truncatingIfNeeded: number(octets)))
        case 16: self.init(high: number(octets.suffix(8)), low: number(octets.prefix(8)))
        default: return nil
        }
    }

    /// The 16-bit short form, where there is one.
    public var number16: UInt16? { number32.flatMap { UInt16(exactly: $0) } }

    /// The 32-bit short form, where there is one.
    public var number32: UInt32? {
        low == Self.baseLow && high & 0xFFFF_FFFF == Self.baseHigh ? UInt32(high >> 32) : nil
    }

    /// The octets for ATT, least significant first: 2 where a 16-bit form exists, else 16 (Core Vol 3 Part F 3.2.1: never 4).
    public var littleEndian: [UInt8] {
        if let number16 { return [UInt8(truncatingIfNeeded: number16), UInt8(truncatingIfNeeded: number16 >> 8)] }
        return littleEndian128
    }

    /// All 16 octets, least significant first, whether there is a short form or not.
    public var littleEndian128: [UInt8] {
        [low, high].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * UInt64($0))) } }
    }

    // MARK: Text

    /// Reads `2902`, `0000180D` or `6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20`, digits of either case, and nothing else.
    public init?(_ text: String) {
        let octets = Array(text.utf8)
        switch octets.count {
        case 4, 8:
            guard let number = Self.number(octets[...]) else { return nil }
            self = .uuid32(UInt32(truncatingIfNeeded: number))
        case 36:
            guard [8, 13, 18, 23].allSatisfy({ octets[$0] == UInt8(ascii: "-") }),
                  let first = Self.number(octets[0..<8]), let second = Self.number(octets[9..<13]), let third = Self.number(octets[14..<18]),
                  let fourth = Self.number(octets[19..<23]), let fifth = Self.number(octets[24..<36]) else { return nil }
            self.init(high: first << 32 | second << 16 | third, low: fourth << 48 | fifth)
        default:
            return nil
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "A")...UInt8(ascii: "F"): number = number << 4 | UInt64(digit - UInt8(ascii: "A") + 10)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }

    /// The shortest text form: `2902`, `0001180D`, or the 36 characters of RFC 9562 in small letters.
    public var description: String {
        if let number16 { return hexadecimalDigits(UInt64(number16), count: 4) }
        if let number32 { return hexadecimalDigits(UInt64(number32), count: 8) }
        let digits = (hexadecimalDigits(high, count: 16) + hexadecimalDigits(low, count: 16)).lowercased()
        var text = ""
        for (position, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(position) { text.append("-") }
            text.append(digit)
        }
        return text
    }
}

extension BluetoothUUID {
    /// «Primary Service», the type of a service's declaration (Core Vol 3 Part G 3.1).
    public static let primaryService = uuid16(0x2800)
    /// «Secondary Service», the type of the declaration of a service that is only there to be included (Core Vol 3 Part G 3.1).
    public static let secondaryService = uuid16(0x2801)
    /// «Include», the type of an include's declaration (Core Vol 3 Part G 3.2).
    public static let include = uuid16(0x2802)
    /// «Characteristic», the type of a characteristic's declaration (Core Vol 3 Part G 3.3.1).
    public static let characteristic = uuid16(0x2803)
    /// «Client Characteristic Configuration», the descriptor that turns notifications and indications on (Core Vol 3 Part G 3.3.3.3).
    public static let clientCharacteristicConfiguration = uuid16(0x2902)
    /// «Characteristic Extended Properties», the descriptor that says whether reliable writes are taken (Core Vol 3 Part G 3.3.3.1).
    public static let characteristicExtendedProperties = uuid16(0x2900)
    /// «Generic Attribute», the service that tells of the database itself (Core Vol 3 Part G 7).
    public static let genericAttribute = uuid16(0x1801)
    /// «Service Changed» (Core Vol 3 Part G 7.1).
    public static let serviceChanged = uuid16(0x2A05)
    /// «Client Supported Features» (Core Vol 3 Part G 7.2).
    public static let clientSupportedFeatures = uuid16(0x2B29)
    /// «Database Hash» (Core Vol 3 Part G 7.3).
    public static let databaseHash = uuid16(0x2B2A)
}
