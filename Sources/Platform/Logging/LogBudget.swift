/// How many bytes the log may take: a bucket that fills with time. A fault that repeats for ever must not wear out the card
/// or push everything else out of the journal.
public struct LogBudget: Sendable {
    /// What `spend` decided.
    public struct Verdict: Sendable, Equatable {
        /// Whether the line is written.
        public let write: Bool
        /// How many lines were left out since the last one that was written, when this one ends such a stretch.
        public let skippedBefore: Int?
    }

    private let capacity: Int64
    private let bytesPerMinute: Int64
    private var level: Int64
    private var filledAt: BootInstant?
    private var skipped = 0

    /// - Parameters:
    ///   - capacity: bytes that may come at once.
    ///   - bytesPerMinute: bytes that come back each minute.
    public init(capacity: Int = 262_144, bytesPerMinute: Int = 4_096) {
        self.capacity = Int64(capacity)
        self.bytesPerMinute = Int64(bytesPerMinute)
        level = self.capacity
    }

    /// Accounts for a line. Errors and worse always pass, and are accounted for.
    public mutating func spend(on record: LogRecord, now: BootInstant) -> Verdict {
        refill(now)
        let size = Int64(record.message.utf8.count + record.fields.reduce(96) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 })
        guard level >= size || record.level <= .error else {
            skipped += 1
            return Verdict(write: false, skippedBefore: nil)
        }
        level = max(0, level - size)
        defer { skipped = 0 }
        return Verdict(write: true, skippedBefore: skipped > 0 ? skipped : nil)
    }

    private mutating func refill(_ now: BootInstant) {
        guard let since = filledAt else {
            filledAt = now
            return
        }
        let gained = min((now - since).milliseconds, 86_400_000) * bytesPerMinute / 60_000
        guard gained > 0 else { return }
        level = min(capacity, level + gained)
        // The part of a byte that is left over counts the next time: lines that come often would lose most of it.
        let used = (gained * 60_000 + bytesPerMinute - 1) / bytesPerMinute
        filledAt = level == capacity ? now : since + .milliseconds(used)
    }
}
