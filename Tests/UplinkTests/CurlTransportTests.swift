import Glibc
import Platform
import Synchronization
import Testing
@testable import Uplink

/// Real TLS, over real sockets, against the reference backend in a process of its own. One at a time: each starts a process.
@Suite("The curl transport", .serialized)
struct CurlTransportTests {
    private func settings(trust: TrustAnchors? = nil, pin: String? = nil, total: Duration = .seconds(20), lowSpeed: Duration = .seconds(15)) throws -> CurlSettings {
        let authority = try Authority.path()
        return CurlSettings(trust: trust ?? .file("\(authority)/ca.pem"), pinnedPublicKey: pin, connectTimeout: .seconds(10), totalTimeout: total,
                            lowSpeedBytes: 100, lowSpeedTime: lowSpeed, userAgent: "gateway/test")
    }

    /// Runs `body` with a transport on a real loop, closes it, and sees that nothing is left open.
    private func withTransport<Value: Sendable>(_ settings: CurlSettings, port: Int, _ body: @escaping @Sendable (CurlTransport, EpollLoop) async throws -> Value) throws -> Value {
        let value: Value
        do {
            let loop = try EpollLoop()
            let transport = try CurlTransport(loop: loop, settings: settings)
            value = try loop.run {
                do {
                    let value = try await body(transport, loop)
                    await transport.close()
                    return value
                } catch {
                    await transport.close()
                    throw error
                }
            }
        }
        #expect(connections(to: port) == 0, "a connection was left open")
        return value
    }

    private static func request(_ delivery: Delivery, port: Int, host: String = "127.0.0.1", token: String? = nil) throws -> HTTPRequest {
        try RawWindowsRequest(delivery).request(base: "https://\(host):\(port)", token: token ?? "token-of-\(delivery.owner)", sent: 1_700_000_001)
    }

    /// How one request ends.
    private func outcome(_ port: Int, _ settings: CurlSettings, host: String = "127.0.0.1") throws -> Result<HTTPResponse, TransportFailure> {
        let request = try Self.request(wholeDelivery("k"), port: port, host: host)
        return try withTransport(settings, port: port) { transport, _ in
            do throws(TransportFailure) { return .success(try await transport.send(request)) } catch { return .failure(error) }
        }
    }

    private func failure(_ outcome: Result<HTTPResponse, TransportFailure>) -> TransportFailure.Kind? {
        if case .failure(let failure) = outcome { failure.kind } else { nil }
    }

    @Test("delivers to the backend, whose receipt is verified, over one connection that is kept")
    func delivers() throws {
        let backend = try Backend()
        let port = backend.port
        let receipts = try withTransport(settings(), port: port) { transport, _ in
            var receipts: [Receipt] = []
            for number in 0..<5 {
                var delivery = wholeDelivery("entry-\(number)", first: UInt32.max - 1 &+ UInt32(number * 3))
                delivery.gaps = [DeliveryGap(log: 7, first: 50, count: 4, reason: .overwritten)]
                let response = try await transport.send(Self.request(delivery, port: port))
                receipts.append(try Receipt(verifying: response, for: delivery, digest: RawWindowsRequest(delivery).digest))
            }
            #expect(connections(to: port) == 1)
            return receipts
        }
        #expect(receipts.map(\.accepted) == [3, 3, 3, 3, 3])
        let books = try backend.tell("{\"query\": \"books\"}")
        guard case .object(let windows)? = books["windows"] else { Issue.record("no books"); return }
        #expect(windows["distinct"] == .integer(15))
        guard case .array(let requests)? = try backend.tell("{\"query\": \"requests\"}")["requests"], case .object(let last)? = requests.last,
              case .array(let headers)? = last["headers"] else { Issue.record("no requests"); return }
        #expect(headers.contains(.array([.string("user-agent"), .string("gateway/test")])))
        #expect(!headers.contains { if case .array(let pair) = $0 { pair.first == .string("expect") } else { false } })
    }

