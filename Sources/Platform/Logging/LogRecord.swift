/// How much a line matters (syslog(3), RFC 5424 section 6.2.1).
public enum LogLevel: Int, Sendable, Comparable {
    case critical = 2
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// More urgent is smaller, as in syslog.
    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// A kind of log line, with the id by which an operator finds all of its kind: `journalctl MESSAGE_ID=…`. Ids never change between releases.
public struct LogEvent: Sendable, Hashable {
    /// 32 lower-case hexadecimal digits, the form of sd-id128(3).
    public let id: String
    /// The kind in words, e.g. `entry-settled`, logged as `EVENT`.
    public let name: String

    /// - Precondition: `id` has 32 hexadecimal digits; it is a constant of the source, so a wrong one never leaves the workshop.
    public init(_ name: String, id: String) {
        precondition(id.utf8.count == 32 && id.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }, "\(id) is no message id")
        self.id = id
        self.name = name
    }
}

/// One structured field beside the message. Names are upper case letters, digits and underscores (systemd.journal-fields(7)).
public struct LogField: Sendable, Hashable {
    public let name: String
    public let value: String

    public init(_ name: String, _ value: some CustomStringConvertible) {
        self.name = name
        self.value = value.description
    }
}

/// One line of the log.
public struct LogRecord: Sendable, Hashable {
    public let level: LogLevel
    public let event: LogEvent
    public let message: String
    public let fields: [LogField]

    public init(level: LogLevel, event: LogEvent, message: String, fields: [LogField]) {
        self.level = level
        self.event = event
        self.message = message
        self.fields = fields
    }
}

/// Where log lines go.
public protocol LogSink: Sendable {
    /// Writes one line. Never fails and never blocks for long: a log that cannot be written must not stop the work.
    func write(_ record: LogRecord)
}
