import Platform

extension SimulatedCollar {
    /// PDUs taken from the socket, and windows given to it, before the loop gets its turn.
    private static let batch = 32
    /// The time between two batches of a radio that does not wait (Core, Vol 6, Part B, 4.5.1: at least 7.5 ms).
    private static let connectionInterval = Duration.microseconds(7_500)
    /// The ATT transaction timeout (Core, Vol 3, Part F, 3.3.3).
    private static let transactionTimeout = Duration.seconds(30)

    /// Whether there is a link.
    public var isLinked: Bool { link != nil }

    /// Takes a connected packet socket as its link, in place of the one there is.
    ///
    /// - Parameter encrypted: whether the link counts as encrypted.
    /// - Throws: `SystemError` when the socket cannot be watched.
    public func link(descriptor: consuming Descriptor, encrypted: Bool = true) throws(SystemError) {
        dropLink()
        try descriptor.setNonBlocking()
        let raw = descriptor.raw
        let link = CollarLink(descriptor, server: ATTServer(table: handles.table, preferredMTU: configuration.mtu, encrypted: encrypted))
        try watch(raw, for: .readable)
        self.link = link
        channel.reset()
        links += 1
        if configuration.asksForMTU { link.outgoing.append(CollarLink.Outgoing(pdu: link.server.mtuRequest())) }
        emit(.linked)
        pump()
    }

    /// Drops the link, as a supervision timeout does: the hub sees it end, and whatever was under way is gone.
    public func dropLink() {
        guard let link else { return }
        self.link = nil
        loop.unwatch(link.descriptor.raw)
        for timer in [link.heartbeat, link.confirmationTimer, link.rateTimer, link.supervision] {
            if let timer { loop.cancel(timer) }
        }
        held = nil
        heldRequests = []
        emit(.unlinked)
    }

    /// Sends no heartbeat until the link ends.
    public func silence() {
        link?.silent = true
    }

    /// The hub goes out of range: nothing passes in either direction, and after the supervision timeout the link is lost.
    public func fade() {
        guard let link, link.supervision == nil else { return }
        loop.unwatch(link.descriptor.raw)
        link.supervision = loop.schedule(after: configuration.supervisionTimeout) { [weak self] in self?.assumeIsolated { $0.dropLink() } }
    }

    /// Ends or begins the encryption of the link.
    public func setEncrypted(_ encrypted: Bool) {
        link?.server.encrypted = encrypted
    }

    // MARK: In

