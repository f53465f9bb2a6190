/// What an operator does with readings that are set aside.
extension Store {
    /// Readings in quarantine become an owner's, and are queued.
    ///
    /// The entry is another one then as far as anybody outside sees: its key is new, as keys belong to an owner. What a receipt said of the former owner's stays
    /// theirs and is not given.
    func giveReadings(_ id: EntryID, to owner: String, by actor: String, at: Int64) throws(OutboxError) -> ChangeOutcome {
        guard let row = try row(id) else { return .refused(.unknown(id)) }
        guard row.kind == .cuff else { return .refused(Refusal(.malformed, "entry \(id) has windows of a collar; only readings of cuffs can be given")) }
        guard row.state == .quarantined else { return .refused(Refusal(.notQuarantined, "entry \(id) is not in quarantine")) }
        if let what = WindowBatch.badText(owner, "owner", limit: 128) { return .refused(Refusal(.malformed, what)) }
        guard try isConfigured(owner) else { return .refused(Refusal(.ownerNotConfigured, "\(owner) is not a configured owner")) }
        guard let readings = try verifiedReadings(row, id) else { return .refused(.damaged(id)) }
        if let refusal = try noPlace(for: .cuff) { return .refused(refusal) }
        var delivered: Set<Int> = []
        for part in try parts(row.id) where part.receipt != nil {
            delivered.formUnion(readings.indices.filter { $0 >= Int(part.range.first) && $0 < Int(part.range.first) + part.range.count })
        }
        let rest = readings.indices.filter { !delivered.contains($0) }.map { readings[$0] }
        guard !rest.isEmpty else { return .refused(Refusal(.malformed, "every reading of entry \(id) has its receipt")) }
        try remember(readings: delivered.sorted().map { readings[$0].name })
        let former = described(row)
        try database.run("DELETE FROM reading WHERE entry = ?1", .integer(row.id))
        try database.run("DELETE FROM part WHERE entry = ?1", .integer(row.id))
        try database.run("DELETE FROM open_entry WHERE entry = ?1", .integer(row.id))
        try database.run("""
            UPDATE entry SET state = 0, owner = ?2, device = '', reason = NULL, attempts = 0, exhausted = 0, failure = NULL, generation = 0, parts = 0, key = ?3
            WHERE id = ?1
            """, .integer(row.id), .text(owner), .text(try newName()))
        try write(rest, from: 0, to: row.id)
        try seal(row.id)
        return .audited(try audit("gave quarantined entry \(id) to \(owner): \(former)", by: actor, at: at))
    }
}
