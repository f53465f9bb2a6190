import Platform
import Testing

@testable import Radio

/// Arbitrary sequences of events by seed, and what holds after every one of them.
@Suite("The connector under any sequence of events")
struct ConnectorPropertyTests {
    private struct World {
        var random: SplitMix64
        var bench: ConnectorBench
        let devices: [RadioDevice]
        /// Adopted under a matching serial number and an encrypted link.
        var adoptable: Set<BluetoothAddress> = []
        var links: [String: [BootInstant]] = [:]
        var trials = 0
        /// When a trial began, for each device.
        var trialBegins: [String: [BootInstant]] = [:]
        var pending: [ConnectorInput] = []
        var stored: Set<String> = []

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
            devices = [
                collar("A1", at: address(1)), collar("B2", at: address(2), security: .none), collar("C3", at: nil),
                collar("D4", at: address(4), pairing: PairingPolicy(repair: true)), cuff("arm", at: address(5)), cuff("wrist"),
            ]
            bench = ConnectorBench(devices, bonds: [bond(devices[0])], isReady: false)
        }

        mutating func anyAddress() -> BluetoothAddress {
            let known = bench.machine.devices.values.compactMap(\.address)
            return Bool.random(using: &random) ? known.randomElement(using: &random)! : address(UInt16.random(in: 1...12, using: &random))
        }

        mutating func anyDevice() -> String { devices.randomElement(using: &random)!.id }

        mutating func event() -> ConnectorInput {
            // What was asked for is mostly answered, in any order.
            if !pending.isEmpty, Int.random(in: 0..<3, using: &random) > 0 { return pending.remove(at: Int.random(in: 0..<pending.count, using: &random)) }
            switch Int.random(in: 0..<26, using: &random) {
            case 0: return .controllerReady
            case 1:
                switch Int.random(in: 0..<16, using: &random) {
                case 0: return .controllerUnavailable
                case 1: return .controllerGone
                default: return .controllerReady
                }
            case 2: return .connected(anyAddress())
            case 3, 4: return .disconnected(anyAddress(), DisconnectReason(rawValue: UInt8.random(in: 0...6, using: &random)))
            case 5: return .connectFailed(anyAddress())
            case 6: return .authenticationFailed(anyAddress())
            case 7, 8, 9:
                let serial = ["A1", "B2", "C3", "D4", "Z9"].randomElement(using: &random)!
                let data = Int.random(in: 0..<4, using: &random) == 0 ? cuffData : collarData(serial)
                return .heard(Sighting(address: anyAddress(), rssi: Int8.random(in: -90 ... -30, using: &random), data: data))
            case 10: return .scanEnded(failed: Bool.random(using: &random))
            case 11, 12, 13: return .linkAccepted(anyAddress())
            case 14: return .subscribed(device: anyDevice())
            case 24: return .served(device: anyDevice())
            case 15: return .linkReleased(device: anyDevice())
            case 16: return .keysReceived(device: anyDevice(), acceptable: Int.random(in: 0..<4, using: &random) > 0)
            case 17: return .securityDemanded(device: anyDevice())
            case 18: return .openPairing(device: Bool.random(using: &random) ? nil : anyDevice())
            case 19: return Int.random(in: 0..<4, using: &random) == 0 ? .forget(device: anyDevice()) : .closePairing
            case 20: return .scan(.seconds(Int.random(in: 0...60, using: &random)))
            case 21: return .trialEnded(anyAddress(), .failure(.unreachable))
            case 22: return .parametersWanted(device: anyDevice(), Bool.random(using: &random) ? .stream : .rest)
            case 23: return .bondRemoved(device: anyDevice())
            default: return .keysStored(device: anyDevice(), Bool.random(using: &random))
            }
        }

