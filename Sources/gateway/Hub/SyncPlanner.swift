import Outbox
import Radio

/// What the outbox knows of one collar and its current log, as far as a pass needs it.
struct CollarBooks: Sendable, Equatable {
    /// A stretch of the log and whose it is: from `first` up to the next stretch.
    struct Assignment: Sendable, Equatable {
        let first: UInt64
        let owner: String
    }

    /// The log that was read last.
    var log: UInt32
    /// The next sequence to read, unwrapped to 64 bits.
    var checkpoint: UInt64
    /// Who owns what in this log, ascending. Never empty.
    var assignments: [Assignment]
    /// Ranges of former logs that no entry has reported yet.
    var unreported: [SequenceGap] = []

    /// The owner of the windows to come.
    var owner: String { assignments.last?.owner ?? "" }

    /// The owner of one window.
    func owner(of sequence: UInt64) -> String {
        assignments.last { $0.first <= sequence }?.owner ?? owner
    }

    /// Where the stretch that holds `sequence` ends, if another follows.
    func boundary(after sequence: UInt64) -> UInt64? {
        assignments.first { $0.first > sequence }?.first
    }
}

/// Why a collar is not read although it holds something.
enum CollarHold: Sendable, Equatable {
    /// The owner changed, or may have, and the configuration does not say whose the backlog is.
    case backlogUndecided(former: String?, unread: UInt64)
    /// The backlog is the former owner's, who is not configured.
    case formerOwnerUnknown(former: String?)
    /// The next windows were recorded for an owner who is not configured any more.
    case ownerGone(String)
}

/// Windows to read, as one entry.
struct ReadOrder: Sendable, Equatable {
    let log: UInt32
    /// The first window, unwrapped.
    let first: UInt64
    /// How many, 1 to the batch size.
    let count: Int
    /// What is missing before `first`.
    let gaps: [SequenceGap]
    let owner: String
}

/// Gaps to report without a window.
struct GapReport: Sendable, Equatable {
    let log: UInt32
    let gaps: [SequenceGap]
    let owner: String
    /// The checkpoint after the report.
    let next: UInt64
    /// Books to change in the same transaction.
    let assignment: CollarBooks.Assignment?
}

/// Books to open for a log.
struct LogBeginning: Sendable, Equatable {
    let log: UInt32
    /// The oldest window held, unwrapped: what came before it was never there for this hub.
    let base: UInt64
    let assignments: [CollarBooks.Assignment]
    /// The same log's numbering went back, which the profile rules out.
    let wentBack: Bool
    /// What is known of the end of the log that was read before: its unread rest is gone and will be reported.
    let formerEnd: UInt64?
    /// What is left unread on purpose, reported in the same transaction.
    let withheld: GapReport?
}

/// The next step for one collar.
enum SyncStep: Sendable, Equatable {
    /// Everything that the collar holds is stored.
    case rest
    /// The collar is not read until a person decides.
    case hold(CollarHold)
    /// A log is seen first, or its numbering went back: its books begin.
    case begin(LogBeginning)
    /// The owner changed within a log.
    case assign(log: UInt32, CollarBooks.Assignment)
    /// Read a range and store it.
    case read(ReadOrder)
    /// Store a report of gaps.
    case report(GapReport)
}

/// Reconciles what a collar says it holds with the hub's books, one step at a time (architecture, step 2 and "Owners").
///
/// A value without state: the same status and books always give the same step. Carry the step out, then ask again.
struct SyncPlanner: Sendable {
    /// The owner that the configuration gives the collar.
    let owner: String
    let backlog: Configuration.Backlog?
    let configuredOwners: Set<String>
    /// The most windows an entry may take.
    var batchWindows: Int

    /// How many ranges of former logs one entry reports at the most; the others go with the next.
    private static let reportLimit = 32

    /// The next step.
    ///
    /// - Parameters:
    ///   - status: what the collar said just now.
    ///   - books: what the outbox knows; `nil` when it has no log of this collar.
    ///   - ownersLost: the books of this collar were lost with a broken file, and with them whose its windows are.
    ///   - formerNext: for the log in `books`, the highest `next` that the collar announced, as far as this run of the hub heard it.
    func step(status: BetaMetrics, books: CollarBooks?, ownersLost: Bool = false, formerNext: UInt64? = nil) -> SyncStep {
        guard let books else {
            return begin(status, former: ownersLost ? .unknown : .none, formerEnd: nil, wentBack: false)
        }
        guard status.log == books.log else {
            return begin(status, former: .known(books.owner), formerEnd: formerNext, wentBack: false)
        }
        let next = SequenceNumber.unwrap(status.next, near: books.checkpoint)
        if Self.wentBack(status, books) {
            return begin(status, former: .known(books.owner), formerEnd: nil, wentBack: true)
        }
        return advance(status, books: books, oldest: next - min(UInt64(status.held), next), next: next)
    }

