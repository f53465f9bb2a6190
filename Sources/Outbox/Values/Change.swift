/// One step of the outbox's books. `Outbox.commit` makes several of them durable together.
public enum Change: Sendable {
    /// Step 3: writes an entry and moves the checkpoint.
    ///
    /// Refused with `noPlace`, `unknownLog`, `staleCheckpoint`, `hole`, `overlap`, `wrongOwner`, `ownerNotConfigured` or `malformed`.
    case enqueue(WindowBatch)

    /// Step 5: stores the receipt, extends the settled ranges, moves the device's pending clear and removes the entry. Rejected windows
    /// are kept as evidence and count as settled.
    ///
    /// It may be in quarantine or sealed meanwhile: a request in flight keeps its owner. Refused with `unknownEntry`, `wrongKey`, `malformed`,
    /// `damaged` or `evidenceFull`. A receipt that was committed before
    /// gives `settledBefore`.
    case settle(EntryID, ReceiptRecord)

    /// Stores a reading of a cuff in the owner's open entry, or in a new one. The cuff's indication may be confirmed once this is committed.
    ///
    /// Answered by `readingStored`, or by `readingKnown` when its name is stored or was delivered: a cuff that repeats itself sends nothing new. Refused with `noPlace`,
    /// `ownerNotConfigured` or `malformed`; the cuff keeps what is not confirmed.
    case storeReading(ReadingRecord)

    /// Stores a reading in quarantine: nobody knows whose it is, or it cannot be read. Those of one cuff, one owner and one reason share entries; a reason may say
    /// more than a code where what lies together is to be given to somebody together.
    ///
    /// Answered as `storeReading`. Refused with `quarantineFull` or `malformed`.
    case setReadingAside(ReadingRecord, reason: String)

    /// No further reading joins the entry: what it holds and its key are fixed. Commit it before the entry is sent for the first time.
    case freeze(EntryID)

    /// Stores the receipt of an entry of readings, or of one of its parts. Readings that conflict are set aside; the entry ends with its last part.
    ///
    /// Refused with `unknownEntry`, `wrongKey`, `malformed`, `damaged` or `quarantineFull`.
    case settleReadings(EntryID, ReadingsReceiptRecord)

    /// Sets one reading of a queued entry aside, for which the whole was refused (412). The rest is another content under another key.
    ///
    /// Answered by `rekeyed`, or by `done` when nothing is left. Refused with `notQueued`, `malformed` (also when a part has its receipt already), `damaged` or `quarantineFull`.
    case setAside(Int, of: EntryID, reason: String)

    /// An operator gives readings in quarantine to an owner: they are queued as theirs, under a new key and frozen; an audit line stays.
    ///
    /// Whether they can be read is for the caller to see to. Refused with `unknownEntry`, `notQuarantined`, `noPlace`, `ownerNotConfigured`, `damaged`, and with
    /// `malformed` for what is no entry of readings.
    case giveReadings(EntryID, owner: String, by: String, at: Int64)

    /// From `since` on (Unix seconds; `nil` for everything that it has) the readings of a cuff, or of one of its users, belong to `owner`.
    ///
    /// Answered by `done`; the owner that the newest assignment names already changes nothing. Refused with `ownerNotConfigured` and `malformed`.
    case assignCuff(device: String, user: UInt32?, owner: String, since: Int64?)

    /// The first link after a change of owner is over, for all assignments of the cuff.
    case cuffContacted(device: String)

    /// Notes names that were missing from a cuff's list, then adds marks of files that are stored, or renews them; those are the newest ones then.
    ///
    /// Refused with `malformed`.
    case markCuffFiles(device: String, stored: [CuffFileMark], unlisted: [String])

    /// The hub has set the clock of a cuff. Refused with `malformed`.
    case noteCuffClock(device: String, CuffClockSetting)

    /// Counts a failed attempt; `exhausted` says whether it was the last before the next flush.
    case attemptFailed(EntryID, code: String, exhausted: Bool)

