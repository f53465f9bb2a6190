import Platform
import Testing

@testable import Radio

@Suite("The connector: another controller, parameters, and what is forgotten")
struct ConnectorControllerTests {
    private let front = collar("A1", at: address(1))

    private func parameters(_ bench: ConnectorBench) -> ConnectionParameters? { bench.machine.listed.first { $0.address == address(1) }?.parameters }

    // MARK: A controller that goes

    @Test("with the controller its links are gone: nobody is waited for until the next one is ready")
    func gone() {
        var bench = ConnectorBench([front, collar("B2", at: address(2))], bonds: [bond(front)])
        bench.work("A1", address(1))
        _ = bench.take()
        bench.tell(.controllerGone)
        #expect(bench.list.isEmpty)
        #expect(bench.take().contains(.dropLink(address(1))))
        #expect(bench.machine.state(of: "A1") == .expected)
        #expect(bench.machine.exit(of: "A1") == .controller)
        bench.pass(.seconds(86_400))
        #expect(bench.list.isEmpty)
        #expect(bench.machine.state(of: "A1") == .expected, "who could not be heard is not stale")
        bench.tell(.controllerReady)
        #expect(bench.list == [address(1), address(2)])
        #expect(bench.machine.exit(of: "A1") == .deadline(bench.now + ConnectorSettings().unheardLimit))
    }

