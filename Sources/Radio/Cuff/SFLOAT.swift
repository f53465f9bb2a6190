import Platform

/// SFLOAT-Type of IEEE 11073-20601 (annex F.8), in Bluetooth documents medfloat16: a decimal number of 16 bits, or why there is none.
///
/// The low 12 bits are the mantissa, the high 4 bits the exponent to the base of ten, both two's complement.
public enum SFLOAT: Sendable, Hashable {
    /// A number, exactly as it was sent.
    case number(DecimalNumber)
    /// Not a number: the device could not find a value.
    case nan
    /// Not at this resolution: the value has no form in this number of bits.
    case notAtThisResolution
    /// Above what can be measured.
    case positiveInfinity
    /// Below what can be measured.
    case negativeInfinity
    /// The value 0x0801, which the standard keeps for later.
    case reserved

    /// Every 16 bits mean something.
    public init(rawValue: UInt16) {
        switch rawValue {
        case 0x07FF: self = .nan
        case 0x0800: self = .notAtThisResolution
        case 0x07FE: self = .positiveInfinity
        case 0x0802: self = .negativeInfinity
        case 0x0801: self = .reserved
        default:
            // Shifting to the top and back again extends the sign.
            let mantissa = Int16(bitPattern: rawValue << 4) >> 4
            let exponent = Int16(bitPattern: rawValue) >> 12
            self = .number(DecimalNumber(Int64(mantissa), exponent: Int8(exponent)))
        }
    }

    /// The 16 bits; `nil` for a number that has no form in them as it is.
    public var rawValue: UInt16? {
        switch self {
        case .nan: return 0x07FF
        case .notAtThisResolution: return 0x0800
        case .positiveInfinity: return 0x07FE
        case .negativeInfinity: return 0x0802
        case .reserved: return 0x0801
        case .number(let number):
            guard (-2_048...2_047).contains(number.coefficient), (-8...7).contains(number.exponent) else { return nil }
            let raw = UInt16(truncatingIfNeeded: number.coefficient) & 0x0FFF | UInt16(truncatingIfNeeded: number.exponent) << 12
            return SFLOAT(rawValue: raw) == self ? raw : nil
        }
    }

    /// The number, when it is one.
    public var number: DecimalNumber? {
        if case .number(let number) = self { number } else { nil }
    }
}
