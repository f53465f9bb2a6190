import CJansson

/// A JSON text (RFC 8259) from somebody else, read by libjansson within bounds: no duplicate names, no deep nesting, no NUL in strings.
enum JSONValue: Sendable, Hashable {
    case object([String: JSONValue])
    case array([JSONValue])
    case string(String)
    case integer(Int64)
    case real(Double)
    case bool(Bool)
    case null

    /// Why a text was not taken.
    struct Refusal: Error, Hashable {
        let words: String
    }

    /// - Parameters:
    ///   - size: the most bytes that are looked at.
    ///   - depth: the most arrays and objects within one another.
    static func parse(_ bytes: [UInt8], size: Int, depth: Int) throws(Refusal) -> JSONValue {
        guard bytes.count <= size else { throw Refusal(words: "more than \(size) bytes") }
        // libjansson nests as deep as the text asks, on the stack; the limit is ours.
        guard nesting(bytes) <= depth else { throw Refusal(words: "nested deeper than \(depth)") }
        var error = json_error_t()
        let root = bytes.withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { json_loadb($0.baseAddress, $0.count, Int(JSON_REJECT_DUPLICATES), &error) }
        }
        guard let root else {
            // The library's own words quote the text; only the place is told.
            throw Refusal(words: "not JSON, at byte \(max(0, error.position))")
        }
        defer { json_decref(root) }
        return JSONValue(root)
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

    private init(_ json: UnsafeMutablePointer<json_t>) {
        switch json.pointee.type {
        case JSON_OBJECT:
            var members: [String: JSONValue] = [:]
            var iterator = json_object_iter(json)
            while let at = iterator {
                if let key = json_object_iter_key(at), let value = json_object_iter_value(at) { members[String(cString: key)] = JSONValue(value) }
                iterator = json_object_iter_next(json, at)
            }
            self = .object(members)
        case JSON_ARRAY:
            self = .array((0..<json_array_size(json)).compactMap { json_array_get(json, $0).map { JSONValue($0) } })
        case JSON_STRING:
            let start = UnsafeRawPointer(json_string_value(json))
            self = .string(String(decoding: UnsafeRawBufferPointer(start: start, count: json_string_length(json)), as: UTF8.self))
        case JSON_INTEGER: self = .integer(Int64(json_integer_value(json)))
        case JSON_REAL: self = .real(json_real_value(json))
        case JSON_TRUE: self = .bool(true)
        case JSON_FALSE: self = .bool(false)
        default: self = .null
        }
    }
}
