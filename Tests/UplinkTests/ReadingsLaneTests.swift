import Platform
import Synchronization
import Testing
@testable import Uplink

@Suite("Lanes of readings")
struct ReadingsLaneTests {
    private func bench(_ server: FHIRServer = FHIRServer(), fhirBase: String? = nil, policy: RetryPolicy = RetryPolicy()) throws -> Bench {
        let bench = try Bench(fhirBase: fhirBase, policy: policy)
        bench.transport.answers { server.answer($0) }
        return bench
    }

    /// What was sent as readings: key and names of each request.
    private func requests(_ bench: Bench) -> [[String]] { bench.sent.map { FHIRServer.readings($0.request) } }

    @Test("readings go as their owner's, to the FHIR base or without one to v1/readings, and their acceptance is an event of its own", arguments: [nil, "https://fhir.example/r4/"])
    func accepted(fhirBase: String?) throws {
        let bench = try bench(fhirBase: fhirBase)
        bench.queue([readings("a"), readings("b", owner: "ben", count: 1)])
        let urls = Set(bench.sent.map(\.request.url))
        #expect(urls == [fhirBase == nil ? "https://backend.example/hub/v1/readings" : "https://fhir.example/r4"])
        #expect(bench.sent.map(\.owner) == ["anna", "ben"] && bench.sent.map(\.token) == ["token-of-anna", "token-of-ben"])
        #expect(String(decoding: bench.sent[1].request.body, as: UTF8.self).contains("Patient/ben"))
        #expect(bench.queue.ids.isEmpty)
        let told = bench.events.filter { if case .readingsAccepted = $0 { true } else { false } }
        #expect(told == [.readingsAccepted(owner: "anna", entry: "a", readings: ["a-0", "a-1", "a-2"]), .readingsAccepted(owner: "ben", entry: "b", readings: ["b-0"])])
        let lines = bench.sink.records.filter { $0.event == .readingsAccepted }
        #expect(lines.map(\.message) == ["3 blood-pressure readings of anna were accepted by the backend", "a blood-pressure reading of ben was accepted by the backend"])
        #expect(lines.allSatisfy { $0.level == .notice })
        // A measured value in any line would be one too many.
        #expect(!bench.sink.records.contains { $0.message.contains("124") })
        let lane = try bench.lane("anna", .readings)
        #expect(lane.lastSuccess != nil && lane.queued == 0 && lane.lastError == nil)
    }

    @Test("what one endpoint answers says nothing about the other of the same owner")
    func endpoints() throws {
        let server = FHIRServer()
        let bench = try Bench()
        bench.transport.answers { $0.request.url.hasSuffix("/raw-windows") ? portal : server.answer($0) }
        bench.queue([entry("w"), readings("a")])
        #expect(bench.queue.ids == ["w"] && bench.holds == [.interception])
        if case .holding(.interception, _) = try bench.lane().state {} else { Issue.record("the lane of windows is not held") }
        #expect(try bench.lane("anna", .readings).state == .idle)
        bench.transport.answers { $0.request.url.hasSuffix("/readings") ? status(503) : .success(receipt(for: $0.request)) }
        bench.queue([entry("w"), readings("c")])
        bench.flush()
        #expect(bench.queue.ids == ["c"])
    }

    @Test("of a request that was refused for a reading that it names, that one is set aside and the rest goes on under another key", arguments: 0..<3)
    func named(place: Int) throws {
        let bench = try bench(FHIRServer(conflicts: ["a-\(place)"]))
        bench.queue([readings("a"), readings("b", count: 1)])
        let rest = (0..<3).filter { $0 != place }.map { "a-\($0)" }
        #expect(requests(bench) == [["a-0", "a-1", "a-2"], rest, ["b-0"]])
        #expect(bench.keys == ["a", "a-new", "b"])
        #expect(bench.queue.setAside == ["a-\(place)": "reading-conflict"] && bench.queue.ids.isEmpty)
        #expect(bench.events.contains(.readingsConflicted(owner: "anna", entry: "a", readings: ["a-\(place)"])))
        #expect(bench.events.contains(.readingsAccepted(owner: "anna", entry: "a", readings: rest)))
        #expect(bench.failures.map(\.error.code) == ["http-412"] && bench.failures.map(\.attempt) == [0])
        #expect(bench.sink.records.contains { $0.event == .readingSetAside && $0.level == .error })
    }

