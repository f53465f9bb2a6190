import Platform
import Testing
@testable import Uplink

@Suite("The retry machine: holds")
struct HoldTests {
    @Test("a captive portal's 200 with HTML confirms nothing: the lane is held and nothing is charged (MozStumbler lost 30,000 points)")
    func captivePortal() throws {
        let bench = try Bench()
        bench.transport.answers { _ in portal }
        bench.queue([entry("a"), entry("b")])
        bench.advance(3_600)
        #expect(bench.queue.outcomes.isEmpty)
        #expect(bench.queue.entries == [entry("a"), entry("b")])
        #expect(bench.holds == [.interception])
        #expect(bench.failures.first?.error.code == "receipt-content-type")
        bench.transport.answers([:])
        bench.flush(.networkBack)
        #expect(bench.queue.settled == ["a", "b"])
        #expect(bench.holdsEnded == [.interception])
    }

    @Test("a wrong receipt confirms nothing either", arguments: [
        ["key": "\"x\""], ["digest": "\"sha-256=:AAAA:\""], ["first": "1"], ["accepted": "2"], ["log": "9"], ["gaps": "4"],
    ])
    func wrongReceipt(_ change: [String: String]) throws {
        let bench = try Bench()
        bench.transport.answers { sent in
            .success(HTTPResponse(status: 200, contentType: "application/json", body: json(receiptMembers(for: sent.request).merging(change) { $1 })))
        }
        bench.queue([entry("a")])
        #expect(bench.queue.outcomes.isEmpty && bench.queue.ids == ["a"])
        #expect(bench.holds == [.interception])
    }

    @Test("a hold probes at doubling delays up to 15 minutes, uncharged, and no slow flush disturbs it", arguments: [
        (portal, .interception), (status(302), .interception), (status(511), .interception), (failure(.certificateUntrusted), .interception),
        (failure(.pinMismatch), .interception), (failure(.certificateExpired), .interception), (status(404), .endpoint),
    ] as [(ScriptedTransport.Reply, HoldReason)])
    func probes(_ reply: ScriptedTransport.Reply, _ reason: HoldReason) throws {
        let bench = try Bench()
        bench.transport.answers { _ in reply }
        bench.queue([entry("a")])
        bench.advance(4_000)
        #expect(bench.times == [0, 30, 90, 210, 450, 930, 1_830, 2_730, 3_630])
        #expect(bench.holds == [reason])
        #expect(bench.queue.entries == [entry("a")])
        #expect(bench.queue.outcomes.isEmpty)
        guard case .holding(reason, let probe) = try bench.lane().state else { Issue.record("not holding"); return }
        #expect(probe == BootInstant(nanoseconds: 1_000_000_000_000) + .seconds(4_530))
    }

    @Test("the first probe is made with the first entry, and the next with the next: the fault may be the entry's")
    func rotation() throws {
        let bench = try Bench()
        bench.transport.answers(["a": portal])
        bench.queue([entry("a"), entry("b")])
        #expect(bench.keys == ["a"])
        bench.advance(30)
        #expect(bench.keys == ["a", "a"])
        bench.advance(60)
        #expect(bench.keys.prefix(3) == ["a", "a", "b"])
        #expect(bench.queue.settled == ["b"])
    }

    @Test("a flush during a hold is a probe at once, and probing starts over", arguments: [.networkBack, .requested, .ownersChanged, .tokenChanged, .controllerBack, .deviceLinked, .start] as [FlushReason])
    func flushProbes(_ reason: FlushReason) throws {
        let bench = try Bench()
        bench.transport.answers { _ in portal }
        bench.queue([entry("a"), entry("b")])
        bench.advance(100)
        #expect(bench.times == [0, 30, 90])
        bench.flush(reason)
        bench.advance(61)
        #expect(bench.times == [0, 30, 90, 100, 160])
    }

    @Test("a failure to reach the backend says nothing about a hold, and is not charged")
    func unreachableProbe() throws {
        let bench = try Bench()
        bench.transport.answers { _ in portal }
        bench.queue([entry("a")])
        bench.transport.answers { _ in failure(.dns) }
        bench.advance(100)
        #expect(bench.times == [0, 30, 90])
        #expect(bench.queue.entries == [entry("a")])
        #expect(bench.holdsEnded.isEmpty)
    }

    @Test("a certificate not yet valid for a clock that nobody set holds, charges nothing and goes on as soon as the clock is set (home-assistant's build-date clock)",
          arguments: [.certificateNotYetValid, .certificateExpired] as [TransportFailure.Kind])
    func clock(_ kind: TransportFailure.Kind) throws {
        let bench = try Bench()
        bench.clock(WallTime(seconds: 1_600_000_000, synchronised: false))
        bench.transport.answers { _ in failure(kind) }
        bench.queue([entry("a"), entry("b")])
        bench.advance(5)
        #expect(bench.holds == [.clock])
        #expect(bench.queue.outcomes.isEmpty)
        bench.perform { await $0.clockChanged() }
        #expect(bench.sent.count == 1)
        bench.transport.answers([:])
        bench.clock(WallTime(seconds: 1_700_000_000, synchronised: true))
        bench.perform { await $0.clockChanged() }
        #expect(bench.queue.settled == ["a", "b"])
        #expect(bench.times == [0, 5, 5])
        #expect(bench.holdsEnded == [.clock])
    }

