import Outbox
import Platform
import Simulation
import Testing
@testable import gateway

/// Everything that may happen to a hub, in an order that the seed decides, with the invariants held against the books of both ends after each of it.
@Suite("A hub in bad times, under virtual time")
struct CalamityTests {
    private enum Calamity: CaseIterable {
        case stop, kill, outage, ownOutage, diskFault, syncFault, slowDisk, small, drop, flush, change
    }

    let recording: Recording

    init() throws { recording = try projectRecording() }

    @Test("stops, kills, outages, full disks, failed syncs, changes of owner and large entries in any order: everything arrives once, for whom it was recorded",
          arguments: UInt64(1)...6)
    func calamities(seed: UInt64) throws {
        var faults = CollarFaults.mild
        faults.batteryChangePerSecond = 0
        let world = try World(.init(seed: seed, backlog: 600, collarFaults: faults, backendFaults: .many, secondBacklog: 300), recording: recording)
        try world.loop.run {
            var dice = SplitMix64(seed: seed &* 31)
            var disk = FailingDisk()
            var owner = "ann"
            var directory = world.directory
            // At the first pairing there is no former owner.
            var backlog: Configuration.Backlog?
            func begin() async throws -> World.Life {
                disk = FailingDisk()
                let slow = SlowDisk(loop: world.loop, seed: dice.next(), slowest: .milliseconds(Int.random(in: 0...400, using: &dice)))
                let life = world.life(world.configuration(owner: owner, backlog: backlog, directory: directory), disk: slow, vfs: disk.name)
                try await life.hub.start()
                return life
            }
            for collar in world.collars.values { await collar.start() }
            var life = try await begin()
            let first = life.hub
            #expect(try await world.wait(.seconds(600)) { await first.view().collars.first?.report.checkpoint != nil })
            backlog = .former
            for _ in 0..<24 {
                try await world.loop.sleep(for: .milliseconds(Int.random(in: 50...90_000, using: &dice)))
                switch Calamity.allCases.randomElement(using: &dice) ?? .stop {
                case .stop:
                    await life.hub.stop()
                    life = try await begin()
                case .kill:
                    directory = try await world.kill(life)
                    life = try await begin()
                case .change:
                    await life.hub.stop()
                    owner = owner == "ann" ? "ben" : "ann"
                    life = try await begin()
                case .outage: await world.backend.set(away: Bool.random(using: &dice))
                case .ownOutage: await world.backend.set(away: Bool.random(using: &dice) ? ["ben"] : [])
                case .diskFault: disk.fail(at: Int64.random(in: 1...30, using: &dice), with: FailingDisk.full, times: Int64.random(in: 1...40, using: &dice))
                case .syncFault: disk.fail(at: Int64.random(in: 1...30, using: &dice), with: FailingDisk.syncFailed, times: 1)
                case .slowDisk: life.disk.set(slowest: .milliseconds(Int.random(in: 0...6_000, using: &dice)))
                case .small: await world.backend.set(limit: [.max, 20, 50, 100].randomElement(using: &dice) ?? .max)
                case .drop: for collar in world.collars.values { await collar.dropLink() }
                case .flush: await life.hub.flush()
                }
                await world.checkInvariants()
                let queued = await life.hub.view().snapshot?.queued.count ?? 0
                #expect(queued <= 16)
            }
            disk.heal()
            life.disk.set(slowest: .zero)
            await world.backend.set(away: false)
            await world.backend.set(away: [])
            await world.backend.set(limit: .max)
            await world.backend.set(faults: .none)
            for collar in world.collars.values { await collar.stopProducing() }
            let hub = life.hub
            let done = try await world.wait(.seconds(14_400)) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            }
            let explanation = done ? "" : await world.explanation(of: hub)
            #expect(done, "\(explanation)")
            await world.checkInvariants()
            #expect(await world.backend.conflicts.isEmpty)
            #expect(await world.backend.gaps.isEmpty)
            #expect(await world.backend.windows.allSatisfy { $0.key.device == "C-1" || $0.value.owner == "ben" })
            await hub.stop()
            for collar in world.collars.values { await collar.stop() }
        }
    }
}
