@testable import Radio

/// Windows as a collar would make them.
enum Forge {
    /// A window with a right checksum, whose samples depend on its sequence.
    static func bytes(_ sequence: UInt32, time: UInt32 = 1_700_000_000) -> [UInt8] {
        var bytes = LittleEndian.bytes(sequence) + LittleEndian.bytes(time &+ sequence) + [0, 0]
        bytes += (0..<312).map { UInt8(truncatingIfNeeded: sequence &* 31 &+ UInt32($0) &* 7) }
        var crc = CRC16()
        crc.update(bytes[0..<8])
        crc.update(bytes[10...])
        bytes[8] = UInt8(truncatingIfNeeded: crc.value)
        bytes[9] = UInt8(truncatingIfNeeded: crc.value >> 8)
        return bytes
    }

    /// The same with one bit flipped at a byte.
    static func damaged(_ sequence: UInt32, at byte: Int = 100) -> [UInt8] {
        var bytes = bytes(sequence)
        bytes[byte] ^= 0x10
        return bytes
    }

    /// Whole windows of consecutive sequences, which may wrap.
    static func run(_ first: UInt32, _ count: UInt32) -> [UInt8] {
        (0..<count).flatMap { bytes(first &+ $0) }
    }

    /// The notifications for a window at an ATT_MTU.
    static func values(_ bytes: [UInt8], mtu: Int) -> [[UInt8]] {
        if mtu >= 325 { return [bytes] }
        let room = mtu - 3 - 2
        return stride(from: 0, to: bytes.count, by: room).map { (offset: Int) -> [UInt8] in
            let head: [UInt8] = [UInt8(offset & 0xFF), UInt8(offset >> 8)]
            return head + Array(bytes[offset..<min(offset + room, bytes.count)])
        }
    }

    static func metrics(log: UInt32 = 7, oldest: UInt32 = 0, next: UInt32 = 0, flags: UInt8 = 1, battery: UInt8 = 80, version: UInt8 = 1) -> [UInt8] {
        let head: [UInt8] = [version, flags, battery, 0]
        let numbers: [UInt32] = [log, oldest, next, 1_700_000_000]
        return head + numbers.flatMap(LittleEndian.bytes)
    }
}

extension CollarWindow {
    static func intact(_ sequence: UInt32) -> CollarWindow { make(Forge.bytes(sequence)) }
    static func damaged(_ sequence: UInt32, at byte: Int = 100) -> CollarWindow { make(Forge.damaged(sequence, at: byte)) }

    private static func make(_ bytes: [UInt8]) -> CollarWindow {
        guard let window = CollarWindow(bytes) else { preconditionFailure("the forge makes 322 bytes") }
        return window
    }
}

extension ControlAnswer {
    static func read(_ result: ControlResult = .ok, _ numbers: UInt32...) -> ControlAnswer {
        ControlAnswer(opcode: 1, result: result, payload: numbers.flatMap(LittleEndian.bytes))
    }
}

/// The code of the error that `body` throws.
func code(_ body: () throws(CollarError) -> Void) -> CollarError.Code? {
    do throws(CollarError) { try body() } catch { return error.code }
    return nil
}

/// The error that `body` throws; `nil` when it throws none, or another kind.
func collarError(isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void) async -> CollarError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? CollarError
    }
}

/// The code that a read was interrupted with.
func interruption(_ end: RangeRead.End) -> CollarError.Code? {
    if case .interrupted(let error) = end { return error.code }
    return nil
}
