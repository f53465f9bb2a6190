/// Whose a cuff's readings are. A reading whose owner is not known for certain is nobody's: it is set aside, never guessed.
struct CuffOwners: Sendable, Hashable {
    /// Why a reading is nobody's. Raw values are stable codes.
    enum Doubt: String, Sendable, Hashable, CaseIterable {
        /// The cuff names a user who is mapped to no owner.
        case unmappedUser = "reading-user-unmapped"
        /// The cuff has users, and does not say whose this one is.
        case missingUser = "reading-user-missing"
        /// It was taken before the cuff, or its user, belonged to this owner.
        case beforeAssignment = "reading-before-assignment"
    }

    /// From when on somebody is the owner.
    struct Assignment: Sendable, Hashable {
        let owner: String
        /// Seconds since 1970; `nil` for all that the cuff has.
        let since: Int64?
    }

    /// What is known about one reading.
    enum Answer: Sendable, Hashable {
        case owner(String)
        case doubt(Doubt)
    }

    private let whole: Assignment?
    private let users: [UInt32: Assignment]

    /// A cuff of one owner: whatever user it names is theirs.
    init(owner: Assignment) {
        whole = owner
        users = [:]
    }

    /// A cuff with users.
    init(users: [UInt32: Assignment]) {
        whole = nil
        self.users = users
    }

    /// Whose a reading is.
    ///
    /// - Parameters:
    ///   - user: which user the cuff says; `nil` when it does not.
    ///   - moment: when it was taken, seconds since 1970.
    func owner(ofUser user: UInt32?, at moment: Int64) -> Answer {
        let assignment: Assignment
        if let whole {
            assignment = whole
        } else {
            guard let user else { return .doubt(.missingUser) }
            guard let mapped = users[user] else { return .doubt(.unmappedUser) }
            assignment = mapped
        }
        if let since = assignment.since, moment < since { return .doubt(.beforeAssignment) }
        return .owner(assignment.owner)
    }
}
