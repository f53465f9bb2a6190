import Outbox
import Platform
import Simulation
import Testing
@testable import gateway

@Suite("Clocks that step, under virtual time")
struct ClockTests {
    let recording: Recording

    init() throws { recording = try projectRecording() }

    /// lf-edge/eve PR 3447: the time of the next try was saved while the clock stood at 1970, and came decades later.
    @Test("attempts that failed while the clock stood at 1970 count on after a restart, and delay nothing once the clock is right")
    func attemptsAcrossAStep() throws {
        let world = try World(.init(seed: 71, backlog: 128), recording: recording)
        try world.loop.run {
            await world.backend.set(away: true)
            let first = world.hub(world.configuration(), wallClock: WallClock { WallTime(seconds: 100, synchronised: false) })
            try await first.start()
            #expect(try await world.wait(.seconds(600)) { await first.view().snapshot?.queued.first?.exhausted == true })
            let attempts = try #require(await first.view().snapshot?.queued.first?.attempts)
            await first.stop()
            let second = world.hub(world.configuration())
            try await second.start()
            let kept = await second.view().snapshot?.queued.first?.attempts
            #expect(kept == attempts)
            await second.stop()
            await world.backend.set(away: false)
            let third = world.hub(world.configuration())
            try await third.start()
            #expect(try await world.wait(.seconds(5)) { await world.everythingIsAccountedFor() })
            await world.checkInvariants()
            await third.stop()
            await world.collar.stop()
        }
    }

    @Test("a wall clock that jumps by years, back and forth, delays no read, no delivery and no clear")
    func jumps() throws {
        let world = try World(.init(seed: 72, backlog: 300), recording: recording)
        try world.loop.run {
            let loop = world.loop
            // Another year at every look.
            let looks = Counter()
            let wall = WallClock {
                looks.add()
                return WallTime(seconds: 1_790_000_000 + loop.now.nanoseconds / 1_000_000_000 + Int64(looks.count % 5 - 2) * 31_536_000, synchronised: true)
            }
            let hub = world.hub(world.configuration(), wallClock: wall)
            try await hub.start()
            await world.collar.start()
            for _ in 0..<10 {
                try await world.loop.sleep(for: .seconds(120))
                let next = await world.collar.books().next
                let delivered = await world.backend.windows.count
                #expect(Int(next) - delivered <= 70, "\(next) windows recorded, \(delivered) delivered")
            }
            #expect(await !world.collar.books().clears.isEmpty)
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }
}
