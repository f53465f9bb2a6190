import Outbox
import Platform
import Radio
import Testing
@testable import gateway

@Suite("Whose a cuff's readings are")
struct CuffOwnersTests {
    private static let zone = TimeZoneRules.fixed(0)
    private static let configured: Set = ["ann", "ben"]

    /// A reading that was taken at `moment`, by a clock of which it is known how right it was.
    private static func dated(_ moment: Int64) -> ReadingTime {
        ReadingTime(
            moment: moment, zoneOffset: 0, basis: .cuffClock, device: CivilTime(secondsSince1970: moment), clock: .ahead(0),
            received: WallTime(seconds: moment, synchronised: true))
    }

    /// One whose moment is only when it came.
    private static func undated(_ moment: Int64) -> ReadingTime {
        ReadingTime(moment: moment, zoneOffset: 0, basis: .received, device: nil, clock: .ahead(0), received: WallTime(seconds: moment, synchronised: true))
    }

    private static func owners(
        _ ownership: Configuration.CuffOwnership, _ assignments: [CuffAssignment], backlog: Configuration.CuffBacklog? = nil
    ) -> CuffOwners {
        CuffOwners(.forTests(serial: "BP-1", ownership: ownership, backlog: backlog), owners: configured, assignments: assignments)
    }

    private static func assigned(_ owner: String, user: UInt32? = nil, since: Int64? = nil, contacted: Bool = true) -> CuffAssignment {
        CuffAssignment(user: user, owner: owner, since: since, contacted: contacted)
    }

    @Test("a cuff of one owner is theirs whatever user it names, the first owner from the beginning of time")
    func oneOwner() {
        let owners = Self.owners(.owner("ann"), [Self.assigned("ann")])
        #expect(owners.owner(ofUser: nil, at: Self.dated(-1)) == .owner("ann"))
        #expect(owners.owner(ofUser: 2, at: Self.undated(5_000)) == .owner("ann"))
    }

    @Test("after a change what is dated before it is nobody's, and what is dated later is the new owner's")
    func change() {
        let owners = Self.owners(.owner("ben"), [Self.assigned("ann"), Self.assigned("ben", since: 1_000, contacted: false)])
        #expect(owners.owner(ofUser: nil, at: Self.dated(1_000)) == .owner("ben"))
        #expect(owners.owner(ofUser: nil, at: Self.dated(999)) == .doubt(.beforeAssignment))
    }

    @Test("a reading with no time to rely on is nobody's on the first link after a change, and the new owner's on later ones")
    func undated() {
        func owners(_ contacted: Bool) -> CuffOwners { Self.owners(.owner("ben"), [Self.assigned("ann"), Self.assigned("ben", since: 1_000, contacted: contacted)]) }
        #expect(owners(false).owner(ofUser: nil, at: Self.undated(2_000)) == .doubt(.beforeAssignment))
        #expect(owners(true).owner(ofUser: nil, at: Self.undated(2_000)) == .owner("ben"))
        let unverified = ReadingTime(
            moment: 2_000, zoneOffset: 0, basis: .cuffClock, device: CivilTime(secondsSince1970: 2_000), clock: .unverified,
            received: WallTime(seconds: 2_000, synchronised: false))
        #expect(owners(false).owner(ofUser: nil, at: unverified) == .doubt(.beforeAssignment))
    }

    @Test("backlog says whose the older readings are, and a former owner who is not known or not configured gets none")
    func backlog() {
        let books = [Self.assigned("ann"), Self.assigned("ben", since: 1_000, contacted: false)]
        #expect(Self.owners(.owner("ben"), books, backlog: .new).owner(ofUser: nil, at: Self.dated(999)) == .owner("ben"))
        #expect(Self.owners(.owner("ben"), books, backlog: .former).owner(ofUser: nil, at: Self.dated(999)) == .owner("ann"))
        #expect(Self.owners(.owner("ben"), books, backlog: .former).owner(ofUser: nil, at: Self.dated(1_000)) == .owner("ben"))
        let gone = [Self.assigned("carl"), Self.assigned("ben", since: 1_000)]
        #expect(Self.owners(.owner("ben"), gone, backlog: .former).owner(ofUser: nil, at: Self.dated(999)) == .doubt(.beforeAssignment))
        let twice = [Self.assigned("ann"), Self.assigned("ben", since: 500), Self.assigned("ann", since: 1_000)]
        #expect(Self.owners(.owner("ann"), twice, backlog: .former).owner(ofUser: nil, at: Self.dated(700)) == .owner("ben"))
        #expect(Self.owners(.owner("ann"), twice, backlog: .former).owner(ofUser: nil, at: Self.dated(300)) == .doubt(.beforeAssignment))
        #expect(Self.owners(.owner("ben"), [Self.assigned("ben", since: 1_000)], backlog: .former).owner(ofUser: nil, at: Self.dated(999)) == .doubt(.beforeAssignment))
    }

