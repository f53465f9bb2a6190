import Glibc
import Outbox
import Platform
import Simulation
import Testing
@testable import gateway

@Suite("An operator and what is set aside, over the control socket of the whole")
struct OperatorTests {
    let recording: Recording

    init() throws {
        recording = try projectRecording()
    }

    /// A hub of the world with its control socket.
    private final class Station: Sendable {
        let world: World
        let hub: Hub
        let server: ControlServer
        let path: String

        init(_ world: World, _ configuration: Configuration) {
            self.world = world
            let hub = world.hub(configuration)
            self.hub = hub
            path = "\(world.directory)/c.sock"
            server = ControlServer(on: world.loop, at: path, allowed: [geteuid()], log: world.log) {
                await hub.status()
            } flush: {
                await hub.flush()
            } operate: { request, user in
                await hub.perform(request, by: user)
            }
        }

        func start() async throws {
            try await server.start()
            try await hub.start()
        }

        func stop() async {
            await server.stop()
            await hub.stop()
        }

        func ask(_ line: String) async throws -> JSONValue {
            let probe = try ControlProbe(on: world.loop, at: path)
            try probe.send(line + "\n")
            return try await probe.json()
        }

        func ask(_ request: OperatorRequest) async throws -> JSONValue {
            try await ask(String(decoding: ControlRequest.operate(request).line.dropLast(), as: UTF8.self))
        }

        /// Collects a backlog of windows in one entry and has the backend refuse its key twice.
        func quarantineOne(producing: Bool = false) async throws -> EntryID {
            await world.backend.set(contestsKeys: true)
            try await start()
            await world.collar.start()
            if !producing { await world.collar.stopProducing() }
            await hub.flush()
            let isSetAside = try await world.wait(.seconds(600)) { await hub.view().snapshot?.quarantined.count == 1 }
            try #require(isSetAside)
            await world.backend.set(contestsKeys: false)
            return try #require(await hub.view().snapshot?.quarantined.first?.id)
        }

        /// Whether the collar was told to forget everything that it held.
        func everythingIsCleared() async throws -> Bool {
            let books = await world.collar.books()
            return books.clears.last?.through == books.next &- 1
        }
    }

    @Test("an entry that the backend refused twice is listed, stops clears, and is delivered and cleared once it is released")
    func release() throws {
        let world = try World(.init(seed: 31, backlog: 100), recording: recording)
        try world.loop.run {
            let station = Station(world, world.configuration())
            let id = try await station.quarantineOne()
            #expect(await world.backend.requests == 2)

            let list = try await station.ask(.quarantine)
            let entry = try #require(list["quarantine"]?["entries"]?.elements?.first)
            let log = await world.collar.books().log
            #expect(entry["id"]?.string == id.text && entry["owner"] == .string("ann") && entry["device"] == .string("C-1"))
            #expect(entry["log"] == .number(log) && entry["first"] == .integer(0) && (entry["count"]?.integer ?? 0) >= 100)
            #expect(entry["reason"]?.string?.isEmpty == false)
            #expect(list["text"]?.string?.range(of: id.text) != nil)
            let status = try await station.ask("{\"command\":\"status\"}")
            #expect(status["text"]?.string?.range(of: "see: gateway quarantine") != nil)
            // It stays as it is by itself, and the collar keeps what it has.
            try await world.loop.sleep(for: .seconds(3_600))
            await station.hub.flush()
            try await world.loop.sleep(for: .seconds(60))
            #expect(await world.backend.requests == 2)
            #expect(await world.collar.books().clears.isEmpty)

            let answer = try await station.ask(.release(id))
            #expect(answer["done"]?["by"] == .string("uid \(geteuid())"))
            #expect(try await world.wait(.seconds(60)) { await world.everythingIsAccountedFor() })
            #expect(try await world.wait(.seconds(60)) { try await station.everythingIsCleared() })
            #expect(try await station.ask(.quarantine)["text"] == .string("nothing is set aside\n"))
            #expect(try await station.ask(.release(id))["error"]?["code"] == .string("not-quarantined"))
            let audit = try await station.ask(.audit)
            #expect(audit["audit"]?.elements?.count == 1)
            #expect(audit["audit"]?.elements?.first?["act"]?.string?.hasPrefix("released entry \(id) into the queue: ") == true)
            await world.checkInvariants()
            await station.stop()
            await world.collar.stop()
        }
        #expect(world.lines.records.contains { $0.event == .operatorActed && $0.fields == [LogField("PEER_UID", geteuid())] })
    }

