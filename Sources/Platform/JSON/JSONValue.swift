/// A JSON value (RFC 8259). libjansson reads it, and writes texts and binary numbers.
public indirect enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent.
    case integer(Int64)
    /// Any other number. What JSON has no number for (an infinity, NaN) is written as null.
    case real(Double)
    /// A number that is written digit for digit; a reader gives `.integer` or `.real` for it.
    case decimal(DecimalNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The member of an object; `nil` when there is none of this name, or this is no object.
    public subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The truth of a boolean.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number of an integer.
    public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The text of a string.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements of an array.
    public var elements: [JSONValue]? {
        if case .array(let values) = self { values } else { nil }
    }

    /// A whole number; one that does not fit into 64 bits with sign becomes the nearest that does.
    public static func number(_ value: some BinaryInteger) -> JSONValue { .integer(Int64(clamping: value)) }
}
