import Platform

/// A link that is up: a connected descriptor that carries ATT, one PDU a message, and the name of who is at its other end.
public struct Link: ~Copyable, Sendable {
    /// The peer, for the log: an address of the transport, not an identity.
    public let peer: String
    /// The peer's address on the air; `nil` where there is no air. The identity address where the kernel knows it.
    public let address: BluetoothAddress?
    private let descriptor: Descriptor

    /// Takes the descriptor over; it must not block.
    public init(peer: String, address: BluetoothAddress? = nil, descriptor: consuming Descriptor) {
        self.peer = peer
        self.address = address
        self.descriptor = descriptor
    }

    /// The handle for the link's security and for ending the link from outside the `GATTClient` that gets the descriptor.
    ///
    /// - Throws: `BluetoothError` when there are no descriptors left.
    public borrowing func security(on loop: any EventLoop) throws(BluetoothError) -> ChannelSecurity {
        try ChannelSecurity(of: descriptor, loop: loop)
    }

    /// Gives the descriptor away, to a `GATTClient`.
    public consuming func takeDescriptor() -> Descriptor { descriptor }
}

/// Where the links to one device come from, and what is told how they fare: the kernel's L2CAP channels, or a Unix socket, for which only `nextLink` means anything.
public protocol LinkSource: Sendable {
    /// Waits for the next link, as long as it takes. A source that serves one peer is asked again when that link has ended.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled; the source's own error when no link can ever come.
    func nextLink() async throws -> Link

    /// The driver has subscribed to what it needs: the link works. One for which this is not said in time counts as failed.
    func linkWorks() async

    /// The link brought what it came for: it may end at any moment, and that is success.
    func linkServed() async

    /// The driver has let go of the link, and does not ask for the next one yet.
    func linkReleased() async

    /// The device refused a request for want of security (ATT errors 0x05, 0x0C, 0x0F): where its configuration allows for that, the link is made anew, encrypted.
    func securityDemanded() async

    /// What the link is used for from now on. The next one begins at rest.
    func use(_ parameters: ConnectionParameters) async
}

extension LinkSource {
    public func linkWorks() async {}
    public func linkServed() async {}
    public func linkReleased() async {}
    public func securityDemanded() async {}
    public func use(_ parameters: ConnectionParameters) async {}
}
