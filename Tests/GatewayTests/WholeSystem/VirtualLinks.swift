import CLinux
import Glibc
import Platform
import Radio
import Simulation

/// Links to a simulated collar in the same process: a pair of packet sockets each time, as the kernel would hand over a channel.
actor VirtualLinks: LinkSource {
    /// Makes of one PDU of the collar what reaches the hub. `nil`: nothing does.
    typealias Tamper = @Sendable ([UInt8]) -> [UInt8]?

    private let loop: any EventLoop
    private let collar: SimulatedCollar
    private let tamper: Tamper?
    private var first = true
    private var ended = false
    private var relays: [Relay] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: any EventLoop, collar: SimulatedCollar, tamper: Tamper? = nil) {
        self.loop = loop
        self.collar = collar
        self.tamper = tamper
    }

    /// No link comes from here any more.
    func end() { ended = true }

    func nextLink() async throws -> Link {
        // A collar that is not linked advertises about once a second.
        if !first { try await loop.sleep(for: .seconds(1)) }
        first = false
        while true {
            let linked = await collar.isLinked
            if !ended, !linked { break }
            try await loop.sleep(for: ended ? .seconds(86_400) : .seconds(1))
        }
        let (hub, far) = try Self.pair()
        guard let tamper else {
            try await collar.link(descriptor: Descriptor(owning: far))
            return Link(peer: "collar", descriptor: Descriptor(owning: hub))
        }
        let (near, other) = try Self.pair()
        try await collar.link(descriptor: Descriptor(owning: other))
        relays = [try Relay(loop: loop, hub: Descriptor(owning: far), collar: Descriptor(owning: near), tamper: tamper)]
        return Link(peer: "collar", descriptor: Descriptor(owning: hub))
    }

    static func pair() throws -> (CInt, CInt) {
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            throw SystemError.last("socketpair")
        }
        return (pair[0], pair[1])
    }
}

/// Somebody between collar and hub who alters what the collar says.
private final class Relay: @unchecked Sendable {
    // Unchecked: touched on the loop's thread alone.
    private let loop: any EventLoop
    private let hub: Descriptor
    private let collar: Descriptor
    private let tamper: VirtualLinks.Tamper
    private var open = true

    init(loop: any EventLoop, hub: consuming Descriptor, collar: consuming Descriptor, tamper: @escaping VirtualLinks.Tamper) throws {
        self.loop = loop
        self.hub = hub
        self.collar = collar
        self.tamper = tamper
        try loop.watch(self.hub.raw, for: .readable) { [weak self] _ in self?.pass(toHub: false) }
        try loop.watch(self.collar.raw, for: .readable) { [weak self] _ in self?.pass(toHub: true) }
    }

    deinit { close() }

    private func pass(toHub: Bool) {
        guard open else { return }
        do {
            guard let pdu = try toHub ? collar.read(upTo: 1_024) : hub.read(upTo: 1_024) else { return }
            guard !pdu.isEmpty else { return close() }
            guard let out = toHub ? tamper(pdu) : pdu else { return }
            _ = try toHub ? hub.send(out) : collar.send(out)
        } catch {
            close()
        }
    }

    private func close() {
        guard open else { return }
        open = false
        for raw in [hub.raw, collar.raw] {
            loop.unwatch(raw)
            shutdown(raw, CInt(SHUT_RDWR))
        }
    }
}
