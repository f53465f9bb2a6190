/// What no single key can say: that one of two is there at most, that names are given once, that what is referred to exists.
struct Consistency {
    let findings: Findings

    func check(owners: [OwnerDraft], collars: [CollarDraft], cuffs: [CuffDraft]) {
        refuseRepeats(owners.map { ($0.reader, $0.key) }, Keys.Owner.key.row, "every owner has a key of its own")
        refuseRepeats(owners.map { ($0.reader, $0.tokenFile) }, Keys.Owner.tokenFile.row, "every owner has a token of its own")
        refuseRepeats(owners.map { ($0.reader, $0.tokenCredential) }, Keys.Owner.tokenCredential.row, "every owner has a token of its own")
        // The keys have the same names for every kind of device.
        refuseRepeats(collars.map { ($0.reader, $0.name) } + cuffs.map { ($0.reader, $0.name) }, Keys.Collar.name.row, "every device has a name of its own")
        refuseRepeats(collars.map { ($0.reader, $0.serial) } + cuffs.map { ($0.reader, $0.serial) }, Keys.Collar.serial.row, "a device is configured once")
        refuseRepeats(
            collars.map { ($0.reader, $0.address) } + cuffs.map { ($0.reader, $0.address) }, Keys.Collar.address.row, "two devices cannot be at one address")
        refuseRepeats(collars.map { ($0.reader, $0.socket) }, Keys.Collar.socket.row, "two devices cannot be at one socket")
        for owner in owners { checkToken(of: owner) }
        for collar in collars {
            checkLink(of: collar)
            checkPasskeys(of: collar.pairing, collar.reader)
            checkPairing(of: collar)
            checkCharacteristics(of: collar)
            checkOwner(collar.owner, collar.reader.named(Keys.Collar.owner.row), among: owners)
        }
    }

    private func checkToken(of owner: OwnerDraft) {
        let reader = owner.reader, file = Keys.Owner.tokenFile.row, credential = Keys.Owner.tokenCredential.row
        if reader.gives(file), reader.gives(credential) {
            findings.error(.conflict, at: reader.position(of: credential), "\(reader.place) has both token_file and token_credential; keep one of them")
        } else if !reader.gives(file), !reader.gives(credential) {
            findings.error(.missingKey, at: reader.position,
                           "\(reader.place) has neither token_file nor token_credential; add token_file = \(file.example) (\(file.allowed))")
        }
    }

    private func checkLink(of collar: CollarDraft) {
        let reader = collar.reader
        let address = reader.gives(Keys.Collar.address.row), socket = reader.gives(Keys.Collar.socket.row)
        if address, socket {
            findings.error(.conflict, at: reader.position(of: Keys.Collar.socket.row), "\(reader.place) has both address and socket; keep one of them")
        } else if !address, !socket, collar.security == .none {
            // Whoever is near could say its serial number.
            findings.error(.conflict, at: reader.position(of: Keys.Collar.security.row),
                           "\(reader.place) has neither address nor socket, and security = \"none\"; a collar that cannot pair is not found by its serial "
                               + "number: add address = \(Keys.Collar.address.row.example)")
        }
    }

    private func checkPairing(of collar: CollarDraft) {
        let reader = collar.reader
        for row in collar.pairing.given(by: reader) {
            reader.refuse(collar.security == .none, row, "has no effect with security = \"none\"; remove one of them")
            reader.refuse(reader.gives(Keys.Collar.socket.row), row, "has no effect with socket: a simulated collar is not paired")
        }
    }

    private func checkCharacteristics(of collar: CollarDraft) {
        guard Set([collar.heartbeat, collar.windows, collar.control]).count < 3 else { return }
        findings.error(.conflict, at: collar.reader.position,
                       "\(collar.reader.place) has one UUID for two of heartbeat, windows and control; each characteristic has its own")
    }

    func checkPasskeys(of pairing: PairingDraft, _ reader: SectionReader) {
        let rows = pairing.keys.passkeys.filter(reader.gives)
        for row in rows.dropFirst() { reader.refuse(true, row, "stands beside \(rows[0].name); keep one of them") }
    }

    func checkOwner(_ owner: Placed<String>?, _ key: String, among owners: [OwnerDraft]) {
        // An owner whose key could not be read may be the one.
        let keys = owners.compactMap(\.key?.value)
        guard let owner, !keys.isEmpty, keys.count == owners.count, !keys.contains(owner.value) else { return }
        let advice = NearestName.of(owner.value, among: keys).map { "did you mean \(quoted($0))?" }
            ?? "configured: \(keys.map(quoted).joined(separator: ", "))"
        findings.error(.unknownOwner, at: owner.position,
                       "\(key) is \(quoted(owner.value)), but no [[owner]] has that key; \(advice)")
    }

    func refuseRepeats<Value: Hashable>(_ items: [(reader: SectionReader, value: Placed<Value>?)], _ row: KeyRow, _ rule: String) {
        var first: [Value: SourcePosition] = [:]
        for item in items {
            guard let placed = item.value else { continue }
            if let earlier = first[placed.value] {
                let place = earlier.file == placed.position.file ? "line \(earlier.line)" : "\(earlier.file):\(earlier.line)"
                findings.error(.duplicate, at: placed.position, "\(item.reader.named(row)) is the same as in \(place); \(rule)")
            } else {
                first[placed.value] = placed.position
            }
        }
    }
}