    @Test("of a request that was refused without saying for which, the one is found; every other is accepted once", arguments: 0..<5)
    func unnamed(place: Int) throws {
        let bench = try bench(FHIRServer(conflicts: ["a-\(place)"], names: false))
        bench.queue([readings("a", count: 5)])
        #expect(bench.queue.setAside == ["a-\(place)": "reading-conflict"] && bench.queue.ids.isEmpty)
        let expected = (0..<5).filter { $0 != place }.map { ("a-\($0)", 1) }
        #expect(bench.queue.accepted == Dictionary(uniqueKeysWithValues: expected))
        // Nothing is known about sizes from that.
        #expect(!bench.events.contains { if case .readingsLimitLearned = $0 { true } else { false } })
    }

    @Test("readings that all conflict are all set aside, and the entry's place is free", arguments: [true, false])
    func all(names: Bool) throws {
        let bench = try bench(FHIRServer(conflicts: ["a-0", "a-1", "a-2", "a-3"], names: names))
        bench.queue([readings("a", count: 4)])
        #expect(bench.queue.setAside.count == 4 && bench.queue.ids.isEmpty && bench.queue.accepted.isEmpty)
        #expect(try bench.lane("anna", .readings).queued == 0)
    }

    @Test("a reading that conflicts alone is set aside")
    func alone() throws {
        let bench = try bench(FHIRServer(conflicts: ["a-0"], names: false))
        bench.queue([readings("a", count: 1)])
        #expect(bench.keys == ["a"] && bench.queue.setAside == ["a-0": "reading-conflict"] && bench.queue.ids.isEmpty)
    }

    @Test("an answer that refuses single readings of a Bundle that was taken settles all of them")
    func entryByEntry() throws {
        let bench = try Bench()
        bench.transport.answers { _ in .success(Readings.response(["200", "201", "412", "201 Created"])) }
        bench.queue([readings("a")])
        #expect(bench.queue.setAside == ["a-1": "reading-conflict"] && bench.queue.accepted == ["a-0": 1, "a-2": 1] && bench.queue.ids.isEmpty)
        #expect(bench.events.contains(.readingsConflicted(owner: "anna", entry: "a", readings: ["a-1"])))
    }

    @Test("a conflict in a part, named or not, costs that reading alone, whatever has its receipt already", arguments: [true, false], 0..<9)
    func inParts(names: Bool, place: Int) throws {
        let bench = try bench(FHIRServer(conflicts: ["a-\(place)"], names: names, limit: 4))
        bench.queue([readings("a", count: 9)])
        #expect(bench.queue.setAside == ["a-\(place)": "reading-conflict"] && bench.queue.ids.isEmpty)
        #expect(bench.queue.accepted.count == 8 && bench.queue.accepted.values.allSatisfy { $0 == 1 })
        #expect(Set(bench.keys).count == bench.keys.count)
    }

    @Test("413 divides the readings, its limit bounds later entries from the beginning, and windows have a limit of their own")
    func sizes() throws {
        let bench = try bench(FHIRServer(limit: 10))
        bench.queue([readings("a", count: 64)])
        #expect(bench.queue.ids.isEmpty && bench.queue.accepted.count == 64 && bench.queue.accepted.values.allSatisfy { $0 == 1 })
        let learned = bench.events.compactMap { if case .readingsLimitLearned("anna", let limit) = $0 { limit } else { nil } }
        #expect(learned == [32, 16, 8])
        let before = bench.sent.count
        bench.add(readings("b", count: 20))
        #expect(requests(bench)[before...].map(\.count) == [7, 7, 6] && bench.failures.count == 3)
        bench.add(entry("w", count: 127))
        #expect(bench.keys.last == "w" && bench.queue.ids.isEmpty)
        #expect(!bench.events.contains { if case .limitLearned = $0 { true } else { false } })
    }

    @Test("one reading that is too large alone goes into quarantine, after the others")
    func tooLargeAlone() throws {
        let server = FHIRServer()
        let bench = try Bench()
        bench.transport.answers { FHIRServer.readings($0.request).contains("a-1") ? status(413) : server.answer($0) }
        bench.queue([readings("a", count: 3)])
        #expect(bench.queue.quarantine == ["a"] && Set(server.held.keys) == ["a-0", "a-2"])
    }

    @Test("422 gives one new key, and again 422 quarantines the entry")
    func conflictOfKeys() throws {
        let bench = try Bench()
        bench.transport.answers { _ in status(422) }
        bench.queue([readings("a")])
        #expect(bench.keys == ["a", "a-new"] && bench.queue.quarantine == ["a"])
    }