    @Test("an entry that is declared settled is never sent, the clear follows, and who did it stands in the audit, after a restart as well")
    func settle() throws {
        let world = try World(.init(seed: 32, backlog: 100), recording: recording)
        try world.loop.run {
            let station = Station(world, world.configuration())
            let id = try await station.quarantineOne()
            let refused = try await station.ask("{\"command\":\"settle\",\"entry\":\"\(id)\"}")
            #expect(refused["error"]?["text"] == .string("settle cannot be taken back: it needs \"yes\": true"))
            try await world.loop.sleep(for: .seconds(600))
            #expect(await world.collar.books().clears.isEmpty)

            let answer = try await station.ask(.settle(id))
            let done = try #require(answer["done"])
            let act = try #require(done["act"]?.string)
            #expect(act.hasPrefix("settled quarantined entry \(id): ") && answer["text"] == .string(act + "\n"))
            // The collar is told at once, not with its next heartbeat.
            #expect(try await world.wait(.seconds(2)) { try await station.everythingIsCleared() })
            #expect(await world.backend.windows.isEmpty)
            #expect(await world.backend.requests == 2)
            await station.stop()

            let again = Station(world, world.configuration())
            try await again.start()
            let audit = try await again.ask(.audit)
            #expect(audit["audit"] == .array([done]))
            await again.stop()
            await world.collar.stop()
        }
    }

    @Test("what is sealed is purged only with a word of its own and only for an owner who is gone; then the clear follows")
    func purge() throws {
        let world = try World(.init(seed: 33, backlog: 100), recording: recording)
        try world.loop.run {
            await world.backend.set(away: true)
            let first = Station(world, world.configuration())
            try await first.start()
            await world.collar.start()
            await world.collar.stopProducing()
            await first.hub.flush()
            #expect(try await world.wait(.seconds(600)) { await first.hub.view().snapshot?.queued.isEmpty == false })
            await first.stop()
            await world.backend.set(away: false)

            let second = Station(world, world.configuration(owner: "ben", backlog: .new, owners: ["ben"]))
            try await second.start()
            let list = try await second.ask(.quarantine)
            #expect(list["quarantine"]?["sealed"]?.elements?.map { $0["owner"] } == [.string("ann")])
            try await world.loop.sleep(for: .seconds(600))
            for (line, code) in [("{\"command\":\"purge-sealed\",\"owner\":\"ann\"}", "malformed"),
                                 ("{\"command\":\"purge-sealed\",\"owner\":\"ben\",\"yes\":true}", "nothing-sealed"),
                                 ("{\"command\":\"purge-sealed\",\"owner\":\"nobody\",\"yes\":true}", "nothing-sealed")] {
                #expect(try await second.ask(line)["error"]?["code"] == .string(code))
            }
            #expect(await second.hub.view().snapshot?.sealed.isEmpty == false)
            #expect(await world.collar.books().clears.isEmpty)
            #expect(try await second.ask(.audit)["audit"] == .array([]))

            #expect(try await second.ask(.purgeSealed(owner: "ann"))["done"]?["by"] == .string("uid \(geteuid())"))
            #expect(try await world.wait(.seconds(2)) { try await second.everythingIsCleared() })
            #expect(await second.hub.view().snapshot?.sealed.isEmpty == true)
            #expect(await world.backend.windows.isEmpty)
            await second.stop()
            await world.collar.stop()
        }
    }

