import Platform

/// Bonds: the keys of controllers with devices, and what was discovered of those.
extension Store {
    // MARK: Changes

    func storeBond(_ bond: Bond) throws(OutboxError) -> ChangeOutcome {
        if let refusal = bond.malformation { return .refused(refusal) }
        try removeUnreadable()
        var new = bond
        var id: Int64?
        if let number = try number(of: bond.id), let old = try self.bond(number) {
            id = number
            // A counter that went back would sign twice with it.
            for index in new.signatureKeys.indices {
                let key = new.signatureKeys[index]
                guard let former = old.signatureKeys.first(where: { $0.isLocal == key.isLocal && $0.value == key.value }) else { continue }
                new.signatureKeys[index].counter = max(key.counter, former.counter)
            }
            // What answered under other keys may have been another device.
            let cache = Set(old.longTermKeys) == Set(new.longTermKeys) ? try attributeCache(number) : nil
            try erase(number)
            try insert(new, number: id)
            if let cache { try insert(cache, of: new.id, number: number) }
            return .done
        }
        guard try database.number("SELECT count(*) FROM bond") < settings.bondCapacity else {
            return .refused(Refusal(.bondsFull, "all \(settings.bondCapacity) places for bonds are taken; forget a device that is not used any more"))
        }
        try insert(new, number: id)
        return .done
    }

    func removeBond(_ id: BondID) throws(OutboxError) -> ChangeOutcome {
        guard let number = try number(of: id) else { return .forgot([]) }
        try erase(number)
        return .forgot([id])
    }

    func advanceSignCounter(_ id: BondID, next: UInt32) throws(OutboxError) -> ChangeOutcome {
        guard let number = try number(of: id), var bond = try bond(number), let index = bond.signatureKeys.firstIndex(where: \.isLocal) else {
            return .refused(Refusal(.unknownBond, "no bond of \(id) with a key to sign with"))
        }
        guard next >= bond.signatureKeys[index].counter else {
            return .refused(Refusal(.counterInPast, "counters below \(bond.signatureKeys[index].counter) are used, \(next) among them"))
        }
        bond.signatureKeys[index].counter = next
        try database.run(
            "UPDATE signature_key SET counter = ?3 WHERE bond = ?1 AND position = ?2", .integer(number), .integer(Int64(index)), .integer(Int64(next)))
        try database.run("UPDATE bond SET digest = ?2 WHERE id = ?1", .integer(number), .blob(Fingerprint.of(bond)))
        return .done
    }

    func storeCache(_ id: BondID, _ cache: AttributeCache) throws(OutboxError) -> ChangeOutcome {
        guard cache.hash.count == AttributeCache.hashLength, cache.octets.count <= AttributeCache.limit else {
            return .refused(Refusal(.malformed, "a hash of \(cache.hash.count) octets and \(cache.octets.count) octets of attributes; "
                + "\(AttributeCache.hashLength) and up to \(AttributeCache.limit) are allowed"))
        }
        guard let number = try number(of: id), try bond(number) != nil else { return .refused(Refusal(.unknownBond, "no bond of \(id)")) }
        try insert(cache, of: id, number: number)
        return .done
    }

    // MARK: Questions

    func bonds() throws(OutboxError) -> [Bond] {
        var bonds: [Bond] = []
        for number in try bondNumbers() {
            if let bond = try bond(number) { bonds.append(bond) }
        }
        return bonds
    }

    func attributeCache(of id: BondID) throws(OutboxError) -> AttributeCache? {
        guard let number = try number(of: id), try bond(number) != nil else { return nil }
        return try attributeCache(number)
    }

    /// The row of a bond, whole or not.
    func number(of id: BondID) throws(OutboxError) -> Int64? {
        try database.first(
            "SELECT id FROM bond WHERE controller = ?1 AND controller_random = ?2 AND peer = ?3 AND peer_random = ?4", .address(id.controller),
            .flag(id.controller.isRandom), .address(id.peer), .flag(id.peer.isRandom)) { $0.integer(0) }
    }

    /// The bond of a row; `nil` when a byte of it is not as it was stored.
    func bond(_ number: Int64) throws(OutboxError) -> Bond? {
        let head = try database.first(
            "SELECT controller, controller_random, peer, peer_random, device, resolving, digest FROM bond WHERE id = ?1", .integer(number)
        ) { row in (controller: row.address(0), peer: row.address(2), device: row.text(4), resolving: row.isNull(5) ? nil : row.blob(5), digest: row.blob(6)) }
        guard let head, let controller = head.controller, let peer = head.peer else { return nil }
        let keys = try database.all(
            "SELECT kind, initiator, size, diversifier, random, value FROM long_term_key WHERE bond = ?1 ORDER BY position", .integer(number)
        ) { row in BondLongTermKey(row) }
        let signatures = try database.all(
            "SELECT local, authenticated, counter, value FROM signature_key WHERE bond = ?1 ORDER BY position", .integer(number)
        ) { row in BondSignatureKey(row) }
        let bond = Bond(
            id: BondID(controller: controller, peer: peer), device: head.device, longTermKeys: keys.compactMap { $0 },
            identityResolvingKey: head.resolving.flatMap { KeyOctets($0) }, signatureKeys: signatures.compactMap { $0 })
        return bond.malformation == nil && Fingerprint.of(bond) == head.digest ? bond : nil
    }

    func bondNumbers() throws(OutboxError) -> [Int64] { try database.all("SELECT id FROM bond ORDER BY id") { $0.integer(0) } }

