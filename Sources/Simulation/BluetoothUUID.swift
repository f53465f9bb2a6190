import Platform

/// A 16-bit or 128-bit UUID in the byte order of ATT (Core, Vol 3, Part B, 2.5.1).
public struct BluetoothUUID: Sendable, Hashable, CustomStringConvertible {
    /// Bluetooth_Base_UUID without its first four bytes, little-endian.
    private static let base: [UInt8] = [0xFB, 0x34, 0x9B, 0x5F, 0x80, 0x00, 0x00, 0x80, 0x00, 0x10, 0x00, 0x00]

    /// 2 or 16 bytes, little-endian. A 128-bit form of a 16-bit UUID is held in its short form, so that the two are equal.
    public let bytes: [UInt8]

    /// An assigned number.
    public init(_ short: UInt16) {
        bytes = [UInt8(truncatingIfNeeded: short), UInt8(truncatingIfNeeded: short >> 8)]
    }

    /// The bytes as they stand in a PDU; `nil` unless there are 2 or 16.
    public init?(littleEndian bytes: [UInt8]) {
        switch bytes.count {
        case 2: self.bytes = bytes
        case 16: self.bytes = Array(bytes[..<12]) == Self.base && bytes[14] == 0 && bytes[15] == 0 ? Array(bytes[12..<14]) : bytes
        default: return nil
        }
    }

    /// The usual text form with hyphens; `nil` when the text is not 32 hexadecimal digits.
    public init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 30, through: 0, by: -2) {
            guard let byte = UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16) else { return nil }
            bytes.append(byte)
        }
        self.init(littleEndian: bytes)
    }

    public var description: String { "0x" + Array(bytes.reversed()).hexadecimal }
}

extension BluetoothUUID {
    static let primaryService = BluetoothUUID(0x2800)
    static let secondaryService = BluetoothUUID(0x2801)
    static let characteristic = BluetoothUUID(0x2803)
    static let userDescription = BluetoothUUID(0x2901)
    static let clientConfiguration = BluetoothUUID(0x2902)
}
