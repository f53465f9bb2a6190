/// Why a value was not taken: the predicate of a sentence that begins with the key's name.
struct ValueRefusal: Error, Sendable, Hashable {
    let code: Diagnostic.Code
    /// For example `is "soon"`. It repeats the value only where the value can be no secret.
    let words: String
    /// The place within the value that is wrong; `nil` means all of it.
    var position: SourcePosition?
}

/// What values one key takes: in words for people, and as the code that reads and writes them.
struct ValueForm<Value: Sendable>: Sendable {
    /// What is allowed, e.g. `a duration from 1s to 5min`.
    let allowed: String
    /// One allowed value as TOML.
    let example: String
    let read: @Sendable (TOMLValue) -> Result<Value, ValueRefusal>
    /// The value as TOML that `read` takes.
    let write: @Sendable (Value) -> String

    init(allowed: String, example: String, read: @escaping @Sendable (TOMLValue) -> Result<Value, ValueRefusal>,
         write: @escaping @Sendable (Value) -> String) {
        self.allowed = allowed
        self.example = example
        self.read = read
        self.write = write
    }

    /// A form whose values are written as strings.
    ///
    /// - Parameters:
    ///   - echoes: whether a message may repeat a refused value. Not where somebody might put a secret by mistake.
    ///   - parse: the value; `nil` when the text is none.
    init(allowed: String, example: String, echoes: Bool = true, parse: @escaping @Sendable (String) -> Value?,
         print: @escaping @Sendable (Value) -> String) {
        self.init(allowed: allowed, example: tomlString(example)) { value in
            guard case .string(let text) = value.content else { return .failure(ValueRefusal(code: .wrongType, words: "is \(value.kind)")) }
            guard let parsed = parse(text) else {
                return .failure(ValueRefusal(code: .notAllowed, words: echoes ? "is \(quoted(text))" : "does not fit"))
            }
            return .success(parsed)
        } write: { value in
            tomlString(print(value))
        }
    }
}

/// A basic string (TOML 1.0, "String") that reads as `text`.
func tomlString(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": literal += "\\\(scalar)"
        case "\u{0}"..."\u{1f}", "\u{7f}":
            let digits = String(scalar.value, radix: 16)
            literal += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)"
        default: literal.unicodeScalars.append(scalar)
        }
    }
    return literal + "\""
}
