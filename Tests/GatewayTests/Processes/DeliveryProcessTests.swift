import CLinux
import Glibc
import Platform
import Testing
@testable import gateway

@Suite("Delivery between real processes", .serialized, .enabled(if: Stage.isPossible, "python3 and openssl, for the reference backend, are not installed"))
struct DeliveryProcessTests {
    /// mozilla/MozStumbler#546: a login page answered 200, and 30,000 points were thrown away as delivered.
    @Test("neither a login page nor a wrong receipt confirms anything", arguments: [
        "{\"fault\":\"portal\",\"count\":0}", "{\"fault\":\"no-receipt\",\"count\":0}", "{\"fault\":\"receipt\",\"change\":\"key\",\"count\":0}",
        "{\"fault\":\"receipt\",\"change\":\"digest\",\"count\":0}", "{\"fault\":\"receipt\",\"change\":\"rejected-foreign\",\"count\":0}",
        "{\"fault\":\"truncate\",\"count\":0}"
    ])
    func noReceipt(fault: String) throws {
        let stage = try Stage(starting: false)
        #expect(stage.gateway.end(within: .seconds(10)) == 0)
        try stage.backend.ask(fault)
        try stage.start()
        let asked = try until { try stage.requests().count >= 2 }
        #expect(asked)
        #expect(try stage.books()["clears"]?.list.isEmpty == true)
        try stage.waitForStatus { status in
            let owner = status["owners"]?.list.first
            return status["outbox"]?["queued"]?.integer ?? 0 > 0 && owner?["last_error"]?["code"]?.string != nil
        }
        try stage.backend.ask("{\"do\":\"clear-faults\"}")
        try stage.settle()
        stage.stop()
    }

    /// Ethanlita/vfs-tracker#103: what one user had queued was uploaded as another.
    @Test("each owner's entries go with that owner's token and with no other, also after one of them was refused")
    func owners() throws {
        let stage = try Stage([.init(serial: "C-1"), .init(serial: "C-2", owner: "ben", backlog: 200)], starting: false)
        #expect(stage.gateway.end(within: .seconds(10)) == 0)
        try stage.backend.ask("{\"fault\":\"status\",\"status\":401,\"owner\":\"ben\",\"count\":2}")
        try stage.start()
        try stage.settle("C-1")
        try stage.settle("C-2", owner: "ben")
        let requests = try stage.requests()
        func token(_ owner: String) -> String { "Bearer sha256:" + SHA256.digest(Array("token-of-\(owner)".utf8)).hexadecimal.prefix(12) }
        for request in requests {
            let owner = header("hub-owner", of: request)?.filter { $0 != "\"" } ?? "nobody"
            let device = header("hub-device", of: request)?.filter { $0 != "\"" }
            #expect(header("authorization", of: request) == token(owner))
            #expect(device == (owner == "ben" ? "C-2" : "C-1"))
        }
        #expect(Set(requests.compactMap { header("hub-owner", of: $0) }) == ["\"anna\"", "\"ben\""])
        stage.stop()
    }

    /// open-telemetry/opentelemetry-collector#7198: on a full disk what had been sent could not be removed.
    @Test("on a disk that is full nothing is lost, what is queued is still delivered, and reading goes on when there is room")
    func fullDisk() throws {
        guard geteuid() == 0 else {
            print("skipped: a small file system of one's own can only be mounted by root")
            return
        }
        let disk = try temporaryDirectory()
        defer { rmdir(disk) }
        guard mount("tmpfs", disk, "tmpfs", 0, "size=24m,mode=0700") == 0 else {
            print("skipped: mount: \(String(cString: strerror(errno)))")
            return
        }
        defer { umount2(disk, CInt(MNT_DETACH)) }
        let stage = try Stage(outbox: disk, starting: false)
        #expect(stage.gateway.end(within: .seconds(10)) == 0)
        try stage.backend.ask("{\"do\":\"offline\"}")
        try stage.start()
        try stage.waitForStatus { $0["outbox"]?["queued"]?.integer ?? 0 >= 2 }
        try fill(disk)
        // It ends and begins on the full disk, delivers from it, and frees the collar.
        stage.stop()
        try stage.start()
        try stage.waitForStatus { $0["outbox"]?["queued"]?.integer ?? 0 >= 2 }
        try stage.backend.ask("{\"do\":\"online\"}")
        let cleared = try until(.seconds(30)) { try stage.books()["clears"]?.list.isEmpty == false }
        #expect(cleared, "\(stage.gateway.text())")
        try stage.checkClears()
        unlink("\(disk)/filler")
        try stage.settle()
        stage.stop()
    }

    /// Takes what room there is.
    private func fill(_ directory: String) throws {
        let file = Descriptor(owning: clinux_open("\(directory)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
        try #require(file.raw >= 0)
        for size in [1 << 16, 4_096] {
            let zeros = [UInt8](repeating: 0, count: size)
            while write(file.raw, zeros, size) > 0 {}
        }
    }
}
