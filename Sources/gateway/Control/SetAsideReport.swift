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

    /// An entry in quarantine.
    struct Entry: Sendable, Hashable {
        var id: String
        var owner: String
        var device: String
        var log: UInt32
        /// The first sequence, unwrapped.
        var first: UInt64
        /// The number of windows; none when it reports gaps only.
        var count: Int
        /// The number of gaps that it reports.
        var gaps: Int
        /// When its windows were read, Unix seconds, as far as the clock was right.
        var received: Int64
        /// Attempts that failed.
        var attempts: Int
        /// The code of the reason.
        var reason: String?
    }

    /// The entries of an owner who is not configured, or whose entries wait for a place to come back.
    struct Sealed: Sendable, Hashable {
        var owner: String
        var entries: Int
        var windows: Int
        /// Serial numbers, ascending.
        var devices: [String]
        /// Whether the owner is configured: then they come back by themselves.
        var returning: Bool
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
    /// - Parameter owners: those who are configured.
    init(_ snapshot: OutboxSnapshot, evidence: [EvidenceRecord], owners: Set<String>, settings: OutboxSettings) {
        quarantined = snapshot.quarantined.map { head in
            Entry(
                id: head.id.text, owner: head.owner, device: head.device, log: head.log, first: head.first, count: head.count, gaps: head.gapCount,
                received: head.received, attempts: head.attempts, reason: head.quarantineReason)
        }
        let byOwner = Dictionary(grouping: snapshot.sealed, by: \.owner)
        sealed = byOwner.keys.sorted().map { owner in
            let heads = byOwner[owner] ?? []
            return Sealed(
                owner: owner, entries: heads.count, windows: heads.reduce(0) { $0 + $1.count }, devices: Set(heads.map(\.device)).sorted(),
                returning: owners.contains(owner))
        }
        self.evidence = evidence.map { record in
            Evidence(
                number: record.number, owner: record.owner, device: record.device, log: record.log, sequence: record.sequence, code: record.code,
                receipt: record.receipt)
        }
        room = Room(quarantine: settings.quarantineCapacity, sealed: settings.sealedCapacity, evidence: settings.evidenceCapacity)
    }
}
