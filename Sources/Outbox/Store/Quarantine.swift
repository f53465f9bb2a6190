/// Entries that are set aside or kept apart, and the operator's acts on them.
extension Store {
    func quarantine(_ id: EntryID, reason: String) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id) else { return .refused(.unknown(id)) }
        guard row.state == .queued else { return .refused(Refusal(.notQueued, "entry \(id) is not in the queue")) }
        guard try entries(in: .quarantined) < settings.quarantineCapacity else {
            return .refused(Refusal(.quarantineFull, "all \(settings.quarantineCapacity) places in quarantine are taken"))
        }
        try database.run("UPDATE entry SET state = 1, reason = ?2 WHERE id = ?1", .integer(row.id), .text(reason.bounded(128)))
        return .done
    }

    func release(_ id: EntryID, by actor: String?, at: Int64) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id) else { return .refused(.unknown(id)) }
        guard row.state != .queued else { return .done }
        guard !row.owner.isEmpty else {
            return .refused(Refusal(.ownerNotConfigured, "the readings of entry \(id) are nobody's; give them to an owner, or settle them"))
        }
        guard try isConfigured(row.owner) else {
            return .refused(Refusal(.ownerNotConfigured, "entry \(id) belongs to \(row.owner), who is not configured"))
        }
        if let refusal = try noPlace(for: row.kind) { return .refused(refusal) }
        if row.state == .quarantined {
            try database.run("UPDATE entry SET attempts = 0, exhausted = 0, failure = NULL WHERE id = ?1", .integer(row.id))
        }
        try database.run("UPDATE entry SET state = 0, reason = NULL WHERE id = ?1", .integer(row.id))
        guard let actor else { return .done }
        return .audited(try audit("released entry \(id) into the queue: \(described(row))", by: actor, at: at))
    }

    func settleQuarantined(_ id: EntryID, by actor: String, at: Int64) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id) else { return .refused(.unknown(id)) }
        guard row.state == .quarantined else { return .refused(Refusal(.notQuarantined, "entry \(id) is not in quarantine")) }
        let act = try end(row, id) ? "settled quarantined entry \(id)" : "deleted damaged quarantined entry \(id), which settles nothing"
        return .audited(try audit("\(act): \(described(row))", by: actor, at: at))
    }

    func purgeSealed(owner: String, by actor: String, at: Int64) throws(OutboxError) -> ChangeOutcome {
        let names = try database.all("SELECT name FROM entry WHERE state = 2 AND owner = ?1 ORDER BY id", .text(owner)) { $0.text(0) }
        var windows = 0, readings = 0
        for name in names {
            guard let row = try row(EntryID(trusted: name)) else { continue }
            if row.kind == .cuff { readings += row.count } else { windows += row.count }
            _ = try end(row, EntryID(trusted: name))
        }
        return .audited(try audit("purged \(names.count) sealed entries of \(owner) with \(windows) windows\(readings > 0 ? " and \(readings) readings" : "")", by: actor, at: at))
    }

    func discardEvidence(through number: Int64, by actor: String, at: Int64) throws(OutboxError) -> ChangeOutcome {
        try database.run("DELETE FROM evidence WHERE id <= ?1", .integer(number))
        return .audited(try audit("discarded \(database.changes) rejected windows up to number \(number)", by: actor, at: at))
    }

    /// Takes the configured owners. Queued entries of others are sealed, sealed ones of these come back as far as places are free.
    func configureOwners(_ keys: Set<String>, reserved: Int) throws(OutboxError) -> OwnersReport {
        try database.transaction { () throws(OutboxError) in
            try database.run("DELETE FROM owner")
            for key in keys.sorted() { try database.run("INSERT INTO owner VALUES (?1)", .text(key)) }
            try database.run("UPDATE entry SET state = 2 WHERE state = 0 AND owner NOT IN (SELECT key FROM owner)")
            let sealed = database.changes
            var unsealed = 0
            var waiting: [EntryID] = []
            let returning = try database.all(
                "SELECT id, name, kind FROM entry WHERE state = 2 AND owner IN (SELECT key FROM owner) ORDER BY id"
            ) { ($0.integer(0), EntryID(trusted: $0.text(1)), DeviceKind(rawValue: $0.small(2)) ?? .collar) }
            for (id, name, kind) in returning {
                let queued = try entries(in: .queued)
                let collars = try entries(in: .queued, kind: .collar)
                if queued + reserved < settings.places, kind == .cuff || collars + reserved < settings.collarPlaces {
                    try database.run("UPDATE entry SET state = 0 WHERE id = ?1", .integer(id))
                    unsealed += 1
                } else {
                    waiting.append(name)
                }
            }
            let kept = try entries(in: .sealed)
            guard kept <= settings.sealedCapacity else {
                throw OutboxError(.sealedFull, "\(kept) entries of owners who are not configured; \(settings.sealedCapacity) can be sealed")
            }
            return OwnersReport(sealed: sealed, unsealed: unsealed, waiting: waiting)
        }
    }

    /// Ends an entry on an operator's word. A damaged one goes without settling anything: its ranges cannot be trusted.
    ///
    /// - Returns: whether its ranges are settled now.
    private func end(_ row: EntryRow, _ id: EntryID) throws(OutboxError) -> Bool {
        guard row.kind == .cuff ? try verifiedReadings(row, id) != nil : try verifiedHead(row, id) != nil else {
            try remove(row.id)
            return false
        }
        _ = try close(row)
        return true
    }

    func described(_ row: EntryRow) -> String {
        row.kind == .cuff
            ? "\(row.count) \(row.count == 1 ? "reading" : "readings"), owner \(row.owner.isEmpty ? "unknown" : row.owner)"
            : "\(row.count) windows of \(row.device), log \(row.log), from \(row.first), owner \(row.owner)"
    }

    func audit(_ act: String, by actor: String, at: Int64) throws(OutboxError) -> AuditLine {
        let line = AuditLine(at: at, by: actor.bounded(64), act: act)
        try database.run("INSERT INTO audit (at, actor, act) VALUES (?1, ?2, ?3)", .integer(at), .text(line.by), .text(line.act))
        try database.run("DELETE FROM audit WHERE id <= ?1", .integer(database.lastRow - Int64(settings.auditMemory)))
        return line
    }
}