    private func watch(_ raw: CInt, for interest: Readiness) throws(SystemError) {
        try loop.watch(raw, for: interest) { [weak self] readiness in
            self?.assumeIsolated { $0.ready(readiness) }
        }
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.readable) || readiness.contains(.hangup) { takeIn() }
        if readiness.contains(.writable) { pump() }
    }

    private func takeIn() {
        for _ in 0..<Self.batch {
            guard let link, link.supervision == nil else { return }
            do throws(SystemError) {
                guard let pdu = try link.descriptor.read(upTo: 1_024) else { return }
                if pdu.isEmpty {
                    dropLink()
                    return
                }
                receive(pdu, link)
            } catch {
                dropLink()
            }
        }
    }

    private func receive(_ pdu: [UInt8], _ link: CollarLink) {
        let now = loop.now
        link.server.setValue(state.betaMetrics(transferRunning: link.control.isReading, at: now), of: handles.betaMetrics)
        link.server.setValue([state.batteryPercent], of: handles.battery)
        for action in link.server.receive(pdu) {
            switch action {
            case .send(let pdu): link.outgoing.append(CollarLink.Outgoing(pdu: pdu))
            case .configured(let handle, let subscribed): configured(handle, subscribed, link)
            case .request(let request): self.request(request)
            case .confirmed: confirmed(link)
            }
        }
        pump()
    }

    private func configured(_ handle: UInt16, _ subscribed: Bool, _ link: CollarLink) {
        guard handle == handles.betaMetrics else { return }
        if let timer = link.heartbeat { loop.cancel(timer) }
        link.heartbeat = nil
        if subscribed { beatNext(at: loop.now + configuration.heartbeatInterval, link) }
    }

    private func beatNext(at deadline: BootInstant, _ link: CollarLink) {
        link.heartbeat = loop.schedule(at: deadline) { [weak self] in
            self?.assumeIsolated { collar in
                guard let link = collar.link else { return }
                collar.beatNext(at: deadline + collar.configuration.heartbeatInterval, link)
                guard !link.silent else { return }
                let metrics = collar.state.betaMetrics(transferRunning: link.control.isReading, at: collar.loop.now)
                if let pdu = link.server.notification(metrics, of: collar.handles.betaMetrics) {
                    link.outgoing.append(CollarLink.Outgoing(pdu: pdu))
                }
                collar.pump()
            }
        }
    }

    // MARK: Requests

    /// Takes a request, unless the collar is made to wait.
    func request(_ request: [UInt8]) {
        if held != nil {
            heldRequests.append(request)
            return
        }
        let opcode = CollarControlPoint.Opcode(rawValue: request[0])
        if (opcode == .readRange && hold(at: .readRequest)) || (opcode == .clear && hold(at: .clearRequest)) {
            heldRequests.append(request)
            return
        }
        serve(request)
    }

    /// Serves a request now.
    func serve(_ request: [UInt8]) {
        guard let link else { return }
        if misbehaves(configuration.faults.busyPerRequest, "busy") {
            answer(CollarControlPoint.busy(request[0]), link)
            return
        }
        let wasReading = link.control.isReading
        for action in link.control.receive(request, collar: &state, mtu: link.server.mtu, now: loop.now) {
            switch action {
            case .answer(let value): answer(value, link)
            case .cleared(let log, let through): clears.append(ClearRecord(log: log, through: through, at: loop.now))
            }
        }
        if link.control.isReading, !wasReading {
            reads += 1
            let slow = misbehaves(configuration.faults.slowPerRead, "slow")
            link.windowsPerSecond = slow ? configuration.faults.slowWindowsPerSecond : configuration.windowsPerSecond
            link.nextWindowAt = nil
        }
    }

    private func answer(_ value: [UInt8], _ link: CollarLink) {
        if value[1] == CollarControlPoint.Opcode.clear.rawValue, value[2] == CollarControlPoint.Result.clearRefused.rawValue { clearsRefused += 1 }
        for late in channel.flush() { notifyWindow(late, completes: nil, link) }
        guard !misbehaves(configuration.faults.noAnswerPerRequest, "no-answer") else { return }
        if let pdu = link.server.indicate(value, of: handles.controlPoint) { link.outgoing.append(CollarLink.Outgoing(pdu: pdu)) }
    }

    private func confirmed(_ link: CollarLink) {
        if let timer = link.confirmationTimer { loop.cancel(timer) }
        link.confirmationTimer = nil
    }

    // MARK: Out

    /// Sends what waits and what the running read gives, until the socket is full or nothing is left.
    func pump() {
        var windows = 0
        while let link, link.supervision == nil {
            if let first = link.outgoing.first {
                guard send(first, link) else { return wantWritable(true) }
                continue
            }
            if link.dropsWhenOut { return dropLink() }
            if held != nil { return wantWritable(false) }
            guard mayStep(link) else { return wantWritable(false) }
            // The loop comes back at once, as the socket has room: others get their turn before.
            guard windows < Self.batch else {
                // A radio that loses does not wait for the hub: it goes on when its next connection event comes.
                if configuration.faults.losesWhenFull { return pumpAgain(at: loop.now + Self.connectionInterval) }
                return wantWritable(true)
            }
            windows += 1
            switch link.control.step(&state.flash) {
            case .idle: return wantWritable(false)
            case .answer(let value): answer(value, link)
            case .window(let sequence, let bytes): transmit(bytes, sequence, link)
            }
        }
    }

    /// Whether the socket, or the loss of the PDU, has taken it.
    private func send(_ outgoing: CollarLink.Outgoing, _ link: CollarLink) -> Bool {
        do throws(SystemError) {
            if try link.descriptor.send(outgoing.pdu) == nil {
                guard configuration.faults.losesWhenFull, outgoing.pdu[0] == ATTOpcode.notification else { return false }
                count("lost-when-full")
            }
        } catch {
            // The hub is gone, and with it the link.
            dropLink()
            return true
        }
        link.outgoing.removeFirst()
        if let sequence = outgoing.completes {
            state.flash.markSent(sequence)
            windowsSent += 1
        }
        if outgoing.pdu[0] == ATTOpcode.indication {
            link.confirmationTimer = loop.schedule(after: Self.transactionTimeout) { [weak self] in self?.assumeIsolated { $0.dropLink() } }
            if Array(outgoing.pdu[3...]).starts(with: [0x80, CollarControlPoint.Opcode.clear.rawValue, 0]) { _ = hold(at: .clearAnswered) }
        }
        return true
    }

    private func wantWritable(_ wanted: Bool) {
        guard let link, link.watchesWritable != wanted else { return }
        do throws(SystemError) {
            try watch(link.descriptor.raw, for: wanted ? [.readable, .writable] : .readable)
            link.watchesWritable = wanted
        } catch {
            dropLink()
        }
    }

    private func transmit(_ bytes: [UInt8], _ sequence: UInt32, _ link: CollarLink) {
        let delivery = channel.send(bytes, sequence: sequence, isIntact: state.flash.isIntact(sequence), mtu: link.server.mtu, &dice)
        for fault in delivery.faults { count(fault) }
        for value in delivery.values { notifyWindow(value, completes: nil, link) }
        // What the air loses or holds back has been sent as far as the collar knows; what a drop cut off has not.
        if !delivery.drops, link.server.isSubscribed(handles.rawWindows) {
            if link.outgoing.isEmpty {
                state.flash.markSent(sequence)
                windowsSent += 1
            } else {
                link.outgoing[link.outgoing.count - 1].completes = sequence
            }
        }
        link.dropsWhenOut = delivery.drops
        if let rate = link.windowsPerSecond { link.nextWindowAt = max(link.nextWindowAt ?? loop.now, loop.now) + .seconds(1) / max(1, rate) }
    }

    private func notifyWindow(_ value: [UInt8], completes sequence: UInt32?, _ link: CollarLink) {
        guard let pdu = link.server.notification(value, of: handles.rawWindows) else { return }
        link.outgoing.append(CollarLink.Outgoing(pdu: pdu, completes: sequence))
    }

    /// Whether a read with a bounded rate may go on now; if not, it will when its time has come.
    private func mayStep(_ link: CollarLink) -> Bool {
        guard link.control.hasWindowsLeft, let due = link.nextWindowAt, due > loop.now else { return true }
        pumpAgain(at: due)
        return false
    }

    private func pumpAgain(at deadline: BootInstant) {
        guard let link, link.rateTimer == nil else { return }
        link.rateTimer = loop.schedule(at: deadline) { [weak self] in
            self?.assumeIsolated { collar in
                collar.link?.rateTimer = nil
                collar.pump()
            }
        }
    }
}
