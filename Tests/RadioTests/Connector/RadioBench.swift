import Glibc
import Platform
import Synchronization
import Testing

@testable import Radio

/// Links over socket pairs, made when a test says so. Touched on the loop's thread alone.
final class PairTransport: LinkTransport, @unchecked Sendable {
    private let loop: VirtualLoop
    private var onLink: (@Sendable (IncomingLink) -> Void)?
    /// What raising the security of a link to an address does: it may tell things of the kernel, and throws what comes of it.
    var onRaise: [BluetoothAddress: @Sendable () async throws -> Void] = [:]
    /// What a candidate that is dialled says; absent ones are not reached.
    var dialled: [BluetoothAddress: [ScriptStep]] = [:]
    private(set) var dials: [BluetoothAddress] = []
    private(set) var levels: [SecurityLevel] = []
    var peers: [ScriptedPeer] = []

    init(loop: VirtualLoop) { self.loop = loop }

    func start(onLink: @escaping @Sendable (IncomingLink) -> Void, onFailure: @escaping @Sendable (BluetoothError) -> Void) async throws { self.onLink = onLink }

    func stop() async { onLink = nil }

    /// The kernel links a device; gives the device's end.
    func link(_ address: BluetoothAddress) throws -> CInt {
        let (near, far) = try packetPair()
        let link = IncomingLink(address: address, descriptor: Descriptor(owning: near))
        onLink?(link)
        return far
    }

    func dial(_ address: BluetoothAddress, timeout: Duration) async throws -> Link {
        dials.append(address)
        guard let script = dialled[address] else { throw BluetoothError(.connectTimeout(address)) }
        let (near, far) = try packetPair()
        let peer = ScriptedPeer(script, descriptor: Descriptor(owning: far), loop: loop)
        try peer.start()
        peers.append(peer)
        return Link(peer: address.description, address: address, descriptor: Descriptor(owning: near))
    }

    func security(of link: borrowing Link) throws -> any LinkSecuring {
        let address = link.address
        return Security { [unowned self] level in
            levels.append(level)
            if let address { try await onRaise[address]?() }
        }
    }

    private struct Security: LinkSecuring {
        let body: @Sendable (SecurityLevel) async throws -> Void
        func raise(to level: SecurityLevel, timeout: Duration) async throws { try await body(level) }
        func authenticationFailed() async {}
        func close() async {}
    }
}

/// Bonds in memory. Touched on the loop's thread alone.
final class MemoryBonds: BondStore, @unchecked Sendable {
    struct Broken: Error {}

    private let loop: VirtualLoop
    var kept: [String: Bond]
    /// Bonds of controllers that have their own, in place of `kept`.
    var own: [BluetoothAddress: [Bond]] = [:]
    var isBroken = false
    /// How long a commit takes.
    var delay = Duration.zero
    private(set) var stores = 0

    init(_ bonds: [Bond], loop: VirtualLoop) {
        self.loop = loop
        kept = Dictionary(uniqueKeysWithValues: bonds.map { ($0.device, $0) })
    }

    func bonds(with controller: BluetoothAddress) async throws -> [Bond] {
        if isBroken { throw Broken() }
        return own[controller] ?? Array(kept.values)
    }

    func store(_ bond: Bond, with controller: BluetoothAddress) async throws {
        stores += 1
        if delay > .zero { try await loop.sleep(for: delay) }
        if isBroken { throw Broken() }
        kept[bond.device] = bond
    }

    func removeBond(of device: String, with controller: BluetoothAddress) async throws {
        if isBroken { throw Broken() }
        kept[device] = kept[device].map { Bond(device: device, address: $0.address) }
    }

    func forget(_ device: String) async throws {
        if isBroken { throw Broken() }
        kept[device] = nil
    }
}

/// A radio whose kernel, links and storage are the test's.
struct RadioBench {
    let loop = VirtualLoop()
    let kernel: ScriptedKernel
    let transport: PairTransport
    let store: MemoryBonds
    let radio: RadioController
    let events = Recorder<RadioEvent>()

    init(_ devices: [RadioDevice], bonds: [Bond] = [], settings: ConnectorSettings = ConnectorSettings(), secret: String = "000042") throws {
        let (ours, theirs) = try packetPair()
        kernel = try ScriptedKernel(descriptor: Descriptor(owning: theirs), loop: loop)
        transport = PairTransport(loop: loop)
        store = MemoryBonds(bonds, loop: loop)
        radio = RadioController(
            channel: Descriptor(owning: ours), loop: loop, devices: devices, store: store, policy: ControllerPolicy(), settings: settings,
            transport: transport, readSecret: { _ in secret }, onEvent: events.note)
    }

    func start() throws {
        let radio = radio
        try loop.run { try await radio.start() }
        loop.advance(by: .milliseconds(1))
    }

    /// Ends everything, and checks that nothing outlives it.
    func finish() throws {
        let radio = radio
        try loop.run { await radio.stop() }
        loop.advance(by: .seconds(600))
        let before = loop.wakeUps
        loop.advance(by: .seconds(3_600))
        #expect(loop.wakeUps == before, "no timer outlives it")
        kernel.hangUp()
        for peer in transport.peers {
            for fault in peer.faults { Issue.record("\(fault)") }
            peer.close()
        }
    }

    var list: Set<BluetoothAddress> { kernel.model.controllers[hci0]?.list ?? [] }

    var deviceEvents: [ConnectorEvent] {
        events.all.compactMap { if case .device(let event) = $0 { event } else { nil } }
    }

    func state(_ device: String) -> DeviceLinkState? { radio.assumeIsolated { $0.state(of: device) } }

    /// What the kernel tells of a new key.
    func tellKey(_ address: BluetoothAddress, kind: LongTermKey.Kind = .unauthenticatedP256) {
        kernel.tell(.newLongTermKey, hci0, [1] + longTermKey(address, kind: kind).octets)
    }

    func tellFound(_ address: BluetoothAddress, _ data: [UInt8]) {
        kernel.tell(.deviceFound, hci0, addressOctets(address) + [0xC4, 0, 0, 0, 0, UInt8(data.count), 0] + data)
    }

    /// Takes one link as a driver does, sends an octet over it, and lets it go after `hold`.
    func drive(_ device: String, hold: Duration = .seconds(600)) {
        let (radio, loop) = (radio, loop)
        loop.spawn {
            do {
                let link = try await radio.links(of: device).nextLink()
                await radio.subscribed(device)
                let descriptor = link.takeDescriptor()
                _ = try descriptor.send([0x42])
                try await loop.sleep(for: hold)
            } catch {}
        }
    }
}

/// What came over the device's end of a link: `nil` when nothing did, nothing at all at its end.
func received(_ far: CInt) -> [UInt8]? {
    var octets = [UInt8](repeating: 0, count: 64)
    let count = recv(far, &octets, octets.count, CInt(MSG_DONTWAIT))
    return count < 0 ? nil : Array(octets.prefix(count))
}

/// How a candidate says its serial number.
func serialScript(_ serial: String) -> [ScriptStep] {
    [
        .expects("06 01 00 FF FF 00 28 0A 18"), .sends("07 10 00 1F 00"),
        .expects("06 20 00 FF FF 00 28 0A 18"), .sends("01 06 20 00 0A"),
        .expects("08 10 00 1F 00 03 28"), .sends("09 07 11 00 02 12 00 25 2A"),
        .expects("08 12 00 1F 00 03 28"), .sends("01 08 12 00 0A"),
        .expects("0A 12 00"), .sendsOctets([0x0B] + Array(serial.utf8)),
    ]
}