    /// What was discovered with the bond of a row; `nil` when there is nothing, or a byte of it is not as it was stored.
    func attributeCache(_ number: Int64) throws(OutboxError) -> AttributeCache? {
        guard let bond = try bond(number) else { return nil }
        let found = try database.first("SELECT hash, octets, digest FROM attribute_cache WHERE bond = ?1", .integer(number)) {
            (cache: AttributeCache(hash: $0.blob(0), octets: $0.blob(1)), digest: $0.blob(2))
        }
        guard let found, Fingerprint.of(found.cache, of: bond.id) == found.digest else { return nil }
        return found.cache
    }

    // MARK: Rows

    func insert(_ bond: Bond, number: Int64?) throws(OutboxError) {
        try database.run(
            "INSERT INTO bond VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", .optional(number), .address(bond.id.controller), .flag(bond.id.controller.isRandom),
            .address(bond.id.peer), .flag(bond.id.peer.isRandom), .text(bond.device), bond.identityResolvingKey.map { .blob($0.octets) } ?? .null,
            .blob(Fingerprint.of(bond)))
        let row = database.lastRow
        for (position, key) in bond.longTermKeys.enumerated() {
            try database.run(
                "INSERT INTO long_term_key VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", .integer(row), .integer(Int64(position)),
                .integer(Int64(key.kind.rawValue)), .flag(key.isInitiator), .integer(Int64(key.encryptionSize)),
                .integer(Int64(key.encryptedDiversifier)), .integer(Int64(bitPattern: key.random)), .blob(key.value.octets))
        }
        for (position, key) in bond.signatureKeys.enumerated() {
            try database.run(
                "INSERT INTO signature_key VALUES (?1, ?2, ?3, ?4, ?5, ?6)", .integer(row), .integer(Int64(position)), .flag(key.isLocal),
                .flag(key.isAuthenticated), .integer(Int64(key.counter)), .blob(key.value.octets))
        }
    }

    func insert(_ cache: AttributeCache, of id: BondID, number: Int64) throws(OutboxError) {
        try database.run(
            "INSERT OR REPLACE INTO attribute_cache VALUES (?1, ?2, ?3, ?4)", .integer(number), .blob(cache.hash), .blob(cache.octets),
            .blob(Fingerprint.of(cache, of: id)))
    }

    /// Deletes a bond so that its keys are nowhere in the database, not on pages that become free either.
    func erase(_ number: Int64) throws(OutboxError) {
        // No secret; without its pages a transaction is small.
        try database.run("DELETE FROM attribute_cache WHERE bond = ?1", .integer(number))
        try erasing { () throws(OutboxError) in
            for table in ["long_term_key", "signature_key"] { try database.run("DELETE FROM \(table) WHERE bond = ?1", .integer(number)) }
            try database.run("DELETE FROM bond WHERE id = ?1", .integer(number))
        }
    }

    /// Lets the bonds go that are not as they were stored, and keys without a bond: they are of no use, and must not take places.
    func removeUnreadable() throws(OutboxError) {
        for number in try bondNumbers() {
            if try bond(number) == nil { try erase(number) }
        }
        try database.run("DELETE FROM attribute_cache WHERE bond NOT IN (SELECT id FROM bond)")
        try erasing { () throws(OutboxError) in
            for table in ["long_term_key", "signature_key"] { try database.run("DELETE FROM \(table) WHERE bond NOT IN (SELECT id FROM bond)") }
        }
    }

    /// `secure_delete = FAST` leaves what is on pages that become free.
    private func erasing(_ body: () throws(OutboxError) -> Void) throws(OutboxError) {
        // As scripts: SQLite does what this pragma says when it prepares the statement, and a statement that is kept is not prepared again.
        try database.script("PRAGMA secure_delete = ON")
        do throws(OutboxError) {
            try body()
        } catch {
            try? database.script("PRAGMA secure_delete = FAST")
            throw error
        }
        try database.script("PRAGMA secure_delete = FAST")
    }
}

extension BondLongTermKey {
    fileprivate init?(_ row: Statement) {
        guard let kind = UInt8(exactly: row.integer(0)).flatMap(Kind.init(rawValue:)), let size = UInt8(exactly: row.integer(2)),
              let diversifier = UInt16(exactly: row.integer(3)), let value = KeyOctets(row.blob(5))
        else { return nil }
        self.init(
            kind: kind, isInitiator: row.integer(1) != 0, encryptionSize: size, encryptedDiversifier: diversifier,
            random: UInt64(bitPattern: row.integer(4)), value: value)
    }
}

extension BondSignatureKey {
    fileprivate init?(_ row: Statement) {
        guard let counter = UInt32(exactly: row.integer(2)), let value = KeyOctets(row.blob(3)) else { return nil }
        self.init(isLocal: row.integer(0) != 0, isAuthenticated: row.integer(1) != 0, counter: counter, value: value)
    }
}

extension SQLValue {
    static func address(_ address: IdentityAddress) -> SQLValue { .integer(Int64(address.value)) }
    static func flag(_ flag: Bool) -> SQLValue { .integer(flag ? 1 : 0) }
}

extension Statement {
    /// An address in this column, and in the next whether it is random; `nil` for what is no identity.
    func address(_ column: CInt) -> IdentityAddress? {
        UInt64(exactly: integer(column)).flatMap { IdentityAddress(value: $0, isRandom: integer(column + 1) != 0) }
    }
}
