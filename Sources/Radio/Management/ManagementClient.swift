import CBlueZ
import Glibc
import Platform

/// The management channel on the loop: the kernel's control socket, or for tests any connected socket of sequenced packets.
///
/// Everything is told on the loop's thread, events in the order in which the kernel sent them, and answers in their place among them.
public actor ManagementClient {
    /// What the channel has to tell besides answers.
    public enum Report: Sendable, Hashable {
        case event(ControllerIndex, ManagementEvent)
        /// A packet that could not be read.
        case malformed(String)
        case unexpectedAnswer(ManagementOpcode, ControllerIndex, ManagementStatus)
        /// The last one: the channel is closed. Every command that waited has ended.
        case closed(BluetoothError)
    }

    /// What a scan in a busy place can bring before the loop gets to read it; what does not fit is lost.
    private static let receiveBuffer: CInt = 1 << 20
    /// A packet has a header of 6 octets and a length of 16 bits.
    private static let capacity = 6 + 0xFFFF

    nonisolated let loop: any EventLoop
    private var socket: PacketSocket?
    private var machine = ManagementMachine()
    private var timers: [ManagementMachine.Lane: TimerID] = [:]
    private var completions: [ManagementMachine.Token: @Sendable (ManagementMachine.Outcome) -> Void] = [:]
    private var outgoing: [[UInt8]] = []
    private var watchesWritable = false
    private var pending: [ManagementMachine.Action] = []
    private var isPerforming = false
    private var onReport: (@Sendable (Report) -> Void)?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Opens the kernel's management channel. Its commands need CAP_NET_ADMIN.
    ///
    /// - Throws: `BluetoothError` with `management-channel`, e.g. on a kernel without Bluetooth.
    public static func openControlChannel() throws(BluetoothError) -> Descriptor {
        let raw = cbluez_control_socket()
        guard raw >= 0 else { throw BluetoothError(.controlChannel(.last("bind", subject: "HCI_CHANNEL_CONTROL"))) }
        let descriptor = Descriptor(owning: raw)
        // A smaller buffer is a pity and no reason to give up.
        _ = cbluez_receive_buffer(raw, receiveBuffer)
        return descriptor
    }

    /// - Parameter channel: what `openControlChannel` gave, or one end of a pair; its owner from now on is the client.
    public init(channel: consuming Descriptor, loop: any EventLoop) {
        self.loop = loop
        socket = PacketSocket(channel, capacity: Self.capacity)
    }

    /// Begins to read.
    ///
    /// - Parameter onReport: called on the loop's thread, within calls of this client too.
    /// - Throws: `BluetoothError` when the loop cannot watch the descriptor.
    public func start(onReport: @escaping @Sendable (Report) -> Void) throws(BluetoothError) {
        self.onReport = onReport
        do throws(SystemError) {
            try socket?.setNonBlocking()
            try watch()
        } catch {
            throw BluetoothError(.controlChannel(error))
        }
    }

    /// Sends a command as soon as it is its turn.
    ///
    /// - Parameter completion: called once on the loop's thread, at the earliest before this returns (on a closed channel).
    public func submit(
        _ command: ManagementCommand, to index: ControllerIndex, completion: @escaping @Sendable (ManagementMachine.Outcome) -> Void
    ) {
        let (token, actions) = machine.submit(command, to: index)
        completions[token] = completion
        perform(actions)
    }

    /// Sends a command and waits for its answer. A caller that is cancelled waits on: the kernel carries the command out all the same.
    public func perform(_ command: ManagementCommand, on index: ControllerIndex) async throws -> ManagementReply {
        let outcome = await withCheckedContinuation { continuation in
            submit(command, to: index) { continuation.resume(returning: $0) }
        }
        return try outcome.get(for: command.opcode)
    }

    /// Closes the channel; what waits ends.
    public func close() { end(BluetoothError(.controlChannelClosed)) }

    // MARK: Parts

    /// What is asked for from within a report comes after what the report was part of.
    private func perform(_ actions: [ManagementMachine.Action]) {
        pending += actions
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while !pending.isEmpty { perform(pending.removeFirst()) }
    }

    private func perform(_ action: ManagementMachine.Action) {
        switch action {
        case .send(let packet):
            outgoing.append(packet)
            flush()
        case .startTimer(let lane, let duration):
            if let former = timers[lane] { loop.cancel(former) }
            timers[lane] = loop.schedule(after: duration) { self.assumeIsolated { $0.fired(lane) } }
        case .cancelTimer(let lane):
            if let timer = timers.removeValue(forKey: lane) { loop.cancel(timer) }
        case .finished(let token, let outcome):
            completions.removeValue(forKey: token)?(outcome)
        case .event(let index, let event):
            onReport?(.event(index, event))
        case .malformed(let fault):
            onReport?(.malformed(fault))
        case .unexpectedAnswer(let opcode, let index, let status):
            onReport?(.unexpectedAnswer(opcode, index, status))
        }
    }

    private func fired(_ lane: ManagementMachine.Lane) {
        timers[lane] = nil
        perform(machine.timerFired(lane))
    }

    private func watch() throws(SystemError) {
        guard let raw = socket?.raw else { return }
        try loop.watch(raw, for: watchesWritable ? [.readable, .writable] : .readable) { readiness in
            self.assumeIsolated { $0.ready(readiness) }
        }
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        while true {
            switch socket?.receive() {
            case .packet(let octets, let length):
                // What is longer than the buffer would not be a packet of this interface.
                perform(length > octets.count ? [.malformed("a packet of \(length) octets")] : machine.receive(octets))
            case .nothing, nil:
                return
            case .end:
                return end(BluetoothError(.controlChannelClosed))
            case .failed(let error):
                return end(BluetoothError(.controlChannel(error)))
            }
        }
    }

    private func flush() {
        do throws(SystemError) {
            while let packet = outgoing.first {
                guard try socket?.send(packet) == true else { break }
                outgoing.removeFirst()
            }
            if watchesWritable == outgoing.isEmpty {
                watchesWritable = !outgoing.isEmpty
                try watch()
            }
        } catch {
            end(BluetoothError(.controlChannel(error)))
        }
    }

    private func end(_ error: BluetoothError) {
        guard let raw = socket?.raw else { return }
        loop.unwatch(raw)
        socket = nil
        outgoing = []
        perform(machine.close())
        // From within a report it would come before what the machine has just said.
        _ = loop.schedule(at: loop.now) { self.assumeIsolated { $0.ended(error) } }
    }

    private func ended(_ error: BluetoothError) {
        let report = onReport
        onReport = nil
        report?(.closed(error))
    }
}
