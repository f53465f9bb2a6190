/// Integers of the collar profile: little-endian, at fixed offsets. The caller has checked the length.
enum LittleEndian {
    static func u16(_ bytes: [UInt8], at offset: Int) -> UInt16 {
        UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8
    }

    static func u32(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        UInt32(u16(bytes, at: offset)) | UInt32(u16(bytes, at: offset + 2)) << 16
    }

    static func bytes(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}
