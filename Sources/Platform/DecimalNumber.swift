/// A decimal number as somebody wrote it: `coefficient` × 10^`exponent`, without binary rounding and with its zeros at the end.
///
/// Two of them are equal when they were written alike: 120 and 120.0 are not, as the second one says more.
public struct DecimalNumber: Sendable, Hashable, CustomStringConvertible {
    /// The digits with their sign.
    public let coefficient: Int64
    /// Where the point stands: -1 means tenths.
    public let exponent: Int8

    /// The number `coefficient` × 10^`exponent`.
    public init(_ coefficient: Int64, exponent: Int8 = 0) {
        self.coefficient = coefficient
        self.exponent = exponent
    }

    /// How many digits stand behind the point.
    public var decimals: Int { max(0, -Int(exponent)) }

    /// The number without exponent, e.g. `18.9`, `-0.05`, `120`, `120.0`: a JSON number (RFC 8259, section 6).
    public var description: String {
        let digits = String(coefficient.magnitude)
        let sign = coefficient < 0 ? "-" : ""
        guard exponent < 0 else {
            return coefficient == 0 ? "0" : sign + digits + String(repeating: "0", count: Int(exponent))
        }
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.utf8.count)) + digits
        return "\(sign)\(padded.dropLast(decimals)).\(padded.suffix(decimals))"
    }
}
