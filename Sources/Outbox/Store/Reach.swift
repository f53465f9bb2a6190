/// How devices are reached beside their bonds: adopted addresses, what is forgotten of a device, and what a salvage takes over.
extension Store {
    func adoptAddress(device: String, _ address: IdentityAddress) throws(OutboxError) -> ChangeOutcome {
        if let what = WindowBatch.badText(device, "device", limit: 64) { return .refused(Refusal(.malformed, what)) }
        // Those that are not as they were stored are of no use, and must not take places.
        for row in try adoptions() where row.address == nil { try database.run("DELETE FROM adopted WHERE device = ?1", .text(row.device)) }
        let adopted = try adoptedAddresses()
        if let other = adopted.first(where: { $0.key != device && $0.value == address })?.key {
            return .refused(Refusal(.addressTaken, "\(address) is the address of \(other); forget that device first if it is not"))
        }
        guard adopted[device] != nil || adopted.count < settings.adoptionCapacity else {
            return .refused(Refusal(.adoptionsFull, "all \(settings.adoptionCapacity) places for adopted addresses are taken; "
                + "forget a device that is not used any more"))
        }
        try insert(address, adoptedFor: device)
        return .done
    }

    func forgetDevice(_ device: String) throws(OutboxError) -> ChangeOutcome {
        // One that cannot be read any more may be this device's.
        try removeUnreadable()
        let address = try adoptedAddress(device)
        let known = try bonds().filter { $0.device == device || $0.id.peer == address }
        for bond in known {
            if let number = try number(of: bond.id) { try erase(number) }
        }
        try database.run("DELETE FROM adopted WHERE device = ?1", .text(device))
        return .forgot(known.map(\.id))
    }

    func adoptedAddress(_ device: String) throws(OutboxError) -> IdentityAddress? { try adoptedAddresses()[device] }

    func adoptedAddresses() throws(OutboxError) -> [String: IdentityAddress] {
        Dictionary(try adoptions().compactMap { row in row.address.map { (row.device, $0) } }) { first, _ in first }
    }

    /// How many bonds and adopted addresses are not as they were stored.
    func damagedBonds() throws(OutboxError) -> Int {
        var damaged = try adoptions().count { $0.address == nil }
        for number in try bondNumbers() where try bond(number) == nil { damaged += 1 }
        return damaged
    }

    /// All rows; `address` is `nil` where a byte is not as it was stored.
    private func adoptions() throws(OutboxError) -> [(device: String, address: IdentityAddress?)] {
        try database.all("SELECT device, address, random, digest FROM adopted ORDER BY device") { row in Self.adoption(row) }
    }

    private static func adoption(_ row: Statement) -> (device: String, address: IdentityAddress?) {
        let device = row.text(0)
        guard let address = row.address(1), Fingerprint.of(address, adoptedFor: device) == row.blob(3) else { return (device, nil) }
        return (device, address)
    }

    private func insert(_ address: IdentityAddress, adoptedFor device: String) throws(OutboxError) {
        try database.run(
            "INSERT OR REPLACE INTO adopted VALUES (?1, ?2, ?3, ?4)", .text(device), .address(address), .flag(address.isRandom),
            .blob(Fingerprint.of(address, adoptedFor: device)))
    }

    // MARK: Salvage

    /// Takes over what a broken file still holds whole, as far as there is room. A file of before these tables holds nothing of it.
    ///
    /// - Returns: the number of bonds.
    func takeReach(from source: Store) throws(OutboxError) -> Int {
        let numbers = ["SELECT id FROM bond ORDER BY id", "SELECT id FROM bond ORDER BY id DESC"].flatMap { sql in
            source.database.asFarAsReadable(sql) { $0.integer(0) }
        }
        let adopted = source.database.asFarAsReadable("SELECT device, address, random, digest FROM adopted ORDER BY device") { row in Self.adoption(row) }
        return try database.transaction { () throws(OutboxError) in
            var taken = 0
            for number in Set(numbers).sorted() {
                guard taken < settings.bondCapacity, let bond = try? source.bond(number), try self.number(of: bond.id) == nil else { continue }
                try insert(bond, number: number)
                if let cache = try? source.attributeCache(number) { try insert(cache, of: bond.id, number: number) }
                taken += 1
            }
            for row in adopted.prefix(settings.adoptionCapacity) {
                if let address = row.address { try insert(address, adoptedFor: row.device) }
            }
            return taken
        }
    }
}
