import Glibc
import Platform
import Testing

@testable import Radio

@Suite("The radio, with a scripted kernel and real sockets")
struct RadioControllerTests {
    private let front = collar("A1", at: address(1))

    @Test("keys are loaded before the device is on the kernel's list, and its link is encrypted before it is handed over")
    func bonded() throws {
        let bench = try RadioBench([front], bonds: [bond(front)])
        try bench.start()
        #expect(bench.list == [address(1)])
        let keys = try #require(bench.kernel.opcodes.firstIndex(of: .loadLongTermKeys))
        let device = try #require(bench.kernel.opcodes.firstIndex(of: .addDevice))
        #expect(keys < device)
        let loop = bench.loop
        bench.transport.onRaise[address(1)] = { try await loop.sleep(for: .seconds(2)) }
        bench.drive("A1")
        let far = try bench.transport.link(address(1))
        bench.loop.advance(by: .seconds(1))
        #expect(received(far) == nil, "not encrypted yet")
        bench.loop.advance(by: .seconds(2))
        #expect(received(far) == [0x42])
        #expect(bench.transport.levels == [.medium])
        #expect(bench.state("A1") == .working)
        close(far)
        try bench.finish()
    }

    @Test("a first pairing is confirmed, and its link handed over when the keys are committed and no earlier")
    func firstPairing() throws {
        let bench = try RadioBench([front])
        try bench.start()
        bench.store.delay = .seconds(10)
        let (kernel, loop) = (bench.kernel, bench.loop)
        bench.transport.onRaise[address(1)] = {
            kernel.tell(.userConfirmationRequest, hci0, addressOctets(address(1)) + [1, 0, 0, 0, 0])
            try await loop.sleep(for: .milliseconds(100))
        }
        bench.drive("A1")
        let far = try bench.transport.link(address(1))
        bench.loop.advance(by: .seconds(1))
        #expect(bench.kernel.opcodes.contains(.userConfirmationReply))
        #expect(!bench.kernel.opcodes.contains(.userConfirmationNegativeReply))
        bench.tellKey(address(1))
        bench.loop.advance(by: .seconds(9))
        #expect(received(far) == nil, "not committed yet")
        bench.loop.advance(by: .seconds(2))
        #expect(received(far) == [0x42])
        #expect(bench.store.kept["A1"] == Bond(device: "A1", address: address(1), longTermKeys: [longTermKey(address(1))]))
        #expect(bench.deviceEvents.contains(.bonded(device: "A1")))
        close(far)
        try bench.finish()
    }

    @Test("keys that cannot be committed cost the link, and nothing is handed over")
    func notCommitted() throws {
        let bench = try RadioBench([front])
        try bench.start()
        bench.store.isBroken = true
        bench.drive("A1")
        let far = try bench.transport.link(address(1))
        bench.loop.advance(by: .seconds(1))
        bench.tellKey(address(1))
        bench.loop.advance(by: .seconds(1))
        #expect(received(far) == [], "closed")
        #expect(bench.deviceEvents.contains(.notStored(device: "A1")))
        #expect(bench.store.kept.isEmpty)
        close(far)
        try bench.finish()
    }

    @Test("a passkey from a file is entered, and a key that was made without it is not kept")
    func passkey() throws {
        let device = collar("A1", at: address(1), pairing: PairingPolicy(passkey: .file("/passkey")))
        let bench = try RadioBench([device])
        try bench.start()
        let (kernel, loop) = (bench.kernel, bench.loop)
        bench.transport.onRaise[address(1)] = {
            kernel.tell(.userPasskeyRequest, hci0, addressOctets(address(1)))
            try await loop.sleep(for: .milliseconds(100))
        }
        bench.drive("A1")
        let far = try bench.transport.link(address(1))
        bench.loop.advance(by: .seconds(1))
        #expect(bench.kernel.opcodes.contains(.userPasskeyReply))
        #expect(bench.transport.levels == [.high])
        bench.tellKey(address(1), kind: .unauthenticatedP256)
        bench.loop.advance(by: .seconds(1))
        #expect(bench.kernel.opcodes.contains(.disconnect))
        bench.kernel.tell(.deviceDisconnected, hci0, addressOctets(address(1)) + [2])
        bench.loop.advance(by: .seconds(1))
        #expect(bench.kernel.opcodes.contains(.unpairDevice))
        #expect(bench.store.stores == 0)
        #expect(received(far) == [])
        close(far)
        try bench.finish()
    }

