import Platform

/// A stretch of consecutive windows of one log.
public struct WindowRange: Sendable, Hashable {
    /// The flash log.
    public let log: UInt32
    /// Sequence of the first window.
    public let first: UInt32
    /// How many windows; the sequences wrap at 2^32.
    public internal(set) var count: Int
}

/// The collar's flash: a ring of windows with the names, the overwriting and the clearing of the profile.
///
/// No window is kept as bytes; each is made when it is read. What was ever produced can still be looked up after it was cleared.
/// Sequences are kept as offsets from the log's first one, so that nothing here has to think about the wrap at 2^32.
public struct CollarFlash: Sendable {
    /// What one read of the flash gave.
    public enum ReadResult: Sendable, Equatable {
        /// The 322 bytes as they are stored.
        case window([UInt8])
        /// This sequence is not held.
        case notHeld
        /// The flash could not be read there.
        case error
    }

    /// What a clear came to.
    public enum ClearResult: Sendable, Equatable {
        case ok
        case wrongLog
        /// `through` is not before `next`, or beyond the highest sequence ever sent.
        case refused
    }

    private struct Log: Sendable {
        let id: UInt32
        let first: UInt32
        /// The time of every window that was ever produced.
        var times: [UInt32] = []
    }

    /// How many windows fit; one more overwrites the oldest.
    public let capacity: Int
    private let forge: WindowForge
    private var faults: FlashFaults

    private var past: [Log] = []
    private var current: Log
    private var oldestOffset = 0
    private var sentOffset: Int?
    private var overwrittenBeforeOffset = 0

    /// b2 of Beta Metrics: windows were overwritten since the last clear.
    public private(set) var hasOverwritten = false
    /// Windows overwritten before anybody cleared them.
    public private(set) var overwritten: [WindowRange] = []
    /// Windows that were held when their log was formatted.
    public private(set) var formattedAway: [WindowRange] = []

    /// An empty flash.
    ///
    /// - Parameters:
    ///   - capacity: in windows, at least 1.
    ///   - log: identity of the first log.
    ///   - firstSequence: what its first window gets.
    public init(capacity: Int, log: UInt32, firstSequence: UInt32 = 0, forge: WindowForge, faults: FlashFaults = FlashFaults()) {
        self.capacity = max(1, capacity)
        self.forge = forge
        self.faults = faults
        current = Log(id: log, first: firstSequence)
    }

    /// Identity of the log that is being written.
    public var log: UInt32 { current.id }
    /// Sequence of the oldest window held; equal to `next` when there is none.
    public var oldest: UInt32 { sequence(oldestOffset) }
    /// Sequence that the next window will get.
    public var next: UInt32 { sequence(current.times.count) }
    /// How many windows are held.
    public var held: Int { current.times.count - oldestOffset }
    /// The highest sequence of this log that was ever sent; it survives links and resets.
    public var highestSent: UInt32? { sentOffset.map { sequence($0) } }
    /// Everything that was ever produced, log by log, the current one last.
    public var produced: [WindowRange] { (past + [current]).map { WindowRange(log: $0.id, first: $0.first, count: $0.times.count) } }

    /// Writes the next window, over the oldest one when the ring is full.
    public mutating func append(time: UInt32) {
        current.times.append(time)
        guard held > capacity else { return }
        Self.note(WindowRange(log: log, first: oldest, count: 1), in: &overwritten)
        oldestOffset += 1
        overwrittenBeforeOffset = oldestOffset
        hasOverwritten = true
    }

    /// Whether every one of `count` windows from `first` on is held.
    public func holds(first: UInt32, count: UInt32) -> Bool {
        let start = offset(first)
        return start >= oldestOffset && start + Int(count) <= current.times.count
    }

    /// Reads one window of the current log.
    public mutating func read(_ sequence: UInt32) -> ReadResult {
        let offset = offset(sequence)
        guard offset >= oldestOffset, offset < current.times.count else { return .notHeld }
        if faults.failsRead(log: log, sequence: sequence) { return .error }
        guard let bytes = bytes(log: log, sequence: sequence) else { return .notHeld }
        return .window(bytes)
    }

    /// The bytes that the flash holds or held for a window, whatever became of it; `nil` when it was never produced.
    public func bytes(log id: UInt32, sequence: UInt32) -> [UInt8]? {
        guard let log = current.id == id ? current : past.last(where: { $0.id == id }) else { return nil }
        let offset = Int(sequence &- log.first)
        guard offset < log.times.count else { return nil }
        return faults.damaged(forge.window(log: id, sequence: sequence, time: log.times[offset]), log: id, sequence: sequence)
    }

    /// Whether the bytes in the flash are right. One that is not is never disturbed on the air as well: two different wrong copies
    /// could not be told from a hub that altered one.
    public func isIntact(_ sequence: UInt32) -> Bool {
        forge.damage(log: log, sequence: sequence) == nil && !faults.hasDamage(log: log, sequence: sequence)
    }

    /// Moves the mark of the highest sequence ever sent.
    public mutating func markSent(_ sequence: UInt32) {
        let offset = offset(sequence)
        guard offset >= 0, offset < current.times.count else { return }
        sentOffset = max(sentOffset ?? offset, offset)
    }

    /// Forgets every window up to and including `through`. Clearing what is already gone is ok.
    public mutating func clear(log id: UInt32, through: UInt32) -> ClearResult {
        guard id == log else { return .wrongLog }
        let offset = offset(through)
        guard offset < current.times.count else { return .refused }
        if offset >= oldestOffset {
            guard let sentOffset, offset <= sentOffset else { return .refused }
            oldestOffset = offset + 1
        }
        // A clear that ends before windows which were overwritten leaves their mark: it is the only sign of why they are missing.
        if offset + 1 >= overwrittenBeforeOffset { hasOverwritten = false }
        return .ok
    }

    /// Starts an empty log under a new identity.
    public mutating func format(using generator: inout SplitMix64) {
        if held > 0 { formattedAway.append(WindowRange(log: log, first: oldest, count: held)) }
        past.append(current)
        var id: UInt32
        repeat { id = UInt32(truncatingIfNeeded: generator.next() >> 32) } while id == 0 || past.contains { $0.id == id }
        current = Log(id: id, first: 0)
        oldestOffset = 0
        sentOffset = nil
        overwrittenBeforeOffset = 0
        hasOverwritten = false
    }

    /// Makes reads of one window of the current log fail: the next one, or all.
    public mutating func failReads(of sequence: UInt32, lasting: Bool) {
        faults.failReads(log: log, sequence: sequence, lasting: lasting)
    }

    /// Flips one bit of a stored window of the current log for good.
    public mutating func damage(_ sequence: UInt32, bit: Int) {
        faults.damage(log: log, sequence: sequence, bit: bit)
    }

    /// Serial-number arithmetic around `next` (RFC 1982): what is less than half the circle behind it is before it.
    private func offset(_ sequence: UInt32) -> Int {
        current.times.count + Int(Int32(bitPattern: sequence &- next))
    }

    private func sequence(_ offset: Int) -> UInt32 {
        current.first &+ UInt32(truncatingIfNeeded: offset)
    }

    private static func note(_ range: WindowRange, in ranges: inout [WindowRange]) {
        if let last = ranges.last, last.log == range.log, last.first &+ UInt32(truncatingIfNeeded: last.count) == range.first {
            ranges[ranges.count - 1].count += range.count
        } else {
            ranges.append(range)
        }
    }
}
