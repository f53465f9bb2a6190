/// The status line and the few fields that matter, taken line by line as they arrive.
struct ResponseHead {
    /// The most bytes of a field's value that are kept.
    private static let valueLimit = 256

    private(set) var status = 0
    private(set) var contentType: String?
    private(set) var retryAfter: String?
    private(set) var date: String?
    /// Whether the empty line after the fields of a final answer was seen.
    private(set) var isComplete = false

    /// Takes one line, with its line break.
    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        let line = bytes.prefix { $0 != 13 && $0 != 10 }
        if line.starts(with: "HTTP/".utf8) {
            // Interim answers (1xx) come before the final one, with fields of their own.
            self = ResponseHead()
            let words = line.split(separator: 32, omittingEmptySubsequences: true)
            if words.count > 1 { status = Int(String(decoding: words[1], as: UTF8.self)) ?? 0 }
            return
        }
        if line.isEmpty {
            isComplete = status >= 200
            return
        }
        // What comes after the content (trailers) must not change what came before it.
        guard !isComplete, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let value = Self.text(line[line.index(after: colon)...])
        switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
        case "content-type": contentType = value
        case "retry-after": retryAfter = value
        case "date": date = value
        default: break
        }
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String? {
        let trimmed = bytes.drop { $0 == 32 || $0 == 9 }
        guard trimmed.count <= valueLimit, trimmed.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 9 }) else { return nil }
        return String(decoding: trimmed.reversed().drop { $0 == 32 || $0 == 9 }.reversed(), as: UTF8.self)
    }
}
