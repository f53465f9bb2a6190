import Outbox
import Platform
import Simulation
import Testing
import Uplink
@testable import gateway

@Suite("The whole, under virtual time")
struct WholeSystemTests {
    let recording: Recording

    init() throws {
        recording = try projectRecording()
    }

    /// Runs the whole until everything is accounted for, then checks both ends' books.
    private func deliverEverything(_ options: World.Options, within limit: Duration) throws {
        let world = try World(options, recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration())
            try await hub.start()
            await world.collar.start()
            try await world.loop.sleep(for: .seconds(600))
            await world.collar.stopProducing()
            // A backend that is well again, as it must be some day for everything to arrive.
            await world.backend.set(faults: .none)
            let done = try await world.wait(limit) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            }
            let missing = await world.unaccounted()
            #expect(done, "never delivered: \(missing)")
            #expect(try await world.wait(.seconds(600)) {
                let books = await world.collar.books()
                return books.clears.last?.through == books.next &- 1
            })
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a backlog and what is recorded meanwhile arrive once, unchanged, and only then are forgotten", arguments: [UInt16(23), 185, 247, 517])
    func plain(mtu: UInt16) throws {
        try deliverEverything(.init(seed: 7, mtu: mtu), within: .seconds(3_600))
    }

    @Test("memory is given back when nothing has been stored or settled for five seconds, once, and never while deliveries follow each other")
    func memoryAtRest() throws {
        let world = try World(.init(seed: 31, backlog: 2_000), recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration())
            try await hub.start()
            try await world.loop.sleep(for: .seconds(6))
            #expect(world.releases.withLock { $0.count } == 1, "after the start")
            await world.collar.start()
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(3_600)) { await world.everythingIsAccountedFor() })
            try await world.loop.sleep(for: .seconds(600))
            let releases = world.releases.withLock { $0 }
            let deliveries = await world.backend.windows.values.map(\.at)
            let last = try #require(deliveries.max())
            #expect(releases.filter { $0 > last }.count == 1, "after the last delivery")
            for release in releases.dropFirst() {
                #expect(!deliveries.contains { $0 <= release && release < $0 + .seconds(5) }, "amid deliveries, at \(release)")
            }
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("sequences wrap at 2^32 in the middle of a backlog and nothing is lost")
    func wrap() throws {
        try deliverEverything(.init(seed: 8, backlog: 400, firstSequence: 4_294_967_096), within: .seconds(3_600))
    }

    @Test("with the everyday faults of a collar and a backend everything still arrives", arguments: UInt64(1)...24)
    func mild(seed: UInt64) throws {
        try deliverEverything(.init(seed: seed, collarFaults: .mild, backendFaults: .many, mtu: [23, 185, 247, 517][Int(seed % 4)]), within: .seconds(14_400))
    }

    @Test("a collar at its worst loses windows by its own doing alone, and each of them is reported", arguments: UInt64(101)...124)
    func harsh(seed: UInt64) throws {
        let world = try World(.init(seed: seed, collarFaults: .harsh, backendFaults: .many), recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration())
            try await hub.start()
            await world.collar.start()
            try await world.loop.sleep(for: .seconds(1_800))
            await world.collar.stopProducing()
            await world.backend.set(faults: .none)
            // What a formatted log held is gone with it; of the log that is left everything must be accounted for.
            let done = try await world.wait(.seconds(14_400)) {
                await hub.flush()
                let log = await world.collar.books().log
                return await !world.unaccounted(limit: 100_000).contains { $0.hasPrefix("\(log)/") }
            }
            let missing = await world.unaccounted()
            #expect(done, "never accounted for: \(missing)")
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("with the backend away reading stops at sixteen places, nothing grows, and all is delivered afterwards")
    func fullQueue() throws {
        let world = try World(.init(seed: 9, backlog: 4_000), recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration())
            await world.backend.set(away: true)
            try await hub.start()
            await world.collar.start()
            #expect(try await world.wait(.seconds(600)) { await hub.view().isFull })
            let before = try #require(await hub.view().snapshot)
            #expect(before.queued.count == 16)
            #expect(before.queued.allSatisfy { $0.count == 128 })
            try await world.loop.sleep(for: .seconds(7_200))
            let after = try #require(await hub.view().snapshot)
            #expect(after.queued.map(\.id) == before.queued.map(\.id))
            #expect(after.space.pages == before.space.pages)
            #expect(after.space.logBytes == before.space.logBytes)
            #expect(await hub.view().conditions(now: world.loop.now).contains([.queueFull, .backendUnreachable, .waitingToSend]))
            #expect(await world.collar.books().clears.isEmpty)
            await world.backend.set(away: false)
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(7_200)) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            })
            #expect(await !hub.view().isFull)
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a captive portal confirms nothing, however often it answers 200")
    func captivePortal() throws {
        let world = try World(.init(seed: 10), recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration())
            await world.backend.set(faults: .init(portal: 1))
            try await hub.start()
            await world.collar.start()
            try await world.loop.sleep(for: .seconds(3_600))
            #expect(await world.collar.books().clears.isEmpty)
            let queued = try #require(await hub.view().snapshot?.queued)
            #expect(!queued.isEmpty)
            // Nothing that an interceptor does is held against an entry.
            #expect(queued.allSatisfy { $0.attempts == 0 && !$0.exhausted })
            await world.backend.set(faults: .none)
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(7_200)) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            })
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a hub that is stopped and started again goes on where it was, with no second copy read")
    func restart() throws {
        let world = try World(.init(seed: 11, backlog: 1_000), recording: recording)
        try world.loop.run {
            await world.backend.set(away: true)
            await world.collar.start()
            for _ in 0..<4 {
                let hub = world.hub(world.configuration())
                try await hub.start()
                try await world.loop.sleep(for: .seconds(90))
                await hub.stop()
            }
            await world.backend.set(away: false)
            await world.collar.stopProducing()
            let hub = world.hub(world.configuration())
            try await hub.start()
            #expect(try await world.wait(.seconds(3_600)) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            })
            #expect(await world.backend.duplicates == 0)
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a change of owner without a word on the backlog reads nothing and says so; with one each window goes to its owner",
          arguments: [Configuration.Backlog.former, .new, .skip])
    func changeOfOwner(backlog: Configuration.Backlog) throws {
        let world = try World(.init(seed: 12, backlog: 50), recording: recording)
        try world.loop.run {
            await world.collar.start()
            let first = world.hub(world.configuration(owner: "ann"))
            try await first.start()
            await first.flush()
            #expect(try await world.wait(.seconds(300)) { await world.backend.windows.count >= 50 })
            await first.stop()
            let boundary = await world.backend.windows.count
            try await world.loop.sleep(for: .seconds(100))

            let undecided = world.hub(world.configuration(owner: "ben"))
            try await undecided.start()
            try await world.loop.sleep(for: .seconds(200))
            await undecided.flush()
            try await world.loop.sleep(for: .seconds(60))
            #expect(await world.backend.windows.count == boundary)
            #expect(await undecided.view().collars.first?.report.hold != nil)
            await undecided.stop()

            let second = world.hub(world.configuration(owner: "ben", backlog: backlog))
            try await second.start()
            let change = await world.collar.books().next
            try await world.loop.sleep(for: .seconds(200))
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(600)) {
                await second.flush()
                return await world.everythingIsAccountedFor()
            })
            for (key, stored) in await world.backend.windows {
                // A window or two may come between the question and the first contact.
                if key.sequence < UInt32(boundary) {
                    #expect(stored.owner == "ann")
                } else if key.sequence < change {
                    #expect(stored.owner == (backlog == .former ? "ann" : "ben"))
                    #expect(backlog != .skip)
                } else if key.sequence > change + 3 {
                    #expect(stored.owner == "ben")
                }
            }
            let withheld = await world.backend.gaps.values.filter { $0.reason == "withheld" }.count
            #expect((withheld >= 300) == (backlog == .skip))
            await world.checkInvariants()
            await second.stop()
            await world.collar.stop()
        }
    }

    @Test("while the clock is not set windows are read and sent, labelled as what they are")
    func unsetClock() throws {
        let world = try World(.init(seed: 13, backlog: 20), recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration(), wallClock: WallClock { WallTime(seconds: 86_400, synchronised: false) })
            try await hub.start()
            await world.collar.start()
            try await world.loop.sleep(for: .seconds(10))
            await hub.flush()
            #expect(try await world.wait(.seconds(60)) { await world.backend.windows.count >= 20 })
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a log that is formatted with unread windows in it: they are reported, and the new log is read from its beginning")
    func formatted() throws {
        let world = try World(.init(seed: 14, backlog: 40), recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration())
            try await hub.start()
            await world.collar.start()
            // Announced, too few and too young for a pass.
            try await world.loop.sleep(for: .seconds(30))
            await world.collar.format()
            try await world.loop.sleep(for: .seconds(60))
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(600)) {
                await hub.flush()
                return await world.unaccounted().filter { !$0.isEmpty }.count <= 5
            })
            #expect(await world.backend.gaps.values.contains { $0.reason == "reformatted" })
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("what the collar overwrote before it could be read is reported, and nothing else is missing")
    func overwritten() throws {
        let world = try World(.init(seed: 15, backlog: 500, capacity: 600), recording: recording)
        try world.loop.run {
            await world.collar.start()
            let first = world.hub(world.configuration())
            try await first.start()
            #expect(try await world.wait(.seconds(300)) { await world.backend.windows.count >= 500 })
            await first.stop()
            try await world.loop.sleep(for: .seconds(2_000))
            let second = world.hub(world.configuration())
            try await second.start()
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(600)) {
                await second.flush()
                return await world.everythingIsAccountedFor()
            })
            #expect(await world.backend.gaps.values.allSatisfy { $0.reason == "overwritten" })
            #expect(await !world.backend.gaps.isEmpty)
            await world.checkInvariants()
            await second.stop()
            await world.collar.stop()
        }
    }
}