    @Test("rejected windows are listed without their bytes, and discarded up to a number that is there")
    func evidence() throws {
        let world = try World(.init(seed: 34, backlog: 20), recording: recording)
        try world.loop.run {
            await world.backend.set(contestedWindows: [3, 4, 9])
            let station = Station(world, world.configuration())
            try await station.start()
            await world.collar.start()
            await world.collar.stopProducing()
            await station.hub.flush()
            #expect(try await world.wait(.seconds(600)) { await station.hub.view().snapshot?.evidence == 3 })
            let list = try await station.ask(.quarantine)
            let windows = try #require(list["quarantine"]?["evidence"]?.elements)
            #expect(windows.map { $0["sequence"] } == [.integer(3), .integer(4), .integer(9)])
            for window in windows {
                guard case .object(let members) = window else { return #expect(Bool(false)) }
                #expect(members.members.map(\.name) == ["number", "owner", "device", "log", "sequence", "code", "receipt"])
            }
            let numbers = windows.compactMap { $0["number"]?.integer }
            let last = try #require(numbers.last)
            // A number that is not there yet would also take what nobody has seen.
            #expect(try await station.ask(.discardEvidence(through: last + 1))["error"]?["code"] == .string("no-such-evidence"))
            #expect(try await station.ask(.discardEvidence(through: numbers[1]))["done"] != nil)
            #expect(await station.hub.view().snapshot?.evidence == 1)
            #expect(try await station.ask(.discardEvidence(through: last))["done"] != nil)
            #expect(try await station.ask(.discardEvidence(through: last))["error"]?["text"]
                == .string("no rejected window has the number \(last); none is kept"))
            #expect(try await station.ask(.audit)["audit"]?.elements?.count == 2)
            await station.stop()
            await world.collar.stop()
        }
    }

