import Outbox
import Platform
import Simulation
import Testing
@testable import gateway

/// Two people behind one hub: neither gets the other's data, and neither waits for ever because of the other.
@Suite("Owners, under virtual time")
struct OwnersTests {
    let recording: Recording

    init() throws { recording = try projectRecording() }

    @Test("an owner whose backend is away does not keep another's collar from being read, whoever came first")
    func competition() throws {
        let world = try World(.init(seed: 61, backlog: 0, secondBacklog: 8_000), recording: recording)
        try world.loop.run {
            await world.backend.set(away: ["ben"])
            let hub = world.life(world.configuration()).hub
            try await hub.start()
            #expect(try await world.wait(.seconds(600)) { await hub.view().isFull })
            try await world.loop.sleep(for: .seconds(3_600))
            // Ann's collar begins to record when ben's entries have taken what they can.
            await world.collar.start()
            try await world.loop.sleep(for: .seconds(2_400))
            let ofAnn = await world.backend.windows.values.count { $0.owner == "ann" }
            #expect(ofAnn >= 2_200, "only \(ofAnn) windows of 2,400 s")
            await world.backend.set(away: [])
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(3_600)) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            })
            for (key, stored) in await world.backend.windows { #expect(stored.owner == (key.device == "C-1" ? "ann" : "ben")) }
            await world.checkInvariants()
            await hub.stop()
            for collar in world.collars.values { await collar.stop() }
        }
    }

    @Test("with both backends away neither owner holds more than half of the collars' places")
    func halves() throws {
        let world = try World(.init(seed: 62, backlog: 4_000, secondBacklog: 4_000), recording: recording)
        try world.loop.run {
            await world.backend.set(away: true)
            let hub = world.life(world.configuration()).hub
            try await hub.start()
            #expect(try await world.wait(.seconds(600)) { await hub.view().snapshot?.queued.count == 16 })
            let queued = try #require(await hub.view().snapshot?.queued)
            #expect(queued.count { $0.owner == "ann" } == 8)
            #expect(queued.count { $0.owner == "ben" } == 8)
            await world.backend.set(away: false)
            #expect(try await world.wait(.seconds(3_600)) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            })
            await world.checkInvariants()
            await hub.stop()
            for collar in world.collars.values { await collar.stop() }
        }
    }

    @Test("what a collar recorded for somebody who is not configured any more is left on it, said, and not read in vain")
    func formerIsGone() throws {
        let world = try World(.init(seed: 63, backlog: 50), recording: recording)
        try world.loop.run {
            let first = world.hub(world.configuration())
            try await first.start()
            await first.flush()
            #expect(try await world.wait(.seconds(300)) { await world.everythingIsAccountedFor() })
            await first.stop()
            await world.collar.start()
            try await world.loop.sleep(for: .seconds(100))

            // Ben has the collar now, and what is on it is ann's: that is written down, too young to be read.
            let second = world.hub(world.configuration(owner: "ben", backlog: .former))
            try await second.start()
            try await world.loop.sleep(for: .seconds(20))
            await second.stop()
            #expect(await world.backend.windows.count == 50)

            let third = world.hub(world.configuration(owner: "ben", backlog: .former, owners: ["ben"]))
            try await third.start()
            let reads = await world.collar.books().reads
            try await world.loop.sleep(for: .seconds(600))
            #expect(await third.view().collars.first?.report.hold == .ownerGone("ann"))
            #expect(await world.collar.books().reads == reads)
            #expect(await world.backend.windows.count == 50)
            await third.stop()

            let fourth = world.hub(world.configuration(owner: "ben", backlog: .former))
            try await fourth.start()
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(600)) {
                await fourth.flush()
                return await world.everythingIsAccountedFor()
            })
            #expect(await world.backend.windows.values.count { $0.owner == "ann" } >= 150)
            #expect(await world.backend.windows.values.count { $0.owner == "ben" } >= 500)
            await world.checkInvariants()
            await fourth.stop()
            await world.collar.stop()
        }
    }

    @Test("the clear of what the former owner had delivered is sent while the collar is held")
    func clearWhileHeld() throws {
        let world = try World(.init(seed: 64, backlog: 300), recording: recording)
        try world.loop.run {
            await world.backend.set(away: true)
            let first = world.hub(world.configuration())
            try await first.start()
            await first.flush()
            #expect(try await world.wait(.seconds(300)) { await first.view().collars.first?.report.checkpoint == 300 })
            await first.stop()
            await world.collar.start()
            try await world.loop.sleep(for: .seconds(30))
            let second = world.hub(world.configuration(owner: "ben"))
            try await second.start()
            #expect(try await world.wait(.seconds(60)) { await second.view().collars.first?.report.hold != nil })
            await world.backend.set(away: false)
            await second.flush()
            #expect(try await world.wait(.seconds(120)) { await world.collar.books().clears.last?.through == 299 })
            #expect(await world.backend.windows.count == 300)
            #expect(await world.collar.books().links == 2)
            await world.checkInvariants()
            await second.stop()
            await world.collar.stop()
        }
    }

    @Test("after an entry that could not be delivered the few windows that are left are read all the same")
    func afterQuarantine() throws {
        let world = try World(.init(seed: 65, backlog: 0), recording: recording)
        try world.loop.run {
            await world.backend.set(limit: 0)
            let hub = world.hub(world.configuration())
            try await hub.start()
            await world.collar.start()
            #expect(try await world.wait(.seconds(1_200)) { await hub.view().snapshot?.quarantined.isEmpty == false })
            await world.backend.set(limit: .max)
            #expect(try await world.wait(.seconds(1_200)) { await hub.view().snapshot?.queued.isEmpty == true })
            try await world.loop.sleep(for: .seconds(20))
            await world.collar.stopProducing()
            let next = UInt64(await world.collar.books().next)
            #expect(try await world.wait(.seconds(200)) { await hub.view().collars.first?.report.checkpoint == next })
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }
}
