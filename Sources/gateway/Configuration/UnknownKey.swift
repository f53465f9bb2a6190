/// What to say about a key that nobody knows. It is never ignored: a misspelt key would be a setting that silently does not hold.
enum UnknownKey {
    static func message(_ entry: TOMLTable.Entry, in section: Section, place: String) -> String {
        let what = "\(place.isEmpty ? "" : "\(place).")\(bareOrQuoted(entry.key)) is not a known key"
        switch entry.value.content {
        case .table where section == .top: return unknownSection(entry.key)
        case .array(let elements) where section == .top && elements.contains(where: \.isTable): return unknownSection(entry.key)
        default: break
        }
        let owners = Keys.rows.filter { $0.name == entry.key }.map(\.section)
        if !owners.isEmpty {
            let target = owners.contains(.top) ? "at the top of the file, before the first table" : "in \(owners.map(\.head).joined(separator: " or "))"
            return "\(what) here; it belongs \(target)"
        }
        if let inner = section.inner, NearestName.of(entry.key, among: [inner.key]) != nil { return "\(what); did you mean \(inner.head)?" }
        let names = Keys.rows(of: section).map(\.name)
        if let nearest = NearestName.of(entry.key, among: names) { return "\(what); did you mean \(tomlString(nearest))?" }
        return "\(what); known here: \(names.joined(separator: ", "))"
    }

    private static func unknownSection(_ name: String) -> String {
        let known = Section.allCases.filter { $0 != .top }
        let what = "[\(bareOrQuoted(name))] is not a known section"
        if let nearest = NearestName.of(name, among: known.map(\.key)), let section = known.first(where: { $0.key == nearest }) {
            return "\(what); did you mean \(section.head)?"
        }
        return "\(what); known: \(known.map(\.head).joined(separator: ", "))"
    }

    /// The key as TOML would write it: bare if it can be.
    private static func bareOrQuoted(_ key: String) -> String {
        let bare = !key.isEmpty && key.utf8.count <= 64 && key.utf8.allSatisfy { byte in
            let character = Character(Unicode.Scalar(byte))
            return byte < 0x80 && (character.isLetter || character.isNumber || character == "_" || character == "-")
        }
        return bare ? key : quoted(key)
    }
}

extension TOMLValue {
    var isTable: Bool {
        if case .table = content { true } else { false }
    }
}
