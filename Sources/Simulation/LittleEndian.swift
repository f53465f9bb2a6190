extension Array where Element == UInt8 {
    /// Appends an integer in the byte order of ATT and of the collar profile.
    mutating func append(littleEndian value: some FixedWidthInteger) {
        var rest = value
        for _ in 0..<(value.bitWidth / 8) {
            append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }
}

/// Reads little-endian fields one after the other; `nil` when fewer bytes are left than asked for.
struct FieldReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// How many bytes have not been read.
    var left: Int { bytes.count - position }

    mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(_: Value.Type = Value.self) -> Value? {
        let size = Value.bitWidth / 8
        guard left >= size else { return nil }
        var value: Value = 0
        for index in (position..<(position + size)).reversed() { value = (Value.bitWidth > 8 ? value << 8 : 0) | Value(truncatingIfNeeded: bytes[index]) }
        position += size
        return value
    }

    /// Everything that is left.
    mutating func rest() -> [UInt8] {
        defer { position = bytes.count }
        return Array(bytes[position...])
    }
}
