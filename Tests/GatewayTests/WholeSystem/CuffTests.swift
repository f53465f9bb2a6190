import Outbox
import Platform
import Radio
import Simulation
import Testing
@testable import gateway

/// Cuffs from the measurement to the record: nothing lost, nothing twice, nothing under somebody else.
@Suite("Cuffs, under virtual time")
struct CuffTests {
    let recording: Recording

    init() throws { recording = try projectRecording() }

    private func cuff(_ serial: String, _ ownership: Configuration.CuffOwnership = .owner("ann"), backlog: Configuration.CuffBacklog? = nil) -> Configuration.Cuff {
        Configuration.Cuff.forTests(name: "arm-\(serial)", serial: serial, ownership: ownership, backlog: backlog)
    }

    /// What a cuff measured, and what the record has of it: each once, for one owner.
    private func check(_ world: World, of owner: String? = "ann", sourceLocation: SourceLocation = #_sourceLocation) async {
        let stored = await world.backend.readings
        for (serial, cuff) in world.cuffs {
            let measured = await cuff.readings.filter { $0.systolic > 0 }
            let kept = stored.filter { $0.identifier.hasPrefix(serial.filter { $0 != "-" } + "-") }
            #expect(kept.map(\.systolic).sorted() == measured.map { "\($0.systolic)" }.sorted(), "of \(serial)", sourceLocation: sourceLocation)
            if let owner {
                #expect(kept.allSatisfy { $0.owner == owner && $0.patient == "Patient/\(owner)" }, "of \(serial)", sourceLocation: sourceLocation)
            }
        }
        #expect(await world.backend.violations.isEmpty, sourceLocation: sourceLocation)
        #expect(await world.backend.foreignTokens == 0, sourceLocation: sourceLocation)
    }

    private func everythingArrived(_ world: World) async -> Bool {
        var measured = 0
        for cuff in world.cuffs.values { measured += await cuff.readings.count { $0.systolic > 0 } }
        return await world.backend.readings.count >= measured
    }

    @Test("25 stored readings are confirmed one by one, arrive once and in their owner's record, and the link that ends behind the last is a success")
    func memory() throws {
        let world = try World(.init(seed: 1, backlog: 0, cuffs: ["BP-1": .init()]), recording: recording)
        try world.loop.run {
            let cuff = try #require(world.cuffs["BP-1"])
            for number in 0..<25 { await cuff.measure(systolic: 110 + number, ago: Int64(25 - number) * 3_600) }
            let life = world.life(world.configuration(cuffs: [self.cuff("BP-1")]))
            try await life.hub.start()
            let arrived = try await world.wait(.seconds(600)) { await everythingArrived(world) }
            let why = await world.explanation(of: life.hub)
            #expect(arrived, "\(why)")
            await check(world)
            #expect(await cuff.readings.allSatisfy { $0.sent == 1 && $0.confirmedAt != nil })
            #expect(await cuff.links == 1)
            #expect(await life.cuffLinks["BP-1"]?.served == 1)
            #expect(world.lines.records.count { $0.event == .readingStored } == 25)
            let report = try #require(await life.hub.view().cuffs.first?.report)
            #expect(report.state == .away && report.lastError == nil && report.batteryLowSince != nil)
            await life.hub.stop()
        }
    }

    @Test("a reading is confirmed to the cuff only after it is stored: with a disk that fails the cuff keeps it and sends it again")
    func failingDisk() throws {
        let world = try World(.init(seed: 2, backlog: 0, cuffs: ["BP-1": .init()]), recording: recording)
        try world.loop.run {
            let cuff = try #require(world.cuffs["BP-1"])
            let disk = FailingDisk()
            let life = world.life(world.configuration(cuffs: [self.cuff("BP-1")]), vfs: disk.name)
            try await life.hub.start()
            try await world.loop.sleep(for: .seconds(10))
            disk.fail(at: 1, with: FailingDisk.full, times: 1_000_000)
            await cuff.measure(systolic: 121)
            try await world.loop.sleep(for: .seconds(120))
            #expect(await cuff.readings.allSatisfy { $0.confirmedAt == nil })
            disk.heal()
            #expect(try await world.wait(.seconds(600)) { await everythingArrived(world) })
            await check(world)
            #expect(await cuff.readings.allSatisfy { $0.confirmedAt != nil })
            await life.hub.stop()
        }
    }

