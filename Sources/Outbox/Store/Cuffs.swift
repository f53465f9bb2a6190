/// The books on cuffs: whose their readings are, how their clocks were, and which files are read.
///
/// The assignments have one digest over all of them, like those of collars, and come over from a broken file if they are whole. The marks do not: a reading whose
/// entry was lost with the file must be read again, and one that is stored is known by its name.
extension Store {
    func cuff(_ serial: String) throws(OutboxError) -> CuffBooks {
        let assignments = try cuffAssignments(serial).map(\.assignment)
        let marks = try database.all("SELECT name, digest, listed FROM cuff_file WHERE device = ?1 ORDER BY id", .text(serial)) { row in
            CuffFileMark(name: row.text(0), digest: row.blob(1), isListed: row.integer(2) != 0)
        }
        return CuffBooks(assignments: assignments, marks: marks, assignmentsLost: assignments.isEmpty ? try lostCuffAssignments() : false,
                         clock: try cuffClock(serial))
    }

    // MARK: Assignments

    func assignCuff(device: String, user: UInt32?, owner: String, since: Int64?) throws(OutboxError) -> ChangeOutcome {
        if let what = WindowBatch.badText(device, "device", limit: 64) ?? WindowBatch.badText(owner, "owner", limit: 128) {
            return .refused(Refusal(.malformed, what))
        }
        guard try isConfigured(owner) else { return .refused(Refusal(.ownerNotConfigured, "\(owner) is not a configured owner")) }
        let standing = try cuffAssignments(device)
        // The newest one that is about any reading of this user: one of the whole cuff is, and one of any user is about the whole.
        let newest = standing.last { $0.assignment.user == user || $0.assignment.user == nil || user == nil }?.assignment
        if newest?.user == user, newest?.owner == owner { return .done }
        if standing.count >= CuffAssignment.limit {
            // The newest one of a user says whose the readings are; without it the next one would look like the first.
            let newest = Dictionary(standing.map { ($0.assignment.user, $0.id) }) { _, later in later }
            guard let oldest = standing.first(where: { newest[$0.assignment.user] != $0.id || $0.assignment.user == user }) else {
                return .refused(Refusal(.malformed, "\(device) has \(standing.count) users; \(CuffAssignment.limit) are allowed"))
            }
            try database.run("DELETE FROM cuff_assignment WHERE id = ?1", .integer(oldest.id))
        }
        try database.run(
            "INSERT INTO cuff_assignment (device, user, owner, since, contacted) VALUES (?1, ?2, ?3, ?4, ?5)", .text(device),
            .optional(user.map { Int64($0) }), .text(owner), .optional(since), .flag(since == nil))
        try sealCuffAssignments()
        return .done
    }

    func cuffContacted(_ device: String) throws(OutboxError) -> ChangeOutcome {
        try database.run("UPDATE cuff_assignment SET contacted = 1 WHERE device = ?1 AND contacted = 0", .text(device))
        if database.changes > 0 { try sealCuffAssignments() }
        return .done
    }

    private func cuffAssignments(_ device: String) throws(OutboxError) -> [(id: Int64, assignment: CuffAssignment)] {
        try database.all("SELECT id, user, owner, since, contacted FROM cuff_assignment WHERE device = ?1 ORDER BY id", .text(device)) { row in
            (row.integer(0), CuffAssignment(row, from: 1))
        }
    }

    /// Every assignment of every cuff, in the order of the table.
    func allCuffAssignments() throws(OutboxError) -> [(device: String, assignment: CuffAssignment)] {
        try database.all("SELECT device, user, owner, since, contacted FROM cuff_assignment ORDER BY id") { row in
            (row.text(0), CuffAssignment(row, from: 1))
        }
    }

    private func sealCuffAssignments() throws(OutboxError) {
        let digest = Fingerprint.of(cuffAssignments: try allCuffAssignments())
        try database.run("UPDATE meta SET value = ?1 WHERE name = 'cuff-assignments-digest'", .blob(digest))
    }

    /// Whether the assignments are those that were stored.
    func cuffAssignmentsAreWhole() throws(OutboxError) -> Bool {
        let digest = try database.first("SELECT value FROM meta WHERE name = 'cuff-assignments-digest'") { $0.blob(0) } ?? []
        let assignments = try allCuffAssignments()
        return assignments.isEmpty && digest.isEmpty || Fingerprint.of(cuffAssignments: assignments) == digest
    }

    func lostCuffAssignments() throws(OutboxError) -> Bool {
        try database.number("SELECT value FROM meta WHERE name = 'cuff-assignments-lost'") != 0
    }

    // MARK: Salvage

