import Platform
import Testing

@testable import Radio

@Suite("The connector: links")
struct ConnectorLinkTests {
    private let front = collar("A1", at: address(1))
    private let back = collar("B2", at: address(2))

    @Test("every device with an address is on the kernel's list")
    func list() {
        let bench = ConnectorBench([front, back, collar("C3", at: nil)])
        #expect(bench.list == [address(1), address(2)])
        #expect(bench.machine.state(of: "C3") == .noAddress)
    }

    @Test("a bonded device's link is encrypted before it is handed over")
    func encryptedFirst() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        _ = bench.take()
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.secure(device: "A1", address(1), mayPair: false)))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        #expect(bench.take().contains(.deliver(device: "A1", address(1))))
        bench.tell(.subscribed(device: "A1"))
        #expect(bench.machine.state(of: "A1") == .working)
    }

    @Test("a device without security is handed over as it is")
    func noSecurity() {
        var bench = ConnectorBench([collar("A1", at: address(1), security: .none)])
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.deliver(device: "A1", address(1))))
    }

    @Test("the link of an unknown device is dropped and ended")
    func unknown() {
        var bench = ConnectorBench([front])
        _ = bench.take()
        bench.tell(.connected(address(9)))
        bench.tell(.linkAccepted(address(9)))
        #expect(bench.take() == [.dropLink(address(9)), .disconnect(address(9))])
    }

    @Test("three failed connects make a device stale, in any mixture of the ways to fail")
    func stale() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.connectFailed(address(1)))
        bench.fail(address(1))
        #expect(bench.machine.state(of: "A1") == .expected)
        #expect(bench.scans == 0)
        bench.pass(.seconds(3))
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        bench.tell(.disconnected(address(1), .connectionTimeout))
        bench.pass(.seconds(3))
        #expect(bench.machine.state(of: "A1") == .stale)
        #expect(bench.events.contains(.stale(device: "A1", failures: 3)))
        #expect(bench.list == [address(1)], "the kernel goes on waiting for it")
        #expect(bench.scans == 1)
    }

    @Test("a link that works ends the count of failures")
    func failuresEnd() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.fail(address(1))
        bench.fail(address(1))
        bench.pass(.seconds(10))
        bench.work("A1", address(1))
        bench.pass(.seconds(100))
        bench.tell(.disconnected(address(1), .connectionTimeout))
        bench.fail(address(1))
        bench.pass(.seconds(10))
        #expect(bench.machine.state(of: "A1") == .expected)
    }

    @Test("ten minutes unheard make a device stale, and not a second less")
    func unheard() {
        var bench = ConnectorBench([front])
        bench.pass(.seconds(599))
        #expect(bench.machine.state(of: "A1") == .expected)
        bench.pass(.seconds(1))
        #expect(bench.machine.state(of: "A1") == .stale)
        #expect(bench.events.filter { $0 == .stale(device: "A1", failures: 0) }.count == 1)
    }

    @Test("time without a controller does not count as unheard")
    func absentController() {
        var bench = ConnectorBench([front])
        bench.tell(.controllerUnavailable)
        bench.pass(.seconds(7_200))
        #expect(bench.machine.state(of: "A1") == .expected)
        #expect(bench.machine.exit(of: "A1") == .controller)
        bench.tell(.controllerReady)
        bench.pass(.seconds(599))
        #expect(bench.machine.state(of: "A1") == .expected)
        #expect(bench.scans == 0)
    }

    @Test("a cuff that is off for days is waited for and not looked for")
    func cuffAtRest() {
        var bench = ConnectorBench([cuff("arm", at: address(1))])
        bench.pass(.seconds(3 * 86_400))
        #expect(bench.machine.state(of: "arm") == .expected)
        #expect(bench.scans == 0)
        #expect(bench.list == [address(1)])
    }

    @Test("a stale device is looked for ten seconds of each minute, beside the pending connection, until it is linked")
    func scanSchedule() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.pass(.seconds(600))
        for _ in 0..<10 {
            #expect(bench.take().contains(.beginScan))
            bench.pass(.milliseconds(10_240))
            bench.tell(.scanEnded(failed: false))
            bench.pass(.milliseconds(49_759))
            #expect(bench.scans == 0)
            bench.pass(.milliseconds(1))
        }
        bench.work("A1", address(1))
        bench.pass(.seconds(5))
        #expect(bench.actions.contains(.endScan))
        _ = bench.take()
        bench.pass(.seconds(600))
        #expect(bench.scans == 0)
    }

    @Test("a stale device that is heard at its own address is expected again")
    func heardAgain() {
        var bench = ConnectorBench([front])
        bench.pass(.seconds(600))
        bench.hear(address(1), collarData("A1"))
        #expect(bench.machine.state(of: "A1") == .expected)
    }

    @Test("a scan whose end is never told does not end the search")
    func lostScanEnd() {
        var bench = ConnectorBench([front])
        bench.pass(.seconds(600))
        _ = bench.take()
        bench.pass(.seconds(600))
        #expect((9...10).contains(bench.scans))
    }

    @Test("two collars and two cuffs are linked at once, each with its own state")
    func several() {
        let devices = [front, back, cuff("arm", at: address(3)), cuff("wrist", at: address(4))]
        var bench = ConnectorBench(devices, bonds: [bond(front), bond(back)])
        for number: UInt16 in 1...4 { bench.tell(.linkAccepted(address(number))) }
        bench.tell(.securityEnded(device: "B2", .encrypted))
        for device in ["B2", "arm", "wrist"] { bench.tell(.subscribed(device: device)) }
        #expect(bench.machine.state(of: "A1") == .linking)
        for device in ["B2", "arm", "wrist"] { #expect(bench.machine.state(of: device) == .working) }
        bench.tell(.disconnected(address(2), .remote))
        #expect(bench.machine.state(of: "B2") == .expected)
        #expect(bench.machine.state(of: "arm") == .working)
    }

    // MARK: States that end

    @Test("a link without a channel is ended after ten seconds, off the list first")
    func noChannel() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.connected(address(1)))
        _ = bench.take()
        bench.pass(.seconds(10))
        let asked = bench.take()
        #expect(asked.first == .setDevices([]))
        #expect(asked.contains(.disconnect(address(1))))
        bench.tell(.disconnected(address(1), .localHost))
        #expect(bench.list == [address(1)])
    }

    @Test("a driver that never subscribes loses its link")
    func neverSubscribed() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        _ = bench.take()
        bench.pass(.seconds(150))
        let asked = bench.take()
        #expect(asked.first == .setDevices([]))
        #expect(asked.contains(.disconnect(address(1))))
    }

    @Test("a disconnection that is never told is over after fifteen seconds")
    func lostDisconnection() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.work("A1", address(1))
        bench.tell(.linkReleased(device: "A1"))
        bench.pass(.seconds(15))
        #expect(bench.take().contains(.disconnect(address(1))))
        bench.pass(.seconds(15))
        #expect(bench.machine.state(of: "A1") == .expected)
        #expect(bench.list == [address(1)])
    }

    @Test("a new link takes the place of one whose end is told later")
    func lateEnd() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.work("A1", address(1))
        bench.pass(.seconds(100))
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.disconnected(address(1), .connectionTimeout))
        bench.tell(.connected(address(1)))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        bench.tell(.subscribed(device: "A1"))
        #expect(bench.machine.state(of: "A1") == .working)
        bench.tell(.disconnected(address(1), .connectionTimeout))
        #expect(bench.machine.state(of: "A1") == .expected)
    }

    @Test("a link that was lost before its driver took it is closed")
    func lostBeforeTaken() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        _ = bench.take()
        bench.tell(.disconnected(address(1), .remote))
        #expect(bench.take().contains(.dropLink(address(1))))
    }

    // MARK: Pace

    @Test("a cuff that hangs up as soon as it has sent its readings is waited for at once, however often; one that brings nothing is not")
    func served() {
        let short = RadioDevice(
            id: "arm", service: .uuid16(0x1810), serial: nil, identity: nil, address: address(4), security: .none, pauseLimit: .seconds(8))
        var bench = ConnectorBench([short])
        for _ in 0..<20 {
            #expect(bench.list == [address(4)])
            bench.work("arm", address(4))
            bench.tell(.served(device: "arm"))
            bench.tell(.linkReleased(device: "arm"))
            bench.tell(.disconnected(address(4), .remote))
        }
        #expect(bench.list == [address(4)])
        var longest = Duration.zero
        for _ in 0..<8 {
            bench.work("arm", address(4))
            bench.tell(.disconnected(address(4), .remote))
            let before = bench.now
            while bench.list != [address(4)], bench.now - before < .seconds(100) { bench.pass(.milliseconds(100)) }
            longest = max(longest, bench.now - before)
        }
        #expect((Duration.seconds(7)...Duration.seconds(9)).contains(longest), "its own limit, not that of others: \(longest)")
        // What served before says nothing of the next link, and what is said of no link is nothing.
        bench.tell(.served(device: "arm"))
        bench.work("arm", address(4))
        _ = bench.take()
        bench.tell(.disconnected(address(4), .remote))
        #expect(bench.events.contains { if case .flapping = $0 { true } else { false } })
    }

    @Test("a peer that comes and goes is left alone for longer and longer, up to about a minute, and never given up")
    func flapping() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        var links = 0
        let end = bench.now + .seconds(3_600)
        while bench.now < end {
            if bench.list == [address(1)] {
                bench.work("A1", address(1))
                bench.tell(.disconnected(address(1), .remote))
                links += 1
            }
            bench.pass(.milliseconds(100))
        }
        #expect((50...65).contains(links))
        #expect(bench.events.contains(.flapping(device: "A1", times: 3, pause: .seconds(2))))
        bench.pass(.seconds(64))
        #expect(bench.list == [address(1)])
    }

    @Test("a long link ends a series of short ones")
    func steady() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        for _ in 0..<2 { bench.fail(address(1)) }
        bench.work("A1", address(1))
        bench.pass(.seconds(60))
        bench.tell(.disconnected(address(1), .remote))
        #expect(bench.list == [address(1)])
    }

    @Test("a link that comes while the peer is left alone is dropped")
    func duringBackOff() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        for _ in 0..<3 { bench.fail(address(1)) }
        #expect(bench.machine.state(of: "A1") == .backingOff)
        _ = bench.take()
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take() == [.dropLink(address(1)), .disconnect(address(1))])
    }

    // MARK: Configuration

    @Test("a device that is configured no more leaves the list and loses its link")
    func unconfigured() {
        var bench = ConnectorBench([front, back], bonds: [bond(front), bond(back)])
        bench.work("A1", address(1))
        _ = bench.take()
        bench.actions += bench.machine.configure([back], bonds: [bond(back)], at: bench.now)
        #expect(bench.list == [address(2)])
        #expect(bench.take().contains(.disconnect(address(1))))
        #expect(bench.machine.state(of: "A1") == nil)
    }

    @Test("a device that stays configured keeps its link")
    func reconfigured() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.work("A1", address(1))
        _ = bench.take()
        bench.actions += bench.machine.configure([front, back], bonds: [bond(front)], at: bench.now)
        #expect(bench.machine.state(of: "A1") == .working)
        #expect(!bench.take().contains(.disconnect(address(1))))
    }

    @Test("an adopted address comes before the configured one")
    func adoptedFirst() {
        let bench = ConnectorBench([front], bonds: [bond(front, at: address(7))])
        #expect(bench.list == [address(7)])
    }

    @Test("another address in the configuration is the operator's word, and needs keys of its own")
    func corrected() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.work("A1", address(1))
        _ = bench.take()
        bench.actions += bench.machine.configure([collar("A1", at: address(5))], bonds: [bond(front)], at: bench.now)
        let asked = bench.take()
        #expect(bench.list == [address(5)])
        #expect(asked.contains(.disconnect(address(1))))
        #expect(asked.contains(.discardKeys(address(1))))
        #expect(!bench.machine.isBonded("A1"))
    }

    @Test("a device that is waited for, heard and never linked means a kernel that is stuck: the controller is switched off and on, at most once an hour")
    func heardInVain() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        func cycles() -> Int { bench.actions.filter { $0 == .cyclePower }.count }
        bench.pass(.seconds(601))
        bench.hear(address(1), collarData("A1"))
        bench.pass(.seconds(5))
        bench.hear(address(1), collarData("A1"))
        #expect(cycles() == 0, "the kernel has its time")
        bench.pass(.seconds(601))
        bench.hear(address(1), collarData("A1"))
        #expect(cycles() == 1)
        #expect(bench.events.contains(.heardInVain(device: "A1")))
        bench.tell(.controllerUnavailable)
        bench.tell(.controllerReady)
        for _ in 0..<4 {
            bench.pass(.seconds(601))
            bench.hear(address(1), collarData("A1"))
        }
        #expect(cycles() == 1)
        bench.pass(.seconds(1_200))
        bench.hear(address(1), collarData("A1"))
        #expect(cycles() == 2)
    }

    @Test("a device that is looked for and not heard may be linked for its part alone: the controller is switched off and on, once for each silence and at most once an hour")
    func silent() {
        var bench = ConnectorBench([front, collar("B2", at: address(2))], bonds: [bond(front)])
        func cycles() -> Int { bench.actions.filter { $0 == .cyclePower }.count }
        func wait(_ minutes: Int) { bench.pass(.seconds(60 * minutes)) }
        bench.work("B2", address(2))
        wait(14)
        #expect(cycles() == 0, "it is given up after ten minutes, and looked for")
        wait(2)
        #expect(cycles() == 1)
        #expect(bench.events.contains(.silent(device: "A1")) && !bench.events.contains(.silent(device: "B2")))
        bench.tell(.controllerUnavailable)
        bench.tell(.controllerReady)
        wait(180)
        #expect(cycles() == 1, "it is away, and stays away")
        // Heard, and silent again.
        bench.hear(address(1), collarData("A1"))
        wait(20)
        #expect(cycles() == 2)
        bench.hear(address(1), collarData("A1"))
        wait(30)
        #expect(cycles() == 2, "not twice in an hour")
        wait(40)
        #expect(cycles() == 3, "it is made up for")
    }

    @Test("while pairing is open no power cycle is made for a silent device")
    func silentAndPairing() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        func cycles() -> Int { bench.actions.filter { $0 == .cyclePower }.count }
        bench.pass(.seconds(601))
        for _ in 0..<10 {
            bench.tell(.openPairing(device: nil))
            bench.pass(.seconds(60))
        }
        #expect(cycles() == 0)
        bench.pass(.seconds(121))
        #expect(cycles() == 1)
    }

    @Test("a device that is linked after it was heard, or whose connection fails, is not heard in vain")
    func heardAndLinked() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        for _ in 0..<2 {
            bench.hear(address(1), collarData("A1"))
            bench.tell(.connectFailed(address(1)))
            bench.pass(.seconds(120))
        }
        bench.hear(address(1), collarData("A1"))
        bench.work("A1", address(1))
        bench.pass(.seconds(120))
        bench.tell(.disconnected(address(1), .connectionTimeout))
        bench.hear(address(1), collarData("A1"))
        #expect(!bench.actions.contains(.cyclePower))
    }
}
