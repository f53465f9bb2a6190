/// CRC-8 with polynomial 0x07, initial value 0, no reflection, no final inversion. `123456789` gives 0xF4.
enum CRC8 {
    static func checksum(_ octets: some Sequence<UInt8>) -> UInt8 {
        var value: UInt8 = 0
        for octet in octets { value = table[Int(value ^ octet)] }
        return value
    }

    private static let table: [UInt8] = (0..<256).map { octet in
        var value = UInt8(octet)
        for _ in 0..<8 { value = value & 0x80 != 0 ? value << 1 ^ 0x07 : value << 1 }
        return value
    }
}
