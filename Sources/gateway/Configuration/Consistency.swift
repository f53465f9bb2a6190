/// An owner with the table it was read from.
struct PlacedOwner {
    let owner: Configuration.Owner
    let reader: SectionReader
}

/// A collar with the table it was read from.
struct PlacedCollar {
    let collar: Configuration.Collar
    let reader: SectionReader
}

/// What no table can say about itself: that names are given once, and that what is referred to exists.
struct Consistency {
    let findings: Findings

    /// - Parameter ownersComplete: whether every owner of the file could be read. If not, a collar's owner may be one of the others.
    func check(owners: [PlacedOwner], collars: [PlacedCollar], ownersComplete: Bool) {
        refuseRepeats(owners, Keys.Owner.key.row, of: \.owner.key, reader: \.reader, "every owner has a key of its own")
        refuseRepeats(owners, Keys.Owner.tokenFile.row, of: \.owner.tokenFile, reader: \.reader, "every owner has a token of its own")
        refuseRepeats(collars, Keys.Collar.name.row, of: \.collar.name, reader: \.reader, "every device has a name of its own")
        refuseRepeats(collars, Keys.Collar.serial.row, of: \.collar.serial, reader: \.reader, "a device is configured once")
        refuseRepeats(collars.filter { $0.collar.link.isBluetooth }, Keys.Collar.address.row, of: \.collar.link, reader: \.reader,
                      "two devices cannot be at one address")
        refuseRepeats(collars.filter { !$0.collar.link.isBluetooth }, Keys.Collar.socket.row, of: \.collar.link, reader: \.reader,
                      "two devices cannot be at one socket")
        for placed in collars where ownersComplete { checkOwner(of: placed, among: owners.map(\.owner.key)) }
    }

    private func checkOwner(of placed: PlacedCollar, among keys: [String]) {
        let owner = placed.collar.owner
        guard !keys.contains(owner), !keys.isEmpty else { return }
        let advice = NearestName.of(owner, among: keys).map { "did you mean \(quoted($0))?" }
            ?? "configured: \(keys.map(quoted).joined(separator: ", "))"
        findings.error(.unknownOwner, at: placed.reader.position(of: Keys.Collar.owner.row),
                       "\(placed.reader.named(Keys.Collar.owner.row)) is \(quoted(owner)), but no [[owner]] has that key; \(advice)")
    }

    private func refuseRepeats<Item, Value: Hashable>(_ items: [Item], _ row: KeyRow, of value: (Item) -> Value,
                                                      reader: (Item) -> SectionReader, _ rule: String) {
        var first: [Value: SourcePosition] = [:]
        for item in items {
            let reader = reader(item)
            let position = reader.position(of: row)
            if let earlier = first[value(item)] {
                findings.error(.duplicate, at: position, "\(reader.named(row)) is the same as in line \(earlier.line); \(rule)")
            } else {
                first[value(item)] = position
            }
        }
    }
}

extension Configuration.Link {
    var isBluetooth: Bool {
        if case .bluetooth = self { true } else { false }
    }
}