    /// Whether the numbers of the log in the books went back, which the profile rules out: they name other windows than before.
    static func wentBack(_ status: BetaMetrics, _ books: CollarBooks) -> Bool {
        status.log == books.log && SequenceNumber.unwrap(status.next, near: books.checkpoint) < books.checkpoint
    }

    /// Who had the collar before its log begins in the books.
    private enum Former: Equatable {
        /// Nobody: this hub meets it for the first time.
        case none
        /// Somebody, but the books that say who are lost.
        case unknown
        case known(String)

        var key: String? {
            if case .known(let key) = self { return key }
            return nil
        }
    }

    private func begin(_ status: BetaMetrics, former: Former, formerEnd: UInt64?, wentBack: Bool) -> SyncStep {
        let base = UInt64(status.oldest)
        let next = base + UInt64(status.held)
        var assignments = [CollarBooks.Assignment(first: base, owner: owner)]
        var withheld: GapReport?
        // At the first pairing with this hub the backlog is the new owner's unless the configuration says otherwise; after a change
        // of owner only the configuration can say.
        if former != .known(owner), next > base {
            switch backlog ?? (former == .none ? .new : nil) {
            case .former:
                guard let key = former.key, configuredOwners.contains(key) else { return .hold(.formerOwnerUnknown(former: former.key)) }
                assignments = [.init(first: base, owner: key), .init(first: next, owner: owner)]
            case .new:
                break
            case .skip:
                let gap = SequenceGap(log: status.log, first: base, count: next - base, reason: .withheld)
                withheld = GapReport(log: status.log, gaps: [gap], owner: owner, next: next, assignment: nil)
            case nil:
                return .hold(.backlogUndecided(former: former.key, unread: next - base))
            }
        }
        return .begin(LogBeginning(
            log: status.log, base: base, assignments: assignments, wentBack: wentBack, formerEnd: formerEnd, withheld: withheld))
    }

    private func advance(_ status: BetaMetrics, books: CollarBooks, oldest: UInt64, next: UInt64) -> SyncStep {
        if books.owner != owner, let step = changeOwner(books, oldest: oldest, next: next) { return step }
        var gaps = Array(books.unreported.prefix(Self.reportLimit))
        let start = max(books.checkpoint, oldest)
        if oldest > books.checkpoint {
            let reason: GapReason = status.flags.contains(.overwrittenSinceClear) ? .overwritten : .clearedElsewhere
            gaps.append(SequenceGap(log: status.log, first: books.checkpoint, count: oldest - books.checkpoint, reason: reason))
        }
        let owner = books.owner(of: start)
        if start == next {
            guard !gaps.isEmpty else { return .rest }
            return .report(GapReport(log: status.log, gaps: gaps, owner: owner, next: next, assignment: nil))
        }
        let stretch = min(next, books.boundary(after: start) ?? next)
        guard configuredOwners.contains(owner) else { return ownerGone(owner, books, stretch: stretch) }
        let end = min(stretch, start + UInt64(batchWindows))
        return .read(ReadOrder(log: status.log, first: start, count: Int(end - start), gaps: gaps, owner: owner))
    }

    /// The windows up to `stretch` belong to somebody who is not configured any more: they could not be stored for anybody.
    private func ownerGone(_ owner: String, _ books: CollarBooks, stretch: UInt64) -> SyncStep {
        // They can be left unread, and who comes next may report it; but nobody else's can they become.
        let reporter = books.owner(of: stretch)
        guard backlog == .skip, configuredOwners.contains(reporter) else { return .hold(.ownerGone(owner)) }
        let gap = SequenceGap(log: books.log, first: books.checkpoint, count: stretch - books.checkpoint, reason: .withheld)
        return .report(GapReport(log: books.log, gaps: [gap], owner: reporter, next: stretch, assignment: nil))
    }

    /// The collar got another owner since its books were written: the boundary is what it calls `next` at this first contact.
    private func changeOwner(_ books: CollarBooks, oldest: UInt64, next: UInt64) -> SyncStep? {
        let start = books.checkpoint
        let change = CollarBooks.Assignment(first: next, owner: owner)
        if start == next { return .assign(log: books.log, change) }
        switch backlog {
        case .former:
            guard configuredOwners.contains(books.owner) else { return .hold(.formerOwnerUnknown(former: books.owner)) }
            return .assign(log: books.log, change)
        case .new:
            return .assign(log: books.log, .init(first: start, owner: owner))
        case .skip:
            let gap = SequenceGap(log: books.log, first: start, count: next - start, reason: .withheld)
            return .report(GapReport(log: books.log, gaps: [gap], owner: owner, next: next, assignment: .init(first: start, owner: owner)))
        case nil:
            return .hold(.backlogUndecided(former: books.owner, unread: next - start))
        }
    }
}
