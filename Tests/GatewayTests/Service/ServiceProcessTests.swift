import CLinux
import Glibc
import Platform
import Testing
@testable import gateway

/// The daemon as systemd starts it, with a datagram socket in systemd's place.
@Suite("The daemon under a service manager", .serialized, .enabled(if: Stage.isPossible, "python3 and openssl, for the reference backend, are not installed"))
struct ServiceProcessTests {
    private final class Manager {
        private let raw: CInt
        let path: String
        private(set) var heard: [String] = []

        init(_ path: String) throws {
            self.path = path
            raw = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
            var address = try #require(sockaddr_un(path: path))
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
            try #require(raw >= 0 && bound == 0)
        }

        deinit { close(raw) }

        func listen() {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = recv(raw, &bytes, bytes.count, 0)
                guard count >= 0 else { return }
                heard += String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
            }
        }

        func hears(_ word: String, times: Int = 1, within limit: Duration = .seconds(20)) -> Bool {
            until(limit) {
                listen()
                return heard.count { $0 == word } >= times
            }
        }
    }

    @Test("it says READY=1, feeds the watchdog, goes on after SIGHUP, and says STOPPING=1")
    func life() throws {
        let stage = try Stage(starting: false)
        #expect(stage.gateway.end(within: .seconds(10)) == 0)
        let manager = try Manager("\(stage.scratch.path)/notify")
        let gateway = try Peer(
            ChildProcess.gateway, ["run", "--config", stage.configuration],
            environment: ["NOTIFY_SOCKET=\(manager.path)", "WATCHDOG_USEC=1000000"], log: "\(stage.scratch.path)/service.log")
        #expect(manager.hears("READY=1"), "\(gateway.text())")
        #expect(manager.hears("WATCHDOG=1", times: 4), "\(manager.heard)")
        gateway.signal(SIGHUP)
        let fed = manager.heard.count { $0 == "WATCHDOG=1" }
        #expect(manager.hears("WATCHDOG=1", times: fed + 3))
        #expect(manager.hears("STATUS=1 of 1 collar linked; nothing waits to be sent"), "\(manager.heard)")
        gateway.signal(SIGTERM)
        #expect(gateway.end(within: .seconds(10)) == 0, "\(gateway.text())")
        manager.listen()
        #expect(manager.heard.last == "STOPPING=1")
        #expect(manager.heard.count { $0 == "READY=1" } == 1)
    }

    @Test("while it is stopped by SIGSTOP it does not feed the watchdog")
    func frozen() throws {
        let stage = try Stage(starting: false)
        #expect(stage.gateway.end(within: .seconds(10)) == 0)
        let manager = try Manager("\(stage.scratch.path)/notify")
        let gateway = try Peer(
            ChildProcess.gateway, ["run", "--config", stage.configuration],
            environment: ["NOTIFY_SOCKET=\(manager.path)", "WATCHDOG_USEC=400000"], log: "\(stage.scratch.path)/service.log")
        #expect(manager.hears("WATCHDOG=1", times: 2))
        gateway.signal(SIGSTOP)
        let stopped = until { (try? fileText("/proc/\(gateway.pid)/stat"))?.contains(") T ") == true }
        #expect(stopped)
        manager.listen()
        let fed = manager.heard.count { $0 == "WATCHDOG=1" }
        #expect(!manager.hears("WATCHDOG=1", times: fed + 1, within: .seconds(1)))
        gateway.signal(SIGCONT)
        #expect(manager.hears("WATCHDOG=1", times: fed + 1))
        gateway.signal(SIGTERM)
        #expect(gateway.end(within: .seconds(10)) == 0)
    }
}