    @Test("with the clock set the same certificate is an interception")
    func clockSet() throws {
        let bench = try Bench()
        bench.clock(WallTime(seconds: 1_600_000_000, synchronised: false))
        bench.transport.answers { _ in failure(.certificateExpired) }
        bench.queue([entry("a")])
        bench.clock(WallTime(seconds: 1_700_000_000, synchronised: true))
        bench.perform { await $0.clockChanged() }
        #expect(bench.holds == [.clock, .interception])
        #expect(bench.sent.count == 2)
    }

    @Test("signals that alternate do not make the probes more frequent")
    func alternating() throws {
        let bench = try Bench()
        bench.transport.answers { sent in Int((sent.at - BootInstant(nanoseconds: 0)).milliseconds / 1_000) % 60 == 40 ? portal : status(403) }
        bench.queue([entry("a")])
        bench.advance(3_600)
        #expect(bench.sent.count < 24)
    }
}

@Suite("The retry machine: authorisation")
struct AuthorisationTests {
    @Test("on 401 or 403 the token is read again and tried once; then that owner is held and the others go on", arguments: [401, 403])
    func once(_ code: Int) throws {
        let bench = try Bench()
        bench.transport.answers { $0.owner == "anna" ? status(code) : .success(receipt(for: $0.request)) }
        bench.queue([entry("a"), entry("c"), entry("b", owner: "ben")])
        #expect(bench.keys.filter { $0 != "b" } == ["a", "a"])
        #expect(bench.holds == [.authorisation])
        #expect(bench.queue.settled == ["b"])
        #expect(bench.queue.outcomes.count == 1)
        #expect(bench.failures.map(\.attempt) == [0, 0])
    }

    @Test("the second try goes with the token that the file holds by then")
    func newToken() throws {
        let bench = try Bench()
        let scratch = bench.scratch
        bench.transport.answers { sent in
            if sent.token == "token-of-anna" {
                scratch.write("anna", "newer\n")
                return status(401)
            }
            return .success(receipt(for: sent.request))
        }
        bench.queue([entry("a")])
        #expect(bench.sent.map(\.token) == ["token-of-anna", "newer"])
        #expect(bench.queue.settled == ["a"])
        #expect(bench.holds.isEmpty)
    }

    @Test("a new token ends the hold at once")
    func tokenChanged() throws {
        let bench = try Bench()
        bench.transport.answers { $0.token == "newer" ? .success(receipt(for: $0.request)) : status(401) }
        bench.queue([entry("a"), entry("b")])
        bench.scratch.write("anna", "newer\n")
        bench.flush(.tokenChanged)
        #expect(bench.queue.settled == ["a", "b"])
        #expect(bench.holdsEnded == [.authorisation])
    }

    @Test("without a token that can be read nothing is sent", arguments: ["missing", "exposed", "unknown"])
    func noToken(_ how: String) throws {
        let bench = try Bench(owners: how == "unknown" ? ["ben"] : ["anna", "ben"])
        if how == "missing" { try Child.run(["rm", "\(bench.scratch.path)/anna"]) }
        if how == "exposed" { bench.scratch.write("anna", "token-of-anna", mode: 0o644) }
        bench.queue([entry("a"), entry("b", owner: "ben")])
        #expect(bench.keys == ["b"])
        #expect(bench.holds == [.authorisation])
        #expect(bench.failures.first?.error.code == (how == "unknown" ? "owner-without-token" : "token-unreadable"))
        let file = bench.scratch.write("anna", "token-of-anna")
        let other = "\(bench.scratch.path)/ben"
        bench.perform { await $0.ownersChanged(["anna": file, "ben": other], patients: [:]) }
        #expect(bench.queue.settled == ["b", "a"])
    }

    @Test("an entry goes only with its own owner's token, whatever the order (vfs-tracker uploaded one user's items as another)")
    func ownToken() throws {
        let bench = try Bench(owners: ["anna", "ben", "cleo"])
        let owners = ["anna", "ben", "cleo"]
        bench.transport.answers { Int($0.key)! % 5 == 0 ? status(503) : .success(receipt(for: $0.request)) }
        bench.queue((0..<20).map { entry("\($0)", owner: owners[$0 % 3]) })
        bench.advance(200)
        #expect(bench.sent.count > 20)
        for sent in bench.sent {
            #expect(sent.owner == owners[Int(sent.key)! % 3])
            #expect(sent.token == "token-of-\(sent.owner)")
        }
    }

    @Test("an entry whose content belongs to another owner is not sent at all")
    func mismatch() throws {
        let bench = try Bench()
        bench.queue.set([entry("a", owner: "ben")])
        bench.perform { await $0.setEntries([entry("a", owner: "anna")]) }
        #expect(bench.sent.isEmpty)
        #expect(bench.queue.outcomes == [.quarantine(id: "a", code: "entry-owner-mismatch", words: "queued for anna, but stored for another owner")])
    }

    @Test("a request in flight keeps its owner when the owners change")
    func inFlight() throws {
        let bench = try Bench()
        bench.transport.takes(.seconds(2))
        bench.queue([entry("a")])
        bench.perform { await $0.ownersChanged([:], patients: [:]) }
        bench.perform { await $0.setEntries([]) }
        bench.advance(2)
        #expect(bench.queue.settled == ["a"])
        #expect(bench.sent.map(\.token) == ["token-of-anna"])
    }
}
