import CBlueZ
import Glibc
import Platform

/// Takes the links that the kernel makes to the devices on its list, by listening on the attribute channel.
///
/// It stays at the lowest security: a higher one would begin to pair with whoever is accepted. It must be listening before the first device is on
/// the list, as no accept follows for a link that was made before.
public actor L2CAPListener {
    /// The pause after an accept that failed for want of resources, which the loop would try again at once for ever.
    private static let pause = Duration.seconds(1)

    nonisolated let loop: any EventLoop
    private var descriptor: Descriptor?
    private var onLink: (@Sendable (IncomingLink) -> Void)?
    private var onFailure: (@Sendable (BluetoothError) -> Void)?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Opens the socket; CID 4 needs no privilege.
    ///
    /// - Parameter backlog: at least the number of devices.
    /// - Throws: `BluetoothError`: the kernel has no Bluetooth, or another program (bluetoothd) has the channel.
    public init(loop: any EventLoop, backlog: Int) throws(BluetoothError) {
        self.loop = loop
        let socket = try L2CAPSocket.bound()
        guard cbluez_set_security(socket.raw, SecurityLevel.low.rawValue) == 0 else {
            throw BluetoothError(.socket(.last("setsockopt", subject: "BT_SECURITY")))
        }
        guard listen(socket.raw, CInt(clamping: max(backlog, 1))) == 0 else { throw BluetoothError(.socket(.last("listen", subject: "the attribute channel"))) }
        descriptor = consume socket
    }

    /// Begins to accept.
    ///
    /// - Parameters:
    ///   - onLink: told of each link on the loop's thread; who does not take it lets it be closed.
    ///   - onFailure: told of an accept that failed; the listener goes on.
    public func start(
        onLink: @escaping @Sendable (IncomingLink) -> Void, onFailure: @escaping @Sendable (BluetoothError) -> Void = { _ in }
    ) throws(BluetoothError) {
        self.onLink = onLink
        self.onFailure = onFailure
        try watch()
    }

    /// Stops listening.
    public func stop() {
        if let raw = descriptor?.raw { loop.unwatch(raw) }
        descriptor = nil
        onLink = nil
        onFailure = nil
    }

    private func watch() throws(BluetoothError) {
        guard let raw = descriptor?.raw else { return }
        do throws(SystemError) {
            try loop.watch(raw, for: .readable) { _ in self.assumeIsolated { $0.accept() } }
        } catch {
            throw BluetoothError(.socket(error))
        }
    }

    private func accept() {
        while let raw = descriptor?.raw {
            var address = bdaddr_t()
            var type: UInt8 = 0
            let accepted = retryOnInterrupt { cbluez_l2cap_accept(raw, &address, &type) }
            guard accepted >= 0 else {
                let error = SystemError.last("accept")
                if error.code == EAGAIN { return }
                onFailure?(BluetoothError(.socket(error)))
                // A link that ended before it was accepted costs nothing but itself.
                if error.code == ECONNABORTED { continue }
                return rest(raw)
            }
            let channel = Descriptor(owning: accepted)
            // Over BR/EDR there is no attribute channel of ours.
            guard let kind = BluetoothAddress.Kind(rawValue: type) else { continue }
            onLink?(IncomingLink(address: BluetoothAddress(address, kind: kind), descriptor: channel))
        }
    }

    private func rest(_ raw: CInt) {
        loop.unwatch(raw)
        _ = loop.schedule(after: Self.pause) { self.assumeIsolated { $0.resume() } }
    }

    private func resume() {
        do throws(BluetoothError) {
            try watch()
        } catch {
            onFailure?(error)
            _ = loop.schedule(after: Self.pause) { self.assumeIsolated { $0.resume() } }
        }
    }
}
