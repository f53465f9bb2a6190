import Platform
import Testing

@testable import gateway

extension StatusReport {
    /// A report in which everything that may be known is known.
    static func example(collars: Int) -> StatusReport {
        StatusReport(
            version: "0.1.0", pid: 42, uptimeSeconds: 93_784, clock: Clock(synchronised: true, unixSeconds: 1_790_000_000),
            outbox: Outbox(queued: 3, places: 20, free: 17, exhausted: 1, quarantined: 2, sealed: 0, evidence: 4, damagedFile: "/var/lib/gateway/damaged-1",
                           fault: Fault(code: "storage-full", text: "the disk is full")),
            owners: [
                Owner(key: "anna", state: .holding, holding: "the backend refuses the token", waitingSeconds: 61, queued: 3, lastSuccessAge: 3_600,
                      lastError: Fault(code: "authorisation", text: "401")),
                Owner(key: "ben", state: .idle, queued: 0)
            ],
            collars: (0..<collars).map { number in
                Collar(name: "collar-\(number)", serial: "AC-\(number)", owner: "anna", state: .reading, sinceSeconds: 5, battery: 80, firmware: "1.2",
                       log: 4_294_967_295, oldest: 10, next: 200, checkpoint: 4_294_967_400, unread: 100, settledThrough: 4_294_967_300,
                       pendingClear: 4_294_967_300, lastHeartbeatAge: 2, heldWhy: "its owner changed", lastError: Fault(code: "busy", text: "the collar is busy"))
            },
            indicators: Indicators(status: "on", radio: "reading", uplink: nil))
    }
}

@Suite("The status report")
struct StatusReportTests {
    @Test("reads as text line by line")
    func text() {
        #expect(StatusReport.example(collars: 1).text == """
            gateway 0.1.0, process 42, up 1 d 2 h
            clock    set
            outbox   3 of 20 places taken, 17 free, 1 exhausted, 2 in quarantine, 4 rejected windows kept
                     something is set aside; see: gateway quarantine
                     a damaged file was moved to /var/lib/gateway/damaged-1
                     fault: the disk is full [storage-full]
            owner    anna: holding (the backend refuses the token), 3 queued, next attempt in 1 min 1 s, last receipt 1 h ago
                     last error: 401 [authorisation]
            owner    ben: idle, 0 queued, no receipt since the start
            collar   collar-0 (AC-0, anna): reading for 5 s (its owner changed), battery 80 %, heard 2 s ago, 100 unread
                     log 4294967295, holds 10 up to before 200, stored up to before 4294967400, settled through 4294967300, clear through 4294967300 waits, firmware 1.2
                     last error: the collar is busy [busy]
            leds     status on, radio reading, uplink off

            """)
    }

    @Test("keeps its names in JSON, and null for what is not known")
    func json() throws {
        let report = StatusReport(
            version: "0.1.0", pid: 1, uptimeSeconds: 2, clock: .init(synchronised: false, unixSeconds: 3),
            outbox: .init(queued: 0, places: 20, free: 20, exhausted: 0, quarantined: 0, sealed: 0, evidence: 0), owners: [.init(key: "a", state: .waiting, queued: 0)],
            collars: [.init(name: "f", serial: "S\"1", owner: "a", state: .away, sinceSeconds: 4)], indicators: .init())
        #expect(report.json.encoded() == """
            {"version":"0.1.0","pid":1,"uptime":2,"clock":{"synchronised":false,"unix_time":3},"configuration":{"refused":false,"restart_needed":[]},\
            "outbox":{"queued":0,"places":20,"free":20,"exhausted":0,"quarantined":0,"sealed":0,"evidence":0,"damaged_file":null,"fault":null},\
            "owners":[{"key":"a","state":"waiting","endpoint":null,"holding":null,"waiting":null,"queued":0,"last_success_age":null,"last_error":null}],\
            "radio":null,"collars":[{"name":"f","serial":"S\\"1","owner":"a","state":"away","since":4,"battery":null,"firmware":null,"log":null,"oldest":null,\
            "next":null,"checkpoint":null,"unread":null,"settled_through":null,"pending_clear":null,"last_heartbeat_age":null,"link":null,"address":null,"bonded":null,"held_why":null,\
            "last_error":null}],"cuffs":[],"leds":{"status":null,"radio":null,"uplink":null}}
            """)
        #expect(try JSONValue(parsing: Array(report.json.encoded(indented: true).utf8)) == report.json)
    }

    @Test("says that the configuration was refused, and what in it waits for a restart")
    func configuration() {
        var report = StatusReport.example(collars: 0)
        report.configuration = .init(isRefused: true, restartNeeded: ["[radio].controller is new", "[collar] \"b\" is new"])
        #expect(report.text.split(separator: "\n").filter { $0.hasPrefix("config") } == [
            "config   refused when it was last read, the former one is in force; see: gateway check-config",
            "config   waits for a restart: [radio].controller is new", "config   waits for a restart: [collar] \"b\" is new"
        ])
        #expect(report.json["configuration"]?.encoded() == #"{"refused":true,"restart_needed":["[radio].controller is new","[collar] \"b\" is new"]}"#)
    }

    @Test("points to what is set aside only when something is", arguments: [(0, 0, 0, false), (1, 0, 0, true), (0, 1, 0, true), (0, 0, 1, true)])
    func hint(quarantined: Int, sealed: Int, evidence: Int, hinted: Bool) {
        var report = StatusReport.example(collars: 0)
        report.outbox.quarantined = quarantined
        report.outbox.sealed = sealed
        report.outbox.evidence = evidence
        #expect((report.text.range(of: "see: gateway quarantine") != nil) == hinted)
    }

    @Test("says times in their two largest units", arguments: [
        (-5, "0 s"), (0, "0 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (3_600, "1 h"), (86_399, "23 h 59 min"), (90_000, "1 d 1 h")
    ] as [(Int64, String)])
    func spans(seconds: Int64, words: String) {
        #expect(span(seconds) == words)
    }
}
