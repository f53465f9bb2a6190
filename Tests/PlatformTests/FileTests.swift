import CLinux
import Glibc
import Testing

@testable import Platform

@Suite("Owning descriptors")
struct DescriptorTests {
    @Test("a descriptor is closed when its owner lets go of it, once, and not when it was given away")
    func closes() throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        // The other end tells whether this one is open, whoever has got the number since: a pipe without writers is at its end.
        let reading = Descriptor(owning: ends[0])
        try reading.setNonBlocking()
        do {
            let writing = Descriptor(owning: ends[1])
            #expect(try reading.read(upTo: 1) == nil)
            #expect(writing.raw == ends[1])
        }
        #expect(try reading.read(upTo: 1) == [])

        try #require(pipe(&ends) == 0)
        let second = Descriptor(owning: ends[0])
        try second.setNonBlocking()
        let given = Descriptor(owning: ends[1]).release()
        #expect(given == ends[1])
        #expect(try second.read(upTo: 1) == nil)
        close(given)
        #expect(try second.read(upTo: 1) == [])
    }

    @Test("a read gives what is there, nothing yet, or the end, and an error names the call")
    func reads() throws {
        let pair = try SocketPair()
        #expect(try pair.near.read(upTo: 10) == nil)
        #expect(try pair.far.send([1, 2, 3]) == 3)
        #expect(try pair.near.read(upTo: 2) == [1, 2])
        #expect(try pair.near.read(upTo: 2) == [3])
        shutdown(pair.far.raw, CInt(SHUT_WR))
        #expect(try pair.near.read(upTo: 2) == [])
        let folder = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let directory = Descriptor(owning: folder)
        #expect(throws: SystemError("read", code: EISDIR)) { try directory.read(upTo: 1) }
    }

    @Test("a send to a full socket says so, one to a closed peer is an error and no signal")
    func sends() throws {
        let pair = try SocketPair(kind: CInt(SOCK_SEQPACKET.rawValue))
        let block = [UInt8](repeating: 7, count: 1_024)
        var sent = 0
        while let count = try pair.near.send(block) { sent += count }
        #expect(sent > 0)
        #expect(try pair.far.read(upTo: 4_096) == block)
        shutdown(pair.far.raw, CInt(SHUT_RDWR))
        #expect(throws: SystemError("send", code: EPIPE)) { try pair.near.send([1]) }
    }
}

@Suite("Secrets in files")
struct SecretFileTests {
    private func text(_ string: String) -> [UInt8] { Array(string.utf8) }

    @Test("a secret is one line, without the white space around it")
    func accepted() throws {
        let folder = try Folder()
        #expect(try SecretFile.read(folder.file("plain", text("s3cret"))) == "s3cret")
        #expect(try SecretFile.read(folder.file("line", text(" \t s3cret~!\r\n\n"), mode: 0o400)) == "s3cret~!")
        let longest = String(repeating: "x", count: SecretFile.limit)
        #expect(try SecretFile.read(folder.file("long", text(longest))) == longest)
    }

