import Synchronization

/// The log: one line for each change of state, under a budget of bytes.
///
/// Machines never log; the shells around them do. No health values and no secrets go into a message or a field.
public final class Log: Sendable {
    private let sink: any LogSink
    private let least: Atomic<Int>
    private let clock: @Sendable () -> BootInstant
    private let budget: Mutex<LogBudget>

    /// - Parameters:
    ///   - sink: where lines go.
    ///   - threshold: the least urgent level that is written.
    ///   - clock: the boot clock, for the budget.
    public init(sink: any LogSink, threshold: LogLevel = .info, budget: LogBudget = LogBudget(), clock: @escaping @Sendable () -> BootInstant) {
        self.sink = sink
        least = Atomic(threshold.rawValue)
        self.clock = clock
        self.budget = Mutex(budget)
    }

    /// The least urgent level that is written. It may be changed at any time.
    public var threshold: LogLevel {
        get { LogLevel(rawValue: least.load(ordering: .relaxed)) ?? .debug }
        set { least.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Writes one line, unless its level is below the threshold or the budget is spent. Errors and worse are always written.
    public func callAsFunction(_ level: LogLevel, _ event: LogEvent, _ message: @autoclosure () -> String, _ fields: LogField...) {
        guard level <= threshold else { return }
        let record = LogRecord(level: level, event: event, message: message(), fields: fields)
        let verdict = budget.withLock { $0.spend(on: record, now: clock()) }
        if let skipped = verdict.skippedBefore {
            sink.write(LogRecord(level: .warning, event: .logLinesSkipped, message: "\(skipped) log lines were left out to spare the card", fields: []))
        }
        if verdict.write { sink.write(record) }
    }
}

extension LogEvent {
    /// Lines were left out because the budget was spent.
    public static let logLinesSkipped = LogEvent("log-lines-skipped", id: "6b1f0a7b5cf34a0e9a5b0d3f8e7c2a11")
}
