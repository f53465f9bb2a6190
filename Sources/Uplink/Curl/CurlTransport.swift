import CCurl
import Glibc
import Platform

/// HTTPS with libcurl's multi interface on the loop: libcurl says which sockets and which timer it waits for, the loop tells it when they are ready.
///
/// Peer and host are always verified; there is no switch. Connections are kept open and used again. Name resolution runs on a thread of
/// libcurl's for as long as it takes; everything else stays on the loop's thread.
public actor CurlTransport: HTTPTransport {
    /// What libcurl and the loop hold on to, and what outlives a transport that nobody closed until it is cleaned up on the loop.
    private final class Held: @unchecked Sendable {
        // Unchecked: touched on the loop's thread alone.
        var multi: UnsafeMutableRawPointer?
        /// By their easy handle.
        var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]
        var watched: Set<CInt> = []
        var timer: TimerID?

        init(multi: UnsafeMutableRawPointer) { self.multi = multi }

        func close(_ loop: any EventLoop) {
            guard let multi else { return }
            for easy in transfers.keys { curl_multi_remove_handle(multi, easy) }
            transfers = [:]
            curl_multi_cleanup(multi)
            self.multi = nil
            if let timer { loop.cancel(timer) }
            timer = nil
            for socket in watched { loop.unwatch(socket) }
            watched = []
        }
    }

    private let loop: any EventLoop
    private var settings: CurlSettings
    private let held: Held
    private let monotonic: @Sendable () -> Int64
    private var authorities = AuthorityFile()
    private var handles: [UInt64: UnsafeMutableRawPointer] = [:]
    private var lastNumber: UInt64 = 0
    private var isPrepared = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Throws: `UplinkError.library` when libcurl cannot be used.
    public init(loop: any EventLoop, settings: CurlSettings) throws(UplinkError) {
        try self.init(loop: loop, settings: settings) {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Int64(time.tv_sec)
        }
    }

    /// - Parameter monotonic: seconds, for the age of authorities.
    init(loop: any EventLoop, settings: CurlSettings, monotonic: @escaping @Sendable () -> Int64) throws(UplinkError) {
        guard CurlLibrary.code == CURLE_OK else { throw .library("libcurl cannot be set up (curl \(CurlLibrary.code.rawValue))") }
        guard let multi = curl_multi_init() else { throw .library("libcurl gives no multi handle") }
        self.loop = loop
        self.settings = settings
        self.monotonic = monotonic
        held = Held(multi: multi)
    }

    deinit {
        guard let multi = held.multi else { return }
        // libcurl still holds this object's address.
        _ = ccurl_multi_set_socket_callback(multi, nil, nil)
        _ = ccurl_multi_set_timer_callback(multi, nil, nil)
        loop.spawn { [loop, held] in held.close(loop) }
    }

    public func send(_ request: HTTPRequest) async throws(TransportFailure) -> HTTPResponse {
        guard held.multi != nil else { throw TransportFailure(.cancelled, "the transport is closed") }
        guard !Task.isCancelled else { throw TransportFailure(.cancelled, "given up before it was sent") }
        lastNumber += 1
        let number = lastNumber
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { start(number, request, $0) }
        } onCancel: {
            loop.spawn { await self.abandon(number) }
        }
        handles[number] = nil
        return try result.get()
    }

    private func start(_ number: UInt64, _ request: HTTPRequest, _ continuation: CheckedContinuation<Result<HTTPResponse, TransportFailure>, Never>) {
        guard let multi = prepared() else {
            continuation.resume(returning: .failure(TransportFailure(.cancelled, "the transport is closed")))
            return
        }
        let transfer: CurlTransfer
        do throws(TransportFailure) {
            transfer = try CurlTransfer(request, settings, authorityAge: authorityAge())
        } catch {
            continuation.resume(returning: .failure(error))
            return
        }
        transfer.await(continuation)
        held.transfers[transfer.easy] = transfer
        handles[number] = transfer.easy
        let code = curl_multi_add_handle(multi, transfer.easy)
        if code != CURLM_OK { end(transfer, .failure(TransportFailure(.other, String(cString: curl_multi_strerror(code))))) }
    }

    /// A connection that the other side lets go between two batches must not cost the parsing of a whole bundle each time.
    private func authorityAge() -> Int {
        guard case .file(let path) = settings.trust.location else { return 0 }
        return authorities.greatestAge(AuthorityFile.Stamp(path: path), now: monotonic())
    }

    /// The next requests go by these settings; those in flight keep theirs.
    public func settingsChanged(_ settings: CurlSettings) { self.settings = settings }

    /// Gives up what is in flight and closes every connection.
    public func close() {
        for transfer in held.transfers.values { end(transfer, .failure(TransportFailure(.cancelled, "the transport was closed"))) }
        held.close(loop)
    }

    private func abandon(_ number: UInt64) {
        guard let easy = handles[number], let transfer = held.transfers[easy] else { return }
        end(transfer, .failure(TransportFailure(.cancelled, "given up")))
    }

    private func end(_ transfer: CurlTransfer, _ result: Result<HTTPResponse, TransportFailure>) {
        if let multi = held.multi { curl_multi_remove_handle(multi, transfer.easy) }
        held.transfers[transfer.easy] = nil
        transfer.finish(result)
    }

    // MARK: libcurl and the loop

    /// The multi handle, with its callbacks set: they need the address of `self`, which exists only after `init`.
    private func prepared() -> UnsafeMutableRawPointer? {
        guard let multi = held.multi, !isPrepared else { return held.multi }
        isPrepared = true
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 4)
        _ = ccurl_multi_set_socket_callback(multi, { _, socket, what, context, _ in
            CurlTransport.from(context)?.assumeIsolated { $0.socketChanged(socket, what) } ?? -1
        }, context)
        _ = ccurl_multi_set_timer_callback(multi, { _, milliseconds, context in
            CurlTransport.from(context)?.assumeIsolated { $0.timerChanged(milliseconds) } ?? -1
        }, context)
        return multi
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransport? {
        context.map { Unmanaged<CurlTransport>.fromOpaque($0).takeUnretainedValue() }
    }

    /// libcurl waits for something else on a socket than before (CURLMOPT_SOCKETFUNCTION(3)).
    private func socketChanged(_ socket: CInt, _ what: CInt) -> CInt {
        if what == CURL_POLL_REMOVE {
            held.watched.remove(socket)
            loop.unwatch(socket)
            return 0
        }
        var interest: Readiness = []
        if what & CURL_POLL_IN != 0 { interest.insert(.readable) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.writable) }
        do throws(SystemError) {
            try loop.watch(socket, for: interest) { [weak self] readiness in
                self?.assumeIsolated { $0.act(socket, readiness) }
            }
            held.watched.insert(socket)
            return 0
        } catch {
            return -1
        }
    }

    /// libcurl wants to be called after a while (CURLMOPT_TIMERFUNCTION(3)). Never from within this callback, not even for 0.
    private func timerChanged(_ milliseconds: Int) -> CInt {
        if let timer = held.timer { loop.cancel(timer) }
        held.timer = milliseconds < 0 ? nil : loop.schedule(after: .milliseconds(milliseconds)) { [weak self] in
            self?.assumeIsolated { transport in
                transport.held.timer = nil
                transport.act(-1, [])
            }
        }
        return 0
    }

    /// Lets libcurl go on; -1 (CURL_SOCKET_TIMEOUT) for its timer.
    private func act(_ socket: CInt, _ readiness: Readiness) {
        guard let multi = held.multi else { return }
        // A hang-up alone has no bit of its own that helps: with none libcurl looks for itself.
        let events = (readiness.contains(.readable) ? CURL_CSELECT_IN : 0) | (readiness.contains(.writable) ? CURL_CSELECT_OUT : 0)
        var running: CInt = 0
        curl_multi_socket_action(multi, socket, events, &running)
        var left: CInt = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle, let transfer = held.transfers[easy] else { continue }
            // The message is gone once the handle is removed.
            let code = ccurl_message_result(message)
            end(transfer, transfer.result(code))
        }
    }
}
