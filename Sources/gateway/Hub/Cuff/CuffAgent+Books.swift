import Outbox
import Platform
import Radio

/// What the outbox keeps of the cuff besides its readings: whose it is since when, and which of its files are stored.
extension CuffAgent {
    /// Brings the books to what the configuration says, and reads them.
    ///
    /// - Throws: `OutboxError` when the disk does not work; nothing is taken from the cuff then.
    @discardableResult
    func loadBooks() async throws -> CuffOwners {
        var books = try await services.store.cuff(device.serial)
        var owners = CuffOwners(device, owners: owners, assignments: books.assignments)
        let beginnings = owners.beginnings(now: services.wallClock.read(), booksWereLost: books.assignmentsLost)
        if !beginnings.isEmpty {
            try await make(beginnings.map { .assignCuff(device: device.serial, user: $0.user, owner: $0.owner, since: $0.since) })
            for beginning in beginnings where beginning.since != nil { tell(beginning) }
            books = try await services.store.cuff(device.serial)
            owners = CuffOwners(device, owners: self.owners, assignments: books.assignments)
        }
        self.books = books
        clockSetting = books.clock
        checkpoint = BP2Checkpoint(entries: books.marks.map { BP2Checkpoint.Entry(name: $0.name, digest: $0.digest, isListed: $0.isListed) })
        return owners
    }

    /// The hub's clock was set: an owner whose time has to begin begins it now, and not only when the cuff comes.
    func settleOwners() async {
        guard current == nil else { return }
        // A fault of the storage is the keeper's to tell, and the next link asks again.
        _ = try? await loadBooks()
    }

    /// The first link after a change of owners has brought everything: what comes without a time from now on is the new owner's.
    func noteContact() async throws {
        guard let books, books.assignments.contains(where: { !$0.contacted }) else { return }
        try await make([.cuffContacted(device: device.serial)])
    }

    /// Keeps how the cuff's clock was before it was set: the link may end before everything has come that carries its times.
    func noteClock(_ check: CuffClockCheck) async {
        guard case .set(let time) = check.setting, case .ahead(let seconds) = check.found else { return }
        clockSetting = CuffClockSetting(ahead: seconds, setTo: time.secondsSince1970)
        // On a disk that does not work nothing is stored on this link either.
        try? await make([.noteCuffClock(device: device.serial, CuffClockSetting(ahead: seconds, setTo: time.secondsSince1970))])
    }

    /// The clock as readings carry it: on a link on which it was right, older ones have the times of what it was before the hub set it.
    func remembered(_ check: CuffClockCheck) -> CuffClockCheck {
        guard let clockSetting, case .ahead(let seconds) = check.found, seconds.magnitude <= CuffClock.tolerance.magnitude, check.setTo == nil,
              let setTo = CivilTime(secondsSince1970: clockSetting.setTo)
        else { return check }
        return CuffClockCheck(found: .ahead(clockSetting.ahead), setting: .set(setTo))
    }

    /// Notes which files are stored, and which were missing from the list.
    func storeMarks() async throws {
        guard let books else { return }
        let marks = checkpoint.entries.map { CuffFileMark(name: $0.name, digest: $0.digest, isListed: $0.isListed) }
        let before = Set(books.marks), names = Set(books.marks.filter(\.isListed).map(\.name))
        let stored = marks.filter { $0.isListed && !before.contains($0) }
        let unlisted = Set(marks.filter { !$0.isListed && names.contains($0.name) }.map(\.name))
        guard !stored.isEmpty || !unlisted.isEmpty else { return }
        try await make([.markCuffFiles(device: device.serial, stored: stored, unlisted: unlisted.sorted())])
        self.books = CuffBooks(assignments: books.assignments, marks: marks, assignmentsLost: books.assignmentsLost, clock: clockSetting)
    }

    private func make(_ changes: [Change]) async throws {
        for case .refused(let refusal) in try await services.store.commit(changes) { throw ChangeRefused(refusal: refusal) }
    }

    private func tell(_ beginning: CuffOwners.Beginning) {
        let whose = beginning.user.map { "user \($0) of \(device.name)" } ?? device.name
        services.log(.notice, .ownersChanged, "the readings of \(whose) are \(beginning.owner)'s from now on; what was measured before is "
                     + (device.backlog == nil ? "set aside" : "as backlog says"), LogField("DEVICE", device.serial), LogField("OWNER", beginning.owner))
    }
}
