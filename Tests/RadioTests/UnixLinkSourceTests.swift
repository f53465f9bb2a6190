import Glibc
import Platform
import Testing
@testable import Radio

@Suite("Links over a Unix socket")
struct UnixLinkSourceTests {
    /// A path in a directory of its own, which is removed at the end.
    private func withPath<Value>(_ body: (String) throws -> Value) throws -> Value {
        var template = Array("/tmp/link-source-XXXXXX".utf8CString)
        let made: String? = template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return nil }
            return String(cString: base)
        }
        guard let directory = made else { throw SystemError.last("mkdtemp") }
        defer {
            unlink(directory + "/collar")
            rmdir(directory)
        }
        return try body(directory + "/collar")
    }

    @Test("a path where somebody listens gives a link at once, with the path for the peer's name")
    func dials() throws {
        try withPath { path in
            let listener = try UnixSocket.listen(at: path, kind: .sequencedPacket)
            let loop = VirtualLoop()
            let source = UnixLinkSource(path: path, loop: loop)
            let (peer, sent) = try loop.run {
                let start = loop.now
                let link = try await source.nextLink()
                #expect(loop.now == start)
                let peer = link.peer
                let descriptor = link.takeDescriptor()
                return (peer, try descriptor.send([1, 2, 3]))
            }
            #expect(peer == path)
            #expect(sent == 3)
            let accepted = try UnixSocket.accept(on: listener.raw)
            #expect(try accepted?.read(upTo: 9) == [1, 2, 3])
        }
    }

    @Test("an absent or dead listener is dialled again each second, and each new reason is told once")
    func retries() throws {
        try withPath { path in
            let loop = VirtualLoop()
            let refusals = Recorder<CInt>()
            let source = UnixLinkSource(path: path, loop: loop) { refusals.note($0.code) }
            try loop.run {
                _ = loop.schedule(after: .milliseconds(3_500)) {
                    // A listener that dies and leaves its file.
                    _ = try? UnixSocket.listen(at: path, kind: .sequencedPacket)
                }
                _ = loop.schedule(after: .milliseconds(6_500)) {
                    let listener = try? UnixSocket.listen(at: path, kind: .sequencedPacket).release()
                    _ = loop.schedule(after: .seconds(60)) { if let listener { close(listener) } }
                }
                let start = loop.now
                _ = try await source.nextLink()
                #expect(loop.now - start == .seconds(7))
            }
            #expect(refusals.all == [ENOENT, ECONNREFUSED])
        }
    }

    @Test("a cancelled wait ends at once, and a path that is no socket's is an error")
    func ends() throws {
        let loop = VirtualLoop()
        let source = UnixLinkSource(path: "/nonexistent/collar", loop: loop)
        try loop.run {
            let waiting = loop.spawn { () -> Bool in
                do {
                    _ = try await source.nextLink()
                    return false
                } catch {
                    return error is CancellationError
                }
            }
            try await loop.sleep(for: .milliseconds(500))
            let before = loop.now
            waiting.cancel()
            #expect(await waiting.value)
            #expect(loop.now == before)
            let long = UnixLinkSource(path: "/" + String(repeating: "x", count: 200), loop: loop)
            let error = await #expect(throws: SystemError.self) { _ = try await long.nextLink() }
            #expect(error?.code == ENAMETOOLONG)
        }
    }
}