    /// The assignments of a broken file, if they are whole and all of them; a file of before this table has none.
    func wholeCuffAssignments() -> [(device: String, assignment: CuffAssignment)]? {
        guard let version = try? database.number("PRAGMA user_version") else { return nil }
        if version > 0, version < Int64(Schema.cuffBooksVersion) { return [] }
        guard let lost = try? lostCuffAssignments(), !lost, let isWhole = try? cuffAssignmentsAreWhole(), isWhole else { return nil }
        return try? allCuffAssignments()
    }

    func take(_ assignments: [(device: String, assignment: CuffAssignment)]) throws(OutboxError) {
        if assignments.isEmpty { return }
        for (device, assignment) in assignments {
            try database.run(
                "INSERT INTO cuff_assignment (device, user, owner, since, contacted) VALUES (?1, ?2, ?3, ?4, ?5)", .text(device),
                .optional(assignment.user.map { Int64($0) }), .text(assignment.owner), .optional(assignment.since), .flag(assignment.contacted))
        }
        try sealCuffAssignments()
    }

    func noteLostCuffAssignments() throws(OutboxError) {
        try database.run("UPDATE meta SET value = 1 WHERE name = 'cuff-assignments-lost'")
    }

    // MARK: Clock

    func noteCuffClock(_ device: String, _ setting: CuffClockSetting) throws(OutboxError) -> ChangeOutcome {
        if let what = WindowBatch.badText(device, "device", limit: 64) { return .refused(Refusal(.malformed, what)) }
        try database.run("DELETE FROM cuff_clock WHERE device = ?1", .text(device))
        try database.run(
            "INSERT INTO cuff_clock (device, ahead, set_to, digest) VALUES (?1, ?2, ?3, ?4)", .text(device), .integer(setting.ahead), .integer(setting.setTo),
            .blob(Fingerprint.of(clockOf: device, setting)))
        try database.run("DELETE FROM cuff_clock WHERE id NOT IN (SELECT id FROM cuff_clock ORDER BY id DESC LIMIT ?1)", .integer(Int64(CuffClockSetting.limit)))
        return .done
    }

    private func cuffClock(_ device: String) throws(OutboxError) -> CuffClockSetting? {
        let found = try database.first("SELECT ahead, set_to, digest FROM cuff_clock WHERE device = ?1", .text(device)) { row in
            (setting: CuffClockSetting(ahead: row.integer(0), setTo: row.integer(1)), digest: row.blob(2))
        }
        guard let found, found.digest == Fingerprint.of(clockOf: device, found.setting) else { return nil }
        return found.setting
    }

    // MARK: Files

    func markCuffFiles(device: String, stored: [CuffFileMark], unlisted: [String]) throws(OutboxError) -> ChangeOutcome {
        if let what = WindowBatch.badText(device, "device", limit: 64) { return .refused(Refusal(.malformed, what)) }
        guard stored.count <= CuffFileMark.limit, unlisted.count <= CuffFileMark.limit else {
            return .refused(Refusal(.malformed, "\(stored.count) marks and \(unlisted.count) names at once; \(CuffFileMark.limit) are allowed"))
        }
        for mark in stored {
            if let what = WindowBatch.badText(mark.name, "a file's name", limit: 64) { return .refused(Refusal(.malformed, what)) }
            guard mark.digest.count == 32 else { return .refused(Refusal(.malformed, "a digest of \(mark.digest.count) bytes")) }
        }
        // A list is taken before its files are read.
        for name in unlisted { try database.run("UPDATE cuff_file SET listed = 0 WHERE device = ?1 AND name = ?2", .text(device), .text(name)) }
        for mark in stored {
            try database.run("DELETE FROM cuff_file WHERE device = ?1 AND name = ?2 AND digest = ?3", .text(device), .text(mark.name), .blob(mark.digest))
            try database.run(
                "INSERT INTO cuff_file (device, name, digest, listed) VALUES (?1, ?2, ?3, ?4)", .text(device), .text(mark.name), .blob(mark.digest),
                .flag(mark.isListed))
        }
        try forgetFiles(of: device, beyond: CuffFileMark.limit)
        try forgetFiles(of: nil, beyond: settings.fileMarkMemory)
        return .done
    }

    /// - Parameter device: `nil` for all together.
    private func forgetFiles(of device: String?, beyond limit: Int) throws(OutboxError) {
        try database.run("""
            DELETE FROM cuff_file WHERE (?1 IS NULL OR device = ?1) AND id <= coalesce((
                SELECT id FROM cuff_file WHERE ?1 IS NULL OR device = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2), 0)
            """, .optional(device), .integer(Int64(limit)))
    }
}

extension CuffAssignment {
    fileprivate init(_ row: Statement, from column: CInt) {
        self.init(
            user: row.optionalInteger(column).map { UInt32(truncatingIfNeeded: $0) }, owner: row.text(column + 1), since: row.optionalInteger(column + 2),
            contacted: row.integer(column + 3) != 0)
    }
}
