import CJansson
import Glibc

/// A JSON value (RFC 8259), read and written by jansson.
public indirect enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Reads one text.
    ///
    /// - Throws: `SimulationError` with the parser's words and the column when it is not JSON, or names a key twice.
    public init(parsing text: [UInt8]) throws(SimulationError) {
        var failure = json_error_t()
        let root = text.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { json_loadb($0.baseAddress, $0.count, Int(JSON_REJECT_DUPLICATES), &failure) }
        }
        guard let root else {
            let words = withUnsafeBytes(of: failure.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw SimulationError(.controlInvalid, "column \(failure.column): \(words)", advice: "Send one JSON object a line.")
        }
        defer { json_decref(root) }
        self.init(root)
    }

    private init(_ json: UnsafeMutablePointer<json_t>) {
        switch json.pointee.type {
        case JSON_OBJECT:
            var members: [String: JSONValue] = [:]
            var position = json_object_iter(json)
            while let member = position {
                if let key = json_object_iter_key(member), let value = json_object_iter_value(member) { members[String(cString: key)] = JSONValue(value) }
                position = json_object_iter_next(json, member)
            }
            self = .object(members)
        case JSON_ARRAY: self = .array((0..<json_array_size(json)).compactMap { json_array_get(json, $0).map { JSONValue($0) } })
        case JSON_STRING: self = .string(json_string_value(json).map { String(cString: $0) } ?? "")
        case JSON_INTEGER: self = .integer(json_integer_value(json))
        case JSON_REAL: self = .real(json_real_value(json))
        case JSON_TRUE: self = .bool(true)
        case JSON_FALSE: self = .bool(false)
        default: self = .null
        }
    }

    /// The value in one line without blanks, members in the order of their names.
    public var text: String {
        guard let json = make() else { return "null" }
        defer { json_decref(json) }
        guard let characters = json_dumps(json, Int(JSON_COMPACT | JSON_SORT_KEYS)) else { return "null" }
        defer { free(characters) }
        return String(cString: characters)
    }

    private func make() -> UnsafeMutablePointer<json_t>? {
        switch self {
        case .null: return json_null()
        case .bool(let value): return value ? json_true() : json_false()
        case .integer(let value): return json_integer(value)
        case .real(let value): return json_real(value)
        case .string(let value): return json_string(value)
        case .array(let values):
            let array = json_array()
            for value in values { json_array_append_new(array, value.make()) }
            return array
        case .object(let members):
            let object = json_object()
            for (key, value) in members { json_object_set_new(object, key, value.make()) }
            return object
        }
    }

    /// The member with this name; `nil` when there is none or this is no object.
    public subscript(_ key: String) -> JSONValue? {
        if case .object(let members) = self { return members[key] }
        return nil
    }

    /// The text of a string.
    public var string: String? {
        if case .string(let value) = self { return value }
        return nil
    }

    /// The number of an integer.
    public var integer: Int64? {
        if case .integer(let value) = self { return value }
        return nil
    }

    /// The elements of an array.
    public var elements: [JSONValue]? {
        if case .array(let values) = self { return values }
        return nil
    }
}
