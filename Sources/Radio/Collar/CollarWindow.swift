/// A raw window as it came: 322 bytes whose samples are opaque to the hub.
public struct CollarWindow: Sendable, Hashable {
    /// The length of every window in bytes.
    public static let length = 322
    /// Times below this are seconds since the collar started, others seconds since 1970.
    public static let firstCalendarTime: UInt32 = 1_000_000_000

    /// The bytes, unchanged.
    public let bytes: [UInt8]

    /// Takes exactly 322 bytes, whatever is in them; `nil` for another number.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// The sequence that the window claims; to be believed only when it `isIntact`.
    public var sequence: UInt32 { LittleEndian.u32(bytes, at: 0) }
    /// The start of the window, on the collar's clock; see `firstCalendarTime`.
    public var time: UInt32 { LittleEndian.u32(bytes, at: 4) }
    /// The checksum that came with the window.
    public var crc: UInt16 { LittleEndian.u16(bytes, at: 8) }

    /// Whether the checksum fits bytes 0-7 and 10-321.
    public var isIntact: Bool {
        var crc = CRC16()
        crc.update(bytes[0..<8])
        crc.update(bytes[10...])
        return crc.value == self.crc
    }
}
