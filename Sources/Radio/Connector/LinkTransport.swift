import Platform

/// A link in a place where several may look at it, and one may take it; closed when nobody has taken it. Touched on the loop's thread alone.
final class LinkBox: @unchecked Sendable {
    let address: BluetoothAddress
    private var link: Link?

    init(_ link: consuming Link, address: BluetoothAddress) {
        self.link = consume link
        self.address = address
    }

    func take() -> Link? { link.take() }

    /// What raises the link's security, while the box still has it.
    func security(_ transport: any LinkTransport) throws -> (any LinkSecuring)? {
        guard let link = link.take() else { return nil }
        let security = Result { try transport.security(of: link) }
        self.link = consume link
        return try security.get()
    }
}

/// What carries the links: the kernel's attribute channels, or what a test puts in their place.
protocol LinkTransport: Sendable {
    /// Begins to accept. Called once, before any device is on the kernel's list.
    func start(onLink: @escaping @Sendable (IncomingLink) -> Void, onFailure: @escaping @Sendable (BluetoothError) -> Void) async throws
    func stop() async
    /// Connects a device that is not on the list. One call at a time.
    func dial(_ address: BluetoothAddress, timeout: Duration) async throws -> Link
    func security(of link: borrowing Link) throws -> any LinkSecuring
}

/// The security of one link; see `ChannelSecurity`.
protocol LinkSecuring: Sendable {
    func raise(to level: SecurityLevel, timeout: Duration) async throws
    /// Ends a `raise` that waits.
    func authenticationFailed() async
    func close() async
}

extension ChannelSecurity: LinkSecuring {}

/// The kernel's L2CAP sockets.
struct L2CAPTransport: LinkTransport {
    private let listener: L2CAPListener
    private let dialer: L2CAPDialer
    private let loop: any EventLoop

    init(loop: any EventLoop, backlog: Int) throws(BluetoothError) {
        self.loop = loop
        listener = try L2CAPListener(loop: loop, backlog: backlog)
        dialer = L2CAPDialer(loop: loop)
    }

    func start(onLink: @escaping @Sendable (IncomingLink) -> Void, onFailure: @escaping @Sendable (BluetoothError) -> Void) async throws {
        try await listener.start(onLink: onLink, onFailure: onFailure)
    }

    func stop() async { await listener.stop() }

    func dial(_ address: BluetoothAddress, timeout: Duration) async throws -> Link { try await dialer.connect(to: address, timeout: timeout) }

    func security(of link: borrowing Link) throws -> any LinkSecuring { try link.security(on: loop) }
}