    @Test("a passkey file that is wrong is told, and nothing is paired")
    func badPasskey() throws {
        let device = collar("A1", at: address(1), pairing: PairingPolicy(passkey: .file("/passkey")))
        let bench = try RadioBench([device], secret: "no digits")
        try bench.start()
        let far = try bench.transport.link(address(1))
        bench.loop.advance(by: .seconds(1))
        #expect(bench.events.all.contains(.passkeyMissing(device: "A1", .notSixDigits(path: "/passkey"))))
        #expect(bench.transport.levels.isEmpty)
        close(far)
        try bench.finish()
    }

    @Test("a wrong key: the device leaves the list before its link is ended, and its key stays stored")
    func wrongKey() throws {
        let bench = try RadioBench([front], bonds: [bond(front)])
        try bench.start()
        bench.transport.onRaise[address(1)] = { throw BluetoothError(.securityRefused(SystemError("connect", code: EACCES))) }
        bench.drive("A1")
        let far = try bench.transport.link(address(1))
        bench.loop.advance(by: .seconds(1))
        #expect(received(far) == [])
        let removed = try #require(bench.kernel.opcodes.lastIndex(of: .removeDevice))
        let ended = try #require(bench.kernel.opcodes.lastIndex(of: .disconnect))
        #expect(removed < ended)
        #expect(!bench.kernel.opcodes.contains(.unpairDevice))
        #expect(bench.store.kept["A1"] != nil)
        bench.kernel.tell(.deviceDisconnected, hci0, addressOctets(address(1)) + [2])
        bench.loop.advance(by: .seconds(1))
        #expect(bench.state("A1") == .needsPairing)
        #expect(bench.list.isEmpty)
        // The button.
        _ = bench.radio.assumeIsolated { $0.openPairing() }
        bench.loop.advance(by: .seconds(1))
        #expect(bench.kernel.opcodes.contains(.unpairDevice))
        #expect(bench.store.kept["A1"] == Bond(device: "A1", address: address(1)), "the address is no key, and stays")
        #expect(bench.list == [address(1)])
        close(far)
        try bench.finish()
    }

    @Test("an unknown device's link is closed at once")
    func unknown() throws {
        let bench = try RadioBench([front], bonds: [bond(front)])
        try bench.start()
        let far = try bench.transport.link(address(9))
        bench.loop.advance(by: .milliseconds(1))
        #expect(received(far) == [])
        #expect(bench.transport.levels.isEmpty)
        close(far)
        try bench.finish()
    }

    @Test("a driver that asks for the next link gets it, and one link is not given twice")
    func nextLinks() throws {
        let device = collar("A1", at: address(1), security: .none)
        let bench = try RadioBench([device])
        try bench.start()
        let first = try bench.transport.link(address(1))
        bench.drive("A1", hold: .seconds(100))
        bench.loop.advance(by: .seconds(1))
        #expect(received(first) == [0x42])
        bench.loop.advance(by: .seconds(120))
        #expect(received(first) == [], "its driver has closed it")
        bench.drive("A1")
        bench.loop.advance(by: .seconds(1))
        bench.kernel.tell(.deviceDisconnected, hci0, addressOctets(address(1)) + [2])
        bench.loop.advance(by: .seconds(1))
        let second = try bench.transport.link(address(1))
        bench.loop.advance(by: .seconds(1))
        #expect(received(second) == [0x42])
        close(first)
        close(second)
        try bench.finish()
    }

    // MARK: Adoption

