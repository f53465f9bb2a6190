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

/// Where links come from: the kernel's L2CAP channels, or a Unix socket.
public protocol LinkSource: Sendable {
    /// Waits for the next link, as long as it takes. A source that serves one peer is asked again when that link has ended.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled; the source's own error when no link can ever come.
    func nextLink() async throws -> Link
}
