import Outbox
import Platform
import Radio

/// What the hub knows of one collar at the moment, for `gateway status` and the LEDs.
struct CollarReport: Sendable {
    /// What is going on with the collar.
    enum State: String, Sendable {
        /// Not linked.
        case away
        /// A link is up and is being set up.
        case linking
        /// Linked, nothing being read.
        case linked
        /// Windows are being read.
        case reading
        /// Linked, but not read until a person decides.
        case held
    }

    var state = State.away
    /// When the state began.
    var since: BootInstant
    var identity: CollarIdentity?
    /// What the collar said last.
    var status: BetaMetrics?
    var lastHeartbeat: BootInstant?
    /// When the last link went down; `nil` while one is up.
    var awaySince: BootInstant?
    /// The next window to read, unwrapped, and how many the collar holds from there on.
    var checkpoint: UInt64?
    var unread: UInt64 = 0
    /// The first sequence that must not be cleared.
    var settledEnd: UInt64?
    var pendingClear: PendingClear?
    var hold: CollarHold?
    /// The last thing that went wrong, until something goes right.
    var lastError: String?
}

extension CollarHold: CustomStringConvertible {
    /// Whether it is the same thing to decide, however much has gathered meanwhile.
    func isLike(_ other: CollarHold?) -> Bool {
        switch (self, other) {
        case (.backlogUndecided(let left, _), .backlogUndecided(let right, _)): left == right
        case (.formerOwnerUnknown(let left), .formerOwnerUnknown(let right)): left == right
        case (.ownerGone(let left), .ownerGone(let right)): left == right
        default: false
        }
    }

    /// What the operator should know and do.
    var description: String {
        switch self {
        case .backlogUndecided(let former, let unread):
            let who = former.map { "owner changed from \"\($0)\"" } ?? "the books that said whose its windows are were lost"
            return "\(who) and \(unread) windows are unread: set backlog = \"former\", \"new\" or \"skip\" for this collar and restart the gateway"
        case .ownerGone(let owner):
            return "the next windows were recorded for \"\(owner)\", who is not configured: configure that owner again, or set backlog = \"skip\" "
                + "to leave them unread, and restart the gateway"
        case .formerOwnerUnknown(let former):
            let who = former.map { "its former owner \"\($0)\" is not configured" } ?? "no former owner is known"
            return "backlog = \"former\", but \(who): configure that owner, or set backlog = \"new\" or \"skip\", and restart the gateway"
        }
    }
}