    @Test("sends a repeated request that gets the same receipt, and gaps alone get one too")
    func repeats() throws {
        let backend = try Backend()
        let port = backend.port
        try withTransport(settings(), port: port) { transport, _ in
            let delivery = wholeDelivery("again")
            let first = try await transport.send(Self.request(delivery, port: port))
            let second = try await transport.send(Self.request(delivery, port: port))
            #expect(first.status == 201 && second.status == 200)
            #expect(first.body == second.body)
            var gaps = wholeDelivery("gaps", count: 0)
            gaps.gaps = [DeliveryGap(log: 7, first: 4, count: 2, reason: .withheld)]
            let receipt = try Receipt(verifying: await transport.send(Self.request(gaps, port: port)), for: gaps, digest: RawWindowsRequest(gaps).digest)
            #expect(receipt.accepted == 0 && receipt.gaps == 1)
            // Another owner's token is refused.
            #expect(try await transport.send(Self.request(wholeDelivery("x"), port: port, token: "token-of-ben")).status == 403)
        }
    }

    @Test("refuses a certificate that is not to be trusted, and says why, before anything is sent", arguments: [
        ("other-ca", .certificateUntrusted), ("expired", .certificateExpired), ("not-yet-valid", .certificateNotYetValid), ("wrong-name", .certificateUntrusted),
    ] as [(String, TransportFailure.Kind)])
    func certificates(_ certificate: String, _ kind: TransportFailure.Kind) throws {
        let backend = try Backend(certificate: certificate)
        #expect(failure(try outcome(backend.port, settings())) == kind)
        #expect(try backend.requests() == 0)
    }

    @Test("does not trust the system's authorities when a file is given, nor the other way round")
    func anchors() throws {
        let backend = try Backend()
        #expect(failure(try outcome(backend.port, settings(trust: .system))) == .certificateUntrusted)
        #expect(failure(try outcome(backend.port, settings(trust: .file("/nowhere/ca.pem")))) == .certificateUntrusted)
        let scratch = Scratch()
        #expect(failure(try outcome(backend.port, settings(trust: .directory(scratch.path)))) == .certificateUntrusted)
        try Child.run(["cp", "\(Authority.path())/ca.pem", scratch.path])
        try Child.run(["openssl", "rehash", scratch.path])
        #expect(TrustAnchors.isHashed(scratch.path))
        #expect(failure(try outcome(backend.port, settings(trust: .directory(scratch.path)))) == nil)
    }

    @Test("authorities in memory serve for new connections until their file is replaced, and not one longer")
    func keptAuthorities() throws {
        let (first, second) = (try Backend(), try Backend())
        let (port, otherPort) = (first.port, second.port)
        let scratch = Scratch()
        let file = "\(scratch.path)/ca.pem"
        let authority = try Authority.path()
        try Child.run(["cp", "\(authority)/ca.pem", file])
        let settings = try settings(trust: .file(file))
        let clock = Mutex<Int64>(1_000)
        let loop = try EpollLoop()
        let transport = try CurlTransport(loop: loop, settings: settings) { clock.withLock { $0 } }
        try loop.run {
            /// On a connection of its own: each has another host or port.
            func status(_ key: String, _ port: Int, host: String = "127.0.0.1", at seconds: Int64) async throws -> Int {
                clock.withLock { $0 = seconds }
                return try await transport.send(Self.request(wholeDelivery(key), port: port, host: host)).status
            }
            #expect(try await status("a", port, at: 1_000) == 201)
            // By now they may be kept.
            #expect(try await status("b", otherPort, at: 2_000) == 201)
            try Child.run(["cp", "\(authority)/untrusted.pem", file])
            var refused: TransportFailure.Kind?
            do { _ = try await status("c", port, host: "localhost", at: 3_000) } catch { refused = (error as? TransportFailure)?.kind }
            #expect(refused == .certificateUntrusted)
            try Child.run(["cp", "\(authority)/ca.pem", file])
            #expect(try await status("d", port, host: "localhost", at: 4_000) == 201)
            await transport.close()
        }
    }

    @Test("the age that authorities in memory may have is less than the time since their file was first seen as it is")
    func authorityAge() {
        func stamp(_ inode: UInt64) -> AuthorityFile.Stamp { .init(device: 1, inode: inode, size: 10, modified: [1, 2], changed: [3, 4]) }
        var file = AuthorityFile()
        #expect(file.greatestAge(stamp(1), now: 100) == 0)
        #expect(file.greatestAge(stamp(1), now: 104) == 0)
        #expect(file.greatestAge(stamp(1), now: 160) == 55)
        #expect(file.greatestAge(stamp(1), now: 90_000) == 3_600)
        #expect(file.greatestAge(stamp(2), now: 90_060) == 0)
        #expect(file.greatestAge(stamp(2), now: 90_120) == 55)
        #expect(file.greatestAge(nil, now: 90_180) == 0)
        #expect(file.greatestAge(stamp(2), now: 90_240) == 0)
    }

