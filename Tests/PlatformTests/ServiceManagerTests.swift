import CLinux
import Glibc
import Platform
import Testing

/// A datagram socket where the service manager's would be.
private final class Manager {
    private let raw: CInt

    /// - Parameter name: a path, or `@` and an abstract name.
    init(_ name: String) throws {
        raw = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let bound = withUnsafePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(raw, $0, length) } }
        try #require(raw >= 0 && bound == 0)
    }

    deinit { close(raw) }

    func receive() -> String? {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(raw, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}

@Suite("The service manager")
struct ServiceManagerTests {
    private func found(_ variables: [String: String]) throws -> ServiceManager? { try ServiceManager.find { variables[$0] } }

    @Test("each message is one datagram at the socket's path, and several states are lines of one")
    func path() throws {
        let folder = try Folder()
        let manager = try Manager(folder.path("notify"))
        let service = try #require(try found(["NOTIFY_SOCKET": folder.path("notify")]))
        #expect(service.tell(.status("2 collars linked"), .ready))
        #expect(service.tell(.watchdog))
        #expect(service.tell(.stopping))
        #expect(manager.receive() == "STATUS=2 collars linked\nREADY=1")
        #expect(manager.receive() == "WATCHDOG=1")
        #expect(manager.receive() == "STOPPING=1")
        #expect(manager.receive() == nil)
    }

    @Test("a socket in the abstract namespace is reached by its name behind an @")
    func abstract() throws {
        let name = "@gateway-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let manager = try Manager(name)
        let service = try #require(try found(["NOTIFY_SOCKET": name]))
        #expect(service.tell(.ready))
        #expect(manager.receive() == "READY=1")
    }

    @Test("words with a line break in them begin no second assignment")
    func lines() throws {
        let folder = try Folder()
        let manager = try Manager(folder.path("notify"))
        let service = try #require(try found(["NOTIFY_SOCKET": folder.path("notify")]))
        service.tell(.status("one\nMAINPID=1\ttwo"))
        #expect(manager.receive() == "STATUS=one MAINPID=1 two")
    }

    @Test("without NOTIFY_SOCKET nobody wants to be told")
    func nobody() throws {
        #expect(try found([:]) == nil)
        #expect(try found(["NOTIFY_SOCKET": ""]) == nil)
    }

    @Test("a socket's name that none can have is refused", arguments: ["relative/path", "@", "/" + String(repeating: "x", count: 108), "@" + String(repeating: "x", count: 108)])
    func names(_ name: String) throws {
        #expect(throws: SystemError("NOTIFY_SOCKET", code: EINVAL, subject: name)) { try found(["NOTIFY_SOCKET": name]) }
    }

    @Test("a manager that is not there, or whose queue is full, is noticed and does not hold the loop for long")
    func refused() throws {
        let folder = try Folder()
        let service = try #require(try found(["NOTIFY_SOCKET": folder.path("notify")]))
        #expect(!service.tell(.ready))
        let manager = try Manager(folder.path("notify"))
        var taken = 0
        while taken < 10_000, service.tell(.watchdog) { taken += 1 }
        #expect((1..<10_000).contains(taken))
        while manager.receive() != nil {}
        #expect(service.tell(.watchdog))
    }

    @Test("the watchdog's period is in microseconds, and another process's is none of ours")
    func watchdog() throws {
        let socket = "/run/systemd/notify"
        func period(_ microseconds: String?, _ process: String?) throws -> Duration? {
            var variables = ["NOTIFY_SOCKET": socket]
            variables["WATCHDOG_USEC"] = microseconds
            variables["WATCHDOG_PID"] = process
            return try #require(try found(variables)).watchdog
        }
        #expect(try period("30000000", "\(getpid())") == .seconds(30))
        #expect(try period("30000000", nil) == .seconds(30))
        #expect(try period("30000000", "1") == nil)
        #expect(try period(nil, nil) == nil)
        #expect(try period("0", nil) == nil)
        #expect(try period("soon", nil) == nil)
    }
}
