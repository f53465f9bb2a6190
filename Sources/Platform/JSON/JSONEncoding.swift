import CJansson
import Glibc

extension JSONValue {
    /// The value as JSON text: on one line without blanks, or indented for people. Members come in their order.
    public func encoded(indented: Bool = false) -> String {
        var writer = JSONWriter(indented: indented)
        writer.write(self)
        return writer.text
    }
}

/// Puts brackets and commas around what libjansson writes: it has no number that is not binary, so arrays and objects cannot be left to it.
private struct JSONWriter {
    let indented: Bool
    private(set) var text = ""
    private var depth = 0

    init(indented: Bool) { self.indented = indented }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .decimal(let value): text += value.description
        // libjansson answers NULL for infinities and NaN.
        case .real(let value): text += Self.dumped(json_real(value))
        case .string(let value): text += Self.quoted(value)
        case .array(let elements):
            bracket("[", "]", elements) { $0.write($1) }
        case .object(let object):
            bracket("{", "}", object.members) { writer, member in
                writer.text += Self.quoted(member.name) + (writer.indented ? ": " : ":")
                writer.write(member.value)
            }
        }
    }

    private mutating func bracket<Item>(_ open: String, _ close: String, _ items: [Item], _ write: (inout JSONWriter, Item) -> Void) {
        text += open
        depth += 1
        for (place, item) in items.enumerated() {
            if place > 0 { text += "," }
            breakLine()
            write(&self, item)
        }
        depth -= 1
        if !items.isEmpty { breakLine() }
        text += close
    }

    private mutating func breakLine() {
        if indented { text += "\n" + String(repeating: "  ", count: depth) }
    }

    private static func quoted(_ text: String) -> String { dumped(json_stringn(text, text.utf8.count)) }

    /// Takes the reference.
    private static func dumped(_ json: UnsafeMutablePointer<json_t>?) -> String {
        // Besides what has no form in JSON, only a lack of memory leaves nothing to write.
        guard let json else { return "null" }
        defer { json_decref(json) }
        guard let text = json_dumps(json, Int(JSON_ENCODE_ANY)) else { return "null" }
        defer { free(text) }
        return String(cString: text)
    }
}
