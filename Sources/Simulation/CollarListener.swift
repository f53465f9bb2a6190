import Glibc
import Platform

/// Stands in for advertising: listens on a packet socket while the collar has no link, and not while it has one.
///
/// Whoever connects gets the link. After a link has ended the collar can be connected to again as soon as it would advertise again.
public actor CollarListener {
    private let collar: SimulatedCollar
    private let path: String
    private let loop: any EventLoop
    private let advertisingInterval: Duration
    private var listener: OwnedDescriptor?
    private var timer: TimerID?
    private var stopped = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - path: where the socket is made.
    ///   - advertisingInterval: from the end of a link to the next chance to connect.
    public init(collar: SimulatedCollar, path: String, advertisingInterval: Duration = .seconds(1), loop: any EventLoop) {
        self.collar = collar
        self.path = path
        self.advertisingInterval = advertisingInterval
        self.loop = loop
    }

    /// Listens, now and after each link.
    ///
    /// - Throws: `SimulationError` when the path cannot be listened on.
    public func start() throws(SimulationError) {
        do throws(SystemError) {
            try listen()
        } catch {
            throw SimulationError(.socketFailed, "\(error)", advice: "Give a path that can be written to and that nobody else listens on.")
        }
        let observer: @Sendable (CollarEvent) -> Void = { [weak self] event in
            if event == .unlinked { self?.assumeIsolated { $0.listenLater() } }
        }
        collar.assumeIsolated { $0.observe(observer) }
    }

    /// Listens no more, and leaves no socket file behind.
    public func stop() {
        stopped = true
        if let timer { loop.cancel(timer) }
        timer = nil
        close()
    }

    private func listen() throws(SystemError) {
        let listener = OwnedDescriptor(try UnixSocket.listen(at: path, kind: .sequencedPacket))
        try loop.watch(listener.raw, for: .readable) { [weak self] _ in self?.assumeIsolated { $0.accept() } }
        self.listener = listener
    }

    private func listenLater() {
        guard timer == nil, listener == nil, !stopped else { return }
        timer = loop.schedule(after: advertisingInterval) { [weak self] in
            self?.assumeIsolated { listener in
                listener.timer = nil
                do throws(SystemError) { try listener.listen() } catch { listener.listenLater() }
            }
        }
    }

    private func accept() {
        guard let listener else { return }
        do {
            guard let connection = try UnixSocket.accept(on: listener.raw) else { return }
            close()
            let raw = connection.release()
            try collar.assumeIsolated { try $0.link(descriptor: Descriptor(owning: raw)) }
        } catch {
            // Without descriptors to spare the collar is as good as out of range: it comes back.
            close()
            listenLater()
        }
    }

    private func close() {
        guard let listener else { return }
        loop.unwatch(listener.raw)
        self.listener = nil
        unlink(path)
    }
}
