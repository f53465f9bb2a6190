import Outbox
import Platform
import Simulation
import Testing
@testable import gateway

/// Collars that link and answer, and whose answers are wrong: nothing is lost, and nothing turns in a circle.
@Suite("Collars that contradict themselves, under virtual time")
struct BadCollarTests {
    let recording: Recording

    init() throws { recording = try projectRecording() }

    /// An indication of the control point that answers `opcode`.
    private static func answers(_ opcode: UInt8, _ pdu: [UInt8]) -> Bool { pdu.count >= 6 && pdu[0] == 0x1D && pdu[3] == 0x80 && pdu[4] == opcode }

    /// A notification of one window.
    private static func isWindow(_ pdu: [UInt8]) -> Bool { pdu.count == 325 && pdu[0] == 0x1B }

    @Test("a collar whose status nobody can read is linked less and less often, and never given up")
    func garbledStatus() throws {
        let world = try World(.init(seed: 41, backlog: 200), recording: recording)
        try world.loop.run {
            let healed = Flag()
            let hub = world.life(world.configuration(), tamper: { pdu in
                guard Self.answers(5, pdu), !healed.isSet else { return pdu }
                var pdu = pdu
                pdu[6] = 9
                return pdu
            }).hub
            try await hub.start()
            try await world.loop.sleep(for: .seconds(3_600))
            let links = await world.collar.books().links
            #expect((2...100).contains(links), "\(links) links in an hour")
            #expect(await hub.view().collars.first?.report.lastError?.hasPrefix("collar-malformed-metrics") == true)
            healed.set()
            #expect(try await world.wait(.seconds(300)) { await world.everythingIsAccountedFor() })
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a range that the collar says it holds, and does not hold when it is asked, is not asked for in a circle")
    func notHeld() throws {
        let world = try World(.init(seed: 42, backlog: 200), recording: recording)
        try world.loop.run {
            let asked = Counter()
            let healed = Flag()
            let hub = world.life(world.configuration(), tamper: { pdu in
                // Without the last bound a hub that turns in a circle would keep virtual time from passing.
                guard asked.count < 2_000, !healed.isSet else { return pdu }
                if Self.isWindow(pdu) { return nil }
                guard Self.answers(1, pdu) else { return pdu }
                asked.add()
                return Array(pdu[..<5]) + [4, 0, 0, 0, 0, 200, 0, 0, 0]
            }).hub
            try await hub.start()
            try await world.loop.sleep(for: .seconds(1_800))
            #expect((2...200).contains(asked.count), "asked \(asked.count) times in half an hour")
            healed.set()
            #expect(try await world.wait(.seconds(300)) { await world.everythingIsAccountedFor() })
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a window that the collar says it holds and never sends is reported unreadable after passes on three links, and holds up no other")
    func neverSent() throws {
        let world = try World(.init(seed: 46, backlog: 200), recording: recording)
        try world.loop.run {
            let hub = world.life(world.configuration(), tamper: { pdu in
                // The sequence is in the first four bytes of the value.
                Self.isWindow(pdu) && Array(pdu[3..<7]) == [50, 0, 0, 0] ? nil : pdu
            }).hub
            try await hub.start()
            #expect(try await world.wait(.seconds(1_800)) { await world.everythingIsAccountedFor() })
            #expect(await world.backend.gaps.filter { $0.value.reason == "unreadable" }.map(\.key.sequence) == [50])
            #expect(await world.collar.books().links >= UnsentWindow.limit)
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    /// theengs/gateway#264: a unit that counts as active and delivers nothing until somebody starts it anew.
    @Test("a collar that is busy for ever gets another link now and then, which may free it", arguments: [UInt8(1), 5])
    func busyForEver(opcode: UInt8) throws {
        let world = try World(.init(seed: 43, backlog: 200), recording: recording)
        try world.loop.run {
            let healed = Flag()
            let hub = world.life(world.configuration(), tamper: { pdu in
                if healed.isSet { return pdu }
                if Self.isWindow(pdu) { return nil }
                return Self.answers(opcode, pdu) ? Array(pdu[..<5]) + [5] : pdu
            }).hub
            try await hub.start()
            try await world.loop.sleep(for: .seconds(50))
            #expect(await world.collar.books().links == 1)
            try await world.loop.sleep(for: .seconds(3_600))
            let links = await world.collar.books().links
            #expect((10...80).contains(links), "\(links) links in an hour")
            healed.set()
            #expect(try await world.wait(.seconds(300)) { await world.everythingIsAccountedFor() })
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a clear that the collar refuses for good is tried once on a link, shown, and stops no reading")
    func clearRefused() throws {
        let world = try World(.init(seed: 44, backlog: 300), recording: recording)
        try world.loop.run {
            let refused = Counter()
            let hub = world.life(world.configuration(), tamper: { pdu in
                guard Self.answers(3, pdu) else { return pdu }
                refused.add()
                return Array(pdu[..<5]) + [7]
            }).hub
            try await hub.start()
            #expect(try await world.wait(.seconds(300)) { await world.everythingIsAccountedFor() })
            try await world.loop.sleep(for: .seconds(300))
            // Once for each state of the clear, which moves with each delivery, and once more after the window was read again.
            #expect((1...12).contains(refused.count), "\(refused.count) refusals")
            #expect(await hub.view().collars.first?.report.lastError?.hasPrefix("clear-refused") == true)
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a clear is not sent into a log whose numbers went back")
    func numbersWentBack() throws {
        let world = try World(.init(seed: 45, backlog: 300), recording: recording)
        try world.loop.run {
            let restarted = Flag()
            // The collar's next goes from 300 back to 200, and its oldest stays 0.
            let life = world.life(world.configuration(), tamper: { pdu in
                guard restarted.isSet, Self.answers(5, pdu) else { return pdu }
                var pdu = pdu
                pdu.replaceSubrange(18..<22, with: [200, 0, 0, 0])
                return pdu
            })
            await world.backend.set(accepting: 1)
            await world.collar.arm(.clearRequest)
            try await life.hub.start()
            await life.hub.flush()
            #expect(try await world.wait(.seconds(60)) { await life.hub.view().collars.first?.report.pendingClear != nil })
            #expect(try await world.wait(.seconds(60)) { await life.hub.view().collars.first?.report.checkpoint == 300 })
            restarted.set()
            await world.collar.dropLink()
            try await world.loop.sleep(for: .seconds(120))
            #expect(await world.collar.books().clears.isEmpty)
            #expect(world.lines.records.contains { $0.event.name == "log-begun" && $0.message.contains("went back") })
            await life.hub.stop()
            await world.collar.stop()
        }
    }

    @Test("heartbeats that come faster than passes end lead to no more passes than there is work for")
    func fastHeartbeats() throws {
        let world = try World(.init(seed: 46, backlog: 1_000, heartbeat: .milliseconds(50)), recording: recording)
        try world.loop.run {
            let disk = SlowDisk(loop: world.loop, seed: 4, slowest: .seconds(2))
            let hub = world.life(world.configuration(), disk: disk).hub
            await world.collar.start()
            try await hub.start()
            try await world.loop.sleep(for: .seconds(600))
            await world.collar.stopProducing()
            #expect(try await world.wait(.seconds(600)) {
                await hub.flush()
                return await world.everythingIsAccountedFor()
            })
            #expect(await world.collar.books().reads < 100)
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("when the hub's clock is set while a collar is linked, the collar's is set then, not at the next link")
    func clockSetLater() throws {
        let world = try World(.init(seed: 47, backlog: 5), recording: recording)
        try world.loop.run {
            let synchronised = Flag()
            let loop = world.loop
            let wall = WallClock {
                synchronised.isSet ? WallTime(seconds: 1_790_000_000 + loop.now.nanoseconds / 1_000_000_000, synchronised: true)
                    : WallTime(seconds: 86_400, synchronised: false)
            }
            let hub = world.hub(world.configuration(), wallClock: wall)
            await world.collar.start()
            try await hub.start()
            try await world.loop.sleep(for: .seconds(200))
            #expect(await hub.view().collars.first?.report.status?.flags.contains(.clockIsSet) == false)
            synchronised.set()
            #expect(try await world.wait(.seconds(30)) { await hub.view().collars.first?.report.status?.flags.contains(.clockIsSet) == true })
            #expect(await world.collar.books().links == 1)
            await hub.stop()
            await world.collar.stop()
        }
    }
}
