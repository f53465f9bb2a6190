/// CRC-16/CCITT-FALSE: polynomial 0x1021, initial value 0xFFFF, no reflection, no final inversion. `123456789` gives 0x29B1.
struct CRC16: Sendable, Hashable {
    /// The checksum of everything taken in so far.
    private(set) var value: UInt16 = 0xFFFF

    /// The checksum of no bytes.
    init() {}

    /// Takes in more bytes.
    mutating func update(_ bytes: some Sequence<UInt8>) {
        var value = self.value
        for byte in bytes {
            value = value << 8 ^ Self.table[Int(value >> 8 ^ UInt16(byte))]
        }
        self.value = value
    }

    /// The checksum of `bytes`.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var crc = CRC16()
        crc.update(bytes)
        return crc.value
    }

    /// What each value of the top byte contributes once it has been shifted out.
    private static let table: [UInt16] = (0..<256).map { top in
        var value = UInt16(top) << 8
        for _ in 0..<8 {
            value = value & 0x8000 != 0 ? value << 1 ^ 0x1021 : value << 1
        }
        return value
    }
}
