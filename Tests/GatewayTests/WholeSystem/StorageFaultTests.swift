import Outbox
import Platform
import Simulation
import Testing
@testable import gateway

/// Disks that fail while the rest goes on.
@Suite("Faults of the storage, under virtual time")
struct StorageFaultTests {
    let recording: Recording

    init() throws { recording = try projectRecording() }

    @Test("the end of a formatted log is reported although the disk failed when its successor was first met")
    func formattedWhileFailing() throws {
        let world = try World(.init(seed: 51, backlog: 40), recording: recording)
        try world.loop.run {
            let disk = FailingDisk()
            let hub = world.life(world.configuration(), vfs: disk.name).hub
            try await hub.start()
            await world.collar.start()
            // Announced, too few and too young for a pass.
            try await world.loop.sleep(for: .seconds(30))
            let log = await world.collar.books().log
            let unread = try #require(await hub.view().collars.first?.report.unread)
            #expect(unread > 0)
            disk.fail(at: 1, with: FailingDisk.full, times: 1_000_000)
            await world.collar.format()
            try await world.loop.sleep(for: .seconds(20))
            #expect(await hub.view().fault?.code == .diskFull)
            disk.heal()
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(600)) {
                await hub.flush()
                return await world.unaccounted().count <= 5
            })
            #expect(await world.backend.gaps.contains { $0.key.log == log && $0.value.reason == "reformatted" })
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    /// The disk fails at one operation after another: whether it was done after all is not known to the hub.
    @Test("a commit that fails at any of its writes and syncs costs nothing", arguments: [FailingDisk.full, FailingDisk.syncFailed])
    func commitFails(code: CInt) throws {
        let world = try World(.init(seed: 52, backlog: 400), recording: recording)
        try world.loop.run {
            let disk = FailingDisk()
            let hub = world.life(world.configuration(), vfs: disk.name).hub
            await world.collar.start()
            try await hub.start()
            for operation in 1...60 {
                disk.fail(at: Int64(operation), with: code, times: 1)
                await hub.flush()
                try await world.loop.sleep(for: .seconds(20))
            }
            disk.heal()
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(1_200)) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            })
            #expect(try await world.wait(.seconds(600)) {
                let books = await world.collar.books()
                return books.clears.last?.through == books.next &- 1
            })
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    /// open-telemetry/opentelemetry-collector#7198: what had been sent could not be removed from a full disk.
    @Test("while the disk fails nothing is read and nothing cleared, and it goes on by itself afterwards")
    func longFault() throws {
        let world = try World(.init(seed: 53, backlog: 100), recording: recording)
        try world.loop.run {
            let disk = FailingDisk()
            let hub = world.life(world.configuration(), vfs: disk.name).hub
            try await hub.start()
            await world.collar.start()
            try await world.loop.sleep(for: .seconds(70))
            disk.fail(at: 1, with: FailingDisk.full, times: 1_000_000_000)
            try await world.loop.sleep(for: .seconds(120))
            #expect(await hub.view().fault != nil)
            #expect(await hub.status().outbox.fault != nil)
            let before = await world.collar.books()
            try await world.loop.sleep(for: .seconds(3_600))
            let after = await world.collar.books()
            #expect(after.clears == before.clears)
            #expect(after.reads == before.reads)
            #expect(after.links == before.links)
            // One line for the fault, not one for each attempt.
            #expect(world.lines.records.count { $0.event.name == "storage-fault" } <= 3)
            disk.heal()
            #expect(try await world.wait(.seconds(180)) { await hub.view().fault == nil })
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(600)) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            })
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("entries of an owner who is back leave the sealed store whatever becomes of the first try", arguments: UInt64(1)...6)
    func unsealing(seed: UInt64) throws {
        let world = try World(.init(seed: seed, backlog: 5_000, secondBacklog: 768), recording: recording)
        try world.loop.run {
            await world.backend.set(away: true)
            let first = world.life(world.configuration())
            await first.links["C-1"]?.end()
            try await first.hub.start()
            #expect(try await world.wait(.seconds(300)) { await first.hub.view().snapshot?.queued.count == 6 })
            await first.hub.stop()

            // Ben goes; ann fills the queue.
            let second = world.life(world.configuration(owners: ["ann"], second: "ann"))
            await second.links["C-2"]?.end()
            try await second.hub.start()
            #expect(try await world.wait(.seconds(300)) { await second.hub.view().isFull })
            #expect(await second.hub.view().snapshot?.sealed.count == 6)
            await second.hub.stop()

            let disk = SlowDisk(loop: world.loop, seed: seed, slowest: .milliseconds(900))
            let third = world.life(world.configuration(), disk: disk)
            try await third.hub.start()
            await world.backend.set(away: false)
            #expect(try await world.wait(.seconds(7_200)) {
                await third.hub.flush()
                return await world.everythingIsAccountedFor()
            })
            #expect(await third.hub.view().snapshot?.sealed.isEmpty == true)
            await world.checkInvariants()
            await third.hub.stop()
            for collar in world.collars.values { await collar.stop() }
        }
    }

    @Test("a full sealed store refuses the change of owners: nothing is lost, nothing sent for anybody else, and the collar is not read in vain")
    func sealedFull() throws {
        let world = try World(.init(seed: 54, backlog: 512), recording: recording)
        try world.loop.run {
            let settings = OutboxSettings(sealedCapacity: 1)
            await world.backend.set(away: true)
            let first = world.life(world.configuration(owners: ["ann"]), settings: settings).hub
            try await first.start()
            #expect(try await world.wait(.seconds(300)) { await first.view().snapshot?.queued.count == 4 })
            await first.stop()
            await world.backend.set(away: false)
            await world.collar.start()

            let second = world.life(world.configuration(owner: "ben", backlog: .new, owners: ["ben"]), settings: settings).hub
            try await second.start()
            let reads = await world.collar.books().reads
            try await world.loop.sleep(for: .seconds(3_600))
            #expect(await second.view().snapshot?.queued.count == 4)
            #expect(await world.backend.windows.isEmpty)
            let vain = await world.collar.books().reads - reads
            #expect(vain <= 70, "read \(vain) times in an hour what could not be stored")
            await second.stop()

            // Nothing was stored for ben: all that the collar holds is ann's again, if she says so.
            let third = world.life(world.configuration(backlog: .new, owners: ["ann"]), settings: settings).hub
            try await third.start()
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(1_200)) {
                await third.flush()
                return await world.everythingIsAccountedFor()
            })
            #expect(await world.backend.windows.values.allSatisfy { $0.owner == "ann" })
            await world.checkInvariants()
            await third.stop()
            await world.collar.stop()
        }
    }

    @Test("a full quarantine keeps what it has no room for in the queue, and clears stop before it")
    func quarantineFull() throws {
        let world = try World(.init(seed: 55, backlog: 384), recording: recording)
        try world.loop.run {
            await world.backend.set(limit: 0)
            let hub = world.life(world.configuration(), settings: OutboxSettings(quarantineCapacity: 1)).hub
            try await hub.start()
            try await world.loop.sleep(for: .seconds(7_200))
            let before = try #require(await hub.view().snapshot)
            #expect(before.quarantined.count == 1)
            #expect(before.queued.count == 2)
            #expect(await world.collar.books().clears.isEmpty)
            await world.backend.set(limit: .max)
            #expect(try await world.wait(.seconds(3_600)) {
                await hub.flush()
                return await hub.view().snapshot?.queued.isEmpty == true
            })
            try await world.loop.sleep(for: .seconds(60))
            #expect(await world.backend.windows.count == 256)
            #expect(await world.collar.books().clears.isEmpty)
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }
}
