import Platform

/// The schedule of discovery, which runs beside the kernel's pending connections.
struct Search: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        case idle(next: BootInstant?)
        case running(until: BootInstant)
    }

    var phase = Phase.idle(next: nil)
    /// Somebody wants to see what is heard, until then.
    var wantedUntil: BootInstant?
    var lastBegin: BootInstant?
    /// Not before that the next one.
    var pausedUntil: BootInstant?

    /// There is no controller any more that could scan.
    mutating func lost() { phase = .idle(next: nil) }

    func deadline(_ settings: ConnectorSettings) -> BootInstant? {
        switch phase {
        case .idle(let next): [next, wantedUntil].compactMap { $0 }.min()
        case .running(let until): [until, wantedUntil].compactMap { $0 }.min()
        }
    }
}

/// Discovery, and what is heard by it.
extension ConnectorMachine {
    /// Whether somebody waits for the outcome.
    private var isUrgent: Bool { window != nil || search.wantedUntil != nil }

    private var isSearchWanted: Bool {
        if isUrgent { return true }
        return devices.values.contains { device in
            if case .stale = device.phase { true } else { false }
        }
    }

    mutating func runSearch(at now: BootInstant) {
        if let until = search.wantedUntil, until <= now { search.wantedUntil = nil }
        if case .running(let until) = search.phase, until <= now { scanEnded(failed: true, at: now) }
        // A controller cannot scan and connect as well as do one of them.
        let mayRun = isReady && trial == nil && isSearchWanted
        switch search.phase {
        case .running:
            guard !mayRun else { return }
            search.phase = .idle(next: nil)
            search.pausedUntil = now + settings.scanPause
            output.append(.endScan)
        case .idle:
            guard mayRun else {
                search.phase = .idle(next: nil)
                return
            }
            let regular = search.lastBegin.map { $0 + settings.scanInterval } ?? now
            let next = max(isUrgent ? now : regular, search.pausedUntil ?? now)
            guard next <= now else {
                search.phase = .idle(next: next)
                return
            }
            search.lastBegin = now
            search.phase = .running(until: now + settings.scanLimit)
            output.append(.beginScan)
        }
    }

    mutating func scanEnded(failed: Bool, at now: BootInstant) {
        guard case .running = search.phase else { return }
        search.phase = .idle(next: nil)
        search.pausedUntil = now + (failed ? settings.scanFailurePause : settings.scanPause)
    }

    // MARK: What is heard

    mutating func heard(_ sighting: Sighting, at now: BootInstant) {
        if let id = device(at: sighting.address) { return heardKnown(id, isConnectable: sighting.isConnectable, at: now) }
        guard sighting.isConnectable, !candidates.isSpoof(sighting.address, at: now) else { return }
        var matches: [String] = []
        var claims: [String] = []
        var isOfOurKind = false
        for (id, device) in devices {
            guard device.configured.isOfKind(sighting.data) else { continue }
            if let identity = device.configured.identity {
                guard let data = sighting.data.serviceData[device.configured.service] else { continue }
                isOfOurKind = true
                guard data == identity else { continue }
                claims.append(id)
            } else {
                isOfOurKind = true
            }
            if isSeeking(id, device) { matches.append(id) }
        }
        if !matches.isEmpty {
            candidates.note(sighting, for: matches.sorted(), at: now, settings)
        } else if isOfOurKind, candidates.isNews(sighting.address, at: now, settings) {
            tell(.unknown(sighting.address, claims: claims.sorted()))
        }
    }

    private mutating func heardKnown(_ id: String, isConnectable: Bool, at now: BootInstant) {
        guard let device = devices[id] else { return }
        devices[id]?.isCycledFor = false
        if isConnectable { checkForStall(id, device, at: now) }
        switch device.phase {
        case .expected: devices[id]?.phase = .expected(since: now)
        case .stale: devices[id]?.phase = device.failures < settings.failureLimit ? .expected(since: now) : .stale(since: now)
        default: break
        }
    }

    /// The kernel hears what discovery hears, and links a device of its list at once. One that does neither link nor fail is held up by what the kernel lost track of.
    private mutating func checkForStall(_ id: String, _ device: Device, at now: BootInstant) {
        switch device.phase {
        case .expected, .stale: break
        default: return
        }
        guard isReady, trial == nil else { return }
        guard let heardAt = device.heardAt else {
            devices[id]?.heardAt = now
            return
        }
        guard now - heardAt >= settings.heardLimit else { return }
        cycle(for: .heardInVain(device: id), at: now)
    }

    /// A device that is linked for its part, while the kernel knows nothing of the link, advertises no more: Linux 6.12 forgets a connection that the controller makes in
    /// the moment in which it is cancelled, and the kernel cancels one when the encryption of another ends at the wrong time. No command shows such a link or ends it.
    /// From here it cannot be told from a device that is away, so the controller is switched off and on once for each silence.
    mutating func checkForSilence(at now: BootInstant) {
        guard isReady, trial == nil, window == nil else { return }
        for (id, device) in devices.sorted(by: { $0.key < $1.key }) {
            guard !device.isCycledFor, case .stale(let since) = device.phase, now - since >= settings.silenceLimit else { continue }
            guard cycle(for: .silent(device: id), at: now) else { return }
            // It serves all that are silent.
            for (other, device) in devices { if case .stale = device.phase { devices[other]?.isCycledFor = true } }
            return
        }
    }

    /// Switches the controller off and on, unless it was done not long ago.
    @discardableResult
    private mutating func cycle(for reason: ConnectorEvent, at now: BootInstant) -> Bool {
        guard lastCycle.map({ now - $0 >= settings.cyclePause }) ?? true else { return false }
        lastCycle = now
        for id in devices.keys { devices[id]?.heardAt = nil }
        tell(reason)
        output.append(.cyclePower)
        return true
    }

    /// Whether a new address would be adopted for the device.
    func isSeeking(_ id: String, _ device: Device) -> Bool {
        let isWindow = window?.includes(id) ?? false
        switch device.phase {
        case .unplaced: return isWindow
        case .stale: return device.configured.identity != nil
        // Who says who it is can be found at once when somebody opens pairing for it.
        case .expected, .needsPairing, .backingOff: return isWindow && device.configured.identity != nil
        case .connecting, .securing, .awaitingKeys, .storing, .linked, .working, .ending, .closing, .removing, .adopting: return false
        }
    }
}
