import Platform
import Testing

@testable import Radio

@Suite("The connector: pairing and keys")
struct ConnectorPairingTests {
    private let front = collar("A1", at: address(1))

    private func bonded() -> ConnectorBench {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        _ = bench.take()
        return bench
    }

    @Test("a device at a configured address is paired the first time without anybody's doing, and used once its keys are stored")
    func firstPairing() {
        var bench = ConnectorBench([front])
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.secure(device: "A1", address(1), mayPair: true)))
        #expect(bench.machine.state(of: "A1") == .pairing)
        bench.tell(.securityEnded(device: "A1", .encrypted))
        #expect(!bench.actions.contains(.deliver(device: "A1", address(1))))
        bench.tell(.keysReceived(device: "A1", acceptable: true))
        #expect(bench.take().contains(.storeKeys(device: "A1", address(1))))
        bench.tell(.keysStored(device: "A1", true))
        let asked = bench.take()
        #expect(asked.contains(.deliver(device: "A1", address(1))))
        #expect(asked.contains(.event(.bonded(device: "A1"))))
    }

    @Test("keys that come before the end of the encryption are stored before use all the same")
    func keysFirst() {
        var bench = ConnectorBench([front])
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.keysReceived(device: "A1", acceptable: true))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        #expect(!bench.actions.contains(.deliver(device: "A1", address(1))))
        bench.tell(.keysStored(device: "A1", true))
        #expect(bench.take().contains(.deliver(device: "A1", address(1))))
    }

    @Test("keys that cannot be stored cost the link, and are stored at the next one before it is used")
    func notStored() {
        var bench = ConnectorBench([front])
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        bench.tell(.keysReceived(device: "A1", acceptable: true))
        bench.tell(.keysStored(device: "A1", false))
        #expect(bench.events.contains(.notStored(device: "A1")))
        #expect(bench.actions.contains(.disconnect(address(1))))
        bench.tell(.disconnected(address(1), .localHost))
        bench.pass(.seconds(64))
        _ = bench.take()
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.actions.contains(.secure(device: "A1", address(1), mayPair: false)))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        #expect(bench.take().contains(.storeKeys(device: "A1", address(1))))
        bench.tell(.keysStored(device: "A1", true))
        #expect(bench.take().contains(.deliver(device: "A1", address(1))))
    }

    @Test("storage that never answers does not hold a link for ever")
    func storageHangs() {
        var bench = ConnectorBench([front])
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        bench.tell(.keysReceived(device: "A1", acceptable: true))
        bench.pass(.seconds(60))
        #expect(bench.take().contains(.disconnect(address(1))))
    }

    @Test("a pairing without keys costs the link after fifteen seconds")
    func noKeys() {
        var bench = ConnectorBench([front])
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        bench.pass(.seconds(15))
        #expect(bench.take().contains(.disconnect(address(1))))
    }

    @Test("a wrong key is kept and told once, and nothing is paired until somebody allows it")
    func wrongKey() {
        var bench = bonded()
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.authenticationFailed(address(1)))
        bench.tell(.disconnected(address(1), .authenticationFailure))
        #expect(bench.machine.state(of: "A1") == .needsPairing)
        #expect(bench.list.isEmpty)
        #expect(!bench.actions.contains(.removeBond(device: "A1", address(1))))
        #expect(bench.events.filter { $0 == .bondLost(device: "A1") }.count == 1)
        // The same key is tried again from time to time: somebody else may have stood in.
        bench.pass(.seconds(600))
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.actions.contains(.secure(device: "A1", address(1), mayPair: false)))
        bench.tell(.securityEnded(device: "A1", .authenticationFailed))
        #expect(bench.events.filter { $0 == .bondLost(device: "A1") }.count == 1)
        #expect(!bench.actions.contains { if case .secure(_, _, true) = $0 { true } else { false } })
    }

    @Test("keys are doubted when three links in a row end without explanation while they are encrypted, and not before")
    func unexplainedEnds() {
        var bench = bonded()
        let ends: [ConnectorInput] = [.disconnected(address(1), .unspecified), .securityEnded(device: "A1", .unexplained)]
        for count in 0..<2 {
            bench.tell(.linkAccepted(address(1)))
            bench.tell(ends[count])
            // Told after the channel's own error, it is the end of the same link.
            if count == 1 { bench.tell(.disconnected(address(1), .unspecified)) }
            #expect(bench.machine.state(of: "A1") == .expected)
        }
        #expect(!bench.events.contains(.bondLost(device: "A1")))
        _ = bench.take()
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.disconnected(address(1), .unspecified))
        #expect(bench.events.contains(.bondLost(device: "A1")))
        #expect(bench.machine.state(of: "A1") == .needsPairing)
        #expect(!bench.actions.contains(.removeBond(device: "A1", address(1))))
        // The link was over: its end is not waited for once more.
        #expect(!bench.take().contains(.disconnect(address(1))))
        bench.tell(.openPairing(device: "A1"))
        #expect(bench.take().contains(.removeBond(device: "A1", address(1))))
    }

    @Test("a link that is encrypted ends all doubt of its keys")
    func doubtEnds() {
        var bench = bonded()
        for _ in 0..<4 {
            bench.tell(.linkAccepted(address(1)))
            bench.tell(.disconnected(address(1), .unspecified))
            bench.pass(.seconds(64))
            bench.tell(.linkAccepted(address(1)))
            bench.tell(.securityEnded(device: "A1", .encrypted))
            bench.tell(.disconnected(address(1), .connectionTimeout))
            bench.pass(.seconds(64))
        }
        #expect(!bench.events.contains(.bondLost(device: "A1")))
    }

    @Test("keys that are in doubt are replaced at once while somebody has opened pairing")
    func doubtWhilePairing() {
        var bench = bonded()
        bench.tell(.openPairing(device: "A1"))
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.disconnected(address(1), .unspecified))
        #expect(bench.actions.contains(.removeBond(device: "A1", address(1))))
    }

    @Test("a link that breaks while it is encrypted says nothing of keys")
    func brokenLink() {
        var bench = bonded()
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .linkFailed))
        bench.tell(.disconnected(address(1), .connectionTimeout))
        #expect(bench.machine.state(of: "A1") == .expected)
        #expect(!bench.events.contains(.bondLost(device: "A1")))
    }

    @Test("opening pairing removes the wrong key and pairs anew")
    func repairByUser() {
        var bench = bonded()
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .authenticationFailed))
        bench.tell(.disconnected(address(1), .localHost))
        bench.tell(.openPairing(device: nil))
        #expect(bench.take().contains(.removeBond(device: "A1", address(1))))
        bench.tell(.bondRemoved(device: "A1"))
        #expect(bench.list == [address(1)])
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.secure(device: "A1", address(1), mayPair: true)))
    }

    @Test("a device whose keys fit keeps them while pairing is open")
    func openForOthers() {
        var bench = bonded()
        bench.work("A1", address(1))
        _ = bench.take()
        bench.tell(.openPairing(device: nil))
        bench.pass(.seconds(120))
        #expect(!bench.take().contains { if case .removeBond = $0 { true } else { false } })
        #expect(bench.machine.state(of: "A1") == .working)
    }

    @Test("permission ends with the window")
    func permissionEnds() {
        var bench = bonded()
        bench.tell(.openPairing(device: "A1"))
        bench.pass(.seconds(121))
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.securityEnded(device: "A1", .authenticationFailed))
        bench.tell(.disconnected(address(1), .localHost))
        #expect(bench.machine.state(of: "A1") == .needsPairing)
    }

    @Test("with repair = true lost keys are replaced by themselves, at a bounded pace")
    func repair() {
        let device = collar("A1", at: address(1), pairing: PairingPolicy(repair: true))
        var bench = ConnectorBench([device], bonds: [bond(device)])
        var removals = 0
        var pairings = 0
        let end = bench.now + .seconds(3_600)
        while bench.now < end {
            if bench.list == [address(1)] {
                _ = bench.take()
                bench.tell(.linkAccepted(address(1)))
                if bench.actions.contains(.secure(device: "A1", address(1), mayPair: true)) { pairings += 1 }
                bench.tell(.securityEnded(device: "A1", .authenticationFailed))
                bench.tell(.disconnected(address(1), .localHost))
                if bench.take().contains(.removeBond(device: "A1", address(1))) {
                    removals += 1
                    bench.tell(.bondRemoved(device: "A1"))
                }
            }
            bench.pass(.milliseconds(250))
        }
        #expect(removals == 1, "a bond is removed only when one exists")
        #expect((20...60).contains(pairings))
    }

    @Test("a key that the policy does not take is forgotten, and the link not used")
    func unacceptable() {
        let device = collar("A1", at: address(1), pairing: PairingPolicy(passkey: .fixed(123_456)))
        var bench = ConnectorBench([device])
        bench.tell(.linkAccepted(address(1)))
        bench.tell(.keysReceived(device: "A1", acceptable: false))
        bench.tell(.securityEnded(device: "A1", .encrypted))
        bench.tell(.disconnected(address(1), .localHost))
        let asked = bench.take()
        #expect(asked.contains(.removeBond(device: "A1", address(1))))
        #expect(!asked.contains(.storeKeys(device: "A1", address(1))))
        #expect(!asked.contains(.deliver(device: "A1", address(1))))
        #expect(asked.contains(.event(.pairingFailed(device: "A1"))))
    }

    @Test("a device that asks for security is linked anew and encrypted")
    func onDemand() {
        var bench = ConnectorBench([cuff("arm", at: address(1))])
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.deliver(device: "arm", address(1))))
        bench.tell(.securityDemanded(device: "arm"))
        #expect(bench.take().contains(.disconnect(address(1))))
        bench.tell(.disconnected(address(1), .localHost))
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.secure(device: "arm", address(1), mayPair: true)))
    }

    @Test("to forget a device ends its link, removes its keys and its adopted address, and needs the button afterwards")
    func forget() {
        var bench = ConnectorBench([front], bonds: [bond(front, at: address(7))])
        bench.work("A1", address(7))
        _ = bench.take()
        bench.tell(.forget(device: "A1"))
        #expect(bench.take().contains(.disconnect(address(7))))
        bench.tell(.disconnected(address(7), .localHost))
        #expect(bench.take().contains(.removeBond(device: "A1", address(7))))
        bench.tell(.bondRemoved(device: "A1"))
        #expect(bench.list == [address(1)])
        bench.tell(.linkAccepted(address(1)))
        #expect(!bench.actions.contains { if case .secure = $0 { true } else { false } })
        bench.tell(.disconnected(address(1), .localHost))
        #expect(bench.machine.state(of: "A1") == .needsPairing)
        bench.tell(.openPairing(device: "A1"))
        bench.tell(.linkAccepted(address(1)))
        #expect(bench.take().contains(.secure(device: "A1", address(1), mayPair: true)))
    }

    @Test("to forget a device without keys asks the kernel for nothing")
    func forgetUnbonded() {
        var bench = ConnectorBench([front])
        _ = bench.take()
        bench.tell(.forget(device: "A1"))
        #expect(bench.take() == [.forgetStored(device: "A1")])
    }

    @Test("a bond whose removal is never confirmed does not hold the device for ever")
    func removalHangs() {
        var bench = bonded()
        bench.tell(.forget(device: "A1"))
        #expect(bench.list.isEmpty)
        bench.pass(.seconds(60))
        #expect(bench.list == [address(1)])
    }
}

