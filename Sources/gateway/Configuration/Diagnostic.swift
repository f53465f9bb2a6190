/// One thing that a configuration file has wrong or doubtful: where, what, what is allowed, what to do.
struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// An error keeps the gateway from starting; a warning does not.
    enum Severity: String, Sendable {
        case error, warning
    }

    /// The kind of finding. The raw values are stable: they do not change between releases.
    enum Code: String, Sendable, CaseIterable {
        case fileUnreadable = "file-unreadable"
        case fileExposed = "file-exposed"
        case syntax = "syntax"
        case unknownKey = "unknown-key"
        case wrongType = "wrong-type"
        case notAllowed = "not-allowed"
        case missingKey = "missing-key"
        case duplicate = "duplicate"
        case conflict = "conflict"
        case unknownOwner = "unknown-owner"
        case nothingConfigured = "nothing-configured"
        case secretRefused = "secret-refused"
        case pathRefused = "path-refused"
    }

    let severity: Severity
    let code: Code
    let position: SourcePosition
    /// Whole words, on one line. Never the content of a secret.
    let message: String

    /// `path:line:column: error: message`.
    var description: String { "\(position): \(severity.rawValue): \(message)" }
}

/// Text from a file, made fit for a message: on one line, no control characters, cut to a length.
func quoted(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(64) {
        switch scalar {
        case "\"", "\\": shown += "\\\(scalar)"
        default:
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
    }
    return text.unicodeScalars.count > 64 ? "\"\(shown)…\"" : "\"\(shown)\""
}
