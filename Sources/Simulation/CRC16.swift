/// CRC-16/CCITT-FALSE: polynomial 0x1021, initial value 0xFFFF, nothing reflected, nothing inverted.
public struct CRC16: Sendable {
    private static let table: [UInt16] = (0..<256).map { index in
        var value = UInt16(index) << 8
        for _ in 0..<8 { value = value & 0x8000 == 0 ? value << 1 : value << 1 ^ 0x1021 }
        return value
    }

    /// The checksum of everything taken in so far.
    public private(set) var value: UInt16 = 0xFFFF

    public init() {}

    /// Takes in more bytes.
    public mutating func update(_ bytes: some Sequence<UInt8>) {
        var value = self.value
        for byte in bytes { value = value << 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: value >> 8) ^ byte)] }
        self.value = value
    }

    /// The checksum of `bytes`.
    public static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var crc = CRC16()
        crc.update(bytes)
        return crc.value
    }
}
