/// The books themselves, over one open database. It belongs to the actor `Outbox`; every method runs on its executor.
///
/// What changes something is called within a transaction; a change that is refused is rolled back to its savepoint.
final class Store {
    let database: Database
    let settings: OutboxSettings
    private var random: any RandomNumberGenerator & Sendable

    init(_ database: Database, settings: OutboxSettings, random: any RandomNumberGenerator & Sendable) {
        self.database = database
        self.settings = settings
        self.random = random
    }

    /// Makes the changes durable together. Each one that is refused leaves no trace and does not touch the others.
    func commit(_ changes: [Change]) throws(OutboxError) -> [ChangeOutcome] {
        guard changes.count <= settings.changeLimit else {
            throw OutboxError(.tooManyChanges, "\(changes.count) changes in one commit; \(settings.changeLimit) are allowed")
        }
        if changes.isEmpty { return [] }
        return try database.transaction { () throws(OutboxError) in
            var outcomes: [ChangeOutcome] = []
            for change in changes {
                try database.run("SAVEPOINT change")
                let outcome = try apply(change)
                if case .refused = outcome { try database.run("ROLLBACK TO change") }
                try database.run("RELEASE change")
                outcomes.append(outcome)
            }
            return outcomes
        }
    }

    private func apply(_ change: Change) throws(OutboxError) -> ChangeOutcome {
        switch change {
        case .enqueue(let batch): try enqueue(batch)
        case .storeReading(let record): try storeReading(record)
        case .setReadingAside(let record, let reason): try setReadingAside(record, reason: reason)
        case .freeze(let id): try freeze(id)
        case .settleReadings(let id, let receipt): try settleReadings(id, receipt)
        case .setAside(let position, let id, let reason): try setAside(position, of: id, reason: reason)
        case .giveReadings(let id, let owner, let by, let at): try giveReadings(id, to: owner, by: by, at: at)
        case .assignCuff(let device, let user, let owner, let since): try assignCuff(device: device, user: user, owner: owner, since: since)
        case .cuffContacted(let device): try cuffContacted(device)
        case .markCuffFiles(let device, let stored, let unlisted): try markCuffFiles(device: device, stored: stored, unlisted: unlisted)
        case .noteCuffClock(let device, let setting): try noteCuffClock(device, setting)
        case .settle(let id, let receipt): try settle(id, receipt)
        case .attemptFailed(let id, let code, let exhausted): try attemptFailed(id, code: code, exhausted: exhausted)
        case .rekey(let id): try rekey(id)
        case .split(let id, let ranges): try split(id, ranges)
        case .settlePart(let id, let index, let receipt): try settlePart(id, index: index, receipt)
        case .quarantine(let id, let reason): try quarantine(id, reason: reason)
        case .release(let id, let by, let at): try release(id, by: by, at: at)
        case .settleQuarantined(let id, let by, let at): try settleQuarantined(id, by: by, at: at)
        case .purgeSealed(let owner, let by, let at): try purgeSealed(owner: owner, by: by, at: at)
        case .discardEvidence(let number, let by, let at): try discardEvidence(through: number, by: by, at: at)
        case .assign(let device, let log, let first, let owner): try assign(device: device, log: log, from: first, owner: owner)
        case .beginLog(let device, let log, let base, let formerEnd): try beginLog(device: device, log: log, base: base, formerEnd: formerEnd)
        case .restartLog(let device, let log, let base): try restartLog(device: device, log: log, base: base)
        case .cleared(let device, let log, let through): try cleared(device: device, log: log, through: through)
        case .clearRefused(let device, let log, let through): try clearRefused(device: device, log: log, through: through)
        case .logEnded(let device, let log): try logEnded(device: device, log: log)
        case .storeBond(let bond): try storeBond(bond)
        case .removeBond(let id): try removeBond(id)
        case .advanceSignCounter(let id, let next): try advanceSignCounter(id, next: next)
        case .storeCache(let id, let cache): try storeCache(id, cache)
        case .adoptAddress(let device, let address): try adoptAddress(device: device, address)
        case .forgetDevice(let device): try forgetDevice(device)
        }
    }

    /// 128 random bits as 32 digits, a name that no entry has or lately had.
    func newName() throws(OutboxError) -> String {
        while true {
            let text = hexadecimal(random.next()) + hexadecimal(random.next())
            let uses = try database.number("""
                SELECT (SELECT count(*) FROM entry WHERE name = ?1 OR key = ?1) + (SELECT count(*) FROM receipt WHERE entry = ?1 OR key = ?1)
                """, .text(text))
            if uses == 0 { return text }
        }
    }

    private func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    func isConfigured(_ owner: String) throws(OutboxError) -> Bool {
        try database.number("SELECT count(*) FROM owner WHERE key = ?1", .text(owner)) > 0
    }

    func entries(in state: EntryState, kind: DeviceKind? = nil) throws(OutboxError) -> Int {
        let count = try database.number(
            "SELECT count(*) FROM entry WHERE state = ?1 AND (?2 IS NULL OR kind = ?2)",
            .integer(Int64(state.rawValue)), .optional(kind.map { Int64($0.rawValue) }))
        return Int(count)
    }

    /// Why an entry of this kind has no place; `nil` when it has one.
    func noPlace(for kind: DeviceKind) throws(OutboxError) -> Refusal? {
        if try entries(in: .queued) >= settings.places { return Refusal(.noPlace, "all \(settings.places) places are taken") }
        if kind == .collar, try entries(in: .queued, kind: .collar) >= settings.collarPlaces {
            return Refusal(.noPlace, "all \(settings.collarPlaces) places for collars are taken")
        }
        return nil
    }
}

extension SQLValue {
    /// A sequence; `WindowBatch` and the changes are checked to stay below `sequenceLimit`.
    static func sequence(_ sequence: UInt64) -> SQLValue { .integer(Int64(clamping: sequence)) }
    static func log(_ log: UInt32) -> SQLValue { .integer(Int64(log)) }
}

extension Statement {
    /// A sequence, cut to its valid range: a broken file must not make arithmetic trap.
    func sequence(_ column: CInt) -> UInt64 { min(UInt64(clamping: integer(column)), OutboxSettings.sequenceLimit) }
    func log(_ column: CInt) -> UInt32 { UInt32(truncatingIfNeeded: integer(column)) }
    func crc(_ column: CInt) -> UInt16? { optionalInteger(column).map { UInt16(truncatingIfNeeded: $0) } }
    func small(_ column: CInt) -> Int { Int(min(max(integer(column), 0), 1 << 31)) }
}
