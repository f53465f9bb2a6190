import Synchronization

/// Keeps the lines, for tests that ask what was logged.
public final class MemorySink: LogSink {
    private let kept = Mutex<[LogRecord]>([])

    public init() {}

    /// Every line so far, in order.
    public var records: [LogRecord] { kept.withLock { $0 } }

    public func write(_ record: LogRecord) {
        kept.withLock { $0.append(record) }
    }
}
