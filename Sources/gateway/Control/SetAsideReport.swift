import Outbox

/// What the daemon answers to an operator.
enum OperatorAnswer: Sendable, Hashable {
    case setAside(SetAsideReport)
    /// The acts, oldest first.
    case audit([AuditLine])
    /// What was done, as the audit has it.
    case done(AuditLine)
}

/// What the outbox has set aside: names, numbers and reasons; no window and no health value.
struct SetAsideReport: Sendable, Hashable {
    /// The entries in quarantine, oldest first.
    var quarantined: [Entry]
    /// What is sealed, by owner.
    var sealed: [Sealed]
    /// The rejected windows that are kept, by their numbers.
    var evidence: [Evidence]
    /// How much may be set aside.
    var room: Room

    /// An entry of readings in quarantine, beside what it has in common with one of windows.
    struct Readings: Sendable, Hashable {
        /// The serial numbers of the cuffs, ascending.
        var cuffs: [String]
        /// When the first and the last of them were taken, as far as that is known, or else received; Unix seconds.
        var first: Int64
        var last: Int64
        /// The users that the cuffs name, ascending.
        var users: [UInt32]
        /// How many of them cannot be read.
        var unreadable: Int
        /// The codes of why those cannot.
        var codes: [String]
    }

    /// An entry in quarantine.
    struct Entry: Sendable, Hashable {
        var id: String
        /// Empty for readings of which nobody knows whose they are.
        var owner: String
        /// Empty for readings, which may be of several cuffs.
        var device: String
        var log: UInt32
        /// The first sequence, unwrapped.
        var first: UInt64
        /// The number of windows (none when it reports gaps only), or of readings.
        var count: Int
        /// The number of gaps that it reports.
        var gaps: Int
        /// When its windows were read, Unix seconds, as far as the clock was right.
        var received: Int64
        /// Attempts that failed.
        var attempts: Int
        /// The code of the reason; for readings perhaps with more words.
        var reason: String?
        /// What it has, when it has readings.
        var readings: Readings?
        /// Whether it is one of readings. What these are is not known when their bytes are not those that were stored.
        var isOfReadings = false
    }

    /// The entries of an owner who is not configured, or whose entries wait for a place to come back.
    struct Sealed: Sendable, Hashable {
        var owner: String
        var entries: Int
        var windows: Int
        /// Serial numbers of collars, ascending.
        var devices: [String]
        /// Whether the owner is configured: then they come back by themselves.
        var returning: Bool
        /// Readings of cuffs.
        var readings = 0
    }

    /// A window that the backend rejected.
    struct Evidence: Sendable, Hashable {
        var number: Int64
        var owner: String
        var device: String
        var log: UInt32
        /// Unwrapped.
        var sequence: UInt64
        /// The backend's code.
        var code: String
        var receipt: String
    }

    /// The bounds.
    struct Room: Sendable, Hashable {
        var quarantine: Int
        var sealed: Int
        var evidence: Int
    }

    var isEmpty: Bool { quarantined.isEmpty && sealed.isEmpty && evidence.isEmpty }
}

extension SetAsideReport {
    /// - Parameters:
    ///   - readings: what the quarantined entries of readings have, as far as they are whole.
    ///   - owners: those who are configured.
    init(_ snapshot: OutboxSnapshot, readings: [EntryID: StoredReadings] = [:], evidence: [EvidenceRecord], owners: Set<String>, settings: OutboxSettings) {
        quarantined = snapshot.quarantined.map { head in
            Entry(
                id: head.id.text, owner: head.owner, device: head.kind == .cuff ? "" : head.device, log: head.log, first: head.first, count: head.count,
                gaps: head.gapCount, received: head.received, attempts: head.attempts, reason: head.quarantineReason,
                readings: readings[head.id].map { Readings($0.readings) }, isOfReadings: head.kind == .cuff)
        }
        let byOwner = Dictionary(grouping: snapshot.sealed, by: \.owner)
        sealed = byOwner.keys.sorted().map { owner in
            let heads = byOwner[owner] ?? []
            return Sealed(
                owner: owner, entries: heads.count, windows: heads.reduce(0) { $0 + ($1.kind == .cuff ? 0 : $1.count) },
                devices: Set(heads.filter { $0.kind == .collar }.map(\.device)).sorted(), returning: owners.contains(owner),
                readings: heads.reduce(0) { $0 + ($1.kind == .cuff ? $1.count : 0) })
        }
        self.evidence = evidence.map { record in
            Evidence(
                number: record.number, owner: record.owner, device: record.device, log: record.log, sequence: record.sequence, code: record.code,
                receipt: record.receipt)
        }
        room = Room(quarantine: settings.quarantineCapacity, sealed: settings.sealedCapacity, evidence: settings.evidenceCapacity)
    }
}

extension SetAsideReport.Readings {
    init(_ records: [ReadingRecord]) {
        var moments: [Int64] = []
        var users: Set<UInt32> = []
        var codes: Set<String> = []
        unreadable = 0
        for record in records {
            do throws(StoredReadingError) {
                switch try StoredContent(parsing: record.octets) {
                case .reading(let stored):
                    moments.append(stored.reading.moment)
                    if let user = stored.user { users.insert(user) }
                    continue
                case .unreadable(let unreadable): codes.insert(unreadable.code)
                }
            } catch {
                codes.insert(error.code.rawValue)
            }
            unreadable += 1
            moments.append(record.received)
        }
        cuffs = Set(records.map(\.device)).sorted()
        first = moments.min() ?? 0
        last = moments.max() ?? 0
        self.users = users.sorted()
        self.codes = codes.sorted()
    }
}
