import Glibc
import Platform
import Synchronization
import Testing

@testable import Radio

@Suite("The controller on the loop")
struct BluetoothControllerTests {
    private struct Bench {
        let loop: VirtualLoop
        let kernel: ScriptedKernel
        let controller: BluetoothController
        let reports = Recorder<BluetoothController.Report>()
        let blocked = Switch()

        init(devices: [ControllerDevice] = [ControllerDevice(address: device(1))], loop: VirtualLoop = VirtualLoop()) throws {
            self.loop = loop
            let (ours, theirs) = try packetPair()
            kernel = try ScriptedKernel(descriptor: Descriptor(owning: theirs), loop: loop)
            let blocked = blocked
            controller = BluetoothController(
                channel: Descriptor(owning: ours), loop: loop, policy: ControllerPolicy(), devices: devices, isBlocked: { _ in blocked.value })
        }

        func start() throws {
            let (controller, reports) = (controller, reports)
            try loop.run { try await controller.start(onReport: reports.note) }
            loop.advance(by: .milliseconds(1))
        }

        func finish() throws {
            let controller = controller
            try loop.run { await controller.stop() }
            loop.advance(by: .seconds(60))
            kernel.hangUp()
        }

        var events: [ControllerEvent] { reports.all.compactMap { if case .event(let event) = $0 { event } else { nil } } }
        var isReady: Bool { controller.assumeIsolated { $0.readyIndex != nil } }
    }

