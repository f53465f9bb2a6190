import CBlueZ
import Glibc
import Platform

/// Connects a device directly, as a pairing needs it; the devices that the hub keeps linked come through the listener.
///
/// One LE connection may be pending for each controller, so one call at a time.
public actor L2CAPDialer {
    nonisolated let loop: any EventLoop
    private var waiting: (continuation: CheckedContinuation<Void, any Error>, timer: TimerID, socket: CInt)?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    public init(loop: any EventLoop) { self.loop = loop }

    /// Connects.
    ///
    /// - Parameter timeout: the kernel gives up by itself after 40 s.
    /// - Throws: `BluetoothError`: `isBusy` when another connection is pending; `CancellationError` when the task is cancelled.
    public func connect(to address: BluetoothAddress, timeout: Duration = .seconds(45)) async throws -> Link {
        try Task.checkCancellation()
        guard waiting == nil else { throw BluetoothError(.connect(address, SystemError("connect", code: EBUSY))) }
        let socket = try L2CAPSocket.bound()
        _ = cbluez_receive_buffer(socket.raw, L2CAPSocket.receiveBuffer)
        var peer = address.bdaddr
        if cbluez_l2cap_connect(socket.raw, &peer, address.kind.rawValue, L2CAPSocket.attributeChannel) != 0 {
            guard errno == EINPROGRESS else { throw BluetoothError(.connect(address, .last("connect"))) }
            let raw = socket.raw
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                    begin(continuation, raw, address, timeout)
                }
            } onCancel: {
                Task(executorPreference: loop) { await self.cancel(raw) }
            }
        }
        let code = cbluez_pending_error(socket.raw)
        guard code == 0 else { throw BluetoothError(.connect(address, code < 0 ? .last("getsockopt") : SystemError("connect", code: code))) }
        return Link(peer: address.description, address: address, descriptor: socket)
    }

    private func begin(_ continuation: CheckedContinuation<Void, any Error>, _ raw: CInt, _ address: BluetoothAddress, _ timeout: Duration) {
        let timer = loop.schedule(after: timeout) { self.assumeIsolated { $0.finish(raw, .failure(BluetoothError(.connectTimeout(address)))) } }
        waiting = (continuation, timer, raw)
        if Task.isCancelled { return finish(raw, .failure(CancellationError())) }
        do throws(SystemError) {
            try loop.watch(raw, for: .writable) { _ in self.assumeIsolated { $0.finish(raw, .success(())) } }
        } catch {
            finish(raw, .failure(BluetoothError(.socket(error))))
        }
    }

    private func cancel(_ raw: CInt) { finish(raw, .failure(CancellationError())) }

    private func finish(_ raw: CInt, _ result: Result<Void, any Error>) {
        guard let waiting, waiting.socket == raw else { return }
        self.waiting = nil
        loop.cancel(waiting.timer)
        loop.unwatch(raw)
        waiting.continuation.resume(with: result)
    }
}