    @Test("refuses a server whose key is not the pinned one")
    func pin() throws {
        let backend = try Backend()
        #expect(failure(try outcome(backend.port, settings(pin: "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))) == .pinMismatch)
        #expect(try backend.requests() == 0)
    }

    @Test("speaks https only", arguments: ["http", "ftp", "file"])
    func httpsOnly(_ scheme: String) throws {
        let backend = try Backend()
        let port = backend.port
        let kind = try withTransport(settings(), port: port) { transport, _ in
            var request = try Self.request(wholeDelivery("k"), port: port)
            request.url = "\(scheme)://127.0.0.1:\(port)/v1/raw-windows"
            do throws(TransportFailure) {
                _ = try await transport.send(request)
                return TransportFailure.Kind?.none
            } catch { return error.kind }
        }
        #expect(kind == .unusableURL)
    }

    @Test("does not follow a redirect, and takes no interim answer for the last")
    func redirect() throws {
        let backend = try Backend()
        try backend.tell("{\"fault\": \"status\", \"status\": 307, \"location\": \"https://127.0.0.1:\(backend.port)/v1/raw-windows\"}")
        let response = try outcome(backend.port, settings()).get()
        #expect(response.status == 307)
        #expect(try backend.requests() == 1)
    }

    @Test("reports status, type and Retry-After of an error")
    func retryAfter() throws {
        let backend = try Backend()
        try backend.tell("{\"fault\": \"status\", \"status\": 503, \"retry_after\": 7}")
        var response = try outcome(backend.port, settings()).get()
        #expect(response.status == 503 && response.retryAfter == "7" && response.contentType == "application/problem+json" && response.date != nil)
        try backend.tell("{\"fault\": \"status\", \"status\": 503, \"retry_after_date\": 90}")
        response = try outcome(backend.port, settings()).get()
        let delay = try #require(RetryAfter.delay(response.retryAfter, date: response.date))
        #expect((.seconds(88)...(.seconds(91))).contains(delay))
    }

    @Test("takes no more of an answer than its limit, and a receipt beyond 64 KiB is none")
    func oversized() throws {
        let backend = try Backend()
        try backend.tell("{\"fault\": \"oversized\", \"count\": 2}")
        let whole = try outcome(backend.port, settings()).get()
        #expect(whole.isComplete && Answer(whole, to: wholeDelivery("k"), digest: "").error?.code == "receipt-size")
        var limited = try settings()
        limited.bodyLimit = 65_536
        let response = try outcome(backend.port, limited).get()
        #expect(response.body.count == 65_536 && !response.isComplete && response.status == 201)
        let answer = Answer(response, to: wholeDelivery("k"), digest: "")
        #expect(answer.meaning == .interception && answer.error?.code == "receipt-size")
    }

    @Test("says that the connection was lost, at once", arguments: ["close-before", "close-after", "truncate"])
    func lost(_ fault: String) throws {
        let backend = try Backend()
        try backend.tell("{\"fault\": \"\(fault)\", \"count\": 0}")
        #expect(failure(try outcome(backend.port, settings())) == .connectionLost)
    }

    @Test("gives up an answer that trickles or does not come")
    func slow() throws {
        let backend = try Backend()
        try backend.tell("{\"fault\": \"stall\"}")
        #expect(failure(try outcome(backend.port, settings(lowSpeed: .seconds(1)))) == .lowSpeed)
        try backend.tell("{\"fault\": \"drip\", \"interval\": 0.05}")
        #expect(failure(try outcome(backend.port, settings(lowSpeed: .seconds(1)))) == .lowSpeed)
        try backend.tell("{\"fault\": \"stall\"}")
        #expect(failure(try outcome(backend.port, settings(total: .milliseconds(300)))) == .timeout)
    }

    @Test("other settings hold for the next request, and one in flight keeps its own")
    func otherSettings() throws {
        let backend = try Backend()
        try backend.tell("{\"fault\": \"stall\", \"count\": 0}")
        let request = try Self.request(wholeDelivery("k"), port: backend.port)
        let (long, short) = (try settings(total: .seconds(2)), try settings(total: .milliseconds(100)))
        let order = Mutex<[String]>([])
        try withTransport(long, port: backend.port) { transport, loop in
            let first = loop.spawn {
                _ = try? await transport.send(request)
                order.withLock { $0.append("first") }
            }
            await loop.yield()
            await transport.settingsChanged(short)
            _ = try? await transport.send(request)
            order.withLock { $0.append("second") }
            await first.value
        }
        #expect(order.withLock { $0 } == ["second", "first"])
    }

