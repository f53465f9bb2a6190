import Platform
import Testing

@testable import Radio

/// A kernel as far as the controller's machine sees it: what it answers, unless a test says otherwise.
struct ModelKernel {
    struct Controller {
        var address: [UInt8] = [0, 0xF4, 0xF3, 0xF2, 0xF1, 0xF0]
        var supported: ManagementSettings = [.powered, .connectable, .discoverable, .bondable, .brEDR, .lowEnergy, .advertising, .secureConnections]
        var settings: ManagementSettings = [.brEDR, .lowEnergy]
        var list: Set<BluetoothAddress> = []
        var links: [BluetoothAddress] = []
        /// Connections that the kernel has begun.
        var begun: Set<BluetoothAddress> = []
        /// Connections of which the kernel and the controller think differently: no command shows them, and nothing links these devices.
        var stuck: Set<BluetoothAddress> = []
    }

    var controllers: [ControllerIndex: Controller] = [hci0: Controller()]
    /// What is answered to the next commands of an opcode, before the model itself answers.
    var scripted: [ManagementOpcode: [ManagementMachine.Outcome]] = [:]
    /// What is answered to every command of an opcode.
    var always: [ManagementOpcode: ManagementMachine.Outcome] = [:]

    mutating func answer(_ command: ManagementCommand, _ index: ControllerIndex) -> ManagementMachine.Outcome {
        if let next = scripted[command.opcode]?.first {
            scripted[command.opcode]?.removeFirst()
            return next
        }
        if let outcome = always[command.opcode] { return outcome }
        switch command {
        case .readVersion: return .done(.version(ManagementVersion(version: 1, revision: 23)))
        case .readSupportedCommands: return .done(.supportedCommands([.readExtendedIndexList, .setDefaultSystemConfiguration]))
        case .readIndexList, .readExtendedIndexList: return .done(.controllers(controllers.keys.sorted(by: >)))
        default: break
        }
        guard var controller = controllers[index] else { return .refused(.invalidIndex) }
        defer { controllers[index] = controller }
        func set(_ bit: ManagementSettings, _ on: Bool) -> ManagementMachine.Outcome {
            if on { controller.settings.insert(bit) } else { controller.settings.remove(bit) }
            return .done(.settings(controller.settings))
        }
        switch command {
        case .readControllerInformation:
            return .done(.information(ControllerInformation(
                address: controller.address, bluetoothVersion: 9, manufacturer: 2, supported: controller.supported, current: controller.settings)))
        case .setPowered(let on):
            if !on {
                controller.links = []
                controller.begun = []
                controller.stuck = []
            }
            return set(.powered, on)
        case .setLowEnergy(let on): return set(.lowEnergy, on)
        case .setBREDR(let on): return controller.settings.contains(.powered) && !on ? .refused(.rejected) : set(.brEDR, on)
        case .setAdvertising(let on): return set(.advertising, on)
        case .setDiscoverable(let on): return set(.discoverable, on)
        case .setConnectable(let on): return set(.connectable, on)
        case .setBondable(let on): return set(.bondable, on)
        case .setSecureConnections(let mode): return set(.secureConnections, mode != .off)
        case .getConnections:
            return controller.settings.contains(.powered) ? .done(.connections(controller.links)) : .refused(.notPowered)
        case .disconnect(let address):
            guard controller.links.contains(address) else { return .refused(.notConnected) }
            controller.links.removeAll { $0 == address }
            return .done(.octets(addressOctets(address)))
        case .addDevice(let address, let action):
            controller.list.insert(address)
            // It answers when the connection that was begun is over.
            if action == .allowIncoming { controller.begun.remove(address) }
            return .done(.octets([]))
        case .removeDevice(let address):
            let removed = address.map { [$0] } ?? controller.list
            controller.list.subtract(removed)
            controller.stuck.formUnion(controller.begun.intersection(removed))
            controller.begun.subtract(removed)
            return .done(.octets([]))
        case .startDiscovery, .stopDiscovery:
            return controller.settings.contains(.powered) ? .done(.octets([6])) : .refused(.notPowered)
        default:
            return .done(.octets([]))
        }
    }
}

/// Drives a machine by hand: what it wants is kept, and answered when the test says so.
struct ControllerDesk {
    var machine: ControllerMachine
    var kernel = ModelKernel()
    /// Commands that are not answered yet.
    private(set) var open: [(command: ManagementCommand, index: ControllerIndex, tag: UInt64)] = []
    private(set) var commands: [ManagementCommand] = []
    private(set) var events: [ControllerEvent] = []
    private(set) var timers: [ControllerTimer: Duration] = [:]
    private(set) var exits: [ControllerTrouble] = []

    init(policy: ControllerPolicy = ControllerPolicy(), devices: [ControllerDevice] = [ControllerDevice(address: device(1))], bonds: BondKeys = BondKeys()) {
        machine = ControllerMachine(policy: policy, devices: devices, bonds: bonds)
    }

    var opcodes: [ManagementOpcode] { commands.map(\.opcode) }
    var isReady: Bool { machine.readyIndex != nil }

    mutating func forget() {
        commands = []
        events = []
    }

    mutating func take(_ actions: [ControllerAction]) {
        for action in actions {
            switch action {
            case .command(let command, let index, let tag):
                open.append((command, index, tag))
                commands.append(command)
            case .startTimer(let timer, let duration): timers[timer] = duration
            case .cancelTimer(let timer): timers[timer] = nil
            case .event(let event): events.append(event)
            case .exit(let trouble): exits.append(trouble)
            }
        }
    }

    /// Answers the oldest open command.
    mutating func answerOne(_ outcome: ManagementMachine.Outcome? = nil) {
        guard !open.isEmpty else { return }
        let next = open.removeFirst()
        take(machine.finished(next.tag, outcome ?? kernel.answer(next.command, next.index)))
    }

    /// Answers everything, and what follows from it.
    mutating func answerAll() {
        var rounds = 0
        while !open.isEmpty, rounds < 1_000 {
            answerOne()
            rounds += 1
        }
        #expect(rounds < 1_000, "the commands never end")
    }

    mutating func fire(_ timer: ControllerTimer) {
        guard timers.removeValue(forKey: timer) != nil else { Issue.record("the timer \(timer) does not stand"); return }
        take(machine.timerFired(timer))
    }

    mutating func tell(_ event: ManagementEvent, from index: ControllerIndex = hci0) { take(machine.received(event, from: index)) }

    mutating func start() {
        take(machine.start())
        answerAll()
    }

    /// A desk whose controller is ready, with nothing kept of how it came to be.
    static func ready(
        policy: ControllerPolicy = ControllerPolicy(), devices: [ControllerDevice] = [ControllerDevice(address: device(1))], bonds: BondKeys = BondKeys()
    ) -> ControllerDesk {
        var desk = ControllerDesk(policy: policy, devices: devices, bonds: bonds)
        desk.start()
        #expect(desk.isReady)
        desk.forget()
        return desk
    }
}
