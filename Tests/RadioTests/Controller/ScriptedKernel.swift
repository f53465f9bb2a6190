import Glibc
import Platform
import Testing

@testable import Radio

/// The model of a kernel at the far end of a real pair of sockets: it reads commands as octets and answers with octets.
final class ScriptedKernel: @unchecked Sendable {
    // Unchecked: touched on the loop's thread alone.
    let loop: VirtualLoop
    var model = ModelKernel()
    private(set) var opcodes: [ManagementOpcode] = []
    /// The parameters of the last command of each opcode.
    private(set) var parameters: [ManagementOpcode: [UInt8]] = [:]
    /// Decides what happens to a command: `nil` leaves it to the model; it may also tell things first.
    var intercept: (@Sendable (ManagementOpcode, ControllerIndex) -> Fault?)?
    private var descriptor: Descriptor?

    enum Fault: Sendable {
        /// No answer ever.
        case silence
        case refusal(ManagementStatus)
        /// It is done, and the answer cannot be read.
        case nonsense
    }

    init(descriptor: consuming Descriptor, loop: VirtualLoop) throws {
        self.loop = loop
        self.descriptor = consume descriptor
        guard let raw = self.descriptor?.raw else { return }
        try loop.watch(raw, for: .readable) { [unowned self] _ in read() }
    }

    func hangUp() {
        guard let raw = descriptor?.raw else { return }
        loop.unwatch(raw)
        descriptor = nil
    }

    func tell(_ code: ManagementEventCode, _ index: ControllerIndex = hci0, _ parameters: [UInt8] = []) {
        _ = try? descriptor?.send(managementPacket(code, index, parameters))
    }

    func tellOctets(_ octets: [UInt8]) { _ = try? descriptor?.send(octets) }

    func remove(_ index: ControllerIndex = hci0) {
        guard model.controllers.removeValue(forKey: index) != nil else { return }
        tell(.indexRemoved, index)
    }

    func add(_ index: ControllerIndex = hci0, address: [UInt8]? = nil) {
        guard model.controllers[index] == nil else { return }
        model.controllers[index] = .init()
        if let address { model.controllers[index]?.address = address }
        tell(.indexAdded, index)
    }

    func losePower(_ index: ControllerIndex = hci0) {
        guard model.controllers[index] != nil else { return }
        model.controllers[index]?.settings.remove(.powered)
        tell(.newSettings, index, settings(index))
    }

    private func settings(_ index: ControllerIndex) -> [UInt8] {
        var octets: [UInt8] = []
        octets.append32(model.controllers[index]?.settings.rawValue ?? 0)
        return octets
    }

    private func read() {
        guard let packet = try? descriptor?.read(upTo: 4_096) else { return }
        if packet.isEmpty { return hangUp() }
        var reader = OctetReader(packet[...])
        guard let opcode = reader.uint16().map(ManagementOpcode.init(rawValue:)), let index = reader.uint16().map(ControllerIndex.init(rawValue:)),
              let length = reader.uint16(), reader.count == Int(length)
        else { Issue.record("\(packet) is no command"); return }
        opcodes.append(opcode)
        var rest = reader
        parameters[opcode] = rest.remainder()
        switch intercept?(opcode, index) {
        case .silence: return
        case .refusal(let status): return tellOctets(commandStatus(opcode, index, status))
        case .nonsense:
            let parameters = reader.remainder()
            if let command = command(opcode, parameters) { _ = model.answer(command, index) }
            return tellOctets(complete(opcode, index, [1]))
        case nil:
            answer(opcode, index, reader.remainder())
        }
    }

    private func answer(_ opcode: ManagementOpcode, _ index: ControllerIndex, _ parameters: [UInt8]) {
        guard let command = command(opcode, parameters) else { Issue.record("\(opcode) has parameters \(hexText(parameters))"); return }
        switch model.answer(command, index) {
        case .refused(let status):
            tellOctets(commandStatus(opcode, index, status))
        case .done(let reply):
            tellOctets(complete(opcode, index, octets(reply, command)))
            if opcode == .startDiscovery {
                tell(.discovering, index, [6, 1])
                _ = loop.schedule(after: .milliseconds(10_240)) { self.tell(.discovering, index, [6, 0]) }
            }
        case .unreadable, .unanswered, .closed:
            return
        }
    }

    /// The command behind the octets, as far as the model needs to know.
    private func command(_ opcode: ManagementOpcode, _ parameters: [UInt8]) -> ManagementCommand? {
        let on = parameters.first == 1
        var reader = OctetReader(parameters[...])
        let address = reader.address()
        switch opcode {
        case .readVersion: return .readVersion
        case .readSupportedCommands: return .readSupportedCommands
        case .readIndexList: return .readIndexList
        case .readExtendedIndexList: return .readExtendedIndexList
        case .readControllerInformation: return .readControllerInformation
        case .setPowered: return .setPowered(on)
        case .setLowEnergy: return .setLowEnergy(on)
        case .setBREDR: return .setBREDR(on)
        case .setAdvertising: return .setAdvertising(on)
        case .setDiscoverable: return .setDiscoverable(on)
        case .setConnectable: return .setConnectable(on)
        case .setBondable: return .setBondable(on)
        case .setSecureConnections: return .setSecureConnections(on ? .on : .off)
        case .getConnections: return .getConnections
        case .disconnect: return address.map { .disconnect($0) }
        case .addDevice: return address.map { .addDevice($0, .autoConnect) }
        case .removeDevice: return .removeDevice(address)
        case .startDiscovery: return .startDiscovery
        case .stopDiscovery: return .stopDiscovery
        default: return .other(opcode, parameters)
        }
    }

    private func octets(_ reply: ManagementReply, _ command: ManagementCommand) -> [UInt8] {
        var octets: [UInt8] = []
        switch reply {
        case .version(let version):
            octets.append(version.version)
            octets.append16(version.revision)
        case .supportedCommands(let commands):
            octets.append16(UInt16(commands.count))
            octets.append16(0)
            for opcode in commands { octets.append16(opcode.rawValue) }
        case .controllers(let indices):
            octets.append16(UInt16(indices.count))
            for index in indices {
                octets.append16(index.rawValue)
                octets += [0, 1]
            }
        case .information(let information):
            octets = information.address + [information.bluetoothVersion, 2, 0]
            octets.append32(information.supported.rawValue)
            octets.append32(information.current.rawValue)
        case .settings(let settings):
            octets.append32(settings.rawValue)
        case .connections(let links):
            octets.append16(UInt16(links.count))
            octets += links.flatMap(addressOctets)
        case .connectionInformation, .octets:
            octets = command.address.map(addressOctets) ?? []
        }
        return octets
    }
}
