import Glibc
import Platform
import Radio
import Simulation

/// Links to a simulated collar in the same process: a pair of packet sockets each time, as the kernel would hand over a channel.
actor VirtualLinks: LinkSource {
    private let loop: any EventLoop
    private let collar: SimulatedCollar
    private var first = true

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: any EventLoop, collar: SimulatedCollar) {
        self.loop = loop
        self.collar = collar
    }

    func nextLink() async throws -> Link {
        // A collar that is not linked advertises about once a second.
        if !first { try await loop.sleep(for: .seconds(1)) }
        first = false
        while await collar.isLinked { try await loop.sleep(for: .seconds(1)) }
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            throw SystemError.last("socketpair")
        }
        try await collar.link(descriptor: Descriptor(owning: pair[1]))
        return Link(peer: "collar", descriptor: Descriptor(owning: pair[0]))
    }
}
