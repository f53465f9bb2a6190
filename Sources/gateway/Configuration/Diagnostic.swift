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
        case unknownModel = "unknown-model"
        case nothingConfigured = "nothing-configured"
        case secretRefused = "secret-refused"
        case pathRefused = "path-refused"
        case notRead = "not-read"
    }

    let severity: Severity
    let code: Code
    let position: SourcePosition
    /// Whole words, on one line. Never the content of a secret.
    let message: String

    /// `path:line:column: error: message`.
    var description: String { "\(position): \(severity.rawValue): \(message)" }
}

/// Text from a file in quotes, made fit for a message.
func quoted(_ text: String) -> String { "\"\(shown(text, upTo: 64, escaping: ["\"", "\\"]))\"" }

/// Text from outside, made fit for a message: on one line, without characters that a terminal obeys, cut to a length.
func shown(_ text: String, upTo limit: Int, escaping: Set<Unicode.Scalar> = []) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(limit) {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
            shown += "\\u{\(String(scalar.value, radix: 16))}"
        default: shown += escaping.contains(scalar) ? "\\\(scalar)" : String(scalar)
        }
    }
    return text.unicodeScalars.count > limit ? shown + "…" : shown
}