    /// Gives the entry its one new key (422). Parts that have no receipt get keys derived from it.
    ///
    /// Refused with `keySpent` the second time.
    case rekey(EntryID)

    /// Divides what has no receipt yet into parts (413). The ranges, in order, cover the entry's windows, or those of its parts without receipt
    /// when it is split already; those parts are replaced, and their keys are not used again.
    ///
    /// Refused with `malformed` when the ranges do not cover just that.
    case split(EntryID, [PartRange])

    /// Stores the receipt of one part. The last one settles the entry in the same transaction.
    ///
    /// Refused as `settle` is, and with `unknownPart`.
    case settlePart(EntryID, index: Int, ReceiptRecord)

    /// Sets the entry aside: its place is free, its range is not settled, so clears stop before it.
    ///
    /// Refused with `quarantineFull`.
    case quarantine(EntryID, reason: String)

    /// Brings an entry back into the queue: from quarantine (an operator's act; its attempts count from 0 again), or from the sealed store once its
    /// owner is configured.
    ///
    /// With `by` it is an operator's act and leaves an audit line. Refused with `noPlace` or `ownerNotConfigured`.
    case release(EntryID, by: String? = nil, at: Int64 = 0)

    /// An operator declares a quarantined entry settled: its range is, its windows are deleted, an audit line stays. An entry whose fixed fields are
    /// damaged goes without settling anything, and the audit line says so.
    case settleQuarantined(EntryID, by: String, at: Int64)

    /// An operator deletes what is sealed for an owner who will not come back. The ranges count as settled; an audit line stays.
    case purgeSealed(owner: String, by: String, at: Int64)

    /// An operator deletes evidence up to and including a number; an audit line stays.
    case discardEvidence(through: Int64, by: String, at: Int64)

    /// From `from` on, the windows of the device's current log belong to `owner`.
    ///
    /// Refused with `assignmentInPast` when that would change whose windows are stored already, and with `unknownLog`.
    case assign(device: String, log: UInt32, from: UInt64, owner: String)

    /// The device writes a log that was not seen before: its settled prefix and its checkpoint begin at `base`.
    ///
    /// The former log ends, and with it its pending clear. `formerEnd` is the last `next` that was seen of it: what was not read up to there is
    /// noted as unreported (reason `reformatted`). Refused with `logExists` for the current log, and with `unreportedFull`.
    case beginLog(device: String, log: UInt32, base: UInt64, formerEnd: UInt64?)

    /// The device's current log begins anew under the same name (its `next` went behind the checkpoint). Nothing that is stored of the
    /// former one settles anything of the new one, and its assignments end.
    case restartLog(device: String, log: UInt32, base: UInt64)

    /// The collar confirmed a clear: the pending one goes if it still says that.
    case cleared(device: String, log: UInt32, through: UInt64)

    /// The collar refused a clear (result 7); counted in the pending one if it still says that.
    case clearRefused(device: String, log: UInt32, through: UInt64)

    /// The collar says that the log is not its own (result 3): the pending clear ends.
    case logEnded(device: String, log: UInt32)

    /// Stores a bond in the place of what was stored between the same two; do it before its keys are used. A signature key that stays keeps the
    /// greater counter; what was discovered goes unless the long term keys stay.
    ///
    /// Refused with `bondsFull` or `malformed`.
    case storeBond(Bond)

    /// Forgets a bond and what was discovered with it: its keys are overwritten in the database. Answered by `forgot`, whether there was one or not.
    case removeBond(BondID)

    /// Counters below `next` of the bond's local signature key are used: commit it before a signature with one of them is sent.
    ///
    /// Refused with `unknownBond` (also when it has no such key) and with `counterInPast`.
    case advanceSignCounter(BondID, next: UInt32)

    /// Stores what was discovered of a bonded device, in the place of what was before.
    ///
    /// Refused with `unknownBond` or `malformed`.
    case storeCache(BondID, AttributeCache)

    /// The device with this serial number was met under this address, and proved to be it; its former address is forgotten.
    ///
    /// Refused with `addressTaken` while another device has that address, with `adoptionsFull`, and with `malformed`.
    case adoptAddress(device: String, IdentityAddress)

