import Outbox

/// What an operator asks about what the outbox has set aside, or does with it.
enum OperatorRequest: Sendable, Hashable {
    /// What is in quarantine, sealed, and kept as evidence.
    case quarantine
    /// The last acts of operators.
    case audit
    /// A quarantined entry goes back into the queue.
    case release(EntryID)
    /// The readings of a quarantined entry become an owner's and go into the queue.
    case give(EntryID, owner: String)
    /// A quarantined entry counts as settled without having been delivered; its windows are deleted.
    case settle(EntryID)
    /// What is sealed for an owner who will not come back is deleted and counts as settled.
    case purgeSealed(owner: String)
    /// Rejected windows up to and including this number are deleted.
    case discardEvidence(through: Int64)
}

/// Text that does not name what an act is done to: what it is, and what is allowed.
struct ArgumentError: Error, Sendable, Hashable {
    let words: String
}

extension OperatorRequest {
    /// Reads the name of an entry.
    static func entry(_ text: String) throws(ArgumentError) -> EntryID {
        guard let id = EntryID(text) else {
            throw ArgumentError(words: "\(quoted(text)) names no entry; allowed: 32 lower-case hexadecimal digits, as gateway quarantine lists them")
        }
        return id
    }

    /// Reads the key of an owner, who need not be configured any more.
    static func owner(_ text: String) throws(ArgumentError) -> String {
        guard PlainName.fits(text) else { throw ArgumentError(words: "\(quoted(text)) is no owner's key; allowed: \(PlainName.allowed)") }
        return text
    }

    /// Reads the number of a rejected window.
    static func number(_ text: String) throws(ArgumentError) -> Int64 {
        // Int64's own reader takes a plus sign as well.
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int64(text) else {
            throw ArgumentError(words: "\(quoted(text)) is no number of evidence; allowed: a whole number from 1, as gateway quarantine lists them")
        }
        return try self.number(number)
    }

    /// Checks the number of a rejected window.
    static func number(_ number: Int64) throws(ArgumentError) -> Int64 {
        guard number > 0 else {
            throw ArgumentError(words: "\(number) is no number of evidence; allowed: a whole number from 1, as gateway quarantine lists them")
        }
        return number
    }
}
