import CTOML

/// Why a text is no TOML document, and where it stops being one.
struct TOMLError: Error, Sendable, Hashable {
    let position: SourcePosition
    let words: String
}

/// A document as toml++ holds it, freed once. It lives only for as long as it takes to copy it into values.
struct TOMLDocument: ~Copyable {
    /// The most bytes a document may have.
    static let sizeLimit = Int(CTOML_SIZE_LIMIT)

    private let handle: OpaquePointer
    private let file: String

    /// Parses TOML 1.0.
    ///
    /// - Parameter file: the path that positions name.
    /// - Throws: `TOMLError` at the first place that is not UTF-8 or not TOML, nests too deep, or is too long.
    init(parsing bytes: [UInt8], file: String) throws(TOMLError) {
        guard bytes.count <= Self.sizeLimit else {
            throw TOMLError(position: SourcePosition(file: file, line: 1, column: 1), words: "longer than \(Self.sizeLimit / 1_024) KiB")
        }
        if let invalid = UTF8Check.firstInvalid(in: bytes) {
            throw TOMLError(position: SourcePosition(file: file, line: invalid.line, column: invalid.column),
                            words: "not UTF-8: byte 0x\([invalid.byte].hexadecimal)")
        }
        var error = ctoml_error()
        let parsed = bytes.withUnsafeBytes { ctoml_parse($0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count, &error) }
        guard let parsed else {
            let words = withUnsafeBytes(of: &error.words) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw TOMLError(position: SourcePosition(file: file, error.at), words: "not TOML: \(shown(words, upTo: 256))")
        }
        handle = parsed
        self.file = file
    }

    deinit { ctoml_free(handle) }

    /// The document's own table. It begins at line 1, column 1.
    borrowing func table() -> TOMLTable {
        var records = RecordReader(next: ctoml_records(handle), file: file)
        guard case .table(let table) = records.read().value.content else { preconditionFailure("a document is a table") }
        return TOMLTable(entries: table.entries, position: SourcePosition(file: file, line: 1, column: 1))
    }
}

/// Copies the flat records into a tree. Its recursion goes as deep as the document nests, which `CTOML_NESTING_LIMIT` bounds.
private struct RecordReader {
    var next: UnsafePointer<ctoml_record>
    let file: String

    mutating func read() -> (entryKey: String, keyPosition: SourcePosition, value: TOMLValue) {
        let record = next.pointee
        next += 1
        let content: TOMLValue.Content
        switch record.kind {
        case CTOML_STRING: content = .string(Self.string(record.text, record.text_length))
        case CTOML_INTEGER: content = .integer(record.integer)
        case CTOML_FLOAT: content = .float(record.real)
        case CTOML_BOOLEAN: content = .boolean(record.boolean)
        case CTOML_ARRAY:
            var elements: [TOMLValue] = []
            for _ in 0..<record.children { elements.append(read().value) }
            content = .array(elements)
        case CTOML_TABLE:
            var entries: [TOMLTable.Entry] = []
            for _ in 0..<record.children {
                let child = read()
                entries.append(TOMLTable.Entry(key: child.entryKey, keyPosition: child.keyPosition, value: child.value))
            }
            // toml++ keeps tables sorted by name; people read messages in the order of the file.
            entries.sort { ($0.keyPosition.line, $0.keyPosition.column) < ($1.keyPosition.line, $1.keyPosition.column) }
            content = .table(TOMLTable(entries: entries, position: SourcePosition(file: file, record.begin)))
        default: content = .dateOrTime
        }
        return (Self.string(record.key, record.key_length), SourcePosition(file: file, record.key_begin),
                TOMLValue(content: content, position: SourcePosition(file: file, record.begin)))
    }

    private static func string(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> String {
        String(decoding: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count), as: UTF8.self)
    }
}

extension SourcePosition {
    fileprivate init(file: String, _ position: ctoml_position) {
        self.init(file: file, line: Int(position.line), column: Int(position.column))
    }
}
