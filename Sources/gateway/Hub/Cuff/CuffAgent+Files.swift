import Outbox
import Platform
import Radio

/// A cuff of the BP2 family: it stays linked for as long as it is switched on, and keeps its readings as files, which are read when they are new.
extension CuffAgent {
    /// How often a cuff that is linked is asked whether it measures and what it has.
    private static let lookInterval = Duration.seconds(30)

    func harvest(_ client: GATTClient, _ owners: CuffOwners) async throws {
        let connection = BP2Connection(client: client, setsClock: device.setsClock, wall: services.wallClock, zone: services.zone, loop: services.loop) { [weak self] _ in
            self?.assumeIsolated { $0.ended() }
        }
        current = .bp2(connection)
        let opening = try await connection.open()
        guard isExpected(opening.identity) else { return await connection.close() }
        await opened(opening.identity, device.model ?? .general(.bp2), opening.clock, owners)
        do {
            try await look(connection, opening.look)
        } catch {
            try? await storeMarks()
            await connection.close()
            throw error
        }
    }

    private func look(_ connection: BP2Connection, _ first: BP2Look) async throws {
        var look = first
        while !linkIsOver {
            show(look)
            if !look.isMeasuring { try await readFiles(connection) }
            guard !linkIsOver else { return }
            await wait(for: Self.lookInterval)
            guard !linkIsOver else { return }
            look = try await connection.look()
        }
    }

    private func show(_ look: BP2Look) {
        report.heard(battery: look.battery, asks: look.isBatteryLow, now: services.loop.now)
        if look.isMeasuring { enter(.measuring) } else if report.state == .measuring { enter(.linked) }
    }

    /// Reads what is new, and notes it once it is stored.
    private func readFiles(_ connection: BP2Connection) async throws {
        // What is in the way of the first file is in the way of all.
        guard line.isEmpty else { return storeLine() }
        let (harvest, listed) = try await connection.readNew(checkpoint)
        checkpoint = listed
        for item in harvest.items {
            let file = CuffLine.Origin.file(CuffLine.File(name: item.name, octets: item.octets))
            switch item.content {
            case .reading(let measurement): take(.measurement(measurement), file)
            case .other: take(.nothing, file)
            case .unreadable(let error): take(.unreadable(item.octets, error), file)
            }
        }
        if let stopped = harvest.stopped, !linkIsOver { note(stopped) }
        await waitForStoring()
        try await storeMarks()
    }
}