    private func whileStale(candidate: [ScriptStep], _ body: (RadioBench) throws -> Void) throws {
        let bench = try RadioBench([front], bonds: [bond(front)])
        try bench.start()
        let (kernel, loop) = (bench.kernel, bench.loop)
        bench.transport.dialled[address(8)] = candidate
        bench.transport.onRaise[address(8)] = {
            kernel.tell(.userConfirmationRequest, hci0, addressOctets(address(8)) + [1, 0, 0, 0, 0])
            try await loop.sleep(for: .milliseconds(100))
            kernel.tell(.newLongTermKey, hci0, [1] + longTermKey(address(8)).octets)
        }
        bench.loop.advance(by: .seconds(601))
        #expect(bench.state("A1") == .stale)
        bench.tellFound(address(8), collarOctets(identity: CollarIdentity(serial: "A1").serviceDataIdentity))
        bench.loop.advance(by: .seconds(5))
        try body(bench)
        try bench.finish()
    }

    @Test("a stale collar at a new address is dialled, paired, asked for its serial number, stored, and then on the list")
    func adoption() throws {
        try whileStale(candidate: serialScript("A1")) { bench in
            #expect(bench.transport.dials == [address(8)])
            #expect(bench.kernel.opcodes.contains(.userConfirmationReply))
            #expect(bench.store.kept["A1"] == Bond(device: "A1", address: address(8), longTermKeys: [longTermKey(address(8))]))
            #expect(bench.list == [address(8)])
            #expect(bench.deviceEvents.contains(.adopted(device: "A1", address(8))))
            #expect(bench.transport.peers.allSatisfy { $0.rest.isEmpty })
        }
    }

    @Test("a collar with the right identity and a wrong serial number is not adopted, and its keys are forgotten")
    func spoof() throws {
        try whileStale(candidate: serialScript("Z9")) { bench in
            #expect(bench.store.kept["A1"]?.address == address(1))
            #expect(bench.list == [address(1)])
            #expect(bench.kernel.opcodes.contains(.unpairDevice))
            #expect(bench.deviceEvents.contains(.spoofed(device: "A1", address(8), serial: "Z9")))
        }
    }

    @Test("a candidate that never answers costs a minute and is not adopted")
    func silentCandidate() throws {
        try whileStale(candidate: [.expects("06 01 00 FF FF 00 28 0A 18")]) { bench in
            #expect(bench.state("A1") == .pairing)
            bench.loop.advance(by: .seconds(60))
            #expect(bench.state("A1") == .stale)
            #expect(bench.list == [address(1)])
            #expect(bench.deviceEvents.contains(.candidateFailed(device: "A1", address(8), .noSerial)))
        }
    }

    @Test("a candidate that cannot be connected leaves everything as it was")
    func unreachable() throws {
        let bench = try RadioBench([front], bonds: [bond(front)])
        try bench.start()
        bench.loop.advance(by: .seconds(601))
        bench.tellFound(address(8), collarOctets(identity: CollarIdentity(serial: "A1").serviceDataIdentity))
        bench.loop.advance(by: .seconds(1))
        #expect(bench.deviceEvents.contains(.candidateFailed(device: "A1", address(8), .unreachable)))
        #expect(bench.list == [address(1)])
        #expect(!bench.kernel.opcodes.contains(.unpairDevice))
        try bench.finish()
    }

    // MARK: Cuffs that switch off when they are linked and not paired

    /// Such a cuff's end of a link: what came before it was paired.
    private final class Impatient: @unchecked Sendable {
        var far: CInt = -1
        var beforePairing: [UInt8]?? = .none
    }

