import CLinux
import Glibc
import Platform
import Testing
@testable import gateway

/// SIGTERM ends the gateway within five seconds and with status 0, whatever it is doing.
@Suite("The daemon ends and begins", .serialized, .enabled(if: Stage.isPossible, "python3 and openssl, for the reference backend, are not installed"))
struct StopTests {
    private func owner(_ status: JSONValue, _ key: String = "anna") -> JSONValue? { status["owners"]?.list.first { $0["key"]?.string == key } }
    private func collar(_ status: JSONValue) -> JSONValue? { status["collars"]?.list.first }

    @Test("when there is nothing to do; and its threads are the loop and the storage, and no other")
    func idle() throws {
        let stage = try Stage()
        try stage.settle()
        // A name lookup has a thread of libcurl's while it lasts.
        #expect(until { stage.gateway.threads().count == 2 }, "\(stage.gateway.threads())")
        #expect(stage.gateway.threads().contains("storage"))
        try stage.waitForStatus { status in
            collar(status)?["state"]?.string == "linked" && owner(status)?["state"]?.string == "idle" && status["outbox"]?["queued"]?.integer == 0
        }
        stage.stop()
        #expect(access("\(stage.scratch.path)/control", F_OK) != 0)
    }

    @Test("in a read")
    func reading() throws {
        let stage = try Stage()
        try stage.collar.ask("{\"do\":\"hold\",\"at\":\"read-request\"}")
        _ = try stage.collar.event("held")
        try stage.waitForStatus { collar($0)?["state"]?.string == "reading" }
        stage.stop()
        try stage.start()
        try stage.settle()
        stage.stop()
    }

    @Test("in a request that the backend does not answer")
    func unanswered() throws {
        let stage = try Stage()
        try stage.backend.ask("{\"fault\":\"stall\",\"count\":0}")
        try stage.waitForStatus { owner($0)?["state"]?.string == "sending" }
        stage.stop()
        try stage.backend.ask("{\"do\":\"clear-faults\"}")
        try stage.start()
        try stage.settle()
        stage.stop()
    }

    @Test("while the backend cannot be reached; status says why, and everything is delivered when it can")
    func unreachable() throws {
        let stage = try Stage()
        try stage.backend.ask("{\"do\":\"offline\"}")
        try stage.collar.ask("{\"do\":\"format\"}")
        try stage.waitForStatus { owner($0)?["last_error"] != nil && owner($0)?["last_error"] != .null }
        #expect(stage.gateway.threads().count <= 3, "\(stage.gateway.threads())")
        stage.stop()
        try stage.backend.ask("{\"do\":\"online\"}")
        try stage.start()
        let done = try until(.seconds(30)) { try stage.isDelivered() }
        #expect(done)
        stage.stop()
    }

    @Test("while a link is being opened by a collar that never answers")
    func linking() throws {
        let stage = try Stage(starting: false)
        #expect(stage.gateway.end(within: .seconds(10)) == 0)
        // Somebody accepts at the collar's address and says nothing.
        let path = "\(stage.scratch.path)/C-1.link"
        let aside = "\(path).aside"
        try #require(rename(path, aside) == 0)
        let listener = try UnixSocket.listen(at: path, kind: .sequencedPacket)
        try stage.start()
        try stage.waitForStatus { collar($0)?["state"]?.string == "linking" }
        stage.stop()
        _ = listener.raw
    }

    @Test("a second daemon with the same control socket is refused before it touches anything, and the first goes on")
    func secondDaemon() throws {
        let stage = try Stage()
        try stage.waitForStatus { $0["pid"]?.integer == Int64(stage.gateway.pid) }
        let second = try Peer(ChildProcess.gateway, ["run", "--config", stage.configuration], log: "\(stage.scratch.path)/second.log")
        #expect(second.end(within: .seconds(10)) == ExitStatus.unavailable)
        let words = second.text()
        #expect(words.contains("\(stage.scratch.path)/control"), "\(words)")
        #expect(!words.contains("has started"), "\(words)")
        try stage.settle()
        stage.stop()
    }

    @Test("a second daemon with the same outbox and another control socket reads nothing, and says in its status who is in the way")
    func secondOutbox() throws {
        let stage = try Stage()
        try stage.settle()
        let own = "\(stage.scratch.path)/second"
        let text = try fileText(stage.configuration).replacing("\(stage.scratch.path)/control", with: own).replacing("C-1.link", with: "nobody.link")
        let path = try stage.scratch.write(text, to: "second.toml")
        let second = try Peer(ChildProcess.gateway, ["run", "--config", path], log: "\(stage.scratch.path)/second.log")
        let fault = until { (try? ControlClient.ask(.status, at: own, patience: .seconds(5)))?["status"]?["outbox"]?["fault"]?["code"]?.string == "in-use" }
        #expect(fault, "\(second.text())")
        #expect(second.text().contains("stop the other gateway process"))
        second.signal(SIGTERM)
        #expect(second.end(within: .seconds(5)) == 0)
        stage.stop()
    }
}
