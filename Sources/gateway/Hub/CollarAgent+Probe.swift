import Platform
import Radio

/// Somebody who waits for a device to be looked at. Touched on the loop's thread alone.
final class ProbeWaiter: @unchecked Sendable {
    typealias Answer = Result<ProbeReport, ControlError>
    private var continuation: CheckedContinuation<Answer, Never>?

    func wait() async -> Answer { await withCheckedContinuation { continuation = $0 } }

    func answer(_ answer: Answer) {
        continuation?.resume(returning: answer)
        continuation = nil
    }
}

/// Looks at the collar from end to end, over the link that is up or, where none can be set up, over the next one before anything else is tried on it.
extension CollarAgent {
    /// How long somebody waits for a link.
    private static let probeLimit = Duration.seconds(55)

    func probe(address: BluetoothAddress?) async -> ProbeWaiter.Answer {
        if let connection {
            do { return .success(ProbeReport(device.name, try await connection.survey(), address: address)) } catch { return .failure(.probeFailed("\(error)")) }
        }
        let waiter = ProbeWaiter()
        probes.append(waiter)
        let timer = services.loop.schedule(after: Self.probeLimit) { [weak self] in self?.assumeIsolated { $0.giveUp(waiter) } }
        let answer = await waiter.wait()
        services.loop.cancel(timer)
        return answer
    }

    private func giveUp(_ waiter: ProbeWaiter) {
        probes.removeAll { $0 === waiter }
        let why = report.lastError.map { "; the last error was: \($0)" } ?? ""
        waiter.answer(.failure(.probeFailed("it was not linked in time\(why)")))
    }

    /// Uses a link for nothing else. The next one is an ordinary one again.
    func probe(_ client: GATTClient, address: BluetoothAddress?) async {
        let waiters = probes
        probes = []
        let answer: ProbeWaiter.Answer
        do {
            try await client.start { _ in }
            answer = .success(ProbeReport(device.name, try await CollarSurvey.make(with: client, profile: profile), address: address))
        } catch {
            answer = .failure(.probeFailed("\(error)"))
        }
        await client.close("the device was looked at")
        for waiter in waiters { waiter.answer(answer) }
    }
}

extension ControlError {
    static func probeFailed(_ why: String) -> ControlError { .refused(code: "probe-failed", "the device could not be looked at: \(why)") }
}

extension ProbeReport {
    init(_ name: String, _ survey: CollarSurvey, address: BluetoothAddress?) {
        self.init(
            device: name, serial: survey.serial, address: address, encrypted: survey.isEncrypted, mtu: Int(survey.mtu),
            services: survey.database.services.map { Service($0) },
            heartbeat: survey.metrics.map { Heartbeat(battery: $0.battery.map { Int($0) }, log: $0.log, oldest: $0.oldest, next: $0.next) },
            findings: survey.findings)
    }
}

extension ProbeReport.Service {
    init(_ entry: GATTDatabase.Service) {
        self.init(
            uuid: "\(entry.service.uuid)", first: entry.service.startHandle.rawValue, last: entry.service.endHandle.rawValue,
            characteristics: entry.characteristics.map { item in
                ProbeReport.Characteristic(
                    uuid: "\(item.characteristic.uuid)", handle: item.characteristic.valueHandle.rawValue, properties: item.characteristic.properties.names)
            })
    }
}