    @Test("a cuff at a configured address is paired before its driver gets the link, and nothing is said to it before that")
    func pairedFirst() throws {
        let bench = try RadioBench([cuff("arm", at: address(1), security: .encrypted)])
        try bench.start()
        let (kernel, loop, impatient) = (bench.kernel, bench.loop, Impatient())
        bench.transport.onRaise[address(1)] = {
            impatient.beforePairing = .some(received(impatient.far))
            kernel.tell(.userConfirmationRequest, hci0, addressOctets(address(1)) + [1, 0, 0, 0, 0])
            try await loop.sleep(for: .milliseconds(100))
            kernel.tell(.newLongTermKey, hci0, [1] + longTermKey(address(1)).octets)
        }
        bench.drive("arm")
        impatient.far = try bench.transport.link(address(1))
        bench.loop.advance(by: .milliseconds(50))
        #expect(received(impatient.far) == nil, "the pairing is under way")
        bench.loop.advance(by: .seconds(1))
        #expect(impatient.beforePairing == .some(.none))
        #expect(received(impatient.far) == [0x42], "the driver has it now")
        #expect(bench.store.kept["arm"]?.longTermKeys.count == 1)
        close(impatient.far)
        try bench.finish()
    }

    @Test("a cuff that is adopted is paired, told nothing at all, and waited for at its address")
    func adoptedCuff() throws {
        let bench = try RadioBench([cuff("arm", security: .encrypted)])
        try bench.start()
        let (kernel, loop, radio) = (bench.kernel, bench.loop, bench.radio)
        // Anything that is said to it would be a fault.
        bench.transport.dialled[address(8)] = []
        bench.transport.onRaise[address(8)] = {
            kernel.tell(.userConfirmationRequest, hci0, addressOctets(address(8)) + [1, 0, 0, 0, 0])
            try await loop.sleep(for: .milliseconds(100))
            kernel.tell(.newLongTermKey, hci0, [1] + longTermKey(address(8)).octets)
        }
        try bench.loop.run { _ = await radio.openPairing() }
        bench.loop.advance(by: .seconds(1))
        bench.tellFound(address(8), [3, 3, 0x10, 0x18])
        bench.loop.advance(by: .seconds(10))
        #expect(bench.transport.dials == [address(8)])
        #expect(bench.deviceEvents.contains(.adopted(device: "arm", address(8))))
        #expect(bench.store.kept["arm"] == Bond(device: "arm", address: address(8), longTermKeys: [longTermKey(address(8))]))
        #expect(bench.list == [address(8)])
        try bench.finish()
    }

    @Test("a cuff that needs no pairing is adopted without any")
    func openCuff() throws {
        let bench = try RadioBench([cuff("arm", security: .none)])
        try bench.start()
        let radio = bench.radio
        bench.transport.dialled[address(8)] = []
        try bench.loop.run { _ = await radio.openPairing() }
        bench.loop.advance(by: .seconds(1))
        bench.tellFound(address(8), [3, 3, 0x10, 0x18])
        bench.loop.advance(by: .seconds(10))
        #expect(bench.transport.levels.isEmpty)
        #expect(bench.store.kept["arm"] == Bond(device: "arm", address: address(8)))
        #expect(bench.list == [address(8)])
        try bench.finish()
    }

    // MARK: Commands and life

    @Test("a scan tells every device that is heard, once, with what it says it is")
    func scan() throws {
        let bench = try RadioBench([front])
        try bench.start()
        let radio = bench.radio
        let (kernel, loop) = (bench.kernel, bench.loop)
        let heard = try bench.loop.run {
            _ = loop.schedule(after: .seconds(1)) {
                kernel.tell(.deviceFound, hci0, addressOctets(address(1)) + [0xC4, 0, 0, 0, 0, 0, 0])
                for _ in 0..<3 { kernel.tell(.deviceFound, hci0, addressOctets(address(8)) + [0xD0, 0, 0, 0, 0, 4, 0, 3, 9, 0x1B, 0x41]) }
                let octets = collarOctets(identity: CollarIdentity(serial: "A1").serviceDataIdentity)
                kernel.tell(.deviceFound, hci0, addressOctets(address(8)) + [0xD0, 0, 0, 0, 0, UInt8(octets.count), 0] + octets)
            }
            return await radio.devicesHeard(in: .seconds(5))
        }
        #expect(heard.map(\.address) == [address(8), address(1)])
        #expect(heard.first?.name == "\u{FFFD}A")
        #expect(heard.first?.claims == ["A1"])
        #expect(heard.last?.device == "A1")
        bench.loop.advance(by: .seconds(60))
        #expect(bench.kernel.opcodes.filter { $0 == .startDiscovery }.count == 1)
        try bench.finish()
    }