    @Test("a full queue gives no place to a released entry; it stays in quarantine and nothing is lost")
    func releaseIntoFullQueue() throws {
        let world = try World(.init(seed: 35, backlog: 100, windowsPerSecond: 8), recording: recording)
        try world.loop.run {
            let station = Station(world, world.configuration())
            let id = try await station.quarantineOne(producing: true)
            await world.backend.set(away: true)
            #expect(try await world.wait(.seconds(3_600)) { await station.hub.view().snapshot?.queued.count == 16 })
            let answer = try await station.ask(.release(id))
            #expect(answer["error"]?["code"] == .string("no-place"))
            #expect(await station.hub.view().snapshot?.quarantined.map(\.id) == [id])
            #expect(try await station.ask(.audit)["audit"] == .array([]))
            await world.backend.set(away: false)
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(7_200)) {
                await station.hub.flush()
                return try await station.ask(.release(id))["done"] != nil
            })
            #expect(try await world.wait(.seconds(7_200)) {
                await station.hub.flush()
                return await world.everythingIsAccountedFor()
            })
            await world.checkInvariants()
            await station.stop()
            await world.collar.stop()
        }
    }

    /// Puts readings into the quarantine of an outbox that no hub has open.
    private func setAside(_ world: World, _ records: [(record: ReadingRecord, reason: String)]) async throws {
        let disk = SlowDisk(loop: world.loop, seed: 1, slowest: .zero)
        let (outbox, _) = try await Outbox.open(directory: world.directory, executor: disk, random: SplitMix64(seed: 8))
        _ = try await outbox.configureOwners(["ann", "ben"])
        for (record, reason) in records { try await outbox.commit([.setReadingAside(record, reason: reason)]) }
        await outbox.close()
    }

    @Test("readings of nobody are listed without their values, given to an owner and to no other, and who did it stands in the audit")
    func give() throws {
        let world = try World(.init(seed: 37, backlog: 0), recording: recording)
        try world.loop.run {
            let readings = (0..<3).map { number in
                StoredReading(CuffReadings.reading(number, measurement: CuffReadings.measurement(number, systolic: .number(DecimalNumber(173)), user: 3)), cuff: CuffReadings.identity)
            }
            let unreadable = UnreadableReading([1, 7, 3], serial: "BP-1", received: 1_790_000_000, code: "measurement-short")
            try await setAside(world, readings.map { ($0.record(owner: "", received: 1_790_000_000), "reading-user-unmapped") } + [(unreadable.record, "reading-unreadable")])
            let station = Station(world, world.configuration(patients: false))
            try await station.start()
            let list = try await station.ask(.quarantine)
            let entries = try #require(list["quarantine"]?["entries"]?.elements)
            #expect(entries.map { $0["reason"] } == [.string("reading-user-unmapped"), .string("reading-unreadable")])
            #expect(entries.map { $0["owner"] } == [.string(""), .string("")] && entries.map { $0["count"] } == [.integer(3), .integer(1)])
            let content = try #require(entries[0]["readings"])
            #expect(content["cuffs"] == .array([.string("BP-1")]) && content["users"] == .array([.integer(3)]) && content["unreadable"] == .integer(0))
            #expect(content["first"] == .integer(CuffReadings.moment) && content["last"] == .integer(CuffReadings.moment + 2))
            #expect(entries[1]["readings"]?["codes"] == .array([.string("measurement-short")]))
            #expect(!list.encoded().contains("173"))

            let ids = try entries.map { entry in try #require(entry["id"]?.string.flatMap { EntryID($0) }) }
            #expect(try await station.ask(.release(ids[0]))["error"]?["code"] == .string("owner-not-configured"))
            #expect(try await station.ask("{\"command\":\"give\",\"entry\":\"\(ids[0])\",\"owner\":\"ann\"}")["error"]?["code"] == .string("malformed"))
            #expect(try await station.ask(.give(ids[0], owner: "eve"))["error"]?["code"] == .string("owner-not-configured"))
            #expect(try await station.ask(.give(ids[1], owner: "ann"))["error"]?["code"] == .string("malformed"))
            #expect(try await station.ask(.audit)["audit"] == .array([]))
            #expect(await station.hub.view().snapshot?.quarantined.map(\.id) == ids)

            let answer = try await station.ask(.give(ids[0], owner: "ben"))
            let act = "gave quarantined entry \(ids[0]) to ben: 3 readings, owner unknown"
            #expect(answer["done"]?["act"] == .string(act) && answer["done"]?["by"] == .string("uid \(geteuid())"))
            #expect(try await station.ask(.give(ids[0], owner: "ann"))["error"]?["code"] == .string("not-quarantined"))
            let queued = try #require(await station.hub.view().snapshot?.queued)
            #expect(queued.map(\.id) == [ids[0]] && queued.map(\.owner) == ["ben"])
            // Without a patient nothing is sent for an owner, and nothing is lost.
            try await world.loop.sleep(for: .seconds(600))
            #expect(await world.backend.requests == 0)
            #expect(await station.hub.view().snapshot?.queued.map(\.id) == [ids[0]])
            #expect(world.lines.records.contains { $0.fields.contains(LogField("CODE", "owner-without-patient")) })

            let settled = try await station.ask(.settle(ids[1]))
            #expect(settled["done"]?["act"] == .string("settled quarantined entry \(ids[1]): 1 reading, owner unknown"))
            #expect(try await station.ask(.audit)["audit"]?.elements?.count == 2)
            #expect(try await station.ask(.quarantine)["text"] == .string("nothing is set aside\n"))
            await station.stop()
        }
        #expect(world.lines.records.contains { $0.event == .operatorActed && $0.message.contains("gave quarantined entry") })
    }

    @Test("before the hub has started and after it has stopped an operator is told so")
    func notOpen() throws {
        let world = try World(.init(seed: 36, backlog: 0), recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration())
            #expect(await hub.perform(.quarantine, by: 0) == .failure(.notRunning))
            try await hub.start()
            #expect(await hub.perform(.audit, by: 0) == .success(.audit([])))
            await hub.stop()
            #expect(await hub.perform(.audit, by: 0) == .failure(.notRunning))
        }
    }
}
