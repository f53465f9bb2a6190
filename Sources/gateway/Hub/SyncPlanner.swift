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

/// Whose the windows are that a collar held before it came to its owner (`backlog` in the configuration).
enum Backlog: String, Sendable {
    case former
    case new
    case skip
}

/// Why a collar is not read although it holds something.
enum HoldReason: Sendable, Equatable {
    /// The owner changed and the configuration does not say whose the backlog is.
    case backlogUndecided(former: String, unread: UInt64)
    /// The backlog is the former owner's, who is not configured.
    case formerOwnerUnknown(former: String?)
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
    /// What is left unread on purpose, reported in the same transaction.
    let withheld: GapReport?
}

/// The next step for one collar.
enum SyncStep: Sendable, Equatable {
    /// Everything that the collar holds is stored.
    case rest
    /// The collar is not read until a person decides.
    case hold(HoldReason)
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
    let backlog: Backlog?
    let configuredOwners: Set<String>
    /// The most windows an entry may take.
    let batchWindows: Int

    /// The next step.
    ///
    /// - Parameters:
    ///   - status: what the collar said just now.
    ///   - books: what the outbox knows; `nil` for a collar that it has never seen.
    ///   - formerNext: for the log in `books`, the highest `next` that the collar announced, as far as this run of the hub heard it.
    func step(status: BetaMetrics, books: CollarBooks?, formerNext: UInt64?) -> SyncStep {
        guard let books else {
            return begin(status, base: UInt64(status.oldest), formerOwner: nil, wentBack: false)
        }
        guard status.log == books.log else {
            // What the former log still held is gone with it; the report closes that log before the new one is opened.
            if let end = formerNext, end > books.checkpoint {
                let gap = SequenceGap(log: books.log, first: books.checkpoint, count: end - books.checkpoint, reason: .reformatted)
                return .report(GapReport(log: books.log, gaps: [gap], owner: books.owner(of: books.checkpoint), next: end, assignment: nil))
            }
            return begin(status, base: UInt64(status.oldest), formerOwner: books.owner, wentBack: false)
        }
        let next = SerialNumber.unwrap(status.next, near: books.checkpoint)
        if next < books.checkpoint {
            // The numbering went back within one log, which the profile rules out. New numbers above the checkpoint, congruent to the
            // wire's, keep the two stretches apart.
            var base = books.checkpoint & ~UInt64(UInt32.max) | UInt64(status.oldest)
            if base < books.checkpoint { base += 1 << 32 }
            return begin(status, base: base, formerOwner: books.owner, wentBack: true)
        }
        let held = min(UInt64(status.held), next)
        return advance(status, books: books, oldest: next - held, next: next)
    }

    private func begin(_ status: BetaMetrics, base: UInt64, formerOwner: String?, wentBack: Bool) -> SyncStep {
        let next = base + UInt64(status.held)
        var assignments = [CollarBooks.Assignment(first: base, owner: owner)]
        var withheld: GapReport?
        // At the first pairing with this hub the backlog is the new owner's unless the configuration says otherwise; after a change
        // of owner only the configuration can say.
        if formerOwner != owner, next > base {
            switch backlog ?? (formerOwner == nil ? .new : nil) {
            case .former:
                guard let formerOwner, configuredOwners.contains(formerOwner) else { return .hold(.formerOwnerUnknown(former: formerOwner)) }
                assignments = [.init(first: base, owner: formerOwner), .init(first: next, owner: owner)]
            case .new:
                break
            case .skip:
                let gap = SequenceGap(log: status.log, first: base, count: next - base, reason: .withheld)
                withheld = GapReport(log: status.log, gaps: [gap], owner: owner, next: next, assignment: nil)
            case nil:
                return .hold(.backlogUndecided(former: formerOwner ?? "", unread: next - base))
            }
        }
        return .begin(LogBeginning(log: status.log, base: base, assignments: assignments, wentBack: wentBack, withheld: withheld))
    }

    private func advance(_ status: BetaMetrics, books: CollarBooks, oldest: UInt64, next: UInt64) -> SyncStep {
        if books.owner != owner, let step = changeOwner(books, oldest: oldest, next: next) { return step }
        var gaps: [SequenceGap] = []
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
        let end = min(next, books.boundary(after: start) ?? next, start + UInt64(batchWindows))
        return .read(ReadOrder(log: status.log, first: start, count: Int(end - start), gaps: gaps, owner: owner))
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