    @Test("what is told late of a link with the former controller says nothing of the next")
    func late() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.work("A1", address(1))
        bench.tell(.controllerGone)
        for _ in 0..<5 {
            bench.tell(.disconnected(address(1), .localHost))
            bench.tell(.linkReleased(device: "A1"))
        }
        bench.tell(.controllerReady)
        #expect(bench.list == [address(1)])
        #expect(bench.machine.state(of: "A1") == .expected)
        bench.work("A1", address(1))
        #expect(bench.machine.state(of: "A1") == .working)
    }

    @Test("a link that is being set up is gone as well, and the next one is encrypted anew")
    func goneWhileSecuring() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.controllerGone)
        bench.tell(.securityEnded(device: "A1", .authenticationFailed))
        #expect(bench.machine.isBonded("A1"), "the failure was the controller's")
        bench.tell(.controllerReady)
        _ = bench.take()
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.secure(device: "A1", address(1), mayPair: false)))
    }

    @Test("a trial ends with the controller")
    func goneWhileTrying() {
        var bench = ConnectorBench([collar("C3", at: nil)])
        bench.tell(.openPairing(device: nil))
        bench.hear(address(9), collarData("C3"))
        bench.pass(.seconds(20))
        #expect(bench.actions.contains(.tryCandidate(device: "C3", address(9))))
        bench.tell(.controllerGone)
        #expect(bench.take().contains(.abandonTrial(address(9))))
        #expect(bench.machine.trial == nil)
    }

    // MARK: Another controller's keys

    @Test("keys with one controller are none with another: the device is paired there without anybody's word")
    func rebondWithout() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.controllerGone)
        bench.rebond([])
        #expect(!bench.machine.isBonded("A1"))
        #expect(bench.list.isEmpty, "not before it is ready")
        bench.tell(.controllerReady)
        _ = bench.take()
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.secure(device: "A1", address(1), mayPair: true)))
    }

    @Test("keys that were lost with one controller are not lost with another")
    func rebondAfterLoss() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.forget(device: "A1"))
        bench.tell(.bondRemoved(device: "A1"))
        bench.tell(.linkAccepted(address(1)))
        #expect(!bench.actions.contains(.secure(device: "A1", address(1), mayPair: true)), "not without somebody's word")
        bench.tell(.controllerGone)
        bench.rebond([])
        bench.tell(.controllerReady)
        _ = bench.take()
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.secure(device: "A1", address(1), mayPair: true)))
    }

    @Test("a device that needs pairing with one controller is waited for with another")
    func needsPairing() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .authenticationFailed))
        bench.tell(.disconnected(address(1), .localHost))
        #expect(bench.machine.state(of: "A1") == .needsPairing)
        #expect(bench.list.isEmpty)
        bench.tell(.controllerGone)
        bench.rebond([bond(front)])
        bench.tell(.controllerReady)
        #expect(bench.list == [address(1)])
        bench.work("A1", address(1))
        #expect(bench.machine.state(of: "A1") == .working)
    }

    @Test("keys for another address than the one the device has are not its keys")
    func rebondElsewhere() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.rebond([bond(front, at: address(7))])
        #expect(!bench.machine.isBonded("A1"))
        bench.rebond([Bond(device: "A1", address: address(1))])
        #expect(!bench.machine.isBonded("A1"), "an adopted address without keys")
        bench.rebond([bond(front)])
        #expect(bench.machine.isBonded("A1"))
        #expect(bench.machine.address(of: "A1") == address(1))
    }

    // MARK: Parameters

    @Test("a driver's parameters hold for its link, and the next one begins with the configured ones")
    func parameters() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        #expect(parameters(bench) == .rest)
        bench.work("A1", address(1))
        bench.tell(.parametersWanted(device: "A1", .stream))
        #expect(parameters(bench) == .stream)
        bench.tell(.parametersWanted(device: "A1", .rest))
        #expect(parameters(bench) == .rest)
        bench.tell(.parametersWanted(device: "A1", .stream))
        bench.tell(.disconnected(address(1), .connectionTimeout))
        bench.pass(.seconds(5))
        #expect(parameters(bench) == .rest)
        bench.work("A1", address(1))
        #expect(parameters(bench) == .rest)
    }

    @Test("parameters for a link that is not there are not kept for the next", arguments: ["A1", "nobody"])
    func parametersWithoutLink(device: String) {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.parametersWanted(device: device, .stream))
        #expect(parameters(bench) == .rest)
        bench.work("A1", address(1))
        #expect(parameters(bench) == .rest)
        bench.tell(.parametersWanted(device: "A1", .stream))
        bench.tell(.controllerGone)
        bench.tell(.controllerReady)
        #expect(parameters(bench) == .rest)
    }

    // MARK: Forgetting

    @Test("a bonded device is told as forgotten when its keys are, and not before")
    func forgotten() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.work("A1", address(1))
        bench.tell(.forget(device: "A1"))
        bench.tell(.disconnected(address(1), .localHost))
        #expect(bench.actions.contains(.removeBond(device: "A1", address(1))))
        #expect(!bench.events.contains(.forgotten(device: "A1")))
        #expect(bench.machine.isForgotten("A1"))
        bench.tell(.bondRemoved(device: "A1"))
        #expect(bench.events.filter { $0 == .forgotten(device: "A1") }.count == 1)
        #expect(!bench.machine.isForgotten("A1"))
        #expect(!bench.machine.isBonded("A1"))
    }

    @Test("a device without keys is forgotten by the store alone, and told when it is")
    func forgottenWithoutKeys() {
        var bench = ConnectorBench([collar("C3", at: nil)], bonds: [Bond(device: "C3", address: address(9))])
        #expect(bench.list == [address(9)])
        bench.tell(.forget(device: "C3"))
        #expect(bench.actions.contains(.forgetStored(device: "C3")))
        #expect(!bench.events.contains(.forgotten(device: "C3")))
        #expect(bench.list.isEmpty, "its adopted address is nobody's")
        bench.tell(.bondRemoved(device: "C3"))
        #expect(bench.events.contains(.forgotten(device: "C3")))
        #expect(bench.machine.state(of: "C3") == .noAddress)
    }

    @Test("keys that are removed for a new pairing are no forgetting, and leave the adopted address")
    func removedOnly() {
        let moved = collar("C3", at: nil)
        var bench = ConnectorBench([moved], bonds: [bond(moved, at: address(9))])
        bench.tell(.linkAccepted(address(9)))
        bench.tell(.securityEnded(device: "C3", .authenticationFailed))
        bench.tell(.disconnected(address(9), .localHost))
        bench.tell(.openPairing(device: "C3"))
        #expect(bench.actions.contains(.removeBond(device: "C3", address(9))))
        bench.tell(.bondRemoved(device: "C3"))
        #expect(!bench.events.contains(.forgotten(device: "C3")))
        #expect(bench.machine.address(of: "C3") == address(9))
    }

    @Test("a forgetting that the controller's end interrupts goes on with the next")
    func forgottenAcrossControllers() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.forget(device: "A1"))
        #expect(bench.actions.contains(.removeBond(device: "A1", address(1))))
        bench.tell(.controllerGone)
        bench.tell(.controllerReady)
        bench.tell(.bondRemoved(device: "A1"))
        #expect(bench.events.contains(.forgotten(device: "A1")))
        #expect(!bench.machine.isBonded("A1"))
    }
}
