import Platform

/// Makes the bytes of any window from its name: a pure function of log, sequence, time and seed, so that no window has to be kept
/// and the books can still show each one that ever was.
public struct WindowForge: Sendable {
    /// The size of a window in bytes.
    public static let windowSize = 322
    private static let samplesPerWindow = 52

    private let recording: Recording
    private let seed: UInt64
    private let damageProbability: Double

    /// - Parameters:
    ///   - recording: what the samples are taken from, one after the other, from its start again after its end.
    ///   - damageProbability: how many of all windows sit in the flash with a flipped bit.
    public init(recording: Recording, seed: UInt64, damageProbability: Double = 0) {
        self.recording = recording
        self.seed = seed
        self.damageProbability = damageProbability
    }

    /// The 322 bytes as the flash holds them: right, or with the one bit flipped that the seed chose for this window.
    public func window(log: UInt32, sequence: UInt32, time: UInt32) -> [UInt8] {
        var bytes = intact(log: log, sequence: sequence, time: time)
        if let bit = damage(log: log, sequence: sequence) { bytes[bit / 8] ^= 1 << UInt8(bit % 8) }
        return bytes
    }

    /// The bit that is flipped in the flash; `nil` for a window that is right.
    func damage(log: UInt32, sequence: UInt32) -> Int? {
        guard damageProbability > 0 else { return nil }
        var generator = generator(log: log, sequence: sequence, purpose: 2)
        guard generator.chance(damageProbability) else { return nil }
        return Int.random(in: 0..<(8 * Self.windowSize), using: &generator)
    }

    private func intact(log: UInt32, sequence: UInt32, time: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.windowSize)
        bytes.append(littleEndian: sequence)
        bytes.append(littleEndian: time)
        bytes.append(littleEndian: UInt16(0))
        // The sensor of the recording was coarse (10 mg); a modern part adds noise of about ±4 counts, and makes each window unlike any other.
        var noise = generator(log: log, sequence: sequence, purpose: 1)
        var pool: UInt64 = 0
        var position = Int(UInt64(sequence) * UInt64(Self.samplesPerWindow) % UInt64(recording.count)) * 3
        for index in 0..<(3 * Self.samplesPerWindow) {
            if index % 8 == 0 { pool = noise.next() }
            let counts = Int(recording.axes[position]) + Int(pool & 0xFF) * 9 / 256 - 4
            pool >>= 8
            bytes.append(littleEndian: Int16(max(-32_768, min(32_767, counts))))
            position += 1
            if position == recording.axes.count { position = 0 }
        }
        var crc = CRC16()
        crc.update(bytes[0..<8])
        crc.update(bytes[10...])
        bytes[8] = UInt8(truncatingIfNeeded: crc.value)
        bytes[9] = UInt8(truncatingIfNeeded: crc.value >> 8)
        return bytes
    }

    /// A generator of its own for each window and purpose.
    private func generator(log: UInt32, sequence: UInt32, purpose: UInt64) -> SplitMix64 {
        var mixer = SplitMix64(seed: seed &+ purpose &* 0xA24B_AED4_963E_E407)
        let salt = mixer.next()
        mixer = SplitMix64(seed: salt ^ (UInt64(log) << 32 | UInt64(sequence)))
        return SplitMix64(seed: mixer.next())
    }
}

extension RandomNumberGenerator {
    /// True with the given probability; one number is drawn whatever it is.
    mutating func chance(_ probability: Double) -> Bool {
        Double(next() >> 11) * 0x1p-53 < probability
    }
}
