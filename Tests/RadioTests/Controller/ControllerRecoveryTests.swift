import Platform
import Testing

@testable import Radio

@Suite("A controller in trouble")
struct ControllerRecoveryTests {
    @Test("a controller that is removed is replaced by whichever comes")
    func removal() {
        var desk = ControllerDesk.ready()
        desk.kernel.controllers = [:]
        desk.tell(.indexRemoved)
        desk.answerAll()
        #expect(desk.events == [.unavailable(.removed(hci0)), .unavailable(.none)])
        desk.kernel.controllers[hci1] = .init()
        desk.tell(.indexAdded, from: hci1)
        desk.answerAll()
        #expect(desk.machine.readyIndex == hci1)
        #expect(desk.kernel.controllers[hci1]?.list == [device(1)])
    }

    @Test("a removal that begins with the loss of power is told as a removal")
    func removalAfterPowerLoss() {
        var desk = ControllerDesk.ready()
        desk.kernel.controllers = [:]
        desk.tell(.newSettings([.lowEnergy]))
        desk.tell(.indexRemoved)
        desk.answerAll()
        #expect(desk.events == [.unavailable(.reset(hci0)), .unavailable(.removed(hci0)), .unavailable(.none)])
        #expect(desk.timers[.retry] != nil)
    }

    @Test("another controller under the same number is set up from the start, although no removal was told")
    func sameNumber() {
        var desk = ControllerDesk.ready()
        desk.kernel.controllers[hci0] = .init()
        desk.tell(.indexAdded)
        desk.answerAll()
        #expect(desk.events.first == .unavailable(.reset(hci0)))
        #expect(desk.isReady)
        #expect(desk.kernel.controllers[hci0]?.list == [device(1)])
    }

    @Test("a controller that comes during the search is not missed")
    func addedDuringSearch() {
        var desk = ControllerDesk()
        desk.kernel.controllers = [:]
        desk.take(desk.machine.start())
        for _ in 0..<2 { desk.answerOne() }
        // The list is read, and says that there is none; in the same moment one comes.
        desk.tell(.indexAdded)
        desk.answerOne(.done(.controllers([])))
        desk.kernel.controllers[hci0] = .init()
        desk.answerAll()
        #expect(desk.isReady)
        #expect(desk.events.count == 1)
    }

    @Test("one that is removed while it is being looked at is passed over")
    func removedDuringSearch() {
        var desk = ControllerDesk()
        desk.kernel.controllers[hci1] = .init()
        desk.take(desk.machine.start())
        for _ in 0..<3 { desk.answerOne() }
        #expect(desk.open.first?.command == .readControllerInformation)
        desk.kernel.controllers[hci0] = nil
        desk.tell(.indexRemoved)
        desk.answerAll()
        #expect(desk.machine.readyIndex == hci1)
    }

    @Test("power that is lost is switched on again after a pause that grows while it does not help")
    func powerLoss() {
        var desk = ControllerDesk.ready()
        var pauses: [Duration] = []
        for _ in 0..<7 {
            desk.kernel.controllers[hci0]?.settings = [.lowEnergy]
            desk.tell(.newSettings([.lowEnergy]))
            pauses.append(desk.timers[.retry] ?? .zero)
            desk.fire(.retry)
            desk.answerAll()
            #expect(desk.isReady)
        }
        #expect(pauses == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(20), .seconds(20)])
        desk.fire(.steady)
        desk.tell(.newSettings([.lowEnergy]))
        #expect(desk.timers[.retry] == .seconds(1))
        #expect(desk.exits.isEmpty)
    }

    @Test("settings that somebody else changed are put back, and what no event told is found by the check", arguments: [true, false])
    func foreignChange(told: Bool) {
        var desk = ControllerDesk.ready()
        desk.kernel.controllers[hci0]?.settings.insert([.advertising, .connectable])
        if told {
            desk.tell(.newSettings([.powered, .lowEnergy, .advertising, .connectable]))
        } else {
            desk.fire(.audit)
            desk.answerAll()
        }
        #expect(desk.events == [.unavailable(.reset(hci0))])
        desk.fire(.retry)
        desk.answerAll()
        #expect(desk.isReady)
        #expect(desk.kernel.controllers[hci0]?.settings.isDisjoint(with: [.advertising, .connectable]) == true)
        #expect(!desk.commands.contains(.setPowered(false)), "links stay")
    }

    @Test("a controller that stops answering is power cycled, and when it does so again before it has worked for a while the process ends")
    func silence() {
        var desk = ControllerDesk.ready()
        desk.take(desk.machine.disconnect(device(1)))
        desk.answerOne(.unanswered)
        #expect(desk.events == [.unavailable(.recovering(hci0, .silent(.disconnect)))])
        #expect(desk.commands == [.disconnect(device(1)), .setPowered(false)])
        desk.answerAll()
        #expect(desk.isReady)
        desk.take(desk.machine.disconnect(device(1)))
        desk.answerOne(.unanswered)
        #expect(desk.exits == [.silent(.disconnect)])
        // Whoever was to end the process is told again.
        desk.fire(.retry)
        #expect(desk.exits.count == 2)
        #expect(desk.timers[.retry] != nil)
    }

    @Test("after it has worked for a while the ladder begins at its foot again")
    func cure() {
        var desk = ControllerDesk.ready()
        for _ in 0..<3 {
            desk.take(desk.machine.disconnect(device(1)))
            desk.answerOne(.unanswered)
            desk.answerAll()
            #expect(desk.isReady)
            desk.fire(.steady)
        }
        #expect(desk.exits.isEmpty)
    }

