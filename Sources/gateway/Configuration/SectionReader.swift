/// What is found while a file is read: findings, and which values count.
final class Findings {
    private(set) var diagnostics: [Diagnostic] = []
    private(set) var settings: [Setting] = []

    func error(_ code: Diagnostic.Code, at position: SourcePosition, _ message: String) {
        diagnostics.append(Diagnostic(severity: .error, code: code, position: position, message: message))
    }

    func warning(_ code: Diagnostic.Code, at position: SourcePosition, _ message: String) {
        diagnostics.append(Diagnostic(severity: .warning, code: code, position: position, message: message))
    }

    var haveError: Bool { diagnostics.contains { $0.severity == .error } }

    /// The findings as somebody meets them who reads these files in their order, each from its top; what is in no file comes last.
    func inOrder(of files: [String]) -> [Diagnostic] {
        let rank = Dictionary(files.enumerated().map { ($1, $0) }) { first, _ in first }
        let numbered = diagnostics.enumerated().sorted { left, right in
            let a = left.element.position, b = right.element.position
            return (rank[a.file] ?? files.count, a.line, a.column, left.offset) < (rank[b.file] ?? files.count, b.line, b.column, right.offset)
        }
        return numbered.map(\.element)
    }

    func note(_ setting: Setting) { settings.append(setting) }
}

/// A value with the place at which the file gives it; without one when it is a default.
struct Placed<Value> {
    let value: Value
    let position: SourcePosition
}

/// Reads the keys of one table of the file. Every key that the table of keys does not have is an error at once.
struct SectionReader {
    /// The section as messages name it: `[uplink]`, `[collar] "front"`.
    let place: String
    /// Where the section begins; of one that is not there, where the file begins.
    let position: SourcePosition
    private let table: TOMLTable?
    private let section: Section
    /// What to say besides where a key is missing; empty when there is nothing.
    private let advice: String
    private let findings: Findings

    /// - Parameters:
    ///   - table: `nil` when the file does not have the section: all defaults.
    ///   - number: the place among sections of the same name, from 1, to name one that has no name yet.
    ///   - advice: what to say besides where a key is missing.
    ///   - outer: of a section within another one, how messages name that.
    init(_ section: Section, _ table: TOMLTable?, fileStart: SourcePosition, number: Int = 1, advice: String = "", outer: String = "", findings: Findings) {
        self.table = table
        self.section = section
        self.advice = advice
        self.findings = findings
        position = table?.position ?? fileStart
        place = Self.place(section, table, number, outer)
        let known = Keys.rows(of: section).map(\.name)
        for entry in (table?.entries ?? []).flatMap({ $0.earlier + [$0] }) where !known.contains(entry.key) {
            if let inner = section.inner, inner.key == entry.key {
                findings.error(.wrongType, at: entry.keyPosition, "\(place).\(entry.key) is \(entry.value.kind); write it as \(inner.head)")
                continue
            }
            findings.error(.unknownKey, at: entry.keyPosition, UnknownKey.message(entry, in: section, place: place))
        }
    }

    /// Readers of the tables of a section within this one.
    func inner(_ section: Section) -> [SectionReader] {
        (table?.inner ?? []).enumerated().map { index, table in
            SectionReader(section, table, fileStart: table.position, number: index + 1, outer: place, findings: findings)
        }
    }

    /// Whether the file has something for a section within this one that is no table of it, which is reported.
    func isMalformed(_ section: Section) -> Bool { table?[section.key] != nil }

    /// The key's value; `nil` when it is optional and left out, or wrong and reported.
    func read<Value>(_ key: Key<Value>) -> Placed<Value>? {
        if let entry = table?[key.row.name] { return taken(entry, key) }
        if key.row.presence == .required {
            findings.error(.missingKey, at: position,
                           "\(named(key.row)) is missing; add \(key.row.name) = \(key.row.example) (\(key.row.allowed))\(advice)")
        } else {
            note(key, nil, .absent)
        }
        return nil
    }

    /// The key's value, or its default when it is left out (and when it is wrong, which is reported and keeps the whole file from being used).
    func read<Value>(_ key: StandardKey<Value>) -> Value {
        if let entry = table?[key.row.name] { return taken(entry, key.key)?.value ?? key.standard }
        note(key.key, key.standard, .standard)
        return key.standard
    }

    /// Reports the key where it stands, if `wrong`.
    func refuse(_ wrong: Bool, _ row: KeyRow, _ words: String) {
        if wrong { findings.error(.conflict, at: position(of: row), "\(named(row)) \(words)") }
    }

    /// Whether the file has the key, with whatever value.
    func gives(_ row: KeyRow) -> Bool { table?[row.name] != nil }

    /// Where the file gives the key; where the section begins when it does not.
    func position(of row: KeyRow) -> SourcePosition { table?[row.name]?.keyPosition ?? position }

    /// The key as messages name it, e.g. `[collar] "front".address`.
    func named(_ row: KeyRow) -> String { place.isEmpty ? row.name : "\(place).\(row.name)" }

    private func taken<Value>(_ entry: TOMLTable.Entry, _ key: Key<Value>) -> Placed<Value>? {
        guard let value = checked(entry, key) else { return nil }
        note(key, value, .file(entry.keyPosition))
        return Placed(value: value, position: entry.keyPosition)
    }

    private func checked<Value>(_ entry: TOMLTable.Entry, _ key: Key<Value>) -> Value? {
        switch key.form.read(entry.value) {
        case .success(let value): return value
        case .failure(let refusal):
            findings.error(refusal.code, at: refusal.position ?? entry.value.position,
                           "\(named(key.row)) \(refusal.words); allowed: \(key.row.allowed), e.g. \(key.row.example)")
            return nil
        }
    }

    /// Notes what counts for a key, and what does not because of it. That is held to the same rules: a line that is no good is never passed over.
    private func note<Value>(_ key: Key<Value>, _ value: Value?, _ origin: Setting.Origin) {
        let instead = (table?.displaced ?? []).filter { $0.key == key.row.name } + (table?[key.row.name]?.earlier ?? [])
        for entry in instead { _ = checked(entry, key) }
        findings.note(Setting(row: key.row, place: place, value: value.map { Literal(key.form.write($0)) }, origin: origin, instead: instead.map(\.keyPosition)))
    }

    private static func place(_ section: Section, _ table: TOMLTable?, _ number: Int, _ outer: String) -> String {
        guard section != .top else { return "" }
        if section.outer != nil { return "\(outer).\(section.key)" + (table?.name(section).map { "[\(shown($0, upTo: 16))]" } ?? " #\(number)") }
        guard section.repeats else { return "[\(section.rawValue)]" }
        guard let name = table?.name(section) else { return "[\(section.rawValue)] #\(number)" }
        return "[\(section.rawValue)] \(quoted(name))"
    }
}
