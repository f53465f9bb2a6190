/// A place in a file. Lines and columns count from 1; columns count characters.
struct SourcePosition: Sendable, Hashable, CustomStringConvertible {
    /// The path of the file, as it was given.
    let file: String
    let line: Int
    let column: Int

    /// `file:line:column`, the form that editors and compilers understand.
    var description: String { "\(file):\(line):\(column)" }
}

/// One value of a TOML document, with its place.
struct TOMLValue: Sendable {
    /// What the value is. Dates and times are recognised but their fields are not kept: no key of the gateway is one.
    enum Content: Sendable {
        case string(String)
        case integer(Int64)
        case float(Double)
        case boolean(Bool)
        case dateOrTime
        case array([TOMLValue])
        case table(TOMLTable)
    }

    let content: Content
    let position: SourcePosition

    /// The kind of value with its article, for messages.
    var kind: String {
        switch content {
        case .string: "a string"
        case .integer: "an integer"
        case .float: "a float"
        case .boolean: "a boolean"
        case .dateOrTime: "a date or time"
        case .array: "an array"
        case .table: "a table"
        }
    }
}

/// The keys of one table in the order in which the file gives them.
struct TOMLTable: Sendable {
    /// One key with its value.
    struct Entry: Sendable {
        let key: String
        let keyPosition: SourcePosition
        let value: TOMLValue
        /// What earlier files gave for the key; this value counts instead of them.
        var earlier: [Entry] = []
    }

    let entries: [Entry]
    let position: SourcePosition
    /// What earlier files gave and a later one excludes by another key.
    var displaced: [Entry] = []
    /// Of a section that has tables of another one in its own: those.
    var inner: [TOMLTable] = []

    /// The entry of this key.
    subscript(key: String) -> Entry? { entries.first { $0.key == key } }
}
