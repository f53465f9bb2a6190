import Platform

/// What of a cuff of the BP2 family is stored already, by name and digest: it decides which files are read.
///
/// A cuff names files by its clock, and a clock that was set back uses a name again. So a file is left unread only for as long as its name stays in the
/// list. A name that was gone and is back is read, and the digest tells whether it is the same file.
public struct BP2Checkpoint: Sendable, Hashable {
    /// How much is remembered. A cuff holds 50 readings for each of its users; what falls out would be read again, and known by its identity.
    public static let limit = 1_024

    /// One file, or one reading of a file that holds many.
    public struct Entry: Sendable, Hashable {
        /// The file's name.
        public let name: String
        /// The SHA-256 of the octets.
        public let digest: [UInt8]
        /// Whether the name has been in every list since.
        public fileprivate(set) var isListed: Bool

        public init(name: String, digest: [UInt8], isListed: Bool) {
            self.name = name
            self.digest = digest
            self.isListed = isListed
        }
    }

    /// In the order in which they were stored.
    public private(set) var entries: [Entry]

    /// - Parameter entries: what was kept, the last stored one at the end.
    public init(entries: [Entry] = []) {
        self.entries = Array(entries.suffix(Self.limit))
    }

    /// The cuff has listed its files.
    ///
    /// - Parameter clockWentBack: whether the cuff's clock went back since the last link: no name is known then.
    /// - Returns: those that are named as single readings are and have to be read, the oldest name first.
    public mutating func listed(_ names: [BP2FileName], clockWentBack: Bool = false) -> [BP2FileName] {
        let present = Set(names.map(\.text))
        for place in entries.indices where clockWentBack || !present.contains(entries[place].name) { entries[place].isListed = false }
        let known = Set(entries.filter(\.isListed).map(\.name))
        return names.filter { $0.time != nil && !known.contains($0.text) }.sorted { $0.text < $1.text }
    }

    /// Whether these octets are stored under this name.
    public func holds(_ name: BP2FileName, _ octets: [UInt8]) -> Bool {
        let digest = SHA256.digest(octets)
        return entries.contains { $0.name == name.text && $0.digest == digest }
    }

    /// What these octets hold is durably stored, or is nothing to store.
    public mutating func stored(_ name: BP2FileName, _ octets: [UInt8]) {
        let entry = Entry(name: name.text, digest: SHA256.digest(octets), isListed: true)
        entries.removeAll { $0.name == entry.name && $0.digest == entry.digest }
        entries.append(entry)
        if entries.count > Self.limit { entries.removeFirst(entries.count - Self.limit) }
    }
}