@Suite("The pairing policy")
struct PairingPolicyTests {
    @Test("without a passkey a device is paired by Just Works, and nothing else is agreed to")
    func justWorks() {
        let policy = PairingPolicy()
        #expect(policy.answer(.justWorks, passkey: nil) == .accept)
        #expect(policy.answer(.comparison(123_456), passkey: nil) == .refuse)
        #expect(policy.answer(.passkey, passkey: nil) == .refuse)
        #expect(policy.ioCapability == .noInputNoOutput)
    }

    @Test("a device with a passkey is never paired without it, and its keys must show that")
    func passkey() {
        let policy = PairingPolicy(passkey: .fixed(42))
        #expect(policy.answer(.justWorks, passkey: 42) == .refuse)
        #expect(policy.answer(.passkey, passkey: 42) == .enter(42))
        #expect(policy.level == .high)
        #expect(!policy.accepts(longTermKey(address(1))))
        #expect(policy.accepts(longTermKey(address(1), kind: .authenticatedP256)))
    }

    @Test("a key made with the debug key is never accepted")
    func debugKey() {
        #expect(!PairingPolicy().accepts(longTermKey(address(1), kind: .debugP256)))
    }

    @Test("a passkey from a file has exactly six digits, leading zeros and all", arguments: [
        ("000042", 42 as UInt32?), ("999999", 999_999), ("42", nil), ("1234567", nil), ("12345a", nil), ("+12345", nil), ("١٢٣٤٥٦", nil), ("", nil),
    ])
    func file(text: String, passkey: UInt32?) throws {
        let policy = PairingPolicy(passkey: .file("/passkey"))
        let read = try? policy.readPasskey { path in
            #expect(path == "/passkey")
            return text
        }
        #expect(read == passkey)
    }

    @Test("a passkey file that cannot be read is an error with a code")
    func unreadable() {
        do {
            _ = try PairingPolicy(passkey: .file("/passkey")).readPasskey { _ in throw SystemError("open", code: 2) }
            Issue.record("no error")
        } catch {
            #expect(error.code == "passkey-unreadable")
        }
        do {
            _ = try PairingPolicy(passkey: .fixed(1_000_000)).readPasskey()
            Issue.record("no error")
        } catch {
            #expect(error.code == "passkey-malformed")
        }
    }
}
