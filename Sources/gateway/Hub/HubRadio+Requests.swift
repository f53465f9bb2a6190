import Outbox
import Platform
import Radio

/// What an installer or an operator asks of the radio.
extension HubRadio {
    /// How long the forgetting of a device may take: the link is ended, the keys are taken from the kernel and from the disk.
    private static let forgetLimit = Duration.seconds(9)

    /// Opens pairing as the button does: for one device, or for all that need it.
    func openPairing(for serial: String? = nil) async { await radio?.openPairing(for: serial) }

    /// Pairs, and waits for what comes of it.
    func pair(_ serial: String?) async -> Result<PairingReport, ControlError> {
        guard case .ready = controller, let radio else { return .failure(.noController) }
        var needy: Set<String> = []
        for device in devices.values where serial == nil || device.serial == serial {
            let isBonded = await radio.isBonded(device.serial)
            let state = await radio.state(of: device.serial)
            let isLinked = state == .working
            let isPaired = switch device.pairing {
            case .bond: isBonded
            case .link: isBonded || isLinked
            case .address: await radio.address(of: device.serial) != nil
            }
            if let serial, isPaired, isLinked {
                let text = "it is paired and linked; to pair it anew: gateway forget \(name(serial))"
                return .success(PairingReport(paired: [], failed: [.init(device: name(serial), code: "already-paired", text: text)]))
            }
            if serial != nil || !isPaired || state == .needsPairing { needy.insert(device.serial) }
        }
        guard !needy.isEmpty else { return .success(PairingReport(paired: [], failed: [])) }
        let watch = PairingWatch(needy)
        lastPairing += 1
        let number = lastPairing
        pairings[number] = watch
        await radio.openPairing(for: serial)
        await watch.wait()
        pairings[number] = nil
        return .success(await report(watch, radio))
    }

    private func report(_ watch: PairingWatch, _ radio: RadioController) async -> PairingReport {
        var report = PairingReport(paired: [], failed: [])
        for (serial, result) in watch.results.sorted(by: { name($0.key) < name($1.key) }) {
            switch result {
            case .paired(let adopted):
                guard let address = await radio.address(of: serial) else { continue }
                report.paired.append(.init(
                    device: name(serial), serial: serial, address: address, adopted: adopted, authenticated: await radio.isAuthenticated(serial)))
            case .failed(let code, let text):
                report.failed.append(.init(device: name(serial), code: code, text: text))
            }
        }
        return report
    }

    /// Forgets how a device is reached.
    func forget(_ serial: String) async -> Result<ForgetReport, ControlError> {
        guard let radio else { return .failure(.noController) }
        do {
            let before = try await kept(of: serial)
            let timer = loop.schedule(after: Self.forgetLimit) { [weak self] in self?.assumeIsolated { $0.giveUpForgetting(serial) } }
            await withCheckedContinuation { continuation in
                forgetting[serial, default: []].append(continuation)
                loop.spawn { await radio.forget(serial) }
            }
            loop.cancel(timer)
            let after = try await kept(of: serial)
            guard after.bonds == 0, after.address == nil else {
                return .failure(.refused(code: "not-forgotten", "the keys are still stored; see the log, and try again"))
            }
            return .success(ForgetReport(device: name(serial), serial: serial, bonds: before.bonds, address: before.address))
        } catch {
            return .failure(.refused(code: "storage", "\(error)"))
        }
    }

    private func giveUpForgetting(_ serial: String) {
        for continuation in forgetting.removeValue(forKey: serial) ?? [] { continuation.resume() }
    }

    private func kept(of serial: String) async throws -> (bonds: Int, address: BluetoothAddress?) {
        let (bonds, adopted) = try await store.store.bonds()
        return (bonds.count { $0.device == serial }, adopted[serial].map { BluetoothAddress($0) })
    }

    /// Listens, unfiltered.
    func scan(seconds: Int) async -> Result<ScanReport, ControlError> {
        guard case .ready = controller, let radio else { return .failure(.noController) }
        let heard = await radio.devicesHeard(in: .seconds(seconds))
        return .success(ScanReport(seconds: seconds, heard: heard.map { device in
            ScanReport.Heard(
                address: device.address, name: device.name, services: device.services.map { "\($0)" }, rssi: device.rssi.map { Int($0) },
                known: device.device.map(name), claims: device.device == nil ? device.claims.map(name) : [],
                mayBe: device.device == nil ? device.mayBe.map(name) : [])
        }))
    }
}
