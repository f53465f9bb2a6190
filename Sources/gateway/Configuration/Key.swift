/// A table of the configuration file.
enum Section: String, Sendable, CaseIterable {
    /// What stands before the first table.
    case top = ""
    case indicators, owner, collar, cuff
    case cuffUser = "cuff.user"
    case cuffModel = "cuff_model"
    case radio, uplink, outbox, control, sync, time, log

    /// Whether the file may have several of it, as `[[section]]`.
    var repeats: Bool { naming != nil }

    /// The section whose tables this one's stand in; `nil` for one that stands by itself.
    var outer: Section? { self == .cuffUser ? .cuff : nil }

    /// The section whose tables stand in this one's.
    var inner: Section? { self == .cuff ? .cuffUser : nil }

    /// The last part of its name: its key in the table that it stands in.
    var key: String { rawValue.split(separator: ".").last.map(String.init) ?? "" }

    /// The key by which its tables are told apart; `nil` unless it repeats.
    var naming: String? {
        switch self {
        case .owner: Keys.Owner.key.row.name
        case .collar: Keys.Collar.name.row.name
        case .cuff: Keys.Cuff.name.row.name
        case .cuffUser: Keys.CuffUser.user.row.name
        case .cuffModel: Keys.CuffModel.name.row.name
        default: nil
        }
    }

    /// How the file writes its head; empty for what stands before the first table.
    var head: String { self == .top ? "" : repeats ? "[[\(rawValue)]]" : "[\(rawValue)]" }

    /// What it is for.
    var explanation: String {
        switch self {
        case .top: "Before the first table of the file."
        case .indicators: "The LEDs and the button as hardware. The file has this table or the word `indicators`, not both."
        case .owner: "A person whose readings the gateway carries. At least one."
        case .collar: "An activity collar. At least one, or a cuff."
        case .cuff: "A blood-pressure cuff. Every owner of its readings has `patient`. [devices.md](devices.md) says what is known of single models."
        case .cuffUser: "A user of the cuff above, whom the cuff tells apart by a number: a button on it, or an account. What it sends of a user who is not here is set aside, and not guessed."
        case .cuffModel: "A kind of cuff that the built-in table does not know. It comes before that when a cuff is told by its name."
        case .radio: "The Bluetooth controller."
        case .uplink: "The way to the backend."
        case .outbox: "The queue on the disk."
        case .control: "How `gateway status` and `gateway flush` reach the daemon."
        case .sync: "When a collar's stored windows are read."
        case .time: "How the gateway knows that the clock is set."
        case .log: "What is logged."
        }
    }
}

/// What a table row says about one key, for the checks that look at all of them.
struct KeyRow: Sendable, Hashable {
    /// Whether the key must be there, and what holds when it is not.
    enum Presence: Sendable, Hashable {
        case required
        /// May be left out; the words say what that means.
        case optional(absent: String)
        /// Counts as this TOML value when left out.
        case standard(literal: String)
    }

    /// When a changed value counts.
    enum Effect: String, Sendable, Hashable, CaseIterable {
        /// As soon as the running daemon reads its configuration anew (SIGHUP).
        case reload
        /// At the next start: a change while data is under way could put it under the wrong person, or into two places.
        case restart
    }

    /// Where a value may be shown.
    enum Disclosure: Sendable, Hashable {
        /// Everywhere, also in the journal.
        case everywhere
        /// To who asks for it, not in the journal: it says something of a person.
        case onRequest
        /// Nowhere.
        case never
    }

    let section: Section
    let name: String
    let allowed: String
    /// An allowed value as TOML.
    let example: String
    let presence: Presence
    let explanation: String
    let effect: Effect
    let disclosure: Disclosure

    /// `[section].name`, as messages name the key.
    var path: String { section == .top ? name : "[\(section.rawValue)].\(name)" }
}

/// A key of the file with the type of its values. `Keys` holds them all.
struct Key<Value: Sendable>: Sendable {
    let row: KeyRow
    let form: ValueForm<Value>

    static func required(_ section: Section, _ name: String, _ form: ValueForm<Value>, _ explanation: String) -> Key {
        Key(section, name, form, .required, explanation, .restart, .everywhere)
    }

    /// - Parameter absent: what it means when the key is left out.
    static func optional(
        _ section: Section, _ name: String, _ form: ValueForm<Value>, absent: String, effect: KeyRow.Effect = .restart,
        disclosure: KeyRow.Disclosure = .everywhere, _ explanation: String
    ) -> Key {
        Key(section, name, form, .optional(absent: absent), explanation, effect, disclosure)
    }

    fileprivate init(
        _ section: Section, _ name: String, _ form: ValueForm<Value>, _ presence: KeyRow.Presence, _ explanation: String, _ effect: KeyRow.Effect,
        _ disclosure: KeyRow.Disclosure
    ) {
        row = KeyRow(
            section: section, name: name, allowed: form.allowed, example: form.example, presence: presence, explanation: explanation, effect: effect,
            disclosure: disclosure)
        self.form = form
    }
}

/// A key with a value that counts when it is left out.
struct StandardKey<Value: Sendable>: Sendable {
    let key: Key<Value>
    let standard: Value

    init(_ section: Section, _ name: String, _ form: ValueForm<Value>, standard: Value, effect: KeyRow.Effect = .restart, _ explanation: String) {
        key = Key(section, name, form, .standard(literal: form.write(standard)), explanation, effect, .everywhere)
        self.standard = standard
    }

    var row: KeyRow { key.row }
}
