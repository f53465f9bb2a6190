import Glibc
import Platform

/// One file of a configuration as it was read.
struct ConfigurationLayer: Sendable {
    let path: String
    /// The permissions of the file.
    let mode: mode_t
    let root: TOMLTable
}

/// The files of a configuration put upon each other in order: a key of a later file counts instead of the same key of an earlier one.
///
/// Tables that repeat are matched by their names: a later `[[collar]]` with the name of an earlier one changes only the keys that it gives, one
/// with another name is a further collar. A key that excludes others (`Keys.alternatives`) takes the place of those too.
struct ConfigurationLayers: Sendable {
    /// What stands before the first table.
    private(set) var top: TOMLTable
    private var sections: [Section: [TOMLTable]] = [:]
    /// Sections that are no tables in some file, which is reported.
    private var malformed: Set<Section> = []
    /// The permissions of each file.
    private let modes: [String: mode_t]

    /// Where the configuration begins: what is missing is missing there.
    var start: SourcePosition { top.position }

    /// - Parameter layers: the file, then its drop-ins in their order; at least the file.
    init(_ layers: [ConfigurationLayer], findings: Findings) {
        let first = layers.first.map(\.root.position) ?? SourcePosition(file: "", line: 1, column: 1)
        top = TOMLTable(entries: [], position: first)
        modes = Dictionary(layers.map { ($0.path, $0.mode) }) { $1 }
        for layer in layers { add(layer.root, findings) }
    }

    /// The tables of a section; one at most unless it repeats.
    func tables(of section: Section) -> [TOMLTable] { sections[section] ?? [] }

    /// Whether some file has something for a section that is no table of it.
    func isMalformed(_ section: Section) -> Bool { malformed.contains(section) }

    /// The permissions of a file of the configuration.
    func mode(of file: String) -> mode_t { modes[file] ?? 0 }

    /// For a table of a drop-in that lacks something: the table of another file that may have been meant. Empty when there is none.
    func advice(on table: TOMLTable, _ section: Section) -> String {
        guard table.position.file != start.file, let name = table.name(section) else { return "" }
        let others = tables(of: section).filter { $0.position.file != table.position.file }.compactMap { $0.name(section) }
        return NearestName.of(name, among: others).map { "; or is it \(quoted($0)) of another file?" } ?? ""
    }

    private mutating func add(_ root: TOMLTable, _ findings: Findings) {
        var plain: [TOMLTable.Entry] = []
        for entry in root.entries {
            guard let section = Section(rawValue: entry.key), section != .top, section.outer == nil, section != .indicators || entry.value.isTable else {
                plain.append(entry)
                continue
            }
            guard let added = Self.tables(entry, section) else {
                malformed.insert(section)
                findings.error(.wrongType, at: entry.keyPosition, "\(section.rawValue) is \(entry.value.kind); write it as \(section.head)")
                continue
            }
            sections[section] = Self.merged(tables(of: section), with: added.map { Self.lifted($0, section) }, section)
        }
        top = top.overlaid(by: TOMLTable(entries: plain, position: root.position), section: .top)
    }

    /// The tables that a file has for a section; `nil` when what it has is none.
    private static func tables(_ entry: TOMLTable.Entry, _ section: Section) -> [TOMLTable]? {
        switch entry.value.content {
        case .table(let table) where !section.repeats: return [table]
        case .array(let elements) where section.repeats:
            let tables = elements.compactMap { element -> TOMLTable? in
                if case .table(let table) = element.content { table } else { nil }
            }
            return tables.count == elements.count ? tables : nil
        default: return nil
        }
    }

    /// The table with those of an inner section taken out of its keys. What is none of them stays, and is found to be no key.
    private static func lifted(_ table: TOMLTable, _ section: Section) -> TOMLTable {
        guard let inner = section.inner, let entry = table[inner.key], let tables = tables(entry, inner) else { return table }
        return TOMLTable(entries: table.entries.filter { $0.key != inner.key }, position: table.position, displaced: table.displaced, inner: tables)
    }

    /// The tables of a section with those of a later file upon them.
    fileprivate static func merged(_ former: [TOMLTable], with added: [TOMLTable], _ section: Section) -> [TOMLTable] {
        var tables = former
        // What one file gives twice stays there twice, and is found to be a repetition.
        var free = Set(tables.indices)
        for table in added {
            let match = free.sorted().first { !section.repeats || tables[$0].name(section) == table.name(section) && table.name(section) != nil }
            if let match {
                free.remove(match)
                tables[match] = tables[match].overlaid(by: table, section: section)
            } else {
                tables.append(table)
            }
        }
        return tables
    }
}

extension TOMLTable {
    /// The name by which a table that repeats is known.
    func name(_ section: Section) -> String? {
        guard let naming = section.naming else { return nil }
        return switch self[naming]?.value.content {
        case .string(let name): name
        case .integer(let number) where section == .cuffUser: "\(number)"
        default: nil
        }
    }

    /// This table with the keys of a later file upon it.
    fileprivate func overlaid(by later: TOMLTable, section: Section) -> TOMLTable {
        var displaced = self.displaced
        var kept: [Entry] = []
        for entry in entries where later[entry.key] == nil {
            let rivals = Keys.alternatives(to: entry.key, in: section)
            if rivals.contains(where: { later[$0] != nil }) {
                displaced += entry.earlier + [entry]
            } else {
                kept.append(entry)
            }
        }
        let new = later.entries.map { entry in
            guard let former = self[entry.key] else { return entry }
            var entry = entry
            entry.earlier = former.earlier + [former]
            return entry
        }
        let inner = section.inner.map { ConfigurationLayers.merged(self.inner, with: later.inner, $0) } ?? []
        return TOMLTable(entries: kept + new, position: position, displaced: displaced, inner: inner)
    }
}