    @Test("the readings of an owner without a patient, or without a token, wait unfixed: others may still join them", arguments: [true, false])
    func missing(patient: Bool) throws {
        let server = FHIRServer()
        let bench = try Bench(owners: patient ? ["anna", "ben"] : ["ben"], patients: patient ? ["ben": "Patient/ben"] : ["anna": "Patient/anna"])
        bench.transport.answers { server.answer($0) }
        bench.queue([readings("a"), entry("w", owner: "ben")])
        #expect(bench.keys == ["w"] && bench.holds == [.authorisation])
        #expect(bench.failures.map(\.error.code) == [patient ? "owner-without-patient" : "owner-without-token"])
        bench.advance(10_000)
        #expect(bench.keys == ["w"] && bench.queue.frozen.isEmpty && bench.queue.quarantine.isEmpty)
        #expect(bench.queue.join("a", Readings.reading("late")))
        let files = ["anna": bench.scratch.write("anna", "token-of-anna\n")]
        bench.perform { await $0.ownersChanged(files, patients: ["anna": "Patient/anna"]) }
        #expect(bench.queue.ids.isEmpty && bench.queue.accepted["late"] == 1 && bench.holdsEnded == [.authorisation])
    }

    @Test("a patient that is no reference holds the owner's readings, and condemns none of them")
    func unusablePatient() throws {
        let bench = try Bench(patients: ["anna": "nobody"])
        bench.queue([readings("a")])
        #expect(bench.keys.isEmpty && bench.failures.map(\.error.code) == ["patient-unusable"] && bench.holds == [.authorisation])
        #expect(bench.queue.ids == ["a"] && bench.queue.setAside.isEmpty)
    }

    @Test("a repeated attempt is the same request byte for byte, whatever came meanwhile")
    func repeated() throws {
        let bench = try bench(policy: RetryPolicy(flushInterval: .seconds(86_400)))
        let server = FHIRServer()
        bench.transport.answers { _ in status(503) }
        bench.queue([readings("a")])
        #expect(!bench.queue.join("a", Readings.reading("late")))
        bench.advance(31)
        bench.transport.answers { server.answer($0) }
        bench.advance(60)
        #expect(bench.times == [0, 30, 90] && bench.queue.ids.isEmpty)
        func fixed(_ sent: ScriptedTransport.Sent) -> [HTTPHeader] { sent.request.headers.filter { $0.name != "Hub-Sent" } }
        #expect(bench.sent.allSatisfy { $0.request.body == bench.sent[0].request.body && fixed($0) == fixed(bench.sent[0]) && $0.request.url == bench.sent[0].request.url })
    }

    @Test("readings that joined after the queue's last word are sent, and are divided with the others", arguments: [FHIRServer(limit: 3), FHIRServer(conflicts: ["late"], names: false)])
    func grown(server: FHIRServer) throws {
        let bench = try Bench()
        bench.transport.answers { server.answer($0) }
        bench.queue.set([readings("a", count: 4)])
        #expect(bench.queue.join("a", Readings.reading("late")))
        // The lane is told of fewer than there are, and of nothing after that.
        bench.queue.onChange { _ in }
        bench.perform { await $0.setEntries([readings("a", count: 4)]) }
        #expect(bench.queue.ids.isEmpty)
        #expect(Set(bench.queue.accepted.keys).union(bench.queue.setAside.keys) == ["a-0", "a-1", "a-2", "a-3", "late"])
    }

    @Test("while nothing answers two entries are tried, and the others stay open; when something does, all go")
    func silence() throws {
        let bench = try Bench()
        let server = FHIRServer()
        bench.transport.answers { _ in failure(.timeout) }
        bench.queue([readings("a", count: 1)])
        bench.advance(600)
        for id in ["b", "c", "d"] {
            bench.add(readings(id, count: 1))
            bench.advance(3_600)
        }
        #expect(bench.queue.frozen == ["a", "b"])
        #expect(bench.queue.join("c", Readings.reading("late")))
        bench.transport.answers { server.answer($0) }
        bench.advance(1_000)
        #expect(bench.queue.ids.isEmpty && Set(server.held.keys) == ["a-0", "b-0", "c-0", "d-0", "late"])
    }

    @Test("a reading of which no request can be made is set aside by itself", arguments: [true, false])
    func unsendable(stored: Bool) throws {
        let bench = try bench(FHIRServer(limit: 2))
        var content = MemoryQueue.readings("a", 5)
        if stored { bench.queue.spoil("a-3") } else { content[3].zoneOffset = 61 }
        bench.queue.fill("a", content)
        bench.queue([readings("a", count: 5), readings("b", count: 1)])
        #expect(bench.queue.setAside == ["a-3": "reading-unsendable"] && bench.queue.ids.isEmpty && bench.queue.quarantine.isEmpty)
        #expect(bench.queue.accepted == ["a-0": 1, "a-1": 1, "a-2": 1, "a-4": 1, "b-0": 1])
        #expect(bench.events.contains { if case .readingSetAside("anna", "a", stored ? nil : "a-3", let error) = $0 { error.code == "reading-unsendable" } else { false } })
    }

