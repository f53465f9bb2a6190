/// The number of an attribute in a peer's database (Core Vol 3 Part F 3.2.2). 0x0000 names none.
public struct AttributeHandle: RawRepresentable, Sendable, Hashable, Comparable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }
    public init(integerLiteral value: UInt16) { rawValue = value }

    /// 0x0000, which is reserved: no attribute has it.
    public static let none = AttributeHandle(rawValue: 0x0000)
    /// 0x0001, the first that an attribute can have.
    public static let first = AttributeHandle(rawValue: 0x0001)
    /// 0xFFFF, the last that an attribute can have.
    public static let last = AttributeHandle(rawValue: 0xFFFF)

    /// The handle behind this one; `nil` behind the last.
    public var next: AttributeHandle? {
        self == .last ? nil : AttributeHandle(rawValue: rawValue + 1)
    }

    public static func < (left: AttributeHandle, right: AttributeHandle) -> Bool { left.rawValue < right.rawValue }

    /// `0x` and four digits.
    public var description: String { "0x" + hexadecimalDigits(UInt64(rawValue), count: 4) }
}

/// The last `count` hexadecimal digits of a number, in capitals.
func hexadecimalDigits(_ number: UInt64, count: Int) -> String {
    let digits = String(number, radix: 16, uppercase: true)
    return digits.count >= count ? String(digits.suffix(count)) : String(repeating: "0", count: count - digits.count) + digits
}
