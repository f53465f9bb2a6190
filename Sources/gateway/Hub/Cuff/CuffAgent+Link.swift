import Outbox
import Platform
import Radio

/// The link to the cuff: taken, set up, and stayed with until it ends.
extension CuffAgent {
    /// For how long the hub waits, at the most, after links that could not be opened. A cuff is there for a moment only.
    private static let longestPause = Duration.seconds(8)

    /// Begins to wait for the cuff.
    func start() {
        guard linkTask == nil else { return }
        linkTask = services.loop.spawn { await self.keepLinked() }
    }

    /// Lets go of the cuff.
    func stop() async {
        linkTask?.cancel()
        for waiter in probes { waiter.answer(.failure(.notRunning)) }
        probes = []
        await current?.close()
        resumePause()
        await linkTask?.value
    }

    /// Values of health go into the log from now on, or do not.
    func adopt(logsReadings: Bool) { self.logsReadings = logsReadings }

    private func keepLinked() async {
        while !Task.isCancelled {
            do {
                let link = try await source.nextLink()
                // Who stopped the agent while the link was on its way here has found none to close.
                try Task.checkCancellation()
                try await hold(link)
                failedLinks = 0
            } catch is CancellationError {
                return
            } catch {
                note(error)
                failedLinks = min(failedLinks + 1, 8)
            }
            await source.linkReleased()
            if Task.isCancelled { return }
            if failedLinks > 1 { try? await services.loop.sleep(for: min(Self.longestPause, .seconds(1 << (failedLinks - 1)))) }
        }
    }

    /// Sets a link up and stays with it until it ends.
    private func hold(_ link: consuming Link) async throws {
        let owners = try await loadBooks()
        try Task.checkCancellation()
        enter(.linking)
        report.awaySince = nil
        linkIsOver = false
        hasServed = false
        linkNumber += 1
        defer {
            current = nil
            filing = nil
            report.awaySince = services.loop.now
            stopMeasuring()
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
        switch device.driver {
        case .standard: try await measure(client, owners)
        case .bp2: try await harvest(client, owners)
        }
        services.log(.info, .deviceAway, "\(device.name) is away", LogField("DEVICE", device.serial))
        await services.places.leave(device: device.serial)
        if line.isWhole, report.heldWhy == nil { try? await noteContact() }
        setHold(nil)
    }

    // MARK: The two drivers

    private func measure(_ client: GATTClient, _ owners: CuffOwners) async throws {
        let connection = CuffConnection(
            client: client, model: device.model, models: device.models, setsClock: device.setsClock, wall: services.wallClock, zone: services.zone,
            loop: services.loop
        ) { [weak self] event in
            self?.assumeIsolated { $0.received(event) }
        }
        current = .standard(connection)
        let opening = try await connection.open()
        guard isExpected(opening.identity) else { return await connection.close() }
        await opened(opening.identity, opening.model, opening.clock, owners)
        guard !linkIsOver else { return }
        if opening.hasRecords { await fetchRecords(connection) }
        while !linkIsOver {
            await wait(for: nil)
            if line.isMissingRecords, line.isEmpty, !linkIsOver {
                line.recordsWanted()
                await fetchRecords(connection)
            }
        }
    }

    private func received(_ event: CuffEvent) {
        switch event {
        case .measurement(let measurement, let confirmation):
            stopMeasuring()
            take(.measurement(measurement), .indication(confirmation))
        case .unreadable(let octets, let error, let confirmation): take(.unreadable(octets, error), .indication(confirmation))
        case .record(_, let measurement): take(.measurement(measurement), .record)
        case .pressure: inflates()
        case .irregular(let error): note(error)
        case .closed: ended()
        }
    }

    /// The cuff's memory. It keeps what it sends, and what is stored already is known by its name.
    private func fetchRecords(_ connection: CuffConnection) async {
        do throws(CuffError) {
            let result = try await connection.fetchRecords()
            guard result == .success || result == .noRecordsFound else { return note(CuffError(.refused, "the cuff does not send its records: \(result.rawValue)")) }
        } catch {
            note(error)
        }
    }

    /// Takes note of who the cuff is; from here on what it sends is stored.
    func opened(_ identity: CuffIdentity, _ model: CuffModel, _ clock: CuffClockCheck, _ owners: CuffOwners) async {
        report.identity = identity
        report.model = model.name
        report.clock = clock
        report.heard(battery: identity.battery, now: services.loop.now)
        if case .set = clock.setting { services.log(.info, .deviceClockSet, "the clock of \(device.name) was set", LogField("DEVICE", device.serial)) }
        if clock.setting == .kept { note(CuffError(.clockKept, "the cuff took a new time and shows another one all the same")) }
        await noteClock(clock)
        filing = CuffFiling(
            serial: device.serial, identity: identity, replaysMemory: model.replaysMemory, clock: remembered(clock), owners: owners, zone: services.zone)
        // It may have ended between its last answer and now; the cuff keeps what was not confirmed.
        guard !linkIsOver else { return }
        await source.linkWorks()
        guard !linkIsOver else { return }
        enter(.linked)
        services.log(.info, .deviceLinked, "\(device.name) is linked", LogField("DEVICE", device.serial))
        services.onEvent(.linked)
        storeLine()
    }

    /// A cuff may be another one than the configuration means, at an address that was found by its kind alone, or whose maker lets it say its number.
    func isExpected(_ identity: CuffIdentity) -> Bool {
        guard let serial = identity.serial, serial != device.serial else { return true }
        guard device.link == .adoption || device.driver == .bp2 else {
            // At an address that a person has written down it is that person's word that counts: many cuffs have another number on their label.
            services.log(.info, .deviceFault, "\(device.name) says that its serial number is \(shown(serial, upTo: 64))", LogField("DEVICE", device.serial))
            return true
        }
        let words = "the cuff that answers has serial number \(shown(serial, upTo: 64)), not \(device.serial); nothing is taken from it. "
            + "If it is the right one, write serial = \(quoted(serial)); if not: gateway forget \(device.name)"
        if report.lastError != "serial-mismatch: \(words)" {
            services.log(.error, .deviceRefused, "\(device.name): \(words)", LogField("DEVICE", device.serial))
            report.lastError = "serial-mismatch: \(words)"
        }
        return false
    }

    // MARK: Waiting

    func ended() {
        linkIsOver = true
        line.linkEnded()
        waitsForPlace = false
        resumePause()
    }

    /// Stays until the link ends or something happens, or until so much time has passed.
    func wait(for time: Duration?) async {
        guard !linkIsOver else { return }
        let timer = time.map { time in services.loop.schedule(after: time) { [weak self] in self?.assumeIsolated { $0.resumePause() } } }
        await withCheckedContinuation { pause = $0 }
        if let timer { services.loop.cancel(timer) }
    }

    func resumePause() {
        pause?.resume()
        pause = nil
    }

    // MARK: Measuring

    /// Without a word about the pressure for so long, the cuff does not inflate any more.
    private static let inflationLimit = Duration.seconds(15)

    private func inflates() {
        enter(.measuring)
        if let measuringTimer { services.loop.cancel(measuringTimer) }
        measuringTimer = services.loop.schedule(after: Self.inflationLimit) { [weak self] in self?.assumeIsolated { $0.stopMeasuring() } }
    }

    func stopMeasuring() {
        if let measuringTimer { services.loop.cancel(measuringTimer) }
        measuringTimer = nil
        if report.state == .measuring { enter(.linked) }
    }
}
