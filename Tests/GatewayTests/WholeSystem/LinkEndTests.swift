import Outbox
import Platform
import Simulation
import Testing
@testable import gateway

/// Links that end, and hubs that are stopped, at every moment there is.
@Suite("Ends of links and of hubs, under virtual time")
struct LinkEndTests {
    let recording: Recording

    init() throws { recording = try projectRecording() }

    /// Stops a hub; false when it has not ended within ten seconds.
    private func ends(_ hub: Hub, in world: World) async throws -> Bool {
        let ended = Flag()
        world.loop.spawn {
            await hub.stop()
            ended.set()
        }
        return try await world.wait(.seconds(10)) { ended.isSet }
    }

    @Test("a hub that is stopped at any moment of a link's beginning ends")
    func stopWhileLinking() throws {
        let world = try World(.init(seed: 31, backlog: 10), recording: recording)
        try world.loop.run {
            for turns in 0..<160 {
                let hub = world.hub(world.configuration())
                try await hub.start()
                for _ in 0..<turns { await world.loop.yield() }
                guard try await ends(hub, in: world) else {
                    Issue.record("stopped \(turns) turns after its start the hub does not end")
                    return
                }
            }
            await world.collar.stop()
        }
    }

    @Test("a link that ends at any moment of its beginning is followed by another")
    func linkEndsWhileOpening() throws {
        let world = try World(.init(seed: 32, backlog: 10), recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration())
            try await hub.start()
            for turns in 0..<160 {
                guard try await world.wait(.seconds(200), for: { await world.collar.isLinked }) else {
                    Issue.record("no link after one that ended at turn \(turns - 1)")
                    return
                }
                for _ in 0..<turns { await world.loop.yield() }
                await world.collar.dropLink()
            }
            #expect(try await world.wait(.seconds(600)) { await world.everythingIsAccountedFor() })
            #expect(try await ends(hub, in: world))
            await world.collar.stop()
        }
    }

    @Test("a collar whose link ended while the disk was slow is shown as away", arguments: UInt64(1)...8)
    func slowDisk(seed: UInt64) throws {
        let world = try World(.init(seed: seed, backlog: 3_000), recording: recording)
        try world.loop.run {
            // Without clears the pass goes straight on to the next read.
            await world.backend.set(away: true)
            let disk = SlowDisk(loop: world.loop, seed: seed, slowest: .seconds(4))
            let life = world.life(world.configuration(), disk: disk)
            try await life.hub.start()
            let reads = await world.collar.books().reads
            #expect(try await world.wait(.seconds(300)) { await world.collar.books().reads >= reads + 2 })
            await life.links["C-1"]?.end()
            try await world.loop.sleep(for: .milliseconds(170 * Int(seed)))
            await world.collar.dropLink()
            try await world.loop.sleep(for: .seconds(60))
            let report = try #require(await life.hub.view().collars.first?.report)
            #expect(report.state == .away)
            #expect(report.awaySince != nil)
            #expect(try await ends(life.hub, in: world))
            await world.collar.stop()
        }
    }

    @Test("a hub that is stopped while its outbox is being opened looks for no collar afterwards")
    func stopWhileOpening() throws {
        let world = try World(.init(seed: 33), recording: recording)
        try world.loop.run {
            let disk = SlowDisk(loop: world.loop, seed: 1, slowest: .seconds(20))
            let hub = world.life(world.configuration(), disk: disk).hub
            world.loop.spawn { try? await hub.start() }
            try await world.loop.sleep(for: .milliseconds(100))
            #expect(try await ends(hub, in: world))
            try await world.loop.sleep(for: .seconds(120))
            #expect(await world.collar.books().links == 0)
            // The outbox is not held open either.
            let next = world.hub(world.configuration())
            try await next.start()
            #expect(await next.view().isOpen)
            #expect(try await ends(next, in: world))
            await world.collar.stop()
        }
    }

    @Test("a hub ends at once while the backend does not answer, and while the disk does not")
    func stopWhileWaiting() throws {
        let world = try World(.init(seed: 34, backlog: 300), recording: recording)
        try world.loop.run {
            await world.backend.set(mute: true)
            let disk = SlowDisk(loop: world.loop, seed: 1, slowest: .zero)
            let first = world.life(world.configuration(), disk: disk).hub
            try await first.start()
            #expect(try await world.wait(.seconds(60)) { await world.backend.requests > 0 })
            let before = world.loop.now
            #expect(try await ends(first, in: world))
            #expect(world.loop.now - before <= .seconds(2))
            await world.backend.set(mute: false)

            let second = world.hub(world.configuration())
            try await second.start()
            #expect(try await world.wait(.seconds(600)) { await world.everythingIsAccountedFor() })
            #expect(try await ends(second, in: world))
            await world.checkInvariants()
            await world.collar.stop()
        }
    }

    @Test("a collar that goes away while it waits for a place keeps none")
    func awayInLine() throws {
        let world = try World(.init(seed: 35, backlog: 6_000, secondBacklog: 6_000), recording: recording)
        try world.loop.run {
            await world.backend.set(away: true)
            let life = world.life(world.configuration(second: "ann"))
            let hub = life.hub
            try await hub.start()
            #expect(try await world.wait(.seconds(600)) {
                let view = await hub.view()
                return view.isFull && view.snapshot?.queued.count == 16
            })
            try await world.loop.sleep(for: .seconds(60))
            await life.links["C-2"]?.end()
            await world.collars["C-2"]?.dropLink()
            try await world.loop.sleep(for: .seconds(5))
            // What was queued goes, and places become free while the second collar is away.
            await world.backend.set(away: false)
            await hub.flush()
            #expect(try await world.wait(.seconds(60)) { await world.backend.windows.count >= 16 * 128 })
            await world.backend.set(away: true)
            #expect(try await world.wait(.seconds(600)) {
                let view = await hub.view()
                return view.isFull && view.snapshot?.queued.count == 16
            })
            #expect(try await ends(hub, in: world))
            for collar in world.collars.values { await collar.stop() }
        }
    }

    @Test("a second hub on the same outbox reads nothing and says why, and takes over when the first has ended")
    func secondHub() throws {
        let world = try World(.init(seed: 36, backlog: 300), recording: recording)
        try world.loop.run {
            let first = world.life(world.configuration())
            try await first.hub.start()
            for links in first.links.values { await links.end() }
            await world.collar.dropLink()
            let second = world.hub(world.configuration())
            try await second.start()
            try await world.loop.sleep(for: .seconds(60))
            #expect(await second.view().fault?.code == .inUse)
            #expect(await world.collar.books().links > 1)
            let reads = await world.collar.books().reads
            try await world.loop.sleep(for: .seconds(120))
            #expect(await world.collar.books().reads == reads)
            #expect(try await ends(first.hub, in: world))
            #expect(try await world.wait(.seconds(600)) { await world.everythingIsAccountedFor() })
            await world.checkInvariants()
            #expect(try await ends(second, in: world))
            await world.collar.stop()
        }
    }
}
