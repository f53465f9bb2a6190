import CJansson
import Glibc

/// A JSON value (RFC 8259), read and written by jansson. Members of an object keep their order.
indirect enum JSONValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// One name with its value.
    struct Member: Sendable, Hashable {
        let name: String
        let value: JSONValue

        init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// Why a text is no JSON: jansson's words.
    struct Malformed: Error, Sendable, Hashable {
        let words: String
    }

    /// Reads one value that takes up all of `bytes`. jansson bounds its depth (2,048) and refuses a name that an object has twice.
    init(parsing bytes: [UInt8]) throws(Malformed) {
        var error = json_error_t()
        let flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY
        let parsed = bytes.withUnsafeBytes { json_loadb($0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count, Int(flags), &error) }
        guard let parsed else {
            let words = withUnsafeBytes(of: &error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw Malformed(words: words)
        }
        defer { json_decref(parsed) }
        self.init(copying: parsed)
    }

    /// The member of an object.
    subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members.first { $0.name == name }?.value } else { nil }
    }

    /// The text of a string.
    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value as JSON without line breaks, or indented for people.
    func encoded(indented: Bool = false) -> String {
        // Only a lack of memory leaves nothing to write.
        guard let made = jansson() else { return "null" }
        defer { json_decref(made) }
        let flags = JSON_ENCODE_ANY | (indented ? 2 : JSON_COMPACT)
        guard let text = json_dumps(made, Int(flags)) else { return "null" }
        defer { free(text) }
        return String(cString: text)
    }
}

extension JSONValue {
    private init(copying value: UnsafeMutablePointer<json_t>) {
        switch value.pointee.type {
        case JSON_OBJECT:
            var members: [Member] = []
            var place = json_object_iter(value)
            while let current = place {
                if let name = json_object_iter_key(current), let member = json_object_iter_value(current) {
                    members.append(Member(String(cString: name), JSONValue(copying: member)))
                }
                place = json_object_iter_next(value, current)
            }
            self = .object(members)
        case JSON_ARRAY:
            self = .array((0..<json_array_size(value)).compactMap { json_array_get(value, $0).map(JSONValue.init(copying:)) })
        case JSON_STRING:
            let bytes = UnsafeRawBufferPointer(start: json_string_value(value), count: json_string_length(value))
            self = .string(String(decoding: bytes, as: UTF8.self))
        case JSON_INTEGER: self = .integer(Int64(json_integer_value(value)))
        case JSON_REAL: self = .real(json_real_value(value))
        case JSON_TRUE: self = .boolean(true)
        case JSON_FALSE: self = .boolean(false)
        default: self = .null
        }
    }

    /// The same value as jansson's; the caller owns the reference.
    private func jansson() -> UnsafeMutablePointer<json_t>? {
        switch self {
        case .null: return json_null()
        case .boolean(let value): return value ? json_true() : json_false()
        case .integer(let value): return json_integer(json_int_t(value))
        // JSON has no infinities and no NaN; jansson answers NULL for them.
        case .real(let value): return json_real(value) ?? json_null()
        case .string(let text): return json_stringn(text, text.utf8.count)
        case .array(let elements):
            let array = json_array()
            for element in elements { json_array_append_new(array, element.jansson()) }
            return array
        case .object(let members):
            let object = json_object()
            for member in members { json_object_set_new(object, member.name, member.value.jansson()) }
            return object
        }
    }
}
