import CJansson
import Glibc

extension JSONValue {
    /// The value as JSON text: on one line without blanks, or indented for people. Members come in their order.
    public func encoded(indented: Bool = false) -> String {
        // Only a lack of memory leaves nothing to write.
        guard let json = made() else { return "null" }
        defer { json_decref(json) }
        let flags = JSON_ENCODE_ANY | (indented ? 2 : JSON_COMPACT)
        guard let text = json_dumps(json, Int(flags)) else { return "null" }
        defer { free(text) }
        return String(cString: text)
    }

    /// The same value as libjansson's; the caller owns the reference.
    private func made() -> UnsafeMutablePointer<json_t>? {
        switch self {
        case .null: return json_null()
        case .bool(let value): return value ? json_true() : json_false()
        case .integer(let value): return json_integer(json_int_t(value))
        // libjansson answers NULL for infinities and NaN.
        case .real(let value): return json_real(value) ?? json_null()
        case .string(let text): return json_stringn(text, text.utf8.count)
        case .array(let elements):
            let array = json_array()
            for element in elements { json_array_append_new(array, element.made()) }
            return array
        case .object(let object):
            let json = json_object()
            for member in object.members { json_object_setn_new(json, member.name, member.name.utf8.count, member.value.made()) }
            return json
        }
    }
}