    @Test("says when nobody takes the connection, and when the name has no address")
    func unreachable() throws {
        let backend = try Backend()
        try backend.tell("{\"do\": \"offline\"}")
        #expect(failure(try outcome(backend.port, settings())) == .refused)
        #expect(failure(try outcome(backend.port, settings(), host: "nowhere.invalid")) == .dns)
    }

    @Test("says when the other side speaks no TLS, or no HTTP")
    func noTLS() throws {
        // A listener that closes what it accepts.
        let program = """
        import socket, sys
        s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
        while True:
            c, _ = s.accept(); c.recv(4096); c.sendall(b"SSH-2.0-hello\\r\\n"); c.close()
        """
        let plain = try Child(["python3", "-c", program])
        let port = try #require(Int(plain.line()))
        #expect(failure(try outcome(port, settings())) == .tlsHandshake)
        let secure = """
        import socket, ssl, sys
        x = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); x.load_cert_chain(sys.argv[1] + "/server.pem", sys.argv[1] + "/server.key")
        s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
        answers = [b"SSH-2.0-hello\\r\\n", b"HTTP/1.1 100 Continue\\r\\nRetry-After: 9\\r\\n\\r\\nHTTP/1.1 204 No Content\\r\\n\\r\\n", b"HTTP/1.1 200 OK\\r\\n" + b"X: " + b"y" * 20000 + b"\\r\\n\\r\\n"]
        for answer in answers:
            c, _ = s.accept(); c = x.wrap_socket(c, server_side=True); c.recv(65536); c.sendall(answer); c.close()
        """
        let strange = try Child(["python3", "-c", secure, Authority.path()])
        let other = try #require(Int(strange.line()))
        #expect(failure(try outcome(other, settings())) == .notHTTP)
        let interim = try outcome(other, settings()).get()
        #expect(interim.status == 204 && interim.retryAfter == nil)
        #expect(failure(try outcome(other, settings())) == .answerTooLarge)
    }

    @Test("gives up a request as soon as its task is cancelled, and closes its connection")
    func cancels() throws {
        let backend = try Backend()
        try backend.tell("{\"fault\": \"stall\", \"count\": 0}")
        let port = backend.port
        let request = try Self.request(wholeDelivery("k"), port: port)
        let kind = try withTransport(settings(), port: port) { transport, loop in
            let task = loop.spawn { () -> TransportFailure.Kind? in
                do throws(TransportFailure) {
                    _ = try await transport.send(request)
                    return nil
                } catch { return error.kind }
            }
            // Twice round the loop: the request is under way by then.
            try await loop.sleep(for: .milliseconds(50))
            let before = loop.now
            task.cancel()
            let kind = await task.value
            #expect(loop.now - before < .seconds(1))
            return kind
        }
        #expect(kind == .cancelled)
    }

    @Test("answers nothing after it was closed")
    func closed() throws {
        let request = try Self.request(wholeDelivery("k"), port: 9)
        let kind = try withTransport(settings(), port: 9) { transport, _ in
            await transport.close()
            do throws(TransportFailure) {
                _ = try await transport.send(request)
                return TransportFailure.Kind?.none
            } catch { return error.kind }
        }
        #expect(kind == .cancelled)
    }

    @Test("leaves nothing behind when it is dropped without being closed")
    func dropped() throws {
        let backend = try Backend()
        let port = backend.port
        let settings = try settings()
        do {
            let loop = try EpollLoop()
            try loop.run {
                var transport: CurlTransport? = try CurlTransport(loop: loop, settings: settings)
                _ = try await transport?.send(Self.request(wholeDelivery("k"), port: port))
                transport = nil
                #expect(connections(to: port) == 1)
                // The loop cleans up what was dropped.
                try await loop.sleep(for: .milliseconds(1))
            }
        }
        #expect(connections(to: port) == 0)
    }

    @Test("puts no header on the wire that could be two")
    func forged() throws {
        let kind = try withTransport(settings(), port: 9) { transport, _ in
            var request = try Self.request(wholeDelivery("k"), port: 9)
            request.headers.append(HTTPHeader("X", "a\r\nY: b"))
            do throws(TransportFailure) {
                _ = try await transport.send(request)
                return TransportFailure.Kind?.none
            } catch { return error.kind }
        }
        #expect(kind == .other)
    }
}
