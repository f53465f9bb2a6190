/// Why a text was not taken as JSON. It never quotes the text.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The stable name of a reason.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// More bytes than the reader allows.
        case tooLarge = "json-too-large"
        /// More arrays and objects within one another than the reader allows.
        case tooDeep = "json-too-deep"
        /// An object has a name twice.
        case duplicateName = "json-duplicate-name"
        /// A string or a name is not UTF-8, or has a NUL in it.
        case text = "json-text"
        /// A number has no place in 64 bits.
        case number = "json-number"
        /// The text ends too early.
        case unfinished = "json-unfinished"
        /// The text goes on after the value.
        case trailing = "json-trailing"
        /// Something else breaks the grammar.
        case syntax = "json-syntax"
    }

    /// A place in the text.
    public struct Position: Sendable, Hashable, CustomStringConvertible {
        /// From 1.
        public let line: Int
        /// The number of characters of the line up to there.
        public let column: Int
        /// The number of bytes of the text up to there.
        public let byte: Int

        public var description: String { "line \(line), column \(column)" }
    }

    public let code: Code
    /// What was wrong and what is allowed.
    public let what: String
    /// Up to where the text was read; `nil` when it was refused unread.
    public let position: Position?

    /// An error as given.
    public init(code: Code, what: String, position: Position? = nil) {
        self.code = code
        self.what = what
        self.position = position
    }

    public var description: String { position.map { "\($0): \(what)" } ?? what }
}
