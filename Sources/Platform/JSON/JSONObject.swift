/// The members of a JSON object. They keep the order in which they were given or read; two objects with the same members in another order are equal
/// (RFC 8259, section 4).
public struct JSONObject: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// The members, each name once.
    public private(set) var members: [(name: String, value: JSONValue)] = []

    /// No members.
    public init() {}

    /// The members in this order; of a name that is given twice the last value stays, in the first one's place.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        for (name, value) in members { self[name] = value }
    }

    /// The members of a dictionary, ordered by their names.
    public init(_ dictionary: [String: JSONValue]) {
        members = dictionary.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The members as read by a parser that refuses a name that is there twice.
    init(distinct members: [(name: String, value: JSONValue)]) {
        self.members = members
    }

    /// The value of a name; setting `nil` takes the member away.
    public subscript(name: String) -> JSONValue? {
        get { members.first { $0.name == name }?.value }
        set {
            guard let place = members.firstIndex(where: { $0.name == name }) else {
                if let newValue { members.append((name, newValue)) }
                return
            }
            if let newValue { members[place].value = newValue } else { members.remove(at: place) }
        }
    }

    public var count: Int { members.count }

    public static func == (one: JSONObject, other: JSONObject) -> Bool {
        one.members.count == other.members.count && one.byName == other.byName
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(byName) }

    private var byName: [String: JSONValue] { Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first } }
}
