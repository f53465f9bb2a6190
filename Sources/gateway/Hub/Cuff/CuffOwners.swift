import Outbox
import Platform
import Radio

/// Whose a cuff's readings are. A reading whose owner is not known for certain is nobody's: it is set aside, never guessed.
///
/// A value made of what the configuration says now and of what the books say of former times.
struct CuffOwners: Sendable {
    /// Why a reading is nobody's. Raw values are stable codes.
    enum Doubt: String, Sendable, Hashable, CaseIterable {
        /// The cuff names a user who is mapped to no owner.
        case unmappedUser = "reading-user-unmapped"
        /// The cuff has users, and does not say whose this one is.
        case missingUser = "reading-user-missing"
        /// It was taken before the cuff, or its user, belonged to this owner, or may have been.
        case beforeAssignment = "reading-before-assignment"
    }

    /// What is known about one reading.
    enum Answer: Sendable, Hashable {
        case owner(String)
        case doubt(Doubt)
    }

    /// Somebody becomes the owner from a moment on.
    struct Beginning: Sendable, Hashable {
        let user: UInt32?
        let owner: String
        /// Seconds since 1970; `nil` for all that the cuff has.
        let since: Int64?
    }

    private let ownership: Configuration.CuffOwnership
    private let backlog: Configuration.CuffBacklog?
    private let configured: Set<String>
    private let assignments: [CuffAssignment]

    /// - Parameters:
    ///   - configured: the keys of the owners that there are.
    ///   - assignments: of this cuff, the oldest first.
    init(_ cuff: Configuration.Cuff, owners configured: Set<String>, assignments: [CuffAssignment]) {
        ownership = cuff.ownership
        backlog = cuff.backlog
        self.configured = configured
        self.assignments = assignments
    }

    // MARK: Readings

    /// Whose a reading is.
    ///
    /// - Parameters:
    ///   - user: which user the cuff says; `nil` when it does not.
    ///   - time: when it was taken, as far as that is known.
    func owner(ofUser user: UInt32?, at time: ReadingTime) -> Answer {
        let key: UInt32?
        let owner: String
        switch ownership {
        case .owner(let only): (key, owner) = (nil, only)
        case .users(let users):
            guard let user else { return .doubt(.missingUser) }
            guard let mapped = users[user] else { return .doubt(.unmappedUser) }
            (key, owner) = (user, mapped)
        }
        // Without an entry in the books nobody knows since when: the hub's clock is not set, or the disk does not work.
        guard let current = assignments.last(where: { Self.covers($0, key) }), current.user == key, current.owner == owner else {
            return .doubt(.beforeAssignment)
        }
        guard let since = current.since else { return .owner(owner) }
        // What came with no time to rely on was taken before this link: on the first one after the change that may be any time.
        let isLater = Self.isDated(time) ? time.moment >= since : current.contacted
        if isLater { return .owner(owner) }
        switch backlog {
        case .new: return .owner(owner)
        case .former: return former(of: key, before: current, at: time).map { .owner($0) } ?? .doubt(.beforeAssignment)
        case nil: return .doubt(.beforeAssignment)
        }
    }

    /// The reason under which a reading lies in quarantine. What lies together there is given to somebody together: of a cuff that has users, or had, the readings of one
    /// stay apart from those of another.
    func reason(for doubt: Doubt, user: UInt32?) -> String {
        var hasUsers = assignments.contains { $0.user != nil }
        if case .users = ownership { hasUsers = true }
        return user.flatMap { hasUsers ? "\(doubt.rawValue) (user \($0))" : nil } ?? doubt.rawValue
    }

    /// Who was the owner before, if that person is still configured and was it at that time.
    private func former(of key: UInt32?, before current: CuffAssignment, at time: ReadingTime) -> String? {
        let earlier = assignments.filter { Self.covers($0, key) }.dropLast()
        guard let last = earlier.last, last.owner != current.owner, configured.contains(last.owner) else { return nil }
        guard let since = last.since else { return last.owner }
        return Self.isDated(time) && time.moment >= since ? last.owner : nil
    }

    /// Whether the moment comes from a clock of which it is known how right it was.
    private static func isDated(_ time: ReadingTime) -> Bool {
        guard case .ahead = time.clock else { return false }
        return time.basis != .received
    }

    // MARK: Books

    /// What the books lack of what the configuration says.
    ///
    /// The first owner of all has everything that the cuff holds. After a change, or when the books were lost, the new one begins now; when the hub does not know
    /// the time, as soon as it does.
    func beginnings(now: WallTime, booksWereLost: Bool) -> [Beginning] {
        let wanted: [(user: UInt32?, owner: String)] =
            switch ownership {
            case .owner(let owner): [(nil, owner)]
            case .users(let users): users.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            }
        return wanted.compactMap { user, owner in
            let former = assignments.filter { Self.covers($0, user) }
            if let last = former.last, last.user == user, last.owner == owner { return nil }
            if former.isEmpty, !booksWereLost { return Beginning(user: user, owner: owner, since: nil) }
            // The same person by another way: since when, stays as it was.
            if !former.isEmpty, former.allSatisfy({ $0.owner == owner }) {
                return Beginning(user: user, owner: owner, since: former.compactMap(\.since).max())
            }
            return now.synchronised ? Beginning(user: user, owner: owner, since: now.seconds) : nil
        }
    }

    /// Whether an assignment may have been about readings of this user. A cuff of one owner is theirs whatever user it names.
    private static func covers(_ assignment: CuffAssignment, _ user: UInt32?) -> Bool {
        assignment.user == user || assignment.user == nil || user == nil
    }
}