    @Test("a scan knows a cuff by its address, and says of a stranger of its kind that it may be one whose address is not known yet")
    func scanOfCuffs() throws {
        let bench = try RadioBench([cuff("arm", at: address(1)), cuff("wrist")])
        try bench.start()
        let radio = bench.radio
        let (kernel, loop) = (bench.kernel, bench.loop)
        let heard = try bench.loop.run {
            _ = loop.schedule(after: .seconds(1)) {
                for number: UInt16 in [1, 8] { kernel.tell(.deviceFound, hci0, addressOctets(address(number)) + [0xC4, 0, 0, 0, 0, 4, 0, 3, 3, 0x10, 0x18]) }
                kernel.tell(.deviceFound, hci0, addressOctets(address(9)) + [0xC4, 0, 0, 0, 0, 4, 0, 3, 3, 0x0D, 0x18])
            }
            return await radio.devicesHeard(in: .seconds(5))
        }
        #expect(heard.map(\.device) == ["arm", nil, nil])
        #expect(heard.map(\.mayBe) == [["wrist"], ["wrist"], []] && heard.allSatisfy { $0.claims == [] })
        try bench.finish()
    }

    @Test("to forget a device removes its keys from the kernel and from the store")
    func forget() throws {
        let bench = try RadioBench([front], bonds: [bond(front)])
        try bench.start()
        #expect(bench.radio.assumeIsolated { $0.forget("A1") })
        #expect(!bench.radio.assumeIsolated { $0.forget("Z9") })
        bench.loop.advance(by: .seconds(1))
        #expect(bench.kernel.opcodes.contains(.unpairDevice))
        #expect(bench.store.kept.isEmpty)
        #expect(bench.radio.assumeIsolated { !$0.isBonded("A1") })
        try bench.finish()
    }

    @Test("bonds that cannot be read hold everything up, and are read as soon as they can be")
    func unreadableBonds() throws {
        let bench = try RadioBench([front], bonds: [bond(front)])
        bench.store.isBroken = true
        try bench.start()
        bench.loop.advance(by: .seconds(25))
        #expect(bench.list.isEmpty)
        #expect(bench.events.all.filter { if case .bondsUnreadable = $0 { true } else { false } }.count >= 1)
        bench.store.isBroken = false
        bench.loop.advance(by: .seconds(10))
        #expect(bench.list == [address(1)])
        try bench.finish()
    }

    @Test("a controller that goes and another that comes are told, and the list is made anew")
    func replacedController() throws {
        let bench = try RadioBench([front], bonds: [bond(front)])
        try bench.start()
        bench.kernel.remove()
        bench.loop.advance(by: .seconds(1))
        #expect(bench.events.all.contains { if case .controllerAbsent = $0 { true } else { false } })
        bench.kernel.add()
        bench.loop.advance(by: .seconds(1))
        #expect(bench.list == [address(1)])
        #expect(bench.events.all.filter { if case .controllerReady = $0 { true } else { false } }.count == 2)
        try bench.finish()
    }

