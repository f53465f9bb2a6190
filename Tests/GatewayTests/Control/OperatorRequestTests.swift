import Outbox
import Platform
import Testing

@testable import gateway

private let entry = "0123456789abcdef0123456789abcdef"

private let requests: [(ControlRequest, String)] = [
    (.operate(.quarantine), "quarantine"), (.operate(.audit), "audit"), (.operate(.release(EntryID(entry)!)), "done"),
    (.operate(.settle(EntryID(entry)!)), "done"), (.operate(.give(EntryID(entry)!, owner: "ann")), "done"), (.operate(.purgeSealed(owner: "ann")), "done"),
    (.operate(.discardEvidence(through: .max)), "done"), (.status, "status"), (.flush, "flush")
]

private let malformedLines: [(String, String)] = [
    (#"{"command":"release"}"#, #"release needs "entry", a string"#),
    (#"{"command":"release","entry":7}"#, #"release needs "entry", a string"#),
    (#"{"command":"release","entry":"ABCDEF"}"#, #""ABCDEF" names no entry; allowed: 32 lower-case hexadecimal digits, as gateway quarantine lists them"#),
    (#"{"command":"release","entry":"0123456789abcdef0123456789abcdef","yes":true}"#, #"release does not take "yes"; it takes "entry""#),
    (#"{"command":"give","entry":"0123456789abcdef0123456789abcdef","yes":true}"#, #"give needs "owner", a string"#),
    (#"{"command":"give","entry":"0123456789abcdef0123456789abcdef","owner":"a b","yes":true}"#, #""a b" is no owner's key; allowed: 1 to 64 letters, digits, dots, hyphens and underscores"#),
    (#"{"command":"give","entry":"0123456789abcdef0123456789abcdef","owner":"ann"}"#, #"give cannot be taken back: it needs "yes": true"#),
    (#"{"command":"settle","entry":"0123456789abcdef0123456789abcdef"}"#, #"settle cannot be taken back: it needs "yes": true"#),
    (#"{"command":"settle","entry":"0123456789abcdef0123456789abcdef","yes":false}"#, #"settle cannot be taken back: it needs "yes": true"#),
    (#"{"command":"settle","entry":"0123456789abcdef0123456789abcdef","yes":"true"}"#, #"settle cannot be taken back: it needs "yes": true"#),
    (#"{"command":"settle","yes":true,"by":"root"}"#, #"settle does not take "by"; it takes "entry" and "yes""#),
    (#"{"command":"purge-sealed","owner":"a b","yes":true}"#, #""a b" is no owner's key; allowed: 1 to 64 letters, digits, dots, hyphens and underscores"#),
    (#"{"command":"purge-sealed","owner":"ann"}"#, #"purge-sealed cannot be taken back: it needs "yes": true"#),
    (#"{"command":"discard-evidence","through":"1","yes":true}"#, #"discard-evidence needs "through", a whole number"#),
    (#"{"command":"discard-evidence","through":1.5,"yes":true}"#, #"discard-evidence needs "through", a whole number"#),
    (#"{"command":"discard-evidence","through":-1,"yes":true}"#, "-1 is no number of evidence; allowed: a whole number from 1, as gateway quarantine lists them"),
    (#"{"command":"discard-evidence","through":1}"#, #"discard-evidence cannot be taken back: it needs "yes": true"#),
    (#"{"command":"audit","since":0}"#, #"audit does not take "since"; it takes nothing"#),
    (#"{"command":7}"#, #"the request must be an object with the member "command", a string"#)
]

@Suite("What an operator asks for, on the wire and in words")
struct OperatorRequestTests {
    @Test("a request is read as it was written, and says what its answer is called", arguments: requests)
    func roundTrip(request: ControlRequest, member: String) throws {
        #expect(request.line.count <= ControlRequest.limit)
        #expect(try ControlRequest(parsing: Array(request.line.dropLast())) == request)
        #expect(request.answerMember == member)
    }

    @Test("what is malformed is refused with what is allowed", arguments: malformedLines)
    func malformed(line: String, words: String) {
        #expect(throws: ControlError.malformed(words)) { try ControlRequest(parsing: Array(line.utf8)) }
    }

    @Test("an act with a flipped bit is another well-formed request at most in its argument, and never one that was not confirmed", arguments: 0..<4 as Range<UInt64>)
    func flipped(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<500 {
            var line = Array(ControlRequest.operate(.settle(EntryID(entry)!)).line.dropLast())
            line[Int.random(in: 0..<line.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            guard let request = try? ControlRequest(parsing: line) else { continue }
            guard case .operate(.settle) = request else {
                Issue.record("taken for \(request)")
                continue
            }
        }
    }
}

extension SetAsideReport {
    /// A report with something of everything.
    static let example = SetAsideReport(
        quarantined: [
            .init(id: entry, owner: "ann", device: "C-1", log: 7, first: 4_294_967_290, count: 128, gaps: 1, received: 1_790_000_000, attempts: 2, reason: "conflict"),
            .init(id: String(repeating: "f", count: 32), owner: "ben", device: "C-2", log: 8, first: 5, count: 0, gaps: 2, received: 0, attempts: 1, reason: nil)
        ],
        sealed: [
            .init(owner: "cleo", entries: 2, windows: 256, devices: ["C-3", "C-4"], returning: false),
            .init(owner: "dan", entries: 1, windows: 1, devices: ["C-5"], returning: true)
        ],
        evidence: [(4, 10, "conflict"), (5, 11, "conflict"), (6, 12, "crc\u{1b}"), (9, 13, "conflict")].map {
            .init(number: $0.0, owner: "ann", device: "C-1", log: 7, sequence: $0.1, code: $0.2, receipt: "r-1")
        },
        room: .init(quarantine: 20, sealed: 20, evidence: 2_560))
}

@Suite("The list of what is set aside")
struct SetAsideReportTests {
    @Test("reads as text, windows that follow one another in one line, and nothing a terminal obeys")
    func text() {
        #expect(SetAsideReport.example.text == """
            quarantine  2 of 20 entries; collars keep what lies behind them until they are released or settled
              0123456789abcdef0123456789abcdef
                owner ann, device C-1, log 7, 4294967290 to 4294967417 (128 windows), 1 gap
                read 2026-09-21 14:13:20 UTC, 2 failed attempts, reason conflict
              ffffffffffffffffffffffffffffffff
                owner ben, device C-2, log 8, no windows, 2 gaps
                read 1970-01-01 00:00:00 UTC, 1 failed attempt, reason unknown
            sealed      3 of 20 entries
              owner cleo: 2 entries, 256 windows of C-3, C-4
              owner dan: 1 entry, 1 window of C-5; comes back as places become free
            evidence    4 of 2560 rejected windows; without room, receipts with rejections wait
              4 to 5: owner ann, device C-1, log 7, 10 to 11: conflict, receipt r-1
              6: owner ann, device C-1, log 7, 12: crc\\u{1b}, receipt r-1
              9: owner ann, device C-1, log 7, 13: conflict, receipt r-1

            """)
        #expect(SetAsideReport(quarantined: [], sealed: [], evidence: [], room: SetAsideReport.example.room).text == "nothing is set aside\n")
    }

    @Test("keeps its names in JSON")
    func json() {
        var report = SetAsideReport.example
        report.quarantined.removeLast()
        report.sealed.removeLast()
        report.evidence.removeLast(3)
        #expect(report.json.encoded() == """
            {"entries":[{"id":"0123456789abcdef0123456789abcdef","owner":"ann","device":"C-1","log":7,"first":4294967290,"count":128,"gaps":1,\
            "received":1790000000,"attempts":2,"reason":"conflict"}],\
            "sealed":[{"owner":"cleo","entries":2,"windows":256,"devices":["C-3","C-4"],"returning":false,"readings":0}],\
            "evidence":[{"number":4,"owner":"ann","device":"C-1","log":7,"sequence":10,"code":"conflict","receipt":"r-1"}],\
            "room":{"entries":20,"sealed":20,"evidence":2560}}
            """)
    }

    /// Entries of readings: of nobody, with one that cannot be read; conflicting ones of two cuffs; damaged ones.
    private static let ofReadings = SetAsideReport(
        quarantined: [
            .init(id: entry, owner: "", device: "", log: 0, first: 0, count: 3, gaps: 0, received: 1_790_000_000, attempts: 0, reason: "reading-user-unmapped",
                  readings: .init(cuffs: ["BP-1"], first: 1_790_000_000, last: 1_790_000_060, users: [2, 3], unreadable: 1, codes: ["measurement-short"]), isOfReadings: true),
            .init(id: entry, owner: "ann", device: "", log: 0, first: 0, count: 1, gaps: 0, received: 1_790_000_000, attempts: 1, reason: "reading-conflict",
                  readings: .init(cuffs: ["BP-1", "BP-2"], first: 0, last: 0, users: [], unreadable: 0, codes: []), isOfReadings: true),
            .init(id: entry, owner: "ann", device: "", log: 0, first: 0, count: 2, gaps: 0, received: 0, attempts: 0, reason: "damaged-entry", isOfReadings: true)
        ],
        sealed: [
            .init(owner: "cleo", entries: 2, windows: 0, devices: [], returning: false, readings: 1), .init(owner: "dan", entries: 2, windows: 7, devices: ["C-5"], returning: false, readings: 64)
        ],
        evidence: [], room: .init(quarantine: 20, sealed: 20, evidence: 2_560))

    @Test("says of readings whose cuff, whose user, when and why, and of windows nothing")
    func readings() {
        #expect(Self.ofReadings.text == """
            quarantine  3 of 20 entries; collars keep what lies behind them until they are released or settled
              0123456789abcdef0123456789abcdef
                nobody's, 3 readings of 1 cuff BP-1, user 2, 3, 1 that cannot be read (measurement-short)
                taken 2026-09-21 14:13:20 UTC to 2026-09-21 14:14:20 UTC, 0 failed attempts, reason reading-user-unmapped
              0123456789abcdef0123456789abcdef
                owner ann, 1 reading of 2 cuffs BP-1, BP-2
                taken 1970-01-01 00:00:00 UTC, 1 failed attempt, reason reading-conflict
              0123456789abcdef0123456789abcdef
                owner ann, 2 readings that are not what was stored
                0 failed attempts, reason damaged-entry
            sealed      4 of 20 entries
              owner cleo: 2 entries, 1 reading
              owner dan: 2 entries, 7 windows of C-5 and 64 readings

            """)
        var report = Self.ofReadings
        report.quarantined.removeSubrange(1...1)
        report.sealed = []
        #expect(report.json.encoded() == """
            {"entries":[{"id":"0123456789abcdef0123456789abcdef","owner":"","count":3,"received":1790000000,"attempts":0,"reason":"reading-user-unmapped",\
            "readings":{"cuffs":["BP-1"],"first":1790000000,"last":1790000060,"users":[2,3],"unreadable":1,"codes":["measurement-short"]}},\
            {"id":"0123456789abcdef0123456789abcdef","owner":"ann","count":2,"received":0,"attempts":0,"reason":"damaged-entry","readings":null}],\
            "sealed":[],"evidence":[],"room":{"entries":20,"sealed":20,"evidence":2560}}
            """)
    }

    @Test("the fullest list that there can be fits into an answer")
    func fullest() {
        let settings = OutboxSettings()
        let name = String(repeating: "x", count: 64)
        var report = SetAsideReport(quarantined: [], sealed: [], evidence: [], room: SetAsideReport.example.room)
        report.evidence = (1...settings.evidenceCapacity).map {
            // None follows another, so that each takes a line.
            .init(number: Int64($0), owner: name, device: name, log: .max, sequence: UInt64($0) * 2, code: name, receipt: name)
        }
        #expect(ControlAnswer.operate(.success(.setAside(report))).count < ControlClient.limit)
    }

    @Test("the audit reads as text, an act a line")
    func audit() {
        #expect([AuditLine(at: 1_790_000_000, by: "uid 0", act: "a"), AuditLine(at: .max, by: "uid 7", act: "b")].text
            == "2026-09-21 14:13:20 UTC  uid 0: a\n9223372036854775807  uid 7: b\n")
        #expect([AuditLine]().text == "no operator has done anything\n")
    }
}
