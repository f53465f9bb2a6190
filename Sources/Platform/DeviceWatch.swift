import CLinux
import Glibc

/// Hears from the kernel of devices that come and go (uevents), so that one that is missing is looked for when there is reason to.
///
/// Messages are a nudge and nothing more: what is there is looked up where it counts.
public final class DeviceWatch: @unchecked Sendable {
    // Unchecked: used on the loop's thread alone, as everything of the loop is.
    private let socket: Descriptor
    private let loop: any EventLoop
    private let marks: [[UInt8]]
    private let onChange: @Sendable () -> Void
    private var settling: TimerID?

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - subsystems: the kernel's names of what matters, e.g. `gpio` and `leds`.
    ///   - settle: how long after the first of a burst of messages `onChange` is called: a chip comes with its lines, its node in `/dev` and its permissions.
    ///   - onChange: called on the loop after a device of these subsystems came, went or changed.
    /// - Throws: `SystemError` when the kernel offers no such socket.
    public init(
        loop: any EventLoop, subsystems: [String], settle: Duration = .milliseconds(200), onChange: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let raw = clinux_uevent_socket()
        guard raw >= 0 else { throw .last("socket") }
        socket = Descriptor(owning: raw)
        self.loop = loop
        marks = subsystems.map { Array("SUBSYSTEM=\($0)".utf8) }
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
        var changed = false
        while true {
            do throws(SystemError) {
                guard let bytes = try socket.read(upTo: 8_192), !bytes.isEmpty else { break }
                changed = changed || concerns(bytes)
            } catch {
                // ENOBUFS: messages were lost. Anything else ends this reading; the next message wakes us again.
                changed = changed || error.code == ENOBUFS
                break
            }
        }
        guard changed, settling == nil else { return }
        settling = loop.schedule(after: settle) { [weak self] in
            self?.settling = nil
            self?.onChange()
        }
    }

    /// A message is a list of strings, each with its zero: `add@/devices/…`, then `NAME=value`.
    private func concerns(_ message: [UInt8]) -> Bool {
        message.split(separator: 0).contains { field in marks.contains { field.elementsEqual($0) } }
    }
}
