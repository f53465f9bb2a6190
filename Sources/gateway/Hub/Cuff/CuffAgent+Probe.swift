import Platform
import Radio

/// Looks at the cuff from end to end, over the link that is up or over the next one, before anything else is tried on it.
extension CuffAgent {
    /// How long somebody waits for a link.
    private static let probeLimit = Duration.seconds(55)

    func probe(address: BluetoothAddress?) async -> ProbeWaiter.Answer {
        if filing != nil, let current {
            do { return .success(ProbeReport(device.name, try await current.survey(), address: address)) } catch { return .failure(.probeFailed("\(error)")) }
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
        let why = report.lastError.map { "; the last error was: \($0)" } ?? "; a cuff is there when it is switched on or has just measured"
        waiter.answer(.failure(.probeFailed("it was not linked in time\(why)")))
    }

    /// Uses a link for nothing else. The next one is an ordinary one again.
    func probe(_ client: GATTClient, address: BluetoothAddress?) async {
        let waiters = probes
        probes = []
        let answer: ProbeWaiter.Answer
        do {
            try await client.start { _ in }
            answer = .success(ProbeReport(device.name, try await CuffSurvey.make(with: client, driver: device.driver), address: address))
        } catch {
            answer = .failure(.probeFailed("\(error)"))
        }
        await client.close("the device was looked at")
        for waiter in waiters { waiter.answer(answer) }
    }
}

extension ProbeReport {
    init(_ name: String, _ survey: CuffSurvey, address: BluetoothAddress?) {
        self.init(
            device: name, serial: survey.identity.serial, address: address, encrypted: survey.isEncrypted, mtu: Int(survey.mtu),
            services: survey.database.services.map { Service($0) }, findings: survey.findings)
    }
}
