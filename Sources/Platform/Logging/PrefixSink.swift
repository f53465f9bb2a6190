import CLinux
import Glibc

/// Writes lines to a descriptor with the level in front, `<6>message NAME=value`: the form that systemd understands on standard error (sd-daemon(3))
/// and a person can read.
public struct PrefixSink: LogSink {
    private let descriptor: CInt

    public init(descriptor: CInt = STDERR_FILENO) {
        self.descriptor = descriptor
    }

    public func write(_ record: LogRecord) {
        let line = Array(Self.line(record).utf8)
        // One call a line, so that lines of several processes on one terminal do not mix.
        _ = retryOnInterrupt { Glibc.write(descriptor, line, line.count) }
    }

    static func line(_ record: LogRecord) -> String {
        var line = "<\(record.level.rawValue)>\(record.message)"
        for field in record.fields { line += " \(field.name)=\(field.value)" }
        // A line break in a value would start a line without a level, and one that somebody else chose the words of. Other control
        // characters could steer the terminal that shows the line.
        let blank: Unicode.Scalar = " "
        let visible = line.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: blank
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(visible)) + "\n"
    }
}