        /// Takes in what the machine asked for, and prepares an answer to each.
        mutating func answer(_ action: ConnectorAction) {
            switch action {
            case .secure(let device, _, _):
                pending.append(.securityEnded(device: device, [.encrypted, .encrypted, .authenticationFailed, .linkFailed].randomElement(using: &random)!))
            case .storeKeys(let device, _):
                pending.append(.keysStored(device: device, Int.random(in: 0..<4, using: &random) > 0))
            case .removeBond(let device, _), .forgetStored(let device):
                pending.append(.bondRemoved(device: device))
            case .disconnect(let address):
                pending.append(.disconnected(address, .localHost))
            case .tryCandidate(let device, let candidate):
                trials += 1
                trialBegins[device, default: []].append(bench.now)
                let serial = devices.first { $0.id == device }!.serial
                let isTrue = Bool.random(using: &random)
                let finding = TrialFinding(address: candidate, serial: isTrue ? serial : "Z9", isEncrypted: Bool.random(using: &random))
                if Int.random(in: 0..<4, using: &random) == 0 {
                    pending.append(.trialEnded(candidate, .failure(TrialFailure.allCases.randomElement(using: &random)!)))
                } else {
                    pending.append(.trialEnded(candidate, .success(finding)))
                }
            case .adopt(let device, let address):
                adoptable.insert(address)
                pending.append(.adoptionStored(device: device, Bool.random(using: &random)))
            default: break
            }
        }
    }

    @Test("no state is without an exit, no unknown address is linked, and the pace is bounded", arguments: Array(1...40) as [UInt64])
    func invariants(seed: UInt64) throws {
        var world = World(seed: seed)
        let allowed = Set(world.devices.compactMap(\.address))
        var bonded: Set<String> = ["A1"]
        var isTrying: BluetoothAddress?
        for step in 0..<3_000 {
            let now = world.bench.now
            let input = world.event()
            if case .keysStored(let device, true) = input { bonded.insert(device) }
            if case .adoptionStored(let device, true) = input { bonded.insert(device) }
            if case .trialEnded(let candidate, _) = input, candidate == isTrying { isTrying = nil }
            world.bench.tell(input)
            if case .controllerGone = input {
                // The next one is another at times, with keys of its own.
                if Bool.random(using: &world.random) {
                    let keys = world.devices.filter { _ in Bool.random(using: &world.random) }
                    let bonds = keys.compactMap { device in world.bench.machine.address(of: device.id).map { bond(device, at: $0) } }
                    world.bench.rebond(bonds)
                    bonded = Set(bonds.map(\.device))
                }
                try #require(world.bench.list.isEmpty, "nobody is waited for without a controller, step \(step)")
            }
            world.bench.pass(.milliseconds(Int64(world.random.next() % (step.isMultiple(of: 50) ? 700_000 : 3_000))))
            for action in world.bench.take() {
                switch action {
                case .deliver(let device, let address):
                    try #require(allowed.contains(address) || world.adoptable.contains(address), "\(address) is nobody's, step \(step)")
                    let security = world.devices.first { $0.id == device }!.security
                    if security == .encrypted { try #require(bonded.contains(device), "\(device) is used before its keys are stored, step \(step)") }
                    world.links[device, default: []].append(now)
                case .setDevices(let list):
                    for entry in list { try #require(allowed.contains(entry.address) || world.adoptable.contains(entry.address)) }
                    try #require(Set(list.map(\.address)).count == list.count)
                case .tryCandidate(_, let candidate):
                    try #require(isTrying == nil, "two trials at once, step \(step)")
                    isTrying = candidate
                case .abandonTrial: isTrying = nil
                default: break
                }
                world.answer(action)
            }
            if world.bench.machine.trial == nil { isTrying = nil }
            for device in world.devices {
                let exit = try #require(world.bench.machine.exit(of: device.id))
                switch exit {
                case .deadline(let deadline):
                    try #require(deadline > world.bench.now, "\(device.id) is past its deadline, step \(step)")
                    try #require(world.bench.machine.deadline! <= deadline, "nobody would wake for \(device.id), step \(step)")
                case .controller: try #require(!world.bench.machine.isReady, "step \(step): \(device.id) \(String(describing: world.bench.machine.devices[device.id]))")
                case .driver: try #require(world.bench.machine.state(of: device.id) == .working)
                case .user: try #require(world.bench.machine.state(of: device.id) == .noAddress)
                }
            }
            try #require(world.bench.machine.candidates.count <= 3 * 64)
        }
        // Enough happened for the run to mean something.
        #expect(world.links.values.map(\.count).reduce(0, +) > 20)
        #expect(world.trials > 5)
    }

    @Test("however a peer comes and goes, it is linked at most a dozen times in ten minutes", arguments: Array(1...20) as [UInt64])
    func pace(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let device = collar("A1", at: address(1))
        var bench = ConnectorBench([device], bonds: [bond(device)])
        var links: [BootInstant] = []
        let end = bench.now + .seconds(7_200)
        while bench.now < end {
            if bench.list == [address(1)] {
                links.append(bench.now)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bench.fail(address(1))
                case 1: bench.tell(.connectFailed(address(1)))
                case 2:
                    bench.tell(.linkAccepted(address(1)))
                    bench.tell(.securityEnded(device: "A1", .linkFailed))
                    bench.tell(.disconnected(address(1), .localHost))
                default:
                    bench.work("A1", address(1))
                    bench.pass(.milliseconds(Int64.random(in: 0..<60_000, using: &random)))
                    bench.tell(.disconnected(address(1), .remote))
                }
            }
            _ = bench.take()
            bench.pass(.milliseconds(100))
        }
        for (index, begin) in links.enumerated() {
            // The first few are re-made at once, and the pauses double from two seconds.
            try #require(links[index...].prefix { $0 - begin < .seconds(600) }.count <= 16)
            if index > 10 { try #require(links[index...].prefix { $0 - begin < .seconds(600) }.count <= 12) }
        }
        #expect(links.count > 50, "and it is never given up")
    }

    @Test("whatever came before, a device that comes back with its keys is linked within eleven minutes", arguments: Array(1...20) as [UInt64])
    func recovery(seed: UInt64) throws {
        var world = World(seed: seed)
        for _ in 0..<500 {
            // Nobody forgets anything here, so that the keys stay.
            let input = world.event()
            if case .forget = input { continue }
            if case .keysReceived(_, false) = input { continue }
            if case .bondRemoved = input { continue }
            world.bench.tell(input)
            world.bench.pass(.milliseconds(Int64(world.random.next() % 3_000)))
            for action in world.bench.take() {
                if case .tryCandidate(_, let candidate) = action { world.pending.append(.trialEnded(candidate, .failure(.unreachable))) } else { world.answer(action) }
            }
        }
        world.bench.tell(.controllerReady)
        let end = world.bench.now + .seconds(660)
        while world.bench.now < end, world.bench.machine.state(of: "A1") != .working {
            let actions = world.bench.take()
            if world.bench.list.contains(address(1)) {
                switch world.bench.machine.state(of: "A1") {
                case .expected, .stale: world.bench.tell(.linkAccepted(address(1)))
                default: break
                }
            }
            for action in actions + world.bench.take() {
                switch action {
                case .secure(let device, _, _): world.bench.tell(.securityEnded(device: device, .encrypted))
                case .storeKeys(let device, _): world.bench.tell(.keysReceived(device: device, acceptable: true)); world.bench.tell(.keysStored(device: device, true))
                case .deliver(let device, _): world.bench.tell(.subscribed(device: device))
                case .removeBond(let device, _): world.bench.tell(.bondRemoved(device: device))
                case .disconnect(let address): world.bench.tell(.disconnected(address, .localHost))
                case .tryCandidate(_, let candidate): world.bench.tell(.trialEnded(candidate, .failure(.unreachable)))
                default: break
                }
            }
            world.bench.pass(.milliseconds(500))
        }
        let device = try #require(world.bench.machine.devices["A1"])
        // Keys that were removed in a window that closed need the button; everything else must have come back.
        #expect(world.bench.machine.state(of: "A1") == .working || device.bond == .none, "\(device)")
    }
}