    @Test("a portal, a token that is refused, a wrong endpoint: each holds the lane, loses nothing, and what comes back goes on", arguments: [
        (portal, HoldReason.interception), (status(302), .interception), (status(511), .interception), (status(401), .authorisation), (status(403), .authorisation), (status(404), .endpoint),
        (status(200), .interception), (failure(.certificateUntrusted), .interception)
    ])
    func holds(reply: ScriptedTransport.Reply, reason: HoldReason) throws {
        let bench = try Bench()
        let server = FHIRServer()
        bench.transport.answers { _ in reply }
        bench.queue([readings("a"), readings("b", count: 1)])
        bench.advance(7_200)
        #expect(bench.holds.first == reason && bench.queue.ids == ["a", "b"] && bench.queue.outcomes.isEmpty)
        bench.transport.answers { server.answer($0) }
        bench.flush()
        #expect(bench.queue.ids.isEmpty && server.held.count == 4 && bench.queue.quarantine.isEmpty)
    }

    @Test("an entry that is refused makes way once another is accepted")
    func refused() throws {
        let bench = try Bench()
        let server = FHIRServer()
        bench.transport.answers { $0.key == "a" ? status(400) : server.answer($0) }
        bench.queue([readings("a"), readings("b", count: 1)])
        #expect(bench.queue.quarantine == ["a"] && bench.queue.accepted == ["b-0": 1])
    }

    @Test("a conflict that cannot be written down is found again later, and nothing is lost")
    func unwritable() throws {
        let bench = try bench(FHIRServer(conflicts: ["a-1"]))
        bench.queue.cannotWrite(true)
        bench.queue([readings("a")])
        #expect(bench.queue.ids == ["a"] && bench.queue.setAside.isEmpty)
        #expect(bench.events.contains { if case .storageFailed = $0 { true } else { false } })
        bench.queue.cannotWrite(false)
        bench.advance(200)
        #expect(bench.queue.ids.isEmpty && bench.queue.setAside == ["a-1": "reading-conflict"] && bench.queue.accepted == ["a-0": 1, "a-2": 1])
    }

    @Test("through faults of every kind each reading arrives once as its owner's, or is set aside if it conflicts; a key never stands for two contents", arguments: UInt64(1)...40)
    func randomFaults(_ seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        var entries: [QueuedEntry] = []
        for number in 0..<8 { entries.append(readings("e\(number)", owner: dice.next() % 3 == 0 ? "ben" : "anna", count: 1 + Int(dice.next() % 12))) }
        let all = entries.flatMap { entry in (0..<entry.count).map { (name: "\(entry.id)-\($0)", owner: entry.owner) } }
        let conflicts = Set(all.filter { _ in dice.next() % 10 == 0 }.map(\.name))
        let server = FHIRServer(conflicts: conflicts, names: dice.next() % 2 == 0, limit: 1 + Int(dice.next() % 9))
        let bench = try Bench(random: seed &* 0x1234_5678_9ABC_DEF1)
        let faults = Mutex(SplitMix64(seed: seed &+ 99))
        bench.transport.answers { sent in
            let roll = faults.withLock { $0.next() % 20 }
            switch roll {
            case 0: return failure(.timeout)
            case 1: return status(503, retryAfter: "40")
            case 2: return portal
            case 3: return status(401)
            case 4, 5:
                // Stored, and the answer is lost.
                _ = server.answer(sent)
                return failure(.connectionLost)
            case 6: return failure(.dns)
            default: return server.answer(sent)
            }
        }
        bench.queue(entries)
        var late: [(name: String, owner: String)] = []
        for number in 0..<400 where !bench.queue.ids.isEmpty {
            bench.advance(97)
            if number < 5, let entry = bench.queue.entries.randomElement(using: &dice), bench.queue.join(entry.id, Readings.reading("late\(number)")) {
                late.append(("late\(number)", entry.owner))
                bench.perform { [entries = bench.queue.entries] in await $0.setEntries(entries) }
            }
        }
        #expect(bench.queue.ids.isEmpty && bench.queue.quarantine.isEmpty)
        #expect(Set(bench.queue.setAside.keys) == conflicts)
        let expected = (all + late).filter { !conflicts.contains($0.name) }
        #expect(server.held == Dictionary(uniqueKeysWithValues: expected.map { ($0.name, $0.owner) }))
        #expect(bench.queue.accepted == Dictionary(uniqueKeysWithValues: expected.map { ($0.name, 1) }))
        let contents = Dictionary(grouping: bench.sent, by: \.key).mapValues { Set($0.map(\.request.body)) }
        #expect(contents.values.allSatisfy { $0.count == 1 })
    }
}