    @Test("a file that others can read or change is refused, with its mode and the remedy", arguments: [0o640, 0o604, 0o620, 0o602, 0o610, 0o777] as [mode_t])
    func exposed(_ mode: mode_t) throws {
        let folder = try Folder()
        let path = try folder.file("secret", text("s3cret"), mode: mode)
        #expect(throws: SecretFileError.exposed(path: path, mode: mode)) { try SecretFile.read(path) }
        #expect("\(SecretFileError.exposed(path: path, mode: mode))"
            == "\(path) can be read by others (mode 0\(String(mode, radix: 8))); run: chmod 600 \(path)")
    }

    /// An access control list as the kernel stores it: the entries of owner, a named user, group, mask and others.
    private func list(user: uid_t, _ permissions: UInt8, group: UInt8 = 0, other: UInt8 = 0, more: [UInt8] = []) -> [UInt8] {
        let name = (0..<4).map { UInt8(truncatingIfNeeded: user >> ($0 * 8)) }
        let nobody: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
        var list: [UInt8] = [2, 0, 0, 0, 0x01, 0, 4, 0] + nobody
        list += [0x02, 0, permissions, 0] + name
        list += [0x04, 0, group, 0] + nobody
        list += more
        list += [0x10, 0, 4, 0] + nobody
        list += [0x20, 0, other, 0] + nobody
        return list
    }

    @Test("a file that an access control list gives to the gateway's user alone is taken, whatever the group's bits say: so systemd hands out credentials")
    func accessControlList() throws {
        let folder = try Folder()
        let path = try folder.file("secret", text("s3cret"), mode: 0o400)
        func give(_ list: [UInt8]) throws { try #require(setxattr(path, "system.posix_acl_access", list, list.count, 0) == 0, "this file system has no access control lists") }
        try give(list(user: geteuid(), 4))
        #expect(try SecretFile.read(path) == "s3cret")
        // The bits of the group are the list's mask now.
        var status = stat()
        try #require(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o440)
        try give(list(user: geteuid() + 1, 4))
        #expect(throws: SecretFileError.exposed(path: path, mode: 0o440)) { try SecretFile.read(path) }
        try give(list(user: geteuid(), 4, group: 4))
        #expect(throws: SecretFileError.exposed(path: path, mode: 0o440)) { try SecretFile.read(path) }
        try give(list(user: geteuid(), 4, other: 4))
        #expect(throws: SecretFileError.exposed(path: path, mode: 0o444)) { try SecretFile.read(path) }
    }

    @Test("of an access control list only one whose every entry is understood shares nothing")
    func lists() {
        let good = list(user: 7, 4)
        #expect(FileACL.sharesNothing(good, with: 7))
        #expect(!FileACL.sharesNothing(good, with: 8))
        #expect(FileACL.sharesNothing(list(user: 9, 0), with: 7))
        #expect(!FileACL.sharesNothing(list(user: 7, 4, more: [0x08, 0, 4, 0, 5, 0, 0, 0]), with: 7))
        #expect(!FileACL.sharesNothing(list(user: 7, 4, more: [0x40, 0, 4, 0, 5, 0, 0, 0]), with: 7))
        #expect(!FileACL.sharesNothing([3] + good.dropFirst(), with: 7))
        for count in 0..<good.count { #expect(!FileACL.sharesNothing(Array(good.prefix(count)), with: 7) || count % 8 == 4) }
        #expect(!FileACL.sharesNothing([2, 0, 0, 0], with: 7))
    }

    @Test("a missing file is an error with its path")
    func missing() throws {
        let folder = try Folder()
        let path = folder.path("none")
        #expect(throws: SecretFileError.unreadable(SystemError("open", code: ENOENT, subject: path))) { try SecretFile.read(path) }
    }

    @Test("a folder and a pipe are refused, and a pipe without a writer does not hold the reader up")
    func notRegular() throws {
        let folder = try Folder()
        let pipe = folder.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        for path in [folder.path, pipe] {
            #expect(throws: SecretFileError.notRegular(path: path)) { try SecretFile.read(path) }
        }
    }

    @Test("a file of another user is refused", .enabled(if: geteuid() == 0, "only root can give a file to another user"))
    func foreign() throws {
        let folder = try Folder()
        let path = try folder.file("secret", text("s3cret"))
        try #require(chown(path, 12_345, 12_345) == 0)
        #expect(throws: SecretFileError.foreignOwner(path: path, uid: 12_345)) { try SecretFile.read(path) }
    }

    @Test("an empty file and one past the limit are refused")
    func size() throws {
        let folder = try Folder()
        let empty = try folder.file("empty", [])
        #expect(throws: SecretFileError.size(path: empty, bytes: 0, limit: SecretFile.limit)) { try SecretFile.read(empty) }
        let large = try folder.file("large", [UInt8](repeating: 120, count: SecretFile.limit + 1))
        #expect(throws: SecretFileError.size(path: large, bytes: SecretFile.limit + 1, limit: SecretFile.limit)) { try SecretFile.read(large) }
    }

    @Test("several lines, blanks within, control characters and other bytes than ASCII are refused", arguments: [
        "one\ntwo", "one two", "\n \n", "a\u{0}b", "a\u{1B}[0m", "pässword", "a\u{7F}"
    ])
    func content(_ content: String) throws {
        let folder = try Folder()
        let path = try folder.file("secret", text(content))
        #expect(throws: SecretFileError.content(path: path)) { try SecretFile.read(path) }
    }
}

@Suite("Unix sockets")
struct UnixSocketTests {
    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test("a connection is made and taken, and keeps the borders of messages", arguments: [UnixSocket.Kind.stream, .sequencedPacket])
    func connects(_ kind: UnixSocket.Kind) throws {
        let folder = try Folder()
        let path = folder.path("socket")
        let listener = try UnixSocket.listen(at: path, kind: kind)
        if let early = try UnixSocket.accept(on: listener.raw) { Issue.record("somebody waits already: \(early.raw)") }
        let client = try UnixSocket.connect(to: path, kind: kind)
        guard let server = try UnixSocket.accept(on: listener.raw) else {
            Issue.record("nobody waits")
            return
        }
        let raw = server.raw
        #expect(fcntl(raw, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(raw, F_GETFD) & FD_CLOEXEC != 0)
        _ = try client.send([1, 2])
        _ = try client.send([3])
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(Glibc.read(raw, &buffer, 8) == (kind == .stream ? 3 : 2))
    }

    @Test("the file of the socket has exactly the mode that was asked for", arguments: [0o600, 0o660, 0o666] as [mode_t])
    func fileMode(_ mode: mode_t) throws {
        let folder = try Folder()
        let path = folder.path("socket")
        let listener = try UnixSocket.listen(at: path, kind: .stream, mode: mode)
        #expect(self.mode(path) == mode)
        _ = listener.raw
    }

    @Test("the file that a dead listener left is replaced")
    func stale() throws {
        let folder = try Folder()
        let path = folder.path("socket")
        do {
            let dead = try UnixSocket.listen(at: path, kind: .stream)
            _ = dead.raw
        }
        try #require(access(path, F_OK) == 0)
        #expect(throws: SystemError("connect", code: ECONNREFUSED, subject: path)) { _ = try UnixSocket.connect(to: path, kind: .stream).raw }
        let listener = try UnixSocket.listen(at: path, kind: .stream)
        let client = try UnixSocket.connect(to: path, kind: .stream)
        #expect(listener.raw != client.raw)
    }

    @Test("a living listener is not replaced, even when its queue is full")
    func live() throws {
        let folder = try Folder()
        let path = folder.path("socket")
        let listener = try UnixSocket.listen(at: path, kind: .stream, backlog: 0)
        for _ in 0..<4 {
            #expect(throws: SystemError("bind", code: EADDRINUSE, subject: path)) { _ = try UnixSocket.listen(at: path, kind: .stream).raw }
        }
        guard let first = try UnixSocket.accept(on: listener.raw) else {
            Issue.record("the living listener has lost its queue")
            return
        }
        #expect(first.raw >= 0)
    }

    @Test("a file that is no socket is not removed")
    func noSocket() throws {
        let folder = try Folder()
        let path = try folder.file("precious", [1, 2, 3])
        #expect(throws: SystemError("bind", code: EADDRINUSE, subject: path)) { _ = try UnixSocket.listen(at: path, kind: .stream).raw }
        #expect(access(path, F_OK) == 0)
    }

    @Test("a path that does not fit an address is an error, and nobody at a path is one")
    func paths() throws {
        let long = "/tmp/" + String(repeating: "x", count: 103)
        #expect(throws: SystemError.self) { _ = try UnixSocket.listen(at: long, kind: .stream).raw }
        #expect(sockaddr_un(path: long) == nil && sockaddr_un(path: "") == nil && sockaddr_un(path: "a\u{0}b") == nil)
        #expect(sockaddr_un(path: String(repeating: "x", count: 107)) != nil)
        let folder = try Folder()
        let none = folder.path("none")
        #expect(throws: SystemError("connect", code: ENOENT, subject: none)) { _ = try UnixSocket.connect(to: none, kind: .stream).raw }
    }
}