    @Test("another controller reads its own bonds and uses none of the former's keys, and the former finds its own again")
    func otherController() throws {
        let first = BluetoothAddress(octets: [0, 0xF4, 0xF3, 0xF2, 0xF1, 0xF0], kind: .public)!
        let second = BluetoothAddress(octets: [1, 0xF4, 0xF3, 0xF2, 0xF1, 0xF0], kind: .public)!
        let (former, other) = ([UInt8](repeating: 0xA5, count: 16), [UInt8](repeating: 0x11, count: 16))
        let bench = try RadioBench([front])
        bench.store.own[first] = [bond(front)]
        bench.store.own[second] = [Bond(device: "A1", address: address(1), longTermKeys: [longTermKey(address(1), fill: 0x11)])]
        try bench.start()
        #expect(bench.radio.assumeIsolated { $0.bondedController } == first)
        #expect(bench.kernel.parameters[.loadLongTermKeys]?.contains(former) == true)

        bench.kernel.remove()
        bench.loop.advance(by: .seconds(1))
        bench.store.isBroken = true
        bench.kernel.add(address: second.octets)
        bench.loop.advance(by: .seconds(5))
        #expect(bench.list.isEmpty, "nobody is waited for before the keys with this one are known")
        bench.store.isBroken = false
        bench.loop.advance(by: .seconds(30))
        #expect(bench.list == [address(1)])
        #expect(bench.radio.assumeIsolated { $0.bondedController } == second)
        #expect(bench.kernel.parameters[.loadLongTermKeys]?.contains(other) == true)
        #expect(bench.kernel.parameters[.loadLongTermKeys]?.contains(former) == false)

        bench.kernel.remove()
        bench.loop.advance(by: .seconds(1))
        bench.kernel.add(address: first.octets)
        bench.loop.advance(by: .seconds(5))
        #expect(bench.list == [address(1)])
        #expect(bench.kernel.parameters[.loadLongTermKeys]?.contains(former) == true)
        #expect(bench.kernel.parameters[.loadLongTermKeys]?.contains(other) == false)
        try bench.finish()
    }

    @Test("with a controller that has no keys of a device, the device is not bonded, and is paired on its next link")
    func controllerWithoutKeys() throws {
        let second = BluetoothAddress(octets: [1, 0xF4, 0xF3, 0xF2, 0xF1, 0xF0], kind: .public)!
        let bench = try RadioBench([front], bonds: [bond(front)])
        bench.store.own[second] = []
        try bench.start()
        #expect(bench.radio.assumeIsolated { $0.isBonded("A1") })
        bench.kernel.remove()
        bench.loop.advance(by: .seconds(1))
        bench.kernel.add(address: second.octets)
        bench.loop.advance(by: .seconds(5))
        #expect(!bench.radio.assumeIsolated { $0.isBonded("A1") })
        #expect(bench.kernel.parameters[.loadLongTermKeys] == [0, 0], "no keys")
        let (kernel, loop) = (bench.kernel, bench.loop)
        bench.transport.onRaise[address(1)] = {
            kernel.tell(.userConfirmationRequest, hci0, addressOctets(address(1)) + [1, 0, 0, 0, 0])
            try await loop.sleep(for: .milliseconds(100))
        }
        bench.drive("A1")
        let far = try bench.transport.link(address(1))
        bench.loop.advance(by: .seconds(1))
        #expect(bench.kernel.opcodes.contains(.userConfirmationReply))
        bench.tellKey(address(1))
        bench.loop.advance(by: .seconds(1))
        #expect(received(far) == [0x42])
        #expect(bench.radio.assumeIsolated { $0.isBonded("A1") })
        close(far)
        try bench.finish()
    }

    @Test("a driver that waits is let go when the radio stops, and one that is cancelled at once")
    func cancellation() throws {
        let bench = try RadioBench([front])
        try bench.start()
        let (radio, loop) = (bench.radio, bench.loop)
        let ended = Recorder<String>()
        let waiter = loop.spawn {
            do { _ = try await radio.links(of: "A1").nextLink() } catch { ended.note("cancelled") }
        }
        loop.advance(by: .seconds(1))
        waiter.cancel()
        loop.advance(by: .seconds(1))
        #expect(ended.all == ["cancelled"])
        loop.spawn {
            do { _ = try await radio.links(of: "A1").nextLink() } catch { ended.note("stopped") }
        }
        loop.advance(by: .seconds(1))
        try bench.finish()
        #expect(ended.all == ["cancelled", "stopped"])
    }
}
