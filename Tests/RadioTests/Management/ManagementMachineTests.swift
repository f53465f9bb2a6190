import Platform
import Testing

@testable import Radio

let hci0 = ControllerIndex(rawValue: 0)
let hci1 = ControllerIndex(rawValue: 1)

/// A Command Complete as the kernel sends it.
func complete(_ opcode: ManagementOpcode, _ index: ControllerIndex, _ parameters: [UInt8] = [], status: ManagementStatus = .success) -> [UInt8] {
    managementPacket(.commandComplete, index, [UInt8(opcode.rawValue & 0xFF), UInt8(opcode.rawValue >> 8), status.rawValue] + parameters)
}

func commandStatus(_ opcode: ManagementOpcode, _ index: ControllerIndex, _ status: ManagementStatus) -> [UInt8] {
    managementPacket(.commandStatus, index, [UInt8(opcode.rawValue & 0xFF), UInt8(opcode.rawValue >> 8), status.rawValue])
}

func managementPacket(_ code: ManagementEventCode, _ index: ControllerIndex, _ parameters: [UInt8]) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append16(code.rawValue)
    packet.append16(index.rawValue)
    packet.append16(UInt16(parameters.count))
    return packet + parameters
}

func addressOctets(_ address: BluetoothAddress) -> [UInt8] { address.octets + [address.kind.rawValue] }

@Suite("The management channel")
struct ManagementMachineTests {
    private static func sent(_ actions: [ManagementMachine.Action]) -> [[UInt8]] {
        actions.compactMap { if case .send(let packet) = $0 { packet } else { nil } }
    }

