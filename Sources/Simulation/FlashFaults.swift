import Platform

/// Which windows the flash cannot read, and which it holds with a flipped bit: by seed, and as told.
public struct FlashFaults: Sendable {
    private struct Name: Sendable, Hashable {
        let log: UInt32
        let sequence: UInt32
    }

    private let seed: UInt64
    private let transient: Double
    private let lasting: Double
    private var failing: [Name: Bool] = [:]
    private var recovered: Set<Name> = []
    private var flipped: [Name: Int] = [:]

    /// - Parameters:
    ///   - transient: probability for each window that its first read fails and later ones do not.
    ///   - lasting: probability for each window that no read of it ever works.
    public init(seed: UInt64 = 0, transient: Double = 0, lasting: Double = 0) {
        self.seed = seed
        self.transient = transient
        self.lasting = lasting
    }

    mutating func failReads(log: UInt32, sequence: UInt32, lasting: Bool) {
        failing[Name(log: log, sequence: sequence)] = lasting
    }

    mutating func damage(log: UInt32, sequence: UInt32, bit: Int) {
        flipped[Name(log: log, sequence: sequence)] = bit
    }

    /// Whether this read fails. A transient error is spent by it.
    mutating func failsRead(log: UInt32, sequence: UInt32) -> Bool {
        let name = Name(log: log, sequence: sequence)
        if let lasting = failing[name] {
            if !lasting { failing[name] = nil }
            return true
        }
        guard transient > 0 || lasting > 0 else { return false }
        var generator = SplitMix64(seed: seed ^ (UInt64(log) << 32 | UInt64(sequence)))
        generator = SplitMix64(seed: generator.next() ^ 0xF1A5)
        if generator.chance(lasting) { return true }
        guard generator.chance(transient) else { return false }
        return recovered.insert(name).inserted
    }

    func hasDamage(log: UInt32, sequence: UInt32) -> Bool {
        !flipped.isEmpty && flipped[Name(log: log, sequence: sequence)] != nil
    }

    func damaged(_ bytes: [UInt8], log: UInt32, sequence: UInt32) -> [UInt8] {
        guard !flipped.isEmpty, let bit = flipped[Name(log: log, sequence: sequence)] else { return bytes }
        var bytes = bytes
        bytes[bit / 8 % bytes.count] ^= 1 << UInt8(bit % 8)
        return bytes
    }
}
