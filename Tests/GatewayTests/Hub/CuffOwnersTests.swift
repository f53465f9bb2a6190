import Testing
@testable import gateway

@Suite("Whose a cuff's readings are")
struct CuffOwnersTests {
    @Test("a cuff of one owner is theirs whatever user it names, from its assignment on")
    func oneOwner() {
        let owners = CuffOwners(owner: .init(owner: "anna", since: 1_000))
        #expect(owners.owner(ofUser: nil, at: 1_000) == .owner("anna"))
        #expect(owners.owner(ofUser: 2, at: 5_000) == .owner("anna"))
        #expect(owners.owner(ofUser: nil, at: 999) == .doubt(.beforeAssignment))
        #expect(CuffOwners(owner: .init(owner: "anna", since: nil)).owner(ofUser: nil, at: -1) == .owner("anna"))
    }

    @Test("a cuff with users gives each to their owner, and what no user is mapped for to nobody")
    func users() {
        let owners = CuffOwners(users: [1: .init(owner: "anna", since: nil), 2: .init(owner: "ben", since: 1_000)])
        #expect(owners.owner(ofUser: 1, at: 0) == .owner("anna"))
        #expect(owners.owner(ofUser: 2, at: 1_000) == .owner("ben"))
        #expect(owners.owner(ofUser: 2, at: 999) == .doubt(.beforeAssignment))
        #expect(owners.owner(ofUser: 3, at: 5_000) == .doubt(.unmappedUser))
        #expect(owners.owner(ofUser: nil, at: 5_000) == .doubt(.missingUser))
    }

    @Test("codes of doubt stay what they are")
    func codes() {
        #expect(CuffOwners.Doubt.allCases.map(\.rawValue) == ["reading-user-unmapped", "reading-user-missing", "reading-before-assignment"])
    }
}