    @Test("one command is with the kernel at a time, and the next goes when it is answered")
    func oneAtATime() {
        var machine = ManagementMachine()
        let first = machine.submit(.setLowEnergy(true), to: hci0)
        #expect(first.actions == [.send(ManagementCommand.setLowEnergy(true).packet(for: hci0)), .startTimer(.ordinary, .seconds(10))])
        let second = machine.submit(.setBondable(true), to: hci0)
        #expect(second.actions.isEmpty)
        let actions = machine.receive(complete(.setLowEnergy, hci0, [0, 2, 0, 0])[...])
        #expect(actions == [
            .cancelTimer(.ordinary), .finished(first.token, .done(.settings(.lowEnergy))),
            .send(ManagementCommand.setBondable(true).packet(for: hci0)), .startTimer(.ordinary, .seconds(10)),
        ])
        #expect(machine.receive(commandStatus(.setBondable, hci0, .busy)[...]) == [.cancelTimer(.ordinary), .finished(second.token, .refused(.busy))])
        #expect(machine.isIdle)
    }

    @Test("what a pairing asks can be answered while Pair Device and a disconnection are still with the kernel")
    func lanes() {
        var machine = ManagementMachine()
        let pair = machine.submit(.pairDevice(device(1), .noInputNoOutput), to: hci0)
        let disconnect = machine.submit(.disconnect(device(2)), to: hci0)
        let ordinary = machine.submit(.getConnections, to: hci0)
        let reply = machine.submit(.userConfirmationReply(device(1), accept: true), to: hci0)
        for (_, actions) in [pair, disconnect, ordinary, reply] { #expect(Self.sent(actions).count == 1) }
        // A second disconnection would be refused as busy: it waits.
        let another = machine.submit(.disconnect(device(3)), to: hci0)
        #expect(another.actions.isEmpty)
        #expect(machine.receive(complete(.userConfirmationReply, hci0, addressOctets(device(1)))[...])
            == [.cancelTimer(.replies), .finished(reply.token, .done(.octets(addressOctets(device(1)))))])
        let next = machine.receive(complete(.disconnect, hci0, addressOctets(device(2)), status: .notConnected)[...])
        #expect(next.prefix(2) == [.cancelTimer(.disconnecting), .finished(disconnect.token, .refused(.notConnected))])
        #expect(Self.sent(next) == [ManagementCommand.disconnect(device(3)).packet(for: hci0)])
        #expect(machine.receive(complete(.pairDevice, hci0, addressOctets(device(1)))[...]).contains(.finished(pair.token, .done(.octets(addressOctets(device(1)))))))
    }

    @Test("a command that is not answered in time ends so, and what waits goes on")
    func timeout() {
        var machine = ManagementMachine()
        let silent = machine.submit(.setPowered(true), to: hci0)
        #expect(silent.actions.last == .startTimer(.ordinary, .seconds(30)))
        let next = machine.submit(.setBondable(true), to: hci0)
        #expect(next.actions.isEmpty)
        #expect(machine.timerFired(.ordinary) == [
            .finished(silent.token, .unanswered), .send(ManagementCommand.setBondable(true).packet(for: hci0)), .startTimer(.ordinary, .seconds(10)),
        ])
        // The answer that comes too late is nobody's.
        #expect(machine.receive(complete(.setPowered, hci0, [1, 0, 0, 0])[...]) == [.unexpectedAnswer(.setPowered, hci0, .success)])
        #expect(machine.timerFired(.pairing).isEmpty)
    }

    @Test("an answer about another device, from another controller or to another command is not taken for the one that is awaited")
    func mismatches() {
        var machine = ManagementMachine()
        let add = machine.submit(.addDevice(device(1), .autoConnect), to: hci0)
        for packet in [
            complete(.addDevice, hci0, addressOctets(device(2))), complete(.addDevice, hci1, addressOctets(device(1))),
            complete(.removeDevice, hci0, addressOctets(device(1))), commandStatus(.disconnect, hci0, .failed),
        ] {
            let actions = machine.receive(packet[...])
            guard actions.count == 1, case .unexpectedAnswer = actions[0] else { Issue.record("\(actions)"); continue }
        }
        #expect(machine.receive(complete(.addDevice, hci0, addressOctets(device(1)))[...]).contains(.finished(add.token, .done(.octets(addressOctets(device(1)))))))
    }

    @Test("events between a command and its answer are told in their order")
    func order() {
        var machine = ManagementMachine()
        let (token, _) = machine.submit(.getConnections, to: hci0)
        var told: [ManagementMachine.Action] = []
        for packet in [
            managementPacket(.deviceDisconnected, hci0, addressOctets(device(1)) + [3]), managementPacket(.indexAdded, hci1, []),
            complete(.getConnections, hci0, [0, 0]), managementPacket(.connectFailed, hci0, addressOctets(device(1)) + [4]),
        ] { told += machine.receive(packet[...]) }
        #expect(told == [
            .event(hci0, .deviceDisconnected(device(1), .remote)), .event(hci1, .indexAdded), .cancelTimer(.ordinary), .finished(token, .done(.connections([]))),
            .event(hci0, .connectFailed(device(1), .connectFailed)),
        ])
    }

    @Test("a controller that is removed takes its commands along and holds up no other's")
    func removal() {
        var machine = ManagementMachine()
        let gone = machine.submit(.setPowered(true), to: hci0)
        let alsoGone = machine.submit(.setBondable(true), to: hci0)
        let other = machine.submit(.setLowEnergy(true), to: hci1)
        #expect(machine.receive(managementPacket(.indexRemoved, hci0, [])[...]) == [
            .cancelTimer(.ordinary), .finished(gone.token, .refused(.invalidIndex)), .finished(alsoGone.token, .refused(.invalidIndex)),
            .send(ManagementCommand.setLowEnergy(true).packet(for: hci1)), .startTimer(.ordinary, .seconds(10)), .event(hci0, .indexRemoved),
        ])
        #expect(machine.receive(complete(.setLowEnergy, hci1, [0, 2, 0, 0])[...]).contains(.finished(other.token, .done(.settings(.lowEnergy)))))
    }

    @Test("an answer that cannot be read is a failure of its own")
    func unreadable() {
        var machine = ManagementMachine()
        let (token, _) = machine.submit(.readControllerInformation, to: hci0)
        #expect(machine.receive(complete(.readControllerInformation, hci0, [1, 2, 3])[...]) == [.cancelTimer(.ordinary), .finished(token, .unreadable("3 octets"))])
    }

    @Test("when the channel closes every command ends, once, and later ones at once")
    func close() {
        var machine = ManagementMachine()
        let first = machine.submit(.readVersion, to: .none)
        let second = machine.submit(.readIndexList, to: .none)
        #expect(machine.close() == [.cancelTimer(.ordinary), .finished(first.token, .closed), .finished(second.token, .closed)])
        #expect(machine.close().isEmpty)
        let late = machine.submit(.readVersion, to: .none)
        #expect(late.actions == [.finished(late.token, .closed)])
        #expect(machine.receive(complete(.readVersion, .none, [1, 23, 0])[...]).isEmpty)
    }

    @Test("whatever octets come, nothing traps, and each command ends exactly once", arguments: UInt64(1)...30)
    func fuzz(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var machine = ManagementMachine()
        var open: Set<ManagementMachine.Token> = []
        var kinds: Set<String> = []
        func note(_ actions: [ManagementMachine.Action]) {
            for action in actions {
                switch action {
                case .finished(let token, _):
                    #expect(open.remove(token) != nil, "a command ended twice")
                    kinds.insert("finished")
                case .malformed: kinds.insert("malformed")
                case .event: kinds.insert("event")
                case .unexpectedAnswer: kinds.insert("unexpected")
                default: break
                }
            }
        }
        let commands: [ManagementCommand] = [.readVersion, .getConnections, .addDevice(device(1), .autoConnect), .disconnect(device(1)), .readSupportedCommands,
                                             .readExtendedIndexList, .readControllerInformation, .pairDevice(device(1), .noInputNoOutput)]
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                let (token, actions) = machine.submit(commands.randomElement(using: &random)!, to: [hci0, hci1].randomElement(using: &random)!)
                open.insert(token)
                note(actions)
            case 1 where Int.random(in: 0..<10, using: &random) == 0:
                note(machine.timerFired(ManagementMachine.Lane.allCases.randomElement(using: &random)!))
            case 2:
                note(machine.receive((0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }[...]))
            default:
                // Well-formed at the outside, so that the inside is looked at.
                let rest = (0..<Int.random(in: 0...48, using: &random)).map { _ in [0, 1, 2, 0xFF, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random)! }
                let code = ManagementEventCode(rawValue: .random(in: 0...0x22, using: &random))
                let head = code.rawValue <= 2 ? [UInt8(commands.randomElement(using: &random)!.opcode.rawValue), 0, .random(in: 0...2, using: &random)] : []
                note(machine.receive(managementPacket(code, [hci0, hci1].randomElement(using: &random)!, head + rest)[...]))
            }
        }
        note(machine.close())
        #expect(open.isEmpty)
        #expect(kinds == ["finished", "malformed", "event", "unexpected"])
    }
}
