import Outbox
import Platform
import Radio

/// The link to the collar: taken, set up, and stayed with until it ends.
extension CollarAgent {
    /// So many unread windows make a catch-up, for which a link is given the parameters of a stream.
    private static let catchUp: UInt64 = 256

    /// Begins to look for the collar.
    func start() {
        guard linkTask == nil else { return }
        linkTask = services.loop.spawn { await self.keepLinked() }
    }

    /// Lets go of the collar.
    func stop() async {
        linkTask?.cancel()
        for waiter in probes { waiter.answer(.failure(.notRunning)) }
        probes = []
        await current?.close()
        await linkTask?.value
    }

    private func keepLinked() async {
        while !Task.isCancelled {
            do {
                let link = try await source.nextLink()
                // Who stopped the agent while the link was on its way here has found none to close.
                try Task.checkCancellation()
                try await hold(link)
            } catch is CancellationError {
                return
            } catch {
                note(error)
            }
            await source.linkReleased()
            if Task.isCancelled { return }
            // A collar that links and fails again and again must not keep the hub busy; it is never given up either.
            failedLinks = min(failedLinks + 1, 6)
            if failedLinks > 1 { try? await services.loop.sleep(for: .seconds(min(60, 1 << failedLinks))) }
        }
    }

    /// Sets a link up and stays with it until it ends.
    private func hold(_ link: consuming Link) async throws {
        await takeDatabase()
        // Whoever stopped the agent meanwhile has found no link to close.
        try Task.checkCancellation()
        enter(.linking)
        report.awaySince = nil
        linkIsOver = false
        isStreaming = false
        defer {
            connection = nil
            current = nil
            waitsForPlace = false
            report.awaySince = services.loop.now
            enter(.away)
        }
        let source = source
        let address = link.address
        let raiseSecurity: RaiseSecurity = { requirement in
            // The link is made anew, encrypted, or there is nothing to be done; this one is over either way.
            await source.securityDemanded()
            throw SecurityDemanded(requirement: requirement)
        }
        let client = try GATTClient(link: link, loop: services.loop, raiseSecurity: address == nil ? nil : raiseSecurity)
        if !probes.isEmpty { return await probe(client, address: address) }
        let onDatabase: @Sendable (GATTDatabaseCache) -> Void = { [weak self] found in self?.assumeIsolated { $0.discovered(found) } }
        let connection = CollarConnection(
            client: client, profile: profile, loop: services.loop, cache: database.isInUse ? database.kept?.cache : nil,
            onDatabase: database.kept == nil ? nil : onDatabase
        ) { [weak self] event in
            self?.assumeIsolated { $0.received(event) }
        }
        current = connection
        do {
            let identity = try await connection.open()
            guard identity.serial == device.serial else {
                // Another collar answers at this address: its windows belong to somebody else.
                services.log(.error, .deviceRefused, "\(device.name): the collar at its address has serial number \(identity.serial), not \(device.serial)",
                             LogField("DEVICE", device.serial))
                doubtDatabase(CollarError(.noSerialNumber, "found \(identity.serial)"))
                report.lastError = "serial-mismatch: found \(identity.serial)"
                await connection.close()
                return
            }
            report.identity = identity
        } catch {
            await connection.close()
            throw error
        }
        // It may have ended between its last answer and now; then nobody will say so again.
        guard !linkIsOver else { return }
        await source.linkWorks()
        guard !linkIsOver else { return }
        self.connection = connection
        // Without what was kept it went well, or has gone well with it.
        database.isDoubted = false
        services.loop.spawn { await self.storeDatabase() }
        clockChecked = false
        givenUp = nil
        busySince = nil
        enter(.linked)
        services.log(.info, .deviceLinked, "\(device.name) is linked", LogField("DEVICE", device.serial))
        services.onEvent(.linked)
        wake()
        await withCheckedContinuation { linkEnded = $0 }
        services.log(.info, .deviceAway, "\(device.name) is away", LogField("DEVICE", device.serial))
        // A place that is kept for a collar that is away would be kept from the others, perhaps for ever.
        waitsForPlace = false
        await services.places.leave(device: device.serial)
    }

    private func received(_ event: CollarEvent) {
        switch event {
        case .heartbeat(let metrics):
            report.lastHeartbeat = services.loop.now
            heard(metrics)
            wake()
        case .malformedHeartbeat(let error), .irregular(let error):
            note(error)
        case .silent:
            services.log(.warning, .deviceFault, "\(device.name): no heartbeat on a link that is up; the link is given up", LogField("DEVICE", device.serial))
        case .closed(let error):
            doubtDatabase(error)
            linkIsOver = true
            linkEnded?.resume()
            linkEnded = nil
            connection = nil
        }
    }

    /// Gives the link the parameters of a stream for a catch-up, and those of rest after it. A few windows are no reason to change anything.
    func stream(_ wanted: Bool) async {
        let wanted = wanted && report.unread > Self.catchUp || wanted && isStreaming
        guard wanted != isStreaming else { return }
        isStreaming = wanted
        await source.use(wanted ? .stream : .rest)
    }
}

/// The device refused a request for want of security, and this link will not have more.
struct SecurityDemanded: Error, CustomStringConvertible {
    let requirement: SecurityRequirement
    var description: String { "the device asks for \(requirement)" }
}