    /// Forgets how the device is reached: its bonds with all controllers, what was discovered with them, its adopted address. Its entries and its books
    /// stay. Answered by `forgot`.
    case forgetDevice(String)
}

/// What became of one change.
public enum ChangeOutcome: Sendable, Hashable {
    /// The entry that was written.
    case enqueued(EntryID)
    /// The entry that the reading is in.
    case readingStored(EntryID)
    /// The reading is stored already, or was delivered; nothing changed.
    case readingKnown
    /// The entry is settled and gone; the clear that its device is due now.
    case settled(PendingClear?)
    /// The same receipt was committed before; nothing changed.
    case settledBefore
    /// The part has its receipt; `remaining` parts have none yet.
    case partSettled(remaining: Int)
    /// The entry's new key.
    case rekeyed(String)
    /// The parts that have no receipt, after a split.
    case split([EntryPart])
    /// What an operator's act left in the audit.
    case audited(AuditLine)
    /// The bonds that were there and are forgotten.
    case forgot([BondID])
    /// Done.
    case done
    /// Not done, and nothing of it was written.
    case refused(Refusal)
}

/// Why a change was not made. The other changes of the same commit stand.
public struct Refusal: Sendable, Hashable, CustomStringConvertible {
    /// The stable name of a reason.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The places for this kind of device are taken.
        case noPlace = "no-place"
        /// The device is not known to write this log.
        case unknownLog = "unknown-log"
        /// The device writes this log already.
        case logExists = "log-exists"
        /// Too many former logs of the device wait to be reported: report them first.
        case unreportedFull = "unreported-full"
        /// The batch begins before the checkpoint: it, or a part of it, is stored already.
        case staleCheckpoint = "stale-checkpoint"
        /// Neither body nor gaps cover some sequence up to `next`.
        case hole
        /// Body and gaps cover a sequence twice.
        case overlap
        /// The windows belong to somebody else, or to nobody.
        case wrongOwner = "wrong-owner"
        /// The owner is not configured, so nothing can be sent for them.
        case ownerNotConfigured = "owner-not-configured"
        /// The assignment would change whose windows are stored already.
        case assignmentInPast = "assignment-in-past"
        /// The change contradicts itself or the formats.
        case malformed
        /// The entry's fixed fields are not those that were stored.
        case damaged
        /// No entry has this name.
        case unknownEntry = "unknown-entry"
        /// The entry has no part of this number.
        case unknownPart = "unknown-part"
        /// The entry is not in the queue.
        case notQueued = "not-queued"
        /// The entry is not in quarantine.
        case notQuarantined = "not-quarantined"
        /// The receipt is for another key than the one that was sent.
        case wrongKey = "wrong-key"
        /// The one new key was given already.
        case keySpent = "key-spent"
        /// Quarantine has no room.
        case quarantineFull = "quarantine-full"
        /// The evidence has no room for the rejected windows.
        case evidenceFull = "evidence-full"
        /// As many bonds are stored as may be.
        case bondsFull = "bonds-full"
        /// As many addresses are adopted as may be.
        case adoptionsFull = "adoptions-full"
        /// No such bond is stored, or it lacks the key.
        case unknownBond = "unknown-bond"
        /// Another device has this address.
        case addressTaken = "address-taken"
        /// The counter was used already.
        case counterInPast = "counter-in-past"
    }

    /// The reason.
    public let code: Code
    /// What was wrong, in words.
    public let what: String

    init(_ code: Code, _ what: String) {
        self.code = code
        self.what = what
    }

    public var description: String { "\(code.rawValue): \(what)" }
}

/// One line of the audit of operators' acts.
public struct AuditLine: Sendable, Hashable {
    /// When, Unix seconds.
    public let at: Int64
    /// Who, as the control socket knows them.
    public let by: String
    /// What was done.
    public let act: String

    /// A line as given.
    public init(at: Int64, by: String, act: String) {
        self.at = at
        self.by = by
        self.act = act
    }
}
