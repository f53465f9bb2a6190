import Platform
import Testing

@testable import Radio

@Suite("The connector: candidates and adoption")
struct ConnectorAdoptionTests {
    private let front = collar("A1", at: address(1))

    /// The collar unheard for ten minutes.
    private func stale(_ devices: [RadioDevice]? = nil) -> ConnectorBench {
        let devices = devices ?? [front]
        var bench = ConnectorBench(devices, bonds: devices.filter { $0.address != nil }.map { bond($0) })
        bench.pass(.seconds(600))
        _ = bench.take()
        return bench
    }

    @Test("a stale collar that is heard under another address is tried, stored and then linked there")
    func adoption() {
        var bench = stale()
        bench.hear(address(8), collarData("A1"))
        let asked = bench.take()
        #expect(asked.contains(.tryCandidate(device: "A1", address(8))))
        #expect(asked.contains(.endScan), "a controller does not scan and connect at once")
        #expect(bench.machine.state(of: "A1") == .pairing)
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "A1", isEncrypted: true))))
        #expect(bench.take().contains(.adopt(device: "A1", address(8))))
        #expect(!bench.list.contains(address(8)), "not before it is stored")
        bench.tell(.adoptionStored(device: "A1", true))
        let done = bench.take()
        #expect(bench.list == [address(8)])
        #expect(done.contains(.discardKeys(address(1))))
        #expect(done.contains(.event(.adopted(device: "A1", address(8)))))
        bench.work("A1", address(8))
        #expect(bench.machine.state(of: "A1") == .working)
    }

    @Test("a collar behind a private address is adopted under its identity address")
    func privateAddress() {
        var bench = stale()
        let random = BluetoothAddress("4A:11:22:33:44:55", kind: .random)!
        bench.hear(random, collarData("A1"))
        bench.tell(.trialEnded(random, .success(TrialFinding(address: address(8), serial: "A1", isEncrypted: true))))
        bench.tell(.adoptionStored(device: "A1", true))
        #expect(bench.list == [address(8)])
    }

    @Test("an address that cannot be stored is not adopted, and its keys are forgotten")
    func notStored() {
        var bench = stale()
        bench.hear(address(8), collarData("A1"))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "A1", isEncrypted: true))))
        bench.tell(.adoptionStored(device: "A1", false))
        #expect(bench.list == [address(1)])
        #expect(bench.actions.contains(.discardKeys(address(8))))
        #expect(bench.events.contains(.notStored(device: "A1")))
    }

    @Test("the same service with another identity is never connected, only told")
    func wrongIdentity() {
        var bench = stale()
        bench.hear(address(8), collarData("Z9"))
        #expect(bench.take() == [.event(.unknown(address(8), claims: []))])
        bench.hear(address(8), collarData("Z9"))
        #expect(bench.take().isEmpty, "told once")
    }

    @Test("the service alone, without an identity, is nobody")
    func noIdentity() {
        var bench = stale()
        bench.hear(address(8), AdvertisingData([17, 7] + CollarProfile().service.littleEndian))
        #expect(bench.take().isEmpty)
    }

    @Test("a wrong serial number is a spoof: not adopted, its keys forgotten, left alone for an hour")
    func spoof() {
        var bench = stale()
        bench.hear(address(8), collarData("A1"))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "Z9", isEncrypted: true))))
        let asked = bench.take()
        #expect(asked.contains(.event(.spoofed(device: "A1", address(8), serial: "Z9"))))
        #expect(asked.contains(.discardKeys(address(8))))
        #expect(!asked.contains { if case .adopt = $0 { true } else { false } })
        for _ in 0..<59 {
            bench.pass(.seconds(60))
            bench.hear(address(8), collarData("A1"))
        }
        #expect(!bench.take().contains(.tryCandidate(device: "A1", address(8))))
        bench.pass(.seconds(61))
        bench.hear(address(8), collarData("A1"))
        #expect(bench.take().contains(.tryCandidate(device: "A1", address(8))))
    }

    @Test("a spoof does not keep the true collar from being found")
    func spoofAndTruth() {
        var bench = stale()
        bench.hear(address(8), collarData("A1"), rssi: -30)
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "Z9", isEncrypted: true))))
        bench.hear(address(9), collarData("A1"), rssi: -80)
        bench.pass(.seconds(10))
        #expect(bench.take().contains(.tryCandidate(device: "A1", address(9))))
    }

    @Test("a right serial number over a link that is not encrypted is not enough")
    func notEncrypted() {
        var bench = stale()
        bench.hear(address(8), collarData("A1"))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "A1", isEncrypted: false))))
        #expect(bench.events.contains(.candidateFailed(device: "A1", address(8), .notEncrypted)))
        #expect(!bench.actions.contains { if case .adopt = $0 { true } else { false } })
    }

    @Test("firmware that cannot pair is adopted by its serial number alone")
    func withoutSecurity() {
        let device = collar("A1", at: address(1), security: .none)
        var bench = ConnectorBench([device])
        bench.pass(.seconds(600))
        bench.hear(address(8), collarData("A1"))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "A1", isEncrypted: false))))
        #expect(bench.take().contains(.adopt(device: "A1", address(8))))
    }

    @Test("a candidate that has no serial number to say is not adopted")
    func noSerial() {
        var bench = stale()
        bench.hear(address(8), collarData("A1"))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: nil, isEncrypted: true))))
        #expect(bench.events.contains(.candidateFailed(device: "A1", address(8), .noSerial)))
    }

    @Test("an address that is another configured device's is not adopted, and keeps its keys")
    func taken() {
        let back = collar("B2", at: address(2))
        var bench = stale([front, back])
        bench.hear(address(8), collarData("A1"))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(2), serial: "A1", isEncrypted: true))))
        #expect(!bench.actions.contains { if case .adopt = $0 { true } else { false } })
        #expect(!bench.actions.contains(.discardKeys(address(2))))
        #expect(bench.machine.address(of: "B2") == address(2))
    }

    @Test("one trial at a time, whoever else is heard")
    func oneAtATime() {
        var bench = stale([front, collar("B2", at: address(2))])
        bench.hear(address(8), collarData("A1"))
        bench.hear(address(9), collarData("B2"))
        #expect(bench.actions.filter { if case .tryCandidate = $0 { true } else { false } }.count == 1)
        bench.tell(.trialEnded(address(8), .failure(.unreachable)))
        #expect(bench.actions.contains(.tryCandidate(device: "B2", address(9))))
    }

    @Test("trials that fail are repeated at a pace that slows down to ten minutes")
    func trialPace() {
        var bench = stale()
        var trials = 0
        let end = bench.now + .seconds(7_200)
        while bench.now < end {
            bench.hear(address(8), collarData("A1"))
            if bench.take().contains(.tryCandidate(device: "A1", address(8))) {
                trials += 1
                bench.tell(.trialEnded(address(8), .failure(.unreachable)))
            }
            bench.pass(.seconds(1))
        }
        #expect((12...20).contains(trials))
    }

    @Test("a trial whose end is never told is given up after four minutes")
    func lostTrial() {
        var bench = stale()
        bench.hear(address(8), collarData("A1"))
        bench.pass(.seconds(240))
        #expect(bench.actions.contains(.abandonTrial(address(8))))
        #expect(bench.events.contains(.candidateFailed(device: "A1", address(8), .timeout)))
    }

    @Test("a collar that comes by itself ends the trial of another")
    func cameByItself() {
        var bench = stale()
        bench.hear(address(8), collarData("A1"))
        _ = bench.take()
        bench.tell(.linkAccepted(address(1)))
        let asked = bench.take()
        #expect(asked.contains(.abandonTrial(address(8))))
        #expect(asked.contains(.discardKeys(address(8))))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "A1", isEncrypted: true))))
        #expect(!bench.take().contains { if case .adopt = $0 { true } else { false } })
    }

    @Test("ten thousand addresses that say they are ours cost bounded memory, one trial at a time, and not the true one")
    func flood() {
        var bench = stale()
        var trials: [BluetoothAddress] = []
        var number: UInt16 = 100
        for round in 0..<1_000 {
            for _ in 0..<10 {
                number += 1
                bench.hear(address(number), collarData(round.isMultiple(of: 2) ? "A1" : "Z\(number)"), rssi: -70)
            }
            bench.hear(address(50), collarData("A1"), rssi: -50)
            bench.pass(.seconds(1))
            for case .tryCandidate(_, let candidate) in bench.take() {
                trials.append(candidate)
                bench.tell(.trialEnded(candidate, candidate == address(50) && trials.count > 3
                    ? .success(TrialFinding(address: candidate, serial: "A1", isEncrypted: true)) : .failure(.unreachable)))
            }
            #expect(bench.machine.candidates.count <= 3 * 64)
        }
        #expect(trials.contains(address(50)))
        #expect(trials.count < 15)
    }

    // MARK: The pairing window

    @Test("a collar without an address is not adopted before somebody opens pairing")
    func closedWindow() {
        var bench = ConnectorBench([collar("A1", at: nil)])
        _ = bench.take()
        bench.hear(address(8), collarData("A1"))
        bench.pass(.seconds(3_600))
        #expect(!bench.take().contains { if case .tryCandidate = $0 { true } else { false } })
        #expect(bench.machine.exit(of: "A1") == .user)
    }

    @Test("while pairing is open a collar without an address adopts the one candidate, and then it is closed")
    func openWindow() {
        var bench = ConnectorBench([collar("A1", at: nil)])
        bench.tell(.openPairing(device: nil))
        #expect(bench.take().contains(.beginScan))
        bench.hear(address(8), collarData("A1"))
        bench.hear(address(9), collarData("Z9"))
        #expect(!bench.actions.contains { if case .tryCandidate = $0 { true } else { false } }, "a second one may come")
        bench.pass(.seconds(8))
        #expect(bench.take().contains(.tryCandidate(device: "A1", address(8))))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "A1", isEncrypted: true))))
        bench.tell(.adoptionStored(device: "A1", true))
        #expect(bench.list == [address(8)])
        #expect(bench.events.contains(.pairingClosed))
    }

    @Test("two candidates: neither is adopted, and that is said once")
    func ambiguous() {
        var bench = ConnectorBench([cuff("arm")])
        bench.tell(.openPairing(device: nil))
        for _ in 0..<100 {
            bench.hear(address(8), cuffData)
            bench.hear(address(9), cuffData)
            bench.pass(.seconds(1))
        }
        #expect(!bench.actions.contains { if case .tryCandidate = $0 { true } else { false } })
        #expect(bench.events.filter { $0 == .ambiguous(devices: ["arm"], [address(8), address(9)]) }.count == 1)
    }

    @Test("when one of two candidates is gone the other is adopted")
    func oneLeft() {
        var bench = ConnectorBench([cuff("arm")])
        bench.tell(.openPairing(device: nil))
        bench.hear(address(9), cuffData)
        for _ in 0..<50 {
            bench.hear(address(8), cuffData)
            bench.pass(.seconds(1))
        }
        #expect(bench.actions.contains(.tryCandidate(device: "arm", address(8))))
    }

    @Test("two cuffs without an address and one candidate: nobody knows whose it is, until one is named")
    func twoCuffs() {
        var bench = ConnectorBench([cuff("arm"), cuff("wrist")])
        bench.tell(.openPairing(device: nil))
        bench.hear(address(8), cuffData)
        bench.pass(.seconds(10))
        #expect(!bench.actions.contains { if case .tryCandidate = $0 { true } else { false } })
        #expect(bench.events.contains(.ambiguous(devices: ["arm", "wrist"], [address(8)])))
        bench.tell(.openPairing(device: "wrist"))
        bench.hear(address(8), cuffData)
        bench.pass(.seconds(10))
        #expect(bench.actions.contains(.tryCandidate(device: "wrist", address(8))))
    }

    @Test("a collar and a cuff that are looked for at once are adopted one after the other, each by its own kind of word")
    func collarAndCuff() {
        var bench = ConnectorBench([collar("A1", at: nil), cuff("arm", security: .encrypted)])
        bench.tell(.openPairing(device: nil))
        bench.hear(address(8), collarData("A1"))
        bench.hear(address(9), cuffData)
        bench.pass(.seconds(8))
        let trials: [ConnectorAction] = [.tryCandidate(device: "A1", address(8)), .tryCandidate(device: "arm", address(9))]
        let first = bench.take().filter(trials.contains)
        #expect(first == [trials[0]], "one at a time")
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "A1", isEncrypted: true))))
        bench.tell(.adoptionStored(device: "A1", true))
        #expect(bench.machine.pairingOpenUntil != nil, "the cuff is still to be found")
        bench.hear(address(9), cuffData)
        bench.pass(.seconds(1))
        #expect(bench.take().contains(trials[1]))
        bench.tell(.trialEnded(address(9), .success(TrialFinding(address: address(9), serial: nil, isEncrypted: true))))
        bench.tell(.adoptionStored(device: "arm", true))
        #expect(Set(bench.list) == [address(8), address(9)])
        #expect(bench.machine.isBonded("arm") && bench.machine.pairingOpenUntil == nil)
        #expect(bench.events.contains(.adopted(device: "arm", address(9))))
    }

    @Test("two cuffs beside a collar: the collar is adopted, and neither cuff")
    func collarAndTwoCuffs() {
        var bench = ConnectorBench([collar("A1", at: nil), cuff("arm", security: .encrypted)])
        bench.tell(.openPairing(device: nil))
        for second in 0..<100 {
            bench.hear(address(8), collarData("A1"))
            bench.hear(address(9), cuffData)
            bench.hear(address(10), cuffData)
            bench.pass(.seconds(1))
            guard second == 20 else { continue }
            bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: "A1", isEncrypted: true))))
            bench.tell(.adoptionStored(device: "A1", true))
        }
        #expect(bench.list == [address(8)])
        #expect(!bench.actions.contains { if case .tryCandidate(device: "arm", _) = $0 { true } else { false } })
        #expect(bench.events.contains(.ambiguous(devices: ["arm"], [address(9), address(10)])))
    }

    @Test("cuffs of two kinds do not get in each other's way, and a cuff is recognised by another service of its model")
    func kinds() {
        let own = BluetoothUUID("14839ac4-7d7e-415c-9a42-167340cf2339")!
        let wrist = RadioDevice(id: "wrist", service: own, otherServices: [.uuid16(0xFE4A)], serial: nil, identity: nil, address: nil, security: .none)
        var bench = ConnectorBench([cuff("arm"), wrist])
        bench.tell(.openPairing(device: nil))
        bench.hear(address(8), AdvertisingData([3, 3, 0x4A, 0xFE]))
        bench.hear(address(9), cuffData)
        bench.hear(address(10), AdvertisingData([3, 3, 0x0D, 0x18]))
        bench.pass(.seconds(8))
        #expect(bench.take().contains(.tryCandidate(device: "arm", address(9))))
        bench.tell(.trialEnded(address(9), .failure(.unreachable)))
        bench.hear(address(8), AdvertisingData([3, 3, 0x4A, 0xFE]))
        bench.pass(.seconds(1))
        #expect(bench.take().contains(.tryCandidate(device: "wrist", address(8))))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: nil, isEncrypted: false))))
        bench.tell(.adoptionStored(device: "wrist", true))
        #expect(bench.list == [address(8)])
    }

    @Test("a cuff that is to be encrypted is not adopted over a link that is not")
    func unencryptedCuff() {
        var bench = ConnectorBench([cuff("arm", security: .encrypted)])
        bench.tell(.openPairing(device: nil))
        bench.hear(address(8), cuffData)
        bench.pass(.seconds(8))
        bench.tell(.trialEnded(address(8), .success(TrialFinding(address: address(8), serial: nil, isEncrypted: false))))
        #expect(bench.events.contains(.candidateFailed(device: "arm", address(8), .notEncrypted)))
        #expect(bench.list == [])
    }

    @Test("a configured device's own address is no new candidate")
    func ownAddress() {
        var bench = ConnectorBench([cuff("arm"), cuff("wrist", at: address(8))])
        bench.tell(.openPairing(device: nil))
        bench.hear(address(8), cuffData)
        bench.pass(.seconds(10))
        #expect(!bench.actions.contains { if case .tryCandidate = $0 { true } else { false } })
    }

    @Test("pairing is open for two minutes, with scans one after the other")
    func windowEnds() {
        var bench = ConnectorBench([collar("A1", at: nil)])
        bench.tell(.openPairing(device: nil))
        for _ in 0..<10 {
            #expect(bench.take().contains(.beginScan))
            bench.pass(.milliseconds(10_240))
            bench.tell(.scanEnded(failed: false))
            bench.pass(.seconds(1))
        }
        bench.pass(.seconds(20))
        #expect(bench.events.contains(.pairingClosed))
        #expect(bench.machine.pairingOpenUntil == nil)
        _ = bench.take()
        bench.pass(.seconds(3_600))
        #expect(bench.scans == 0)
    }

    @Test("opening pairing finds a collar with a new address at once, before it is stale")
    func button() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.tell(.openPairing(device: "A1"))
        bench.hear(address(8), collarData("A1"))
        bench.pass(.seconds(8))
        #expect(bench.take().contains(.tryCandidate(device: "A1", address(8))))
    }

    @Test("pairing for a device that is not configured opens nothing")
    func notConfigured() {
        var bench = ConnectorBench([front])
        bench.tell(.openPairing(device: "Z9"))
        #expect(bench.machine.pairingOpenUntil == nil)
    }

    @Test("an operator's scan runs for as long as it was asked for")
    func operatorScan() {
        var bench = ConnectorBench([front], bonds: [bond(front)])
        bench.work("A1", address(1))
        bench.tell(.scan(.seconds(15)))
        #expect(bench.take().contains(.beginScan))
        bench.pass(.seconds(15))
        #expect(bench.take().contains(.endScan))
        bench.pass(.seconds(100))
        #expect(bench.scans == 0)
    }
}
