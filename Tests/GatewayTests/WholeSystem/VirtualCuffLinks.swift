import Platform
import Radio
import Simulation

/// Links to a simulated cuff in the same process: one each time that it is switched on.
actor VirtualCuffLinks: LinkSource {
    private let loop: any EventLoop
    private let cuff: SimulatedCuff
    private var ended = false
    /// Links that brought something, as their driver said.
    private(set) var served = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: any EventLoop, cuff: SimulatedCuff) {
        self.loop = loop
        self.cuff = cuff
    }

    /// No link comes from here any more.
    func end() { ended = true }

    func linkServed() async { served += 1 }

    func nextLink() async throws -> Link {
        repeat { try await loop.sleep(for: ended ? .seconds(86_400) : .seconds(1)) } while await !isThere
        let (hub, far) = try VirtualLinks.pair()
        try await cuff.link(descriptor: Descriptor(owning: far))
        return Link(peer: "cuff", descriptor: Descriptor(owning: hub))
    }

    private var isThere: Bool {
        get async {
            let isOn = await cuff.isThere
            return isOn && !ended
        }
    }
}