    @Test("a hub that is killed at any moment loses no reading and doubles none", arguments: UInt64(1)...40)
    func kills(seed: UInt64) throws {
        var habits = SimulatedCuff.Habits()
        habits.newestFirst = seed % 2 == 0
        habits.replaysMemory = seed % 5 == 0
        // One that began anew with its whole memory on each of them would never come further.
        habits.losesLinkAfter = seed % 3 == 0 && !habits.replaysMemory ? 2 : nil
        let world = try World(.init(seed: seed, backlog: 0, backendFaults: .many, cuffs: ["BP-1": habits]), recording: recording)
        try world.loop.run {
            var dice = SplitMix64(seed: seed)
            let cuff = try #require(world.cuffs["BP-1"])
            for number in 0..<12 { await cuff.measure(systolic: 110 + number, ago: Int64(12 - number) * 60) }
            var directory: String?
            for _ in 0..<6 {
                let disk = SlowDisk(loop: world.loop, seed: dice.next(), slowest: .milliseconds(300))
                let life = world.life(world.configuration(directory: directory, cuffs: [self.cuff("BP-1")]), disk: disk)
                world.loop.spawn { try? await life.hub.start() }
                try await world.loop.sleep(for: .milliseconds(Int64.random(in: 200...9_000, using: &dice)))
                directory = try await world.kill(life)
            }
            await world.backend.set(faults: .none)
            let life = world.life(world.configuration(directory: directory, cuffs: [self.cuff("BP-1")]))
            try await life.hub.start()
            let arrived = try await world.wait(.seconds(3_600)) { await everythingArrived(world) }
            let why = await world.explanation(of: life.hub)
            #expect(arrived, "\(why)")
            try await world.loop.sleep(for: .seconds(300))
            await check(world)
            await life.hub.stop()
        }
    }

    @Test("a new owner gets what is measured from the change on; what is older and comes later is nobody's until somebody decides")
    func change() throws {
        let world = try World(.init(seed: 3, backlog: 0, cuffs: ["BP-1": .init()]), recording: recording)
        try world.loop.run {
            let cuff = try #require(world.cuffs["BP-1"])
            let first = world.life(world.configuration(cuffs: [self.cuff("BP-1", .owner("ann"))]))
            try await first.hub.start()
            await cuff.measure(systolic: 111)
            #expect(try await world.wait(.seconds(300)) { await everythingArrived(world) })
            await first.hub.stop()
            await cuff.measure(systolic: 112)
            try await world.loop.sleep(for: .seconds(60))
            let second = world.life(world.configuration(cuffs: [self.cuff("BP-1", .owner("ben"))]))
            try await second.hub.start()
            try await world.loop.sleep(for: .seconds(60))
            await cuff.measure(systolic: 113)
            try await world.loop.sleep(for: .seconds(300))
            let readings = await world.backend.readings
            #expect(readings.first { $0.systolic == "111" }?.owner == "ann")
            #expect(readings.first { $0.systolic == "113" }?.owner == "ben")
            #expect(!readings.contains { $0.systolic == "112" })
            let snapshot = try #require(await second.hub.view().snapshot)
            #expect(snapshot.quarantined.map(\.quarantineReason) == ["reading-before-assignment"])
            #expect(await cuff.readings.allSatisfy { $0.confirmedAt != nil })
            await second.hub.stop()
        }
    }