    @Test("a controller that does not even answer to being switched off ends the process at once")
    func silentPower() {
        var desk = ControllerDesk.ready()
        desk.take(desk.machine.powerCycle())
        desk.answerOne(.unanswered)
        #expect(desk.exits == [.silent(.setPowered)])
    }

    @Test("a kernel that does not answer at all is asked once more before the process ends")
    func silentKernel() {
        var desk = ControllerDesk()
        desk.take(desk.machine.start())
        desk.answerOne(.unanswered)
        #expect(desk.exits.isEmpty)
        desk.fire(.retry)
        desk.answerOne(.unanswered)
        #expect(desk.exits == [.silent(.readVersion)])
    }

    @Test("a set-up that fails again and again leads up the ladder")
    func setUpFails() {
        var desk = ControllerDesk()
        desk.kernel.always[.loadLongTermKeys] = .refused(.failed)
        desk.start()
        var rounds = 0
        while desk.exits.isEmpty, rounds < 50 {
            desk.fire(.retry)
            desk.answerAll()
            rounds += 1
        }
        #expect(desk.exits == [.setUpFailed(.longTermKeys, .failed)])
        #expect(desk.commands.filter { $0 == .setPowered(false) }.count == 1)
        #expect(rounds == 8)
    }

    @Test("connections that are refused as busy again and again mean a leaked one: a power cycle, then the end of the process; a link in between is the cure")
    func busy() {
        var desk = ControllerDesk.ready()
        func refuse(_ times: Int) { for _ in 0..<times { desk.take(desk.machine.connectionWasBusy()) } }
        refuse(4)
        desk.tell(.deviceConnected(device(1), flags: 0, data: []))
        refuse(4)
        #expect(desk.isReady)
        refuse(1)
        #expect(desk.events.last == .unavailable(.recovering(hci0, .busy)))
        desk.answerAll()
        // It has heard others and worked for a while, and that proves nothing.
        desk.tell(.deviceFound(Advertisement(address: device(7), rssi: -50, flags: [], data: [])))
        desk.fire(.steady)
        refuse(5)
        #expect(desk.exits == [.busy])
    }

    @Test("scans that hear nothing at all for long lead to a power cycle, then to the end of the process; anything heard is the cure")
    func unheard() {
        var desk = ControllerDesk.ready()
        func scan(hearing: Bool) {
            desk.take(desk.machine.beginScan())
            desk.answerAll()
            desk.tell(.discovering(true))
            if hearing { desk.tell(.deviceFound(Advertisement(address: device(7), rssi: -50, flags: [], data: []))) }
            desk.tell(.discovering(false))
            desk.answerAll()
        }
        for _ in 0..<29 { scan(hearing: false) }
        scan(hearing: true)
        for _ in 0..<29 { scan(hearing: false) }
        #expect(desk.isReady && !desk.commands.contains(.setPowered(false)))
        scan(hearing: false)
        #expect(desk.commands.contains(.setPowered(false)))
        #expect(desk.isReady, "it is set up again")
        for _ in 0..<30 { scan(hearing: false) }
        #expect(desk.exits == [.unheard(scans: 30)])
    }

    @Test("silence proves nothing while links are up, or in a scan that was cut short")
    func silenceExcused() {
        var desk = ControllerDesk.ready()
        for round in 0..<80 {
            if round == 40 { desk.machine.channelOpened(device(1)) }
            desk.take(desk.machine.beginScan())
            desk.answerAll()
            desk.tell(.discovering(true))
            if round < 40 { desk.take(desk.machine.endScan()) } else { desk.tell(.discovering(false)) }
            desk.answerAll()
        }
        #expect(desk.isReady && desk.exits.isEmpty && !desk.commands.contains(.setPowered(false)))
    }

    @Test("a controller that hangs shows in devices and scans that the kernel cannot do: a power cycle, then the end of the process; a link in between is the cure")
    func hanging() {
        var desk = ControllerDesk.ready()
        func scan() {
            desk.take(desk.machine.beginScan())
            desk.answerAll()
        }
        desk.kernel.always[.startDiscovery] = .refused(.failed)
        scan()
        scan()
        desk.tell(.deviceConnected(device(1), flags: 0, data: []))
        desk.kernel.always[.startDiscovery] = .refused(.busy)
        for _ in 0..<10 { scan() }
        desk.kernel.always[.startDiscovery] = .refused(.failed)
        scan()
        #expect(desk.isReady && !desk.commands.contains(.setPowered(false)))
        desk.kernel.always[.addDevice] = .refused(.failed)
        desk.take(desk.machine.devicesChanged([ControllerDevice(address: device(1)), ControllerDevice(address: device(2)), ControllerDevice(address: device(9))]))
        desk.answerAll()
        for _ in 0..<40 where desk.exits.isEmpty {
            desk.fire(.retry)
            desk.answerAll()
            scan()
        }
        #expect(desk.commands.filter { $0 == .setPowered(false) }.count == 1)
        #expect(desk.exits.count == 1)
    }

    @Test("an operator's power cycle sets everything up again and counts as no trouble")
    func operatorsCycle() {
        var desk = ControllerDesk.ready()
        for _ in 0..<5 {
            desk.take(desk.machine.powerCycle())
            desk.answerAll()
            #expect(desk.isReady)
        }
        #expect(desk.exits.isEmpty)
        #expect(desk.commands.filter { $0 == .setPowered(false) }.count == 5)
    }
}