    /// Whether rfkill has switched the radio off.
    private final class Switch: Sendable {
        private let state = Mutex(false)
        var value: Bool {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    @Test("a radio that rfkill has switched off is waited for, although the kernel only says that power failed")
    func blocked() throws {
        let bench = try Bench()
        bench.blocked.value = true
        let blocked = bench.blocked
        bench.kernel.model.controllers[hci0]?.settings.remove(.powered)
        bench.kernel.intercept = { opcode, _ in opcode == .setPowered && blocked.value ? .refusal(.failed) : nil }
        try bench.start()
        bench.loop.advance(by: .seconds(600))
        #expect(bench.events == [.unavailable(.blocked(hci0))])
        bench.blocked.value = false
        bench.loop.advance(by: .seconds(20))
        #expect(bench.isReady)
        try bench.finish()
    }

    @Test("a block is read where the kernel shows it, soft or hard, for this controller alone")
    func sysfs() throws {
        let folder = "/tmp/gateway-rfkill-\(getpid())"
        let hci1 = ControllerIndex(rawValue: 1)
        defer { for path in ["hci0/rfkill3/soft", "hci0/rfkill3/hard", "hci0/rfkill3", "hci0/power", "hci0", ""] { _ = remove("\(folder)/\(path)") } }
        for path in ["", "hci0", "hci0/power", "hci0/rfkill3"] { #expect(mkdir("\(folder)/\(path)", 0o700) == 0) }
        func write(_ name: String, _ text: String) throws {
            let file = try #require(fopen("\(folder)/hci0/rfkill3/\(name)", "w"))
            fputs(text, file)
            fclose(file)
        }
        #expect(!RadioBlock.holds(hci0, in: folder), "nothing is there to be read")
        for (soft, hard, expected) in [("0", "0", false), ("1", "0", true), ("0", "1", true), ("", "", false)] {
            try write("soft", soft + "\n")
            try write("hard", hard + "\n")
            #expect(RadioBlock.holds(hci0, in: folder) == expected, "soft \(soft), hard \(hard)")
        }
        try write("soft", "1\n")
        #expect(!RadioBlock.holds(hci1, in: folder))
    }

    @Test("a controller is set up over a socket, follows its kernel's events, and lets go when it is stopped")
    func life() throws {
        let bench = try Bench()
        try bench.start()
        #expect(bench.isReady)
        #expect(bench.kernel.model.controllers[hci0]?.list == [device(1)])
        bench.kernel.tell(.deviceConnected, hci0, addressOctets(device(1)) + [0, 0, 0, 0, 0, 0])
        bench.kernel.tellOctets([0xFF])
        bench.kernel.tell(.deviceDisconnected, hci0, addressOctets(device(1)) + [1])
        bench.loop.advance(by: .zero)
        #expect(bench.events.suffix(2) == [.connected(device(1)), .disconnected(device(1), .connectionTimeout)])
        #expect(bench.reports.all.contains(.oddity("a packet of 1 octets has no room for a header")))
        let before = bench.loop.wakeUps
        bench.loop.advance(by: .seconds(3_600))
        // At rest it wakes for its check alone, and once for having been steady.
        #expect(bench.loop.wakeUps - before <= 61)
        try bench.finish()
        let after = bench.loop.wakeUps
        bench.loop.advance(by: .seconds(3_600))
        #expect(bench.loop.wakeUps == after, "no timer outlives it")
    }

    @Test("what a connector asks from within an event is done after what the event belongs to")
    func reentrancy() throws {
        let bench = try Bench()
        let controller = bench.controller
        let devices = [1, 2].map { ControllerDevice(address: device($0)) }
        let reports = bench.reports
        try bench.loop.run {
            try await controller.start { report in
                reports.note(report)
                guard case .event(let event) = report else { return }
                switch event {
                case .ready:
                    controller.assumeIsolated { controller in
                        controller.devicesChanged(devices)
                        controller.beginScan()
                    }
                case .scanEnded: controller.assumeIsolated { $0.powerCycle() }
                default: break
                }
            }
        }
        bench.loop.advance(by: .seconds(5))
        #expect(bench.kernel.model.controllers[hci0]?.list == [device(1), device(2)])
        #expect(controller.assumeIsolated { $0.isScanning })
        bench.loop.advance(by: .seconds(25))
        #expect(bench.events.filter { if case .ready = $0 { true } else { false } }.count >= 2)
        #expect(bench.kernel.opcodes.filter { $0 == .startDiscovery }.count >= 2)
        try bench.finish()
    }

    @Test("a channel that breaks is told once, and nothing goes on")
    func brokenChannel() throws {
        let bench = try Bench()
        try bench.start()
        bench.kernel.hangUp()
        bench.loop.advance(by: .seconds(600))
        #expect(bench.reports.all.filter { if case .channelClosed = $0 { true } else { false } }.count == 1)
        let before = bench.loop.wakeUps
        bench.loop.advance(by: .seconds(3_600))
        #expect(bench.loop.wakeUps == before)
    }

    @Test("a silent kernel leads to the exit, and in bounded time")
    func silence() throws {
        let bench = try Bench()
        bench.kernel.intercept = { _, _ in .silence }
        try bench.start()
        bench.loop.advance(by: .seconds(60))
        #expect(bench.reports.all.contains(.exit(.silent(.readVersion))))
        try bench.finish()
    }

    /// Whatever a kernel did for a while: once it behaves, the controller is ready within three minutes, with every device on its list. A process that was
    /// asked to exit is started anew, as systemd does.
    @Test("no misbehaviour of the kernel leaves a state that waits for ever", arguments: UInt64(1)...100)
    func chaos(seed: UInt64) throws {
        let random = Mutex(SplitMix64(seed: seed))
        let isWild = Mutex(true)
        @Sendable func pick(_ range: Range<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }
        let intercept: @Sendable (ManagementOpcode, ControllerIndex) -> ScriptedKernel.Fault? = { opcode, _ in
            guard isWild.withLock({ $0 }) else { return nil }
            return switch pick(0..<200) {
            case 0: .silence
            // Of a removal it would mean that the device is not on the list, and be true.
            case 1...8 where opcode == .removeDevice: .refusal(.busy)
            case 1...8: .refusal(ManagementStatus(rawValue: UInt8(pick(1..<0x16))))
            case 9...10: .nonsense
            default: nil
            }
        }
        let loop = VirtualLoop()
        let three = (1...3).map { ControllerDevice(address: device($0)) }
        func begin(_ model: ModelKernel) throws -> Bench {
            let bench = try Bench(devices: three, loop: loop)
            bench.kernel.model = model
            bench.kernel.intercept = intercept
            try bench.start()
            return bench
        }
        var bench = try begin(ModelKernel())
        var readies = 0
        var pairings = (begun: 0, ended: 0)
        func count() {
            readies += bench.events.filter { if case .ready = $0 { true } else { false } }.count
            pairings.ended += bench.events.filter { if case .pairingEnded = $0 { true } else { false } }.count
        }
        /// A new process in place of one that is to exit.
        func restartIfAsked() throws {
            guard bench.reports.all.contains(where: { if case .exit = $0 { true } else { false } }) else { return }
            bench.loop.advance(by: .seconds(200))
            count()
            let model = bench.kernel.model
            try bench.finish()
            bench = try begin(model)
        }
        for _ in 0..<200 {
            let controller = bench.controller
            let number = UInt8(pick(1..<5))
            switch pick(0..<18) {
            case 0: bench.kernel.remove()
            case 1, 2: bench.kernel.add()
            case 3: bench.kernel.losePower()
            case 4: bench.kernel.tell(.indexAdded)
            case 5: controller.assumeIsolated { $0.beginScan() }
            case 6: controller.assumeIsolated { $0.endScan() }
            case 7: controller.assumeIsolated { $0.disconnect(device(number)) }
            case 8:
                pairings.begun += 1
                controller.assumeIsolated { $0.pair(device(number)) }
            case 9: controller.assumeIsolated { $0.unpair(device(number)) }
            case 10: controller.assumeIsolated { $0.connectionWasBusy() }
            case 11: controller.assumeIsolated { $0.devicesChanged((1...number).map { ControllerDevice(address: device($0)) }) }
            case 12: controller.assumeIsolated { $0.bondsChanged(BondKeys(longTermKeys: [longTermKey(device(number))])) }
            case 13: bench.kernel.tell(.deviceConnected, hci0, addressOctets(device(number)) + [0, 0, 0, 0, 0, 0])
            case 14: bench.kernel.tell(ManagementEventCode(rawValue: UInt16(pick(3..<0x23))), hci0, addressOctets(device(number)) + [0, 0, 0, 0])
            default: loop.advance(by: .seconds(30))
            }
            loop.advance(by: .milliseconds(pick(0..<4_000)))
            try restartIfAsked()
        }
        isWild.withLock { $0 = false }
        bench.kernel.add()
        loop.advance(by: .seconds(180))
        try restartIfAsked()
        bench.controller.assumeIsolated { $0.devicesChanged(three) }
        loop.advance(by: .seconds(180))
        #expect(bench.isReady)
        #expect(bench.kernel.model.controllers[hci0]?.list == [device(1), device(2), device(3)])
        #expect(bench.kernel.model.controllers[hci0]?.settings.contains(.powered) == true)
        #expect(!bench.controller.assumeIsolated { $0.isScanning })
        count()
        #expect(readies > 5)
        #expect(pairings.begun == pairings.ended)
        try bench.finish()
    }
}