    @Test("each user of a cuff has a record of their own, and a user whom nobody configured has none")
    func users() throws {
        var habits = SimulatedCuff.Habits()
        habits.tellsUser = true
        let world = try World(.init(seed: 4, backlog: 0, cuffs: ["BP-1": habits]), recording: recording)
        try world.loop.run {
            let cuff = try #require(world.cuffs["BP-1"])
            let life = world.life(world.configuration(cuffs: [self.cuff("BP-1", .users([1: "ann", 2: "ben"]))]))
            try await life.hub.start()
            for (systolic, user) in [(111, UInt8(1)), (122, 2), (133, 3), (112, 1)] { await cuff.measure(systolic: systolic, user: user) }
            try await world.loop.sleep(for: .seconds(300))
            let readings = await world.backend.readings
            #expect(Set(readings.filter { $0.owner == "ann" }.map(\.systolic)) == ["111", "112"])
            #expect(readings.filter { $0.owner == "ben" }.map(\.systolic) == ["122"])
            #expect(readings.count == 3)
            #expect(await life.hub.view().snapshot?.quarantined.map(\.quarantineReason) == ["reading-user-unmapped (user 3)"])
            await life.hub.stop()
        }
    }

    @Test("two cuffs and a collar fill the queue while the backend is away; everything arrives once when it is back")
    func fullQueue() throws {
        let world = try World(.init(seed: 5, backlog: 3_000, cuffs: ["BP-1": .init(), "BP-2": .init()]), recording: recording)
        try world.loop.run {
            await world.backend.set(away: true)
            let (one, two) = (try #require(world.cuffs["BP-1"]), try #require(world.cuffs["BP-2"]))
            let life = world.life(world.configuration(cuffs: [self.cuff("BP-1"), self.cuff("BP-2", .owner("ben"))]))
            try await life.hub.start()
            await world.collar.start()
            await world.collar.stopProducing()
            // More than the places that collars leave can hold: 64 readings each.
            for round in 0..<30 {
                for number in 0..<12 {
                    await one.measure(systolic: 100 + round, ago: Int64(number) * 7)
                    await two.measure(systolic: 140 + round, ago: Int64(number) * 7)
                }
                try await world.loop.sleep(for: .seconds(100))
            }
            let queued = try #require(await life.hub.view().snapshot?.queued)
            #expect(queued.count == 20)
            #expect(queued.count { $0.kind == .collar } <= 16)
            #expect(await life.hub.view().isFull)
            await world.backend.set(away: false)
            let arrived = try await world.wait(.seconds(7_200)) {
                await life.hub.flush()
                let all = await everythingArrived(world)
                return await world.everythingIsAccountedFor() && all
            }
            let why = await world.explanation(of: life.hub)
            #expect(arrived, "\(why)")
            await check(world, of: nil)
            for reading in await world.backend.readings { #expect(reading.owner == (reading.identifier.hasPrefix("BP1") ? "ann" : "ben")) }
            await world.checkInvariants()
            await life.hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a cuff whose clock is wrong has its times corrected, one without a time its readings placed where they came, and each is in the record once")
    func clocks() throws {
        var fast = SimulatedCuff.Habits(), undated = SimulatedCuff.Habits()
        fast.clockAhead = 7_200
        undated.isDated = false
        let world = try World(.init(seed: 6, backlog: 0, cuffs: ["BP-1": fast, "BP-2": undated]), recording: recording)
        try world.loop.run {
            let (one, two) = (try #require(world.cuffs["BP-1"]), try #require(world.cuffs["BP-2"]))
            let life = world.life(world.configuration(cuffs: [self.cuff("BP-1"), self.cuff("BP-2")]))
            try await life.hub.start()
            let now = World.wall(world.loop)
            await one.measure(systolic: 121)
            for _ in 0..<3 { await two.measure(systolic: 140) }
            #expect(try await world.wait(.seconds(300)) { await everythingArrived(world) })
            await check(world)
            let allowed = Set((now...(now + 30)).compactMap { World.zone.civil(at: $0).map { "\($0)+02:00" } })
            for reading in await world.backend.readings { #expect(allowed.contains(reading.at), "\(reading.at)") }
            await life.hub.stop()
        }
    }

    /// The link on which the clock is set ends before everything has come, the hub is started anew, and the rest comes with the former clock's times.
    @Test("readings from before the hub set a cuff's clock are placed by how far it was off, also on later links and after a start", arguments: [Int64(7_200), -86_400])
    func clockSet(ahead: Int64) throws {
        var habits = SimulatedCuff.Habits()
        habits.clockAhead = ahead
        habits.takesTime = true
        habits.losesLinkAfter = 2
        let world = try World(.init(seed: 9, backlog: 0, cuffs: ["BP-1": habits]), recording: recording)
        try world.loop.run {
            let cuff = try #require(world.cuffs["BP-1"])
            for number in 0..<6 { await cuff.measure(systolic: 110 + number, ago: Int64(6 - number) * 60) }
            let first = world.life(world.configuration(cuffs: [self.cuff("BP-1")]))
            try await first.hub.start()
            #expect(try await world.wait(.seconds(60)) { await cuff.readings.count { $0.confirmedAt != nil } == 2 })
            let directory = try await world.kill(first)
            let second = world.life(world.configuration(directory: directory, cuffs: [self.cuff("BP-1")]))
            try await second.hub.start()
            #expect(try await world.wait(.seconds(300)) { await everythingArrived(world) })
            await cuff.measure(systolic: 140)
            #expect(try await world.wait(.seconds(300)) { await everythingArrived(world) })
            let measured = await cuff.readings.map { "\($0.systolic) \(CivilTime(secondsSince1970: $0.at).map { "\($0)" } ?? "")+02:00" }
            let stored = await world.backend.readings.map { "\($0.systolic) \($0.at)" }
            #expect(stored.sorted() == measured.sorted())
            await second.hub.stop()
        }
    }

    @Test("a measurement that failed is told once, confirmed, and not sent")
    func failedMeasurement() throws {
        let world = try World(.init(seed: 7, backlog: 0, cuffs: ["BP-1": .init()]), recording: recording)
        try world.loop.run {
            let cuff = try #require(world.cuffs["BP-1"])
            let life = world.life(world.configuration(cuffs: [self.cuff("BP-1")]))
            try await life.hub.start()
            await cuff.measure(systolic: 0)
            await cuff.measure(systolic: 118)
            #expect(try await world.wait(.seconds(300)) { await everythingArrived(world) })
            await check(world)
            #expect(world.lines.records.count { $0.event == .measurementFailed } == 1)
            #expect(await cuff.readings.allSatisfy { $0.confirmedAt != nil })
            await life.hub.stop()
        }
    }

    @Test("no value of health is in the log unless the configuration wants it", arguments: [false, true])
    func values(logged: Bool) throws {
        let world = try World(.init(seed: 8, backlog: 0, cuffs: ["BP-1": .init()]), recording: recording)
        try world.loop.run {
            let cuff = try #require(world.cuffs["BP-1"])
            var configuration = world.configuration(cuffs: [self.cuff("BP-1")])
            configuration.logReadings = logged
            let life = world.life(configuration)
            try await life.hub.start()
            await cuff.measure(systolic: 187)
            #expect(try await world.wait(.seconds(300)) { await everythingArrived(world) })
            let lines = world.lines.records.map { "\($0)" }
            #expect(lines.contains { $0.contains("187") } == logged)
            await life.hub.stop()
        }
    }
}

extension Configuration.Cuff {
    /// A cuff of a test, of the standard profile unless it has another model.
    static func forTests(
        name: String = "arm", serial: String, ownership: Configuration.CuffOwnership = .owner("ann"), backlog: Configuration.CuffBacklog? = nil,
        model: CuffModel? = nil
    ) -> Configuration.Cuff {
        Configuration.Cuff(
            name: name, serial: serial, ownership: ownership, link: .adoption, backlog: backlog, awayAfter: nil, security: .none,
            pairing: .init(repair: false, passkey: .none), model: model, models: CuffModel.table, setsClock: true)
    }
}