    @Test("a cuff with users gives each to their owner, and what no user is mapped for to nobody")
    func users() {
        let owners = Self.owners(.users([1: "ann", 2: "ben"]), [Self.assigned("ann", user: 1), Self.assigned("ben", user: 2, since: 1_000)])
        #expect(owners.owner(ofUser: 1, at: Self.dated(0)) == .owner("ann"))
        #expect(owners.owner(ofUser: 2, at: Self.dated(1_000)) == .owner("ben"))
        #expect(owners.owner(ofUser: 2, at: Self.dated(999)) == .doubt(.beforeAssignment))
        #expect(owners.owner(ofUser: 3, at: Self.dated(5_000)) == .doubt(.unmappedUser))
        #expect(owners.owner(ofUser: nil, at: Self.dated(5_000)) == .doubt(.missingUser))
    }

    @Test("an owner of whom the books do not know yet owns nothing")
    func pending() {
        #expect(Self.owners(.owner("ben"), []).owner(ofUser: nil, at: Self.dated(5_000)) == .doubt(.beforeAssignment))
        #expect(Self.owners(.owner("ben"), [Self.assigned("ann")]).owner(ofUser: nil, at: Self.dated(5_000)) == .doubt(.beforeAssignment))
    }

    @Test("the first owner has everything, one after a change begins now, and without a clock not yet")
    func beginnings() {
        let now = WallTime(seconds: 7_000, synchronised: true), unset = WallTime(seconds: 7, synchronised: false)
        #expect(Self.owners(.owner("ann"), []).beginnings(now: unset, booksWereLost: false) == [.init(user: nil, owner: "ann", since: nil)])
        #expect(Self.owners(.owner("ann"), [Self.assigned("ann")]).beginnings(now: now, booksWereLost: false) == [])
        #expect(Self.owners(.owner("ben"), [Self.assigned("ann")]).beginnings(now: now, booksWereLost: false) == [.init(user: nil, owner: "ben", since: 7_000)])
        #expect(Self.owners(.owner("ben"), [Self.assigned("ann")]).beginnings(now: unset, booksWereLost: false) == [])
        #expect(Self.owners(.owner("ann"), []).beginnings(now: now, booksWereLost: true) == [.init(user: nil, owner: "ann", since: 7_000)])
    }

    @Test("between an owner and users what is the same person's stays theirs since when it was, and what is not begins now")
    func shapes() {
        let now = WallTime(seconds: 7_000, synchronised: true)
        let whole = [Self.assigned("ann", since: 1_000)]
        #expect(Self.owners(.users([1: "ann", 2: "ben"]), whole).beginnings(now: now, booksWereLost: false)
            == [.init(user: 1, owner: "ann", since: 1_000), .init(user: 2, owner: "ben", since: 7_000)])
        let users = [Self.assigned("ann", user: 1), Self.assigned("ben", user: 2)]
        #expect(Self.owners(.owner("ann"), users).beginnings(now: now, booksWereLost: false) == [.init(user: nil, owner: "ann", since: 7_000)])
        #expect(Self.owners(.users([1: "ann", 2: "ben", 3: "ann"]), users).beginnings(now: now, booksWereLost: false) == [.init(user: 3, owner: "ann", since: nil)])
    }

    @Test("codes of doubt stay what they are")
    func codes() {
        #expect(CuffOwners.Doubt.allCases.map(\.rawValue) == ["reading-user-unmapped", "reading-user-missing", "reading-before-assignment"])
    }

    @Test("readings of two users who are in doubt are set aside for different reasons, so that neither is given to the other's owner")
    func reasons() {
        let users = Self.owners(.users([1: "ann"]), [Self.assigned("ann", user: 1)])
        #expect(users.reason(for: .unmappedUser, user: 3) == "reading-user-unmapped (user 3)")
        #expect(users.reason(for: .unmappedUser, user: 4) != users.reason(for: .unmappedUser, user: 3))
        #expect(users.reason(for: .missingUser, user: nil) == "reading-user-missing")
        // A cuff that had users until it became somebody's whole; and one that never had.
        let former = Self.owners(.owner("ben"), [Self.assigned("ann", user: 1), Self.assigned("ben", since: 1_000)])
        #expect(former.reason(for: .beforeAssignment, user: 2) == "reading-before-assignment (user 2)")
        let whole = Self.owners(.owner("ben"), [Self.assigned("ann"), Self.assigned("ben", since: 1_000)])
        #expect(whole.reason(for: .beforeAssignment, user: 2) == "reading-before-assignment")
    }
}
