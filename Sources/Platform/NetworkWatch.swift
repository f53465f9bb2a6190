import CLinux
import Glibc

/// Hears of changes to addresses and routes from the kernel (rtnetlink(7)), so that work which waits for the network is taken up when it is back.
public final class NetworkWatch: @unchecked Sendable {
    // Unchecked: used on the loop's thread alone, as everything of the loop is.
    private let socket: Descriptor
    private let loop: any EventLoop
    private let onChange: @Sendable () -> Void
    private var settling: TimerID?

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - settle: how long after the first of a burst of messages `onChange` is called: a link that comes up makes a dozen.
    ///   - onChange: called on the loop after an address or a route was added.
    /// - Throws: `SystemError` when the kernel offers no such socket.
    public init(loop: any EventLoop, settle: Duration = .seconds(2), onChange: @escaping @Sendable () -> Void) throws(SystemError) {
        let raw = clinux_route_socket()
        guard raw >= 0 else { throw .last("socket") }
        socket = Descriptor(owning: raw)
        self.loop = loop
        self.onChange = onChange
        try loop.watch(raw, for: .readable) { [weak self] _ in self?.drain(settle) }
    }

    /// Stops listening.
    public func stop() {
        loop.unwatch(socket.raw)
        if let settling { loop.cancel(settling) }
        settling = nil
    }

    private func drain(_ settle: Duration) {
        var added = false
        while true {
            do throws(SystemError) {
                guard let bytes = try socket.read(upTo: 8_192), !bytes.isEmpty else { break }
                added = added || bytes.withUnsafeBytes { clinux_route_added($0.baseAddress, $0.count) } != 0
            } catch {
                // ENOBUFS: messages were lost, so something may have been added. Anything else ends this reading; the next message wakes us again.
                added = added || error.code == ENOBUFS
                break
            }
        }
        guard added, settling == nil else { return }
        settling = loop.schedule(after: settle) { [weak self] in
            self?.settling = nil
            self?.onChange()
        }
    }
}
