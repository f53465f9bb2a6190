import Outbox
import Radio
import Testing
@testable import gateway

@Suite("Reconciling a collar with the books")
struct SyncPlannerTests {
    private func status(log: UInt32 = 7, oldest: UInt32, next: UInt32, overwritten: Bool = false) throws -> BetaMetrics {
        var bytes: [UInt8] = [1, overwritten ? 4 : 0, 90, 0]
        for value in [log, oldest, next, 1_790_000_000] {
            for shift in stride(from: UInt32(0), to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        return try BetaMetrics(parsing: bytes)
    }

    private func planner(_ owner: String = "ann", backlog: Configuration.Backlog? = nil, owners: Set<String> = ["ann", "ben"]) -> SyncPlanner {
        SyncPlanner(owner: owner, backlog: backlog, configuredOwners: owners, batchWindows: 128)
    }

    private func books(checkpoint: UInt64, owners: [CollarBooks.Assignment] = [.init(first: 0, owner: "ann")]) -> CollarBooks {
        CollarBooks(log: 7, checkpoint: checkpoint, assignments: owners)
    }

    @Test("a collar that holds nothing new is left alone")
    func rest() throws {
        #expect(planner().step(status: try status(oldest: 100, next: 200), books: books(checkpoint: 200)) == .rest)
    }

    @Test("what is unread is read from the checkpoint on, a batch at a time")
    func read() throws {
        let step = planner().step(status: try status(oldest: 0, next: 1_000), books: books(checkpoint: 200))
        #expect(step == .read(ReadOrder(log: 7, first: 200, count: 128, gaps: [], owner: "ann")))
    }

    @Test("what is cleared but not beyond the checkpoint is no gap")
    func cleared() throws {
        let step = planner().step(status: try status(oldest: 150, next: 210), books: books(checkpoint: 200))
        #expect(step == .read(ReadOrder(log: 7, first: 200, count: 10, gaps: [], owner: "ann")))
    }

    @Test("an oldest beyond the checkpoint is a gap: overwritten with the flag, cleared elsewhere without", arguments: [true, false])
    func gap(overwritten: Bool) throws {
        let step = planner().step(status: try status(oldest: 250, next: 260, overwritten: overwritten), books: books(checkpoint: 200))
        let gap = SequenceGap(log: 7, first: 200, count: 50, reason: overwritten ? .overwritten : .clearedElsewhere)
        #expect(step == .read(ReadOrder(log: 7, first: 250, count: 10, gaps: [gap], owner: "ann")))
    }

    @Test("a gap with nothing behind it is reported alone")
    func gapAlone() throws {
        let step = planner().step(status: try status(oldest: 260, next: 260), books: books(checkpoint: 200))
        let gap = SequenceGap(log: 7, first: 200, count: 60, reason: .clearedElsewhere)
        #expect(step == .report(GapReport(log: 7, gaps: [gap], owner: "ann", next: 260, assignment: nil)))
    }

    @Test("sequences that wrap at 2^32 go on counting")
    func wrap() throws {
        let step = planner().step(status: try status(oldest: 4_294_967_200, next: 50), books: books(checkpoint: 4_294_967_290))
        #expect(step == .read(ReadOrder(log: 7, first: 4_294_967_290, count: 56, gaps: [], owner: "ann")))
        let later = planner().step(status: try status(oldest: 10, next: 50), books: books(checkpoint: 4_294_967_296 + 20))
        #expect(later == .read(ReadOrder(log: 7, first: 4_294_967_296 + 20, count: 30, gaps: [], owner: "ann")))
    }

    @Test("a collar never seen begins its books at the oldest window it holds, all of it its owner's")
    func firstContact() throws {
        let step = planner().step(status: try status(oldest: 40, next: 90), books: nil)
        #expect(step == .begin(LogBeginning(log: 7, base: 40, assignments: [.init(first: 40, owner: "ann")], wentBack: false, formerEnd: nil, withheld: nil)))
    }

    @Test("a first backlog that is to be skipped is withheld and says so")
    func firstContactSkip() throws {
        guard case .begin(let beginning) = planner(backlog: .skip).step(status: try status(oldest: 40, next: 90), books: nil) else {
            Issue.record("no beginning")
            return
        }
        #expect(beginning.withheld?.gaps == [SequenceGap(log: 7, first: 40, count: 50, reason: .withheld)])
        #expect(beginning.withheld?.next == 90)
    }

    @Test("a new log begins its books anew and carries along what was announced of the former one")
    func reformatted() throws {
        let step = planner().step(status: try status(log: 8, oldest: 0, next: 3), books: books(checkpoint: 200), formerNext: 230)
        #expect(step == .begin(LogBeginning(
            log: 8, base: 0, assignments: [.init(first: 0, owner: "ann")], wentBack: false, formerEnd: 230, withheld: nil)))
    }

    @Test("what was lost with a former log is reported with the next windows, or alone when there are none")
    func unreported() throws {
        let lost = SequenceGap(log: 6, first: 10, count: 5, reason: .reformatted)
        var books = books(checkpoint: 200)
        books.unreported = [lost]
        #expect(planner().step(status: try status(oldest: 200, next: 202), books: books)
            == .read(ReadOrder(log: 7, first: 200, count: 2, gaps: [lost], owner: "ann")))
        #expect(planner().step(status: try status(oldest: 200, next: 200), books: books)
            == .report(GapReport(log: 7, gaps: [lost], owner: "ann", next: 200, assignment: nil)))
    }

    @Test("a next behind the checkpoint begins the log anew")
    func wentBack() throws {
        let step = planner().step(status: try status(oldest: 10, next: 20), books: books(checkpoint: 200))
        #expect(step == .begin(LogBeginning(
            log: 7, base: 10, assignments: [.init(first: 10, owner: "ann")], wentBack: true, formerEnd: nil, withheld: nil)))
    }

    @Test("when the books were lost nothing is guessed: the collar is held until the backlog is decided")
    func ownersLost() throws {
        let status = try status(oldest: 10, next: 20)
        #expect(planner().step(status: status, books: nil, ownersLost: true) == .hold(.backlogUndecided(former: nil, unread: 10)))
        guard case .begin(let beginning) = planner(backlog: .new).step(status: status, books: nil, ownersLost: true) else {
            Issue.record("no beginning")
            return
        }
        #expect(beginning.assignments == [.init(first: 10, owner: "ann")])
    }

    @Test("after a change of owner without a word on the backlog the collar is held")
    func undecided() throws {
        let step = planner("ben").step(status: try status(oldest: 0, next: 250), books: books(checkpoint: 200))
        #expect(step == .hold(.backlogUndecided(former: "ann", unread: 50)))
    }

    @Test("the former owner's backlog is read in the former owner's name up to the boundary, and not a window further")
    func former() throws {
        let status = try status(oldest: 0, next: 250)
        #expect(planner("ben", backlog: .former).step(status: status, books: books(checkpoint: 200))
            == .assign(log: 7, .init(first: 250, owner: "ben")))
        let both = books(checkpoint: 200, owners: [.init(first: 0, owner: "ann"), .init(first: 250, owner: "ben")])
        let later = try self.status(oldest: 0, next: 300)
        #expect(planner("ben", backlog: .former).step(status: later, books: both)
            == .read(ReadOrder(log: 7, first: 200, count: 50, gaps: [], owner: "ann")))
        var beyond = both
        beyond.checkpoint = 250
        #expect(planner("ben", backlog: .former).step(status: later, books: beyond)
            == .read(ReadOrder(log: 7, first: 250, count: 50, gaps: [], owner: "ben")))
    }

    @Test("a former owner who is not configured cannot be read for")
    func formerGone() throws {
        let step = planner("ben", backlog: .former, owners: ["ben"])
            .step(status: try status(oldest: 0, next: 250), books: books(checkpoint: 200))
        #expect(step == .hold(.formerOwnerUnknown(former: "ann")))
    }

    @Test("a skipped backlog is withheld: reported, not read")
    func skip() throws {
        let step = planner("ben", backlog: .skip).step(status: try status(oldest: 0, next: 250), books: books(checkpoint: 200))
        let gap = SequenceGap(log: 7, first: 200, count: 50, reason: .withheld)
        #expect(step == .report(GapReport(log: 7, gaps: [gap], owner: "ben", next: 250, assignment: .init(first: 200, owner: "ben"))))
    }

    @Test("a backlog given to the new owner is the new owner's from the checkpoint on")
    func new() throws {
        let step = planner("ben", backlog: .new).step(status: try status(oldest: 0, next: 250), books: books(checkpoint: 200))
        #expect(step == .assign(log: 7, .init(first: 200, owner: "ben")))
    }

    @Test("with nothing unread a change of owner needs no decision")
    func changeAtRest() throws {
        let step = planner("ben").step(status: try status(oldest: 0, next: 200), books: books(checkpoint: 200))
        #expect(step == .assign(log: 7, .init(first: 200, owner: "ben")))
    }

    @Test("whatever a collar claims, a step is given and a read stays within what it claims to hold")
    func hostile() throws {
        var state: UInt64 = 99
        func random() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
        for _ in 0..<20_000 {
            let status = BetaMetrics(
                flags: [], battery: nil, log: 7, oldest: UInt32(truncatingIfNeeded: random() >> 32), next: UInt32(truncatingIfNeeded: random() >> 32), time: 0)
            let checkpoint = random() >> (random() >> 60 + 20)
            if case .read(let order) = planner().step(status: status, books: books(checkpoint: checkpoint)) {
                #expect(order.count >= 1 && order.count <= 128)
                #expect(order.first >= checkpoint)
                #expect(UInt32(truncatingIfNeeded: order.first) &- status.oldest < status.held)
            }
        }
    }
}
