/// A name that stands in headers, logs and messages as it is.
enum PlainName {
    static let allowed = "1 to 64 letters, digits, dots, hyphens and underscores"

    static func fits(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }
}

extension ValueForm where Value == String {
    /// A `PlainName`.
    static func name(example: String) -> ValueForm {
        ValueForm(allowed: PlainName.allowed, example: example, parse: { PlainName.fits($0) ? $0 : nil }, print: { $0 })
    }

    /// One line of ASCII without spaces at its ends.
    static func line(upTo limit: Int, example: String) -> ValueForm {
        ValueForm(allowed: "1 to \(limit) ASCII characters without spaces at the ends", example: example, parse: { text in
            let bytes = Array(text.utf8)
            guard (1...limit).contains(bytes.count), bytes.allSatisfy({ (0x20...0x7E).contains($0) }), bytes.first != 0x20, bytes.last != 0x20
            else { return nil }
            return text
        }, print: { $0 })
    }

    /// A path from the root. Relative paths would mean something else under systemd than in a shell.
    ///
    /// - Parameter limit: the most bytes.
    static func absolutePath(upTo limit: Int = 4_095, example: String) -> ValueForm {
        ValueForm(allowed: "an absolute path of at most \(limit) bytes", example: example, echoes: false,
                  parse: { isAbsolutePath($0, upTo: limit) ? $0 : nil }, print: { $0 })
    }
}

/// Whether the text is a path from the root that the kernel can take.
func isAbsolutePath(_ text: String, upTo limit: Int) -> Bool {
    text.utf8.first == UInt8(ascii: "/") && text.utf8.count <= limit && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
}

extension ValueForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of a few words.
    static func choice(example: Value) -> ValueForm {
        let words = Value.allCases.map { tomlString($0.rawValue) }
        let list = words.count == 1 ? words[0] : words.dropLast().joined(separator: ", ") + " or " + words[words.count - 1]
        return ValueForm(allowed: list, example: example.rawValue, parse: { Value(rawValue: $0) }, print: { $0.rawValue })
    }
}

extension ValueForm where Value == Configuration.ClockSource {
    /// The file that says that the clock is set, or the word `always`.
    static let clockSource = ValueForm(
        allowed: "an absolute path, or \"always\"", example: "/run/systemd/timesync/synchronized",
        parse: { $0 == "always" ? .always : isAbsolutePath($0, upTo: 4_095) ? .marker(path: $0) : nil },
        print: { source in
            switch source {
            case .always: "always"
            case .marker(let path): path
            }
        })
}

extension ValueForm where Value == Bool {
    /// A boolean of TOML.
    static let flag = ValueForm(allowed: "true or false, without quotes", example: "true") { value in
        guard case .boolean(let flag) = value.content else { return .failure(ValueRefusal(code: .wrongType, words: "is \(value.kind)")) }
        return .success(flag)
    } write: { "\($0)" }
}
