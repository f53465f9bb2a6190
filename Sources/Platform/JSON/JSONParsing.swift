import CJansson

extension JSONValue {
    /// How many bytes a text may have unless its reader says otherwise.
    public static let sizeLimit = 1 << 20
    /// How many arrays and objects may be within one another unless the reader says otherwise.
    public static let depthLimit = 32

    /// Reads one value that takes up all of `bytes`, blanks aside (RFC 8259, section 2).
    ///
    /// - Parameters:
    ///   - bytes: the text in UTF-8.
    ///   - size: the most bytes that are looked at.
    ///   - depth: the most arrays and objects within one another.
    /// - Throws: `JSONError`. A name that an object has twice is an error: readers differ in which value they take (RFC 8259, section 4).
    public init(parsing bytes: [UInt8], size: Int = sizeLimit, depth: Int = depthLimit) throws(JSONError) {
        guard bytes.count <= size else { throw JSONError(code: .tooLarge, what: "more than \(size) bytes", position: nil) }
        // libjansson nests as deep as the text asks, on the stack; the limit is ours.
        guard Self.nesting(bytes) <= depth else { throw JSONError(code: .tooDeep, what: "nested deeper than \(depth)", position: nil) }
        var failure = json_error_t()
        let flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY
        let root = bytes.withUnsafeBytes { json_loadb($0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count, Int(flags), &failure) }
        guard let root else { throw JSONError(&failure) }
        defer { json_decref(root) }
        self.init(copying: root)
    }

    /// How deep brackets are nested outside strings.
    private static func nesting(_ bytes: [UInt8]) -> Int {
        var depth = 0, deepest = 0
        var inString = false, escaped = false
        for byte in bytes {
            if inString {
                if escaped { escaped = false } else if byte == UInt8(ascii: "\\") { escaped = true } else if byte == UInt8(ascii: "\"") { inString = false }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): inString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
        }
        return deepest
    }

    private init(copying json: UnsafeMutablePointer<json_t>) {
        switch json.pointee.type {
        case JSON_OBJECT:
            var members: [(name: String, value: JSONValue)] = []
            var place = json_object_iter(json)
            while let current = place {
                if let name = json_object_iter_key(current), let value = json_object_iter_value(current) {
                    members.append((String(cString: name), JSONValue(copying: value)))
                }
                place = json_object_iter_next(json, current)
            }
            self = .object(JSONObject(distinct: members))
        case JSON_ARRAY:
            self = .array((0..<json_array_size(json)).compactMap { json_array_get(json, $0).map { JSONValue(copying: $0) } })
        case JSON_STRING:
            let bytes = UnsafeRawBufferPointer(start: json_string_value(json), count: json_string_length(json))
            self = .string(String(decoding: bytes, as: UTF8.self))
        case JSON_INTEGER: self = .integer(Int64(json_integer_value(json)))
        case JSON_REAL: self = .real(json_real_value(json))
        case JSON_TRUE: self = .bool(true)
        case JSON_FALSE: self = .bool(false)
        default: self = .null
        }
    }
}

extension JSONError {
    /// What libjansson found. Its own words quote the text, which may be somebody's health data or a secret; ours do not.
    fileprivate init(_ failure: inout json_error_t) {
        let (code, what): (Code, String) =
            switch json_error_code(&failure) {
            case json_error_duplicate_key: (.duplicateName, "an object has a name twice")
            case json_error_null_character, json_error_null_byte_in_key: (.text, "NUL in a string or a name")
            case json_error_invalid_utf8: (.text, "not UTF-8")
            case json_error_numeric_overflow: (.number, "a number that does not fit 64 bits")
            case json_error_premature_end_of_input: (.unfinished, "the text ends too early")
            case json_error_end_of_input_expected: (.trailing, "something after the value")
            case json_error_stack_overflow: (.tooDeep, "nested too deep")
            default: (.syntax, "not JSON")
            }
        let position = Position(line: max(1, Int(failure.line)), column: max(0, Int(failure.column)), byte: max(0, Int(failure.position)))
        self.init(code: code, what: what, position: position)
    }
}
