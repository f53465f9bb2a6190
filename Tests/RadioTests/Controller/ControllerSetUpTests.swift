import Platform
import Testing

@testable import Radio

@Suite("The set-up of a controller")
struct ControllerSetUpTests {
    @Test("it goes in its order: settings and keys before power, links that are up before devices, parameters before each device")
    func order() {
        var policy = ControllerPolicy()
        policy.systemConfiguration = [.autoConnectTimeout(milliseconds: 4_000)]
        let bonds = BondKeys(longTermKeys: [longTermKey(device(1))], identityResolvingKeys: [identityKey(device(1))])
        var desk = ControllerDesk(policy: policy, devices: [2, 1].map { ControllerDevice(address: device($0)) }, bonds: bonds)
        desk.start()
        #expect(desk.commands == [
            .readVersion, .readSupportedCommands, .readExtendedIndexList, .readControllerInformation,
            .setBREDR(false), .setSecureConnections(.on), .setBondable(true), .setIOCapability(.noInputNoOutput),
            .loadLongTermKeys(bonds.longTermKeys), .loadIdentityResolvingKeys(bonds.identityResolvingKeys),
            .setDefaultSystemConfiguration(policy.systemConfiguration), .removeDevice(nil), .setPowered(true), .getConnections,
            .loadConnectionParameters(device(1), .rest), .addDevice(device(1), .autoConnect),
            .loadConnectionParameters(device(2), .rest), .addDevice(device(2), .autoConnect),
        ])
        guard case .ready(hci0, let information) = desk.events.last else { Issue.record("\(desk.events)"); return }
        #expect(information.current.isSuperset(of: [.powered, .lowEnergy, .bondable]) && !information.current.contains(.brEDR))
        #expect(desk.timers == [.audit: policy.auditInterval, .steady: policy.steadyPeriod])
    }

    @Test("a controller that is powered with BR/EDR is switched off first, and what others can see of us is turned off")
    func poweredBefore() {
        var desk = ControllerDesk()
        desk.kernel.controllers[hci0]?.settings = [.powered, .brEDR, .advertising, .discoverable, .connectable]
        desk.start()
        #expect(desk.commands.dropFirst(4).prefix(6) == [
            .setPowered(false), .setLowEnergy(true), .setBREDR(false), .setAdvertising(false), .setDiscoverable(false), .setConnectable(false),
        ])
        #expect(desk.isReady)
    }

    @Test("a controller that a former process left on is switched off once, whatever it was about to link")
    func inherited() {
        for devices in [[], [ControllerDevice(address: device(1))]] {
            var desk = ControllerDesk(devices: devices)
            desk.kernel.controllers[hci0]?.settings = [.powered, .lowEnergy, .bondable, .secureConnections]
            desk.kernel.controllers[hci0]?.list = [device(1), device(2)]
            desk.kernel.controllers[hci0]?.begun = [device(1)]
            desk.kernel.controllers[hci0]?.stuck = [device(2)]
            desk.kernel.controllers[hci0]?.links = [device(3)]
            desk.start()
            #expect(desk.commands.filter { $0.opcode == .setPowered } == [.setPowered(false), .setPowered(true)])
            #expect(desk.kernel.controllers[hci0]?.stuck == [] && desk.kernel.controllers[hci0]?.begun == [] && desk.kernel.controllers[hci0]?.links == [])
            #expect(desk.isReady)
        }
    }

    @Test("when a controller that is left on will not be switched off, the set-up goes on without that")
    func inheritedAndStubborn() {
        var desk = ControllerDesk()
        desk.kernel.controllers[hci0]?.settings = [.powered, .lowEnergy]
        desk.kernel.scripted[.setPowered] = [.refused(.notSupported), .refused(.notSupported)]
        desk.start()
        #expect(desk.isReady && desk.exits.isEmpty)
        #expect(desk.kernel.controllers[hci0]?.list == [device(1)])
    }

    @Test("another controller under the same number is inherited too")
    func inheritedAnew() {
        var desk = ControllerDesk.ready()
        desk.kernel.controllers[hci0] = nil
        desk.tell(.indexRemoved)
        desk.answerAll()
        desk.kernel.controllers[hci0] = .init(settings: [.powered, .lowEnergy], list: [device(1)], begun: [device(1)])
        desk.forget()
        desk.tell(.indexAdded)
        desk.answerAll()
        #expect(desk.commands.contains(.setPowered(false)))
        #expect(desk.kernel.controllers[hci0]?.stuck == [])
        #expect(desk.isReady)
    }

    @Test("a controller that the process has set up itself keeps its power in the next set-up, and its links with a channel of ours")
    func linksThatAreUp() {
        var desk = ControllerDesk.ready()
        desk.kernel.controllers[hci0]?.links = [device(1), device(2)]
        desk.kernel.controllers[hci0]?.begun = [device(1)]
        desk.machine.channelOpened(device(1))
        // Somebody else turned advertising on: the set-up is replayed.
        desk.kernel.controllers[hci0]?.settings.insert(.advertising)
        desk.tell(.newSettings(desk.kernel.controllers[hci0]?.settings ?? []))
        desk.fire(.retry)
        desk.answerAll()
        #expect(!desk.commands.contains(.setPowered(false)))
        #expect(desk.commands.filter { $0.opcode == .disconnect } == [.disconnect(device(2))])
        #expect(desk.kernel.controllers[hci0]?.stuck == [], "ours are held before the list is emptied")
        #expect(desk.isReady)
    }

    @Test("the disconnection of a link whose peer has gone is not waited for")
    func slowDisconnection() {
        var desk = ControllerDesk()
        desk.kernel.controllers[hci0]?.links = [device(9)]
        desk.take(desk.machine.start())
        while let next = desk.open.first(where: { $0.command.opcode != .disconnect }) {
            // The lanes of the channel: Disconnect may stay open.
            #expect(desk.open.count <= 2)
            if desk.open.first?.command.opcode == .disconnect { break }
            _ = next
            desk.answerOne()
        }
        #expect(desk.commands.contains(.disconnect(device(9))))
        #expect(desk.commands.last?.opcode == .loadConnectionParameters, "the set-up went on")
    }

    @Test("the configured controller is used and no other; without a configured one, the first that speaks LE")
    func choice() {
        var other = ModelKernel.Controller()
        other.address = [1, 0xF4, 0xF3, 0xF2, 0xF1, 0xF0]
        var policy = ControllerPolicy()
        policy.controller = BluetoothAddress("F0:F1:F2:F3:F4:01", kind: .public)
        var named = ControllerDesk(policy: policy)
        named.kernel.controllers[hci1] = other
        named.start()
        #expect(named.machine.readyIndex == hci1)

        var first = ControllerDesk()
        first.kernel.controllers[hci1] = other
        first.start()
        #expect(first.machine.readyIndex == hci0)

        var classic = ControllerDesk()
        classic.kernel.controllers[hci1] = other
        classic.kernel.controllers[hci0]?.supported = [.powered, .brEDR]
        classic.start()
        #expect(classic.machine.readyIndex == hci1)

        var absent = ControllerDesk(policy: policy)
        absent.start()
        #expect(absent.events == [.unavailable(.notFound(policy.controller!))])
        #expect(absent.timers == [.retry: policy.absencePause])
        absent.kernel.controllers[hci1] = other
        absent.tell(.indexAdded, from: hci1)
        absent.answerAll()
        #expect(absent.machine.readyIndex == hci1)
    }

    @Test("kernels that know neither the extended list nor a default configuration are set up without")
    func oldKernel() {
        var policy = ControllerPolicy()
        policy.systemConfiguration = [.autoConnectTimeout(milliseconds: 4_000)]
        var desk = ControllerDesk(policy: policy)
        desk.kernel.always = [.readSupportedCommands: .done(.supportedCommands([.readIndexList]))]
        desk.start()
        #expect(desk.opcodes.contains(.readIndexList) && !desk.opcodes.contains(.readExtendedIndexList))
        #expect(!desk.opcodes.contains(.setDefaultSystemConfiguration))
        #expect(desk.isReady)
    }

    @Test("a step that is not needed is left out when it fails, and told")
    func optionalSteps() {
        var desk = ControllerDesk()
        desk.kernel.always = [.setSecureConnections: .refused(.notSupported), .loadConnectionParameters: .refused(.invalidParameters)]
        desk.start()
        #expect(desk.isReady)
        #expect(desk.events.contains(.stepSkipped(.secureConnections, .notSupported)))
        #expect(desk.events.contains(.stepSkipped(.connectionParameters(device(1)), .invalidParameters)))
    }

    @Test("a step that is busy is tried again after a pause, and only so often")
    func busyStep() {
        var desk = ControllerDesk()
        desk.kernel.scripted[.setPowered] = [.refused(.busy), .refused(.busy)]
        desk.start()
        #expect(desk.timers == [.retry: .seconds(2)])
        // Nothing goes out during the pause, whatever is wanted meanwhile.
        desk.take(desk.machine.devicesChanged([ControllerDevice(address: device(1)), ControllerDevice(address: device(3))]))
        #expect(desk.open.isEmpty)
        desk.fire(.retry)
        desk.answerAll()
        desk.fire(.retry)
        desk.answerAll()
        #expect(desk.isReady)
        #expect(desk.kernel.controllers[hci0]?.list == [device(1), device(3)])
    }

    @Test("an answer that cannot be read is asked for again where it matters, and does not matter elsewhere")
    func unreadableAnswers() {
        var desk = ControllerDesk()
        desk.kernel.scripted = [.getConnections: [.unreadable("1 octets")], .setBondable: [.unreadable("1 octets")]]
        desk.start()
        #expect(desk.timers == [.retry: .seconds(2)])
        desk.fire(.retry)
        desk.answerAll()
        #expect(desk.isReady)
        #expect(desk.opcodes.filter { $0 == .getConnections }.count == 2 && desk.opcodes.filter { $0 == .setBondable }.count == 1)
    }

    @Test("a device that the kernel refuses costs that device alone, and is tried again with each check")
    func refusedDevice() {
        var desk = ControllerDesk(devices: [1, 2].map { ControllerDevice(address: device($0)) })
        desk.kernel.scripted[.addDevice] = [.refused(.invalidParameters)]
        desk.start()
        #expect(desk.isReady)
        #expect(desk.events.contains(.deviceRefused(device(1), .invalidParameters)))
        #expect(desk.kernel.controllers[hci0]?.list == [device(2)])
        desk.fire(.audit)
        desk.answerAll()
        #expect(desk.kernel.controllers[hci0]?.list == [device(1), device(2)])
        desk.forget()
        desk.fire(.audit)
        desk.answerAll()
        #expect(desk.commands == [.readControllerInformation])
    }

    @Test("a device that the kernel does not let go of is removed with the next check, and one that is not on the list is no matter")
    func lastingDevice() {
        var desk = ControllerDesk.ready(devices: [1, 2].map { ControllerDevice(address: device($0)) })
        desk.kernel.scripted[.removeDevice] = [.refused(.invalidParameters), .refused(.notSupported)]
        desk.take(desk.machine.devicesChanged([]))
        desk.answerAll()
        #expect(desk.events == [.stepSkipped(.removeDevice(device(2)), .notSupported)])
        desk.forget()
        desk.fire(.audit)
        desk.answerAll()
        #expect(desk.commands == [.readControllerInformation, .removeDevice(device(2))])
        desk.fire(.audit)
        desk.answerAll()
        #expect(desk.commands.count == 3)
    }

    @Test("no right to manage, and a radio that is switched off, are told once and tried again for as long as it takes", arguments: [
        (ManagementStatus.permissionDenied, ControllerAbsence.notPermitted(hci0)), (.rfkilled, .blocked(hci0)),
    ])
    func forbidden(status: ManagementStatus, absence: ControllerAbsence) {
        var desk = ControllerDesk()
        desk.kernel.always[.setPowered] = .refused(status)
        desk.start()
        for _ in 0..<20 {
            desk.fire(.retry)
            desk.answerAll()
        }
        #expect(desk.events == [.unavailable(absence)])
        #expect(desk.exits.isEmpty)
        desk.kernel.always = [:]
        desk.fire(.retry)
        desk.answerAll()
        #expect(desk.isReady)
    }
}
