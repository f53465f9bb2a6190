/// What counts, as a file that says the same, with the origin of each value beside it: what `check-config --print` prints.
enum EffectiveConfiguration {
    /// - Parameter credentials: where the service's credentials are.
    static func text(_ configuration: Configuration, _ credentials: Credentials) -> String {
        var text = ""
        var place = ""
        for setting in configuration.settings {
            if setting.place != place {
                place = setting.place
                text += "\n\(setting.row.section.head)\n"
            }
            text += line(setting, credentials) + "\n"
        }
        return text
    }

    private static func line(_ setting: Setting, _ credentials: Credentials) -> String {
        // By its name a table is matched: there it is the same everywhere.
        let instead = setting.key == setting.row.section.naming ? "" : setting.instead.map(place).joined(separator: ", ")
        guard let literal = setting.literal else {
            let without = if case .optional(let words) = setting.row.presence { words.replacing("`", with: "") } else { "not set" }
            return "# \(setting.key) is not set: \(without)" + (instead.isEmpty ? "" : "  # \(instead) does not count")
        }
        var origin = switch setting.origin {
        case .file(let position): place(position)
        case .standard: "default"
        case .absent: ""
        }
        if setting.row.isCredential, case .file = setting.origin, let name = setting.plain { origin += "; read from \(shown(credentials.path(of: name), upTo: 4_096))" }
        if !instead.isEmpty { origin += "; instead of \(instead)" }
        // What is not shown cannot be read back.
        return setting.row.disclosure == .never ? "# \(setting.key) is set and not shown  # \(origin)" : "\(setting.key) = \(literal)  # \(origin)"
    }

    private static func place(_ position: SourcePosition) -> String { "\(shown(position.file, upTo: 4_096)):\(position.line):\(position.column)" }
}

extension KeyRow {
    /// Whether its values name credentials.
    fileprivate var isCredential: Bool { [Keys.Owner.tokenCredential.row, Keys.Collar.pairing.passkeyCredential.row, Keys.Cuff.pairing.passkeyCredential.row].contains(self) }
}

extension Setting {
    /// The text of a value that is written without escapes.
    fileprivate var plain: String? { literal.map { String($0.dropFirst().dropLast()) } }
}
