import Platform
import Testing

@testable import Radio

@Suite("What a connector asks of the controller")
struct ControllerRequestTests {
    @Test("devices that come and go are added and removed, parameters first, and others are left alone")
    func devices() {
        var desk = ControllerDesk.ready(devices: [1, 2].map { ControllerDevice(address: device($0)) })
        desk.take(desk.machine.devicesChanged([ControllerDevice(address: device(2), parameters: .stream), ControllerDevice(address: device(3))]))
        desk.answerAll()
        #expect(desk.commands == [
            .addDevice(device(1), .allowIncoming), .removeDevice(device(1)), .loadConnectionParameters(device(2), .stream), .loadConnectionParameters(device(3), .rest),
            .addDevice(device(3), .autoConnect),
        ])
        desk.forget()
        desk.take(desk.machine.devicesChanged([ControllerDevice(address: device(2), parameters: .stream), ControllerDevice(address: device(3))]))
        #expect(desk.commands.isEmpty)
    }

    @Test("a device is off the list before its link is ended, or the kernel would make it again")
    func intendedDisconnection() {
        var desk = ControllerDesk.ready()
        desk.take(desk.machine.devicesChanged([]))
        desk.take(desk.machine.disconnect(device(1)))
        // The kernel may be connecting it just now: that is over when it answers, and only then the device is forgotten.
        #expect(desk.commands == [.addDevice(device(1), .allowIncoming)], "each waits for the one before")
        desk.answerOne()
        #expect(desk.commands == [.addDevice(device(1), .allowIncoming), .removeDevice(device(1))])
        desk.answerOne()
        #expect(desk.commands == [.addDevice(device(1), .allowIncoming), .removeDevice(device(1)), .disconnect(device(1))])
    }

    @Test("changes that come before the controller is ready are part of its set-up")
    func earlyChanges() {
        var desk = ControllerDesk()
        desk.take(desk.machine.devicesChanged([ControllerDevice(address: device(5))]))
        desk.take(desk.machine.bondsChanged(BondKeys(longTermKeys: [longTermKey(device(5))])))
        #expect(desk.commands.isEmpty)
        desk.start()
        #expect(desk.kernel.controllers[hci0]?.list == [device(5)])
        #expect(desk.commands.contains(.loadLongTermKeys([longTermKey(device(5))])))
    }

    @Test("each list of keys is loaded whole when it has changed, and only then")
    func bonds() {
        let first = BondKeys(longTermKeys: [longTermKey(device(1))], identityResolvingKeys: [identityKey(device(1))])
        var desk = ControllerDesk.ready(bonds: first)
        desk.take(desk.machine.bondsChanged(first))
        #expect(desk.commands.isEmpty)
        var more = first
        more.add(longTermKey(device(2)))
        desk.take(desk.machine.bondsChanged(more))
        desk.answerAll()
        #expect(desk.commands == [.loadLongTermKeys(more.longTermKeys)])
    }

    @Test("a key that a pairing gave is told, kept for the next set-up, and not loaded a second time")
    func newKeys() {
        var desk = ControllerDesk.ready()
        let key = longTermKey(device(1))
        let identity = identityKey(device(1))
        desk.tell(.newIdentityResolvingKey(identity, randomAddress: [6, 5, 4, 3, 2, 0x41], store: true))
        desk.tell(.newLongTermKey(key, store: true))
        #expect(desk.events == [.newIdentityResolvingKey(identity, randomAddress: [6, 5, 4, 3, 2, 0x41]), .newLongTermKey(key)])
        desk.take(desk.machine.bondsChanged(BondKeys(longTermKeys: [key], identityResolvingKeys: [identity])))
        #expect(desk.commands.isEmpty)
        desk.take(desk.machine.powerCycle())
        desk.answerAll()
        #expect(desk.commands.contains(.loadLongTermKeys([key])) && desk.commands.contains(.loadIdentityResolvingKeys([identity])))
        desk.forget()
        desk.tell(.newLongTermKey(longTermKey(device(2)), store: false))
        #expect(desk.events.isEmpty && desk.machine.keys.longTermKeys == [key], "a key that is not to be stored is not")
    }

    @Test("a new key replaces what it makes void: the two directions of a legacy pairing stand together, Secure Connections alone")
    func replacement() {
        var bonds = BondKeys()
        bonds.add(longTermKey(device(1), kind: .unauthenticatedLegacy, isInitiator: true))
        bonds.add(longTermKey(device(1), kind: .unauthenticatedLegacy, isInitiator: false))
        bonds.add(longTermKey(device(2)))
        #expect(bonds.longTermKeys.count == 3)
        bonds.add(longTermKey(device(1), kind: .unauthenticatedLegacy, isInitiator: true, fill: 1))
        #expect(bonds.longTermKeys.count == 3)
        bonds.add(longTermKey(device(1), kind: .authenticatedP256, fill: 2))
        #expect(bonds.longTermKeys == [longTermKey(device(2)), longTermKey(device(1), kind: .authenticatedP256, fill: 2)])
        bonds.remove(device(2))
        #expect(!bonds.contains(device(2)) && bonds.contains(device(1)))
    }

    @Test("a pairing that only asks whether to pair is agreed to for a device that may, and for no other")
    func confirmation() {
        var desk = ControllerDesk.ready()
        desk.tell(.userConfirmationRequest(device(1), justWorks: true, value: 0))
        #expect(desk.commands == [.userConfirmationReply(device(1), accept: false)])
        #expect(desk.events == [.pairingRefused(device(1))])
        desk.machine.allowPairing(device(1))
        desk.tell(.userConfirmationRequest(device(1), justWorks: true, value: 0))
        #expect(desk.commands.last == .userConfirmationReply(device(1), accept: true))
        // Nobody is here to compare numbers.
        desk.tell(.userConfirmationRequest(device(1), justWorks: false, value: 123_456))
        #expect(desk.commands.last == .userConfirmationReply(device(1), accept: false))
        desk.machine.forbidPairing(device(1))
        desk.tell(.userConfirmationRequest(device(1), justWorks: true, value: 0))
        #expect(desk.commands.last == .userConfirmationReply(device(1), accept: false))

        var policy = ControllerPolicy()
        policy.acceptsJustWorks = false
        var strict = ControllerDesk.ready(policy: policy)
        strict.machine.allowPairing(device(1))
        strict.tell(.userConfirmationRequest(device(1), justWorks: true, value: 0))
        #expect(strict.commands == [.userConfirmationReply(device(1), accept: false)])
    }

    @Test("a passkey is the device's own, else the common one, and none for a device that may not pair or a number that is none")
    func passkeys() {
        var policy = ControllerPolicy()
        policy.ioCapability = .keyboardOnly
        policy.passkey = 111_111
        policy.devicePasskeys = [device(2): 222_222, device(3): 1_000_000]
        var desk = ControllerDesk.ready(policy: policy)
        for number in UInt8(1)...3 { desk.machine.allowPairing(device(number)) }
        for number in UInt8(1)...4 { desk.tell(.userPasskeyRequest(device(number))) }
        #expect(desk.commands == [
            .userPasskeyReply(device(1), 111_111), .userPasskeyReply(device(2), 222_222), .userPasskeyReply(device(3), nil), .userPasskeyReply(device(4), nil),
        ])
        #expect(desk.events == [.pairingRefused(device(3)), .pairingRefused(device(4))])
        desk.tell(.passkeyNotify(device(1), passkey: 7, entered: 0))
        #expect(desk.events.last == .passkeyToShow(device(1), 7))
    }

    @Test("Pair Device allows its device to pair until it ends, and can be given up")
    func pairing() {
        var desk = ControllerDesk.ready()
        desk.take(desk.machine.pair(device(4)))
        desk.tell(.userConfirmationRequest(device(4), justWorks: true, value: 0))
        desk.take(desk.machine.cancelPairing(device(4)))
        desk.take(desk.machine.cancelPairing(device(5)))
        #expect(desk.commands == [
            .pairDevice(device(4), .noInputNoOutput), .userConfirmationReply(device(4), accept: true), .cancelPairDevice(device(4)),
        ])
        desk.answerOne(.refused(.cancelled))
        #expect(desk.events == [.pairingEnded(device(4), .cancelled)])
        desk.tell(.userConfirmationRequest(device(4), justWorks: true, value: 0))
        #expect(desk.commands.last == .userConfirmationReply(device(4), accept: false))

        var none = ControllerDesk()
        none.take(none.machine.pair(device(4)))
        #expect(none.events == [.pairingEnded(device(4), .notPowered)])
    }

    @Test("a pairing that never ends is cancelled, and is no trouble of the controller's")
    func endlessPairing() {
        var desk = ControllerDesk.ready()
        desk.take(desk.machine.pair(device(4)))
        desk.answerOne(.unanswered)
        #expect(desk.events == [.pairingEnded(device(4), .timeout)])
        #expect(desk.commands.last == .cancelPairDevice(device(4)))
        #expect(desk.isReady)
    }

    @Test("a configured device that was unpaired is added again at once and when its link is down, as the kernel drops it")
    func unpairing() {
        var desk = ControllerDesk.ready(bonds: BondKeys(longTermKeys: [longTermKey(device(1))]))
        desk.take(desk.machine.unpair(device(1)))
        desk.answerAll()
        #expect(desk.commands == [.unpairDevice(device(1), disconnect: true), .loadConnectionParameters(device(1), .rest), .addDevice(device(1), .autoConnect)])
        #expect(desk.events == [.unpaired(device(1), .success)])
        #expect(!desk.machine.keys.contains(device(1)))
        desk.forget()
        desk.tell(.deviceDisconnected(device(1), .localHost))
        #expect(desk.commands.first == .loadConnectionParameters(device(1), .rest))
        desk.answerAll()
        desk.forget()
        desk.tell(.deviceDisconnected(device(1), .remote))
        #expect(desk.commands.isEmpty)
    }

    @Test("what others do to keys and to the list is noticed")
    func foreignRemoval() {
        var desk = ControllerDesk.ready(bonds: BondKeys(longTermKeys: [longTermKey(device(1))]))
        desk.tell(.deviceUnpaired(device(1)))
        #expect(desk.events == [.unpaired(device(1), .success)])
        #expect(!desk.machine.keys.contains(device(1)))
        desk.tell(.deviceRemoved(device(1)))
        desk.answerAll()
        #expect(desk.commands == [.loadConnectionParameters(device(1), .rest), .addDevice(device(1), .autoConnect)])
        desk.forget()
        desk.tell(.deviceRemoved(device(9)))
        #expect(desk.commands.isEmpty)
    }

    @Test("a scan ends by the kernel's word, by the connector's, by a timer, or by its refusal, and each end is told once")
    func scans() {
        var desk = ControllerDesk.ready()
        desk.take(desk.machine.beginScan())
        #expect(desk.machine.isScanning)
        desk.take(desk.machine.beginScan())
        desk.answerAll()
        #expect(desk.commands == [.startDiscovery])
        // The end of a scan before this one.
        desk.tell(.discovering(false))
        #expect(desk.events.isEmpty)
        desk.tell(.discovering(true))
        let advertisement = Advertisement(address: device(7), rssi: -50, flags: [], data: [2, 1, 6])
        desk.tell(.deviceFound(advertisement))
        desk.tell(.discovering(false))
        desk.tell(.discovering(false))
        #expect(desk.events == [.found(advertisement), .scanEnded(heard: 1, failure: nil)])
        #expect(desk.timers[.scan] == nil)

        desk.forget()
        desk.take(desk.machine.beginScan())
        desk.answerAll()
        desk.take(desk.machine.endScan())
        desk.take(desk.machine.endScan())
        desk.answerAll()
        #expect(desk.commands == [.startDiscovery, .stopDiscovery])
        #expect(desk.events == [.scanEnded(heard: 0, failure: nil)])

        desk.forget()
        desk.take(desk.machine.beginScan())
        desk.answerAll()
        desk.fire(.scan)
        desk.answerAll()
        #expect(desk.commands == [.startDiscovery, .stopDiscovery])
        #expect(desk.events == [.scanEnded(heard: 0, failure: nil)])

        desk.forget()
        desk.kernel.scripted[.startDiscovery] = [.refused(.busy)]
        desk.take(desk.machine.beginScan())
        desk.answerAll()
        #expect(desk.events == [.scanEnded(heard: 0, failure: .busy)])
        #expect(!desk.machine.isScanning && desk.isReady)
    }

    @Test("a scan ends, and says so, when its controller is lost; without a controller none begins")
    func scanWithoutController() {
        var desk = ControllerDesk.ready()
        desk.take(desk.machine.beginScan())
        desk.answerAll()
        desk.kernel.controllers = [:]
        desk.tell(.indexRemoved)
        desk.answerAll()
        desk.take(desk.machine.beginScan())
        #expect(desk.events.filter { if case .scanEnded(0, .notPowered) = $0 { true } else { false } }.count == 2)
        #expect(desk.timers[.scan] == nil)
    }

    @Test("what another controller tells is nothing to us")
    func otherController() {
        var desk = ControllerDesk.ready()
        desk.tell(.deviceConnected(device(1), flags: 0, data: []), from: hci1)
        desk.tell(.newSettings([]), from: hci1)
        desk.tell(.indexAdded, from: hci1)
        desk.tell(.indexRemoved, from: hci1)
        #expect(desk.events.isEmpty && desk.commands.isEmpty && desk.isReady)
    }
}
