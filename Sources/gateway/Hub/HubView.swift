import Glibc
import Indicators
import Outbox
import Platform
import Uplink

/// The hub at one moment, as a value: what the LEDs show and what `gateway status` says follow from it.
struct HubView: Sendable {
    let configuration: Configuration
    let wall: WallTime
    var isOpen = false
    var fault: OutboxError?
    var snapshot: OutboxSnapshot?
    var opening: OpeningReport?
    var isFull = false
    var lanes: [LaneStatus] = []
    var collars: [(device: Configuration.Collar, report: CollarReport)] = []
    var shown: [LEDShown] = []
    /// `nil` when no configured device is reached over the air.
    var radio: HubRadio.View?
    var configurationState = StatusReport.Configuration()

    init(configuration: Configuration, wall: WallTime) {
        self.configuration = configuration
        self.wall = wall
    }

    /// Everything that is true and worth a light.
    func conditions(now: BootInstant) -> IndicatorConditions {
        var conditions: IndicatorConditions = []
        if fault != nil { conditions.insert(.storageFault) }
        if configurationState.isRefused { conditions.insert(.configurationRefused) }
        if !isOpen, fault == nil { conditions.insert(.starting) }
        if case .absent = radio?.controller { conditions.insert(.noController) }
        if radio?.pairingUntil != nil { conditions.insert(.pairingOpen) }
        if collars.contains(where: { $0.report.state == .away || $0.report.state == .linking }) { conditions.insert(.lookingForDevices) }
        if collars.contains(where: { device, report in report.awaySince.map { now - $0 >= device.awayAfter } ?? false }) {
            conditions.insert(.deviceAway)
        }
        if collars.contains(where: { $0.report.state == .reading }) { conditions.insert(.readingFromDevice) }
        if isFull { conditions.insert(.queueFull) }
        // As long as nobody could look into the outbox, nobody knows that everything is delivered.
        if snapshot.map({ !$0.queued.isEmpty }) ?? true { conditions.insert(.waitingToSend) }
        for lane in lanes {
            switch lane.state {
            case .holding(.clock, _): if !wall.synchronised { conditions.insert(.clockUnset) }
            case .holding(.authorisation, _): conditions.insert(.authorisationRefused)
            case .holding(.interception, _), .holding(.endpoint, _): conditions.insert(.backendUnreachable)
            case .idle, .sending, .waiting: break
            }
            // An error that stands while something waits: the last attempt failed. A refused token has a state of its own.
            if lane.queued > 0, lane.lastError != nil, !lane.isRefused { conditions.insert(.backendUnreachable) }
        }
        return conditions
    }

    /// When the next absence becomes a long one.
    func nextAway(after now: BootInstant) -> BootInstant? {
        collars.compactMap { device, report in report.awaySince.map { $0 + device.awayAfter } }.filter { $0 > now }.min()
    }

    /// What `gateway status` says.
    func report(started: BootInstant, now: BootInstant) -> StatusReport {
        func age(_ moment: BootInstant) -> Int64 { max(0, (now - moment).milliseconds / 1_000) }
        let settings = OutboxSettings()
        let queued = snapshot?.queued ?? []
        return StatusReport(
            version: Versions.gateway, pid: getpid(), uptimeSeconds: age(started),
            clock: .init(synchronised: wall.synchronised, unixSeconds: wall.seconds), configuration: configurationState,
            outbox: .init(
                queued: queued.count, places: settings.places, free: snapshot?.freePlaces ?? settings.places, exhausted: queued.count { $0.exhausted },
                quarantined: snapshot?.quarantined.count ?? 0, sealed: snapshot?.sealed.count ?? 0,
                evidence: snapshot?.evidence ?? 0, damagedFile: opening?.movedAside?.path,
                fault: fault.map { .init(code: $0.code.rawValue, text: "\($0.what); \($0.advice)") }),
            owners: configuration.owners.map { owner in
                StatusReport.Owner(key: owner.key, lane: lanes.first { $0.owner == owner.key }, queued: queued.count { $0.owner == owner.key }, now: now)
            },
            radio: radio.map { StatusReport.Radio($0, now: now) },
            collars: collars.map { device, report in
                var collar = StatusReport.Collar(device, report, now: now)
                if let radio {
                    collar.link = radio.links[device.serial]?.rawValue
                    collar.address = radio.addresses[device.serial].map { "\($0)" }
                    collar.bonded = device.isOnAir ? radio.bonded.contains(device.serial) : nil
                }
                return collar
            },
            indicators: .init(
                status: shown.first { $0.led == .status }?.state.rawValue, radio: shown.first { $0.led == .radio }?.state.rawValue,
                uplink: shown.first { $0.led == .uplink }?.state.rawValue))
    }
}

extension StatusReport.Radio {
    init(_ view: HubRadio.View, now: BootInstant) {
        switch view.controller {
        case .starting: self.init(state: .starting)
        case .ready(let address): self.init(state: .ready, controller: address.map { "\($0)" })
        case .absent(let why): self.init(state: .absent, why: why)
        case .recovering(let why): self.init(state: .recovering, why: why)
        }
        pairingSeconds = view.pairingUntil.map { max(0, ($0 - now).milliseconds / 1_000) }
    }
}

extension LaneStatus {
    /// Whether the lane is held because the backend does not take the owner's token.
    fileprivate var isRefused: Bool {
        if case .holding(.authorisation, _) = state { return true }
        return false
    }
}

extension StatusReport.Owner {
    /// - Parameter queued: the owner's entries, counted in the outbox: the lane may not have been told yet.
    init(key: String, lane: LaneStatus?, queued: Int, now: BootInstant) {
        self.init(key: key, state: .idle, queued: queued)
        guard let lane else { return }
        switch lane.state {
        case .idle: state = .idle
        case .sending: state = .sending
        case .waiting(let moment):
            state = .waiting
            waitingSeconds = max(0, (moment - now).milliseconds / 1_000)
        case .holding(let reason, let probe):
            state = .holding
            holding = reason.rawValue
            waitingSeconds = max(0, (probe - now).milliseconds / 1_000)
        }
        lastSuccessAge = lane.lastSuccess.map { max(0, (now - $0).milliseconds / 1_000) }
        lastError = lane.lastError.map { .init(code: $0.code, text: $0.words) }
    }
}

extension StatusReport.Collar {
    init(_ device: Configuration.Collar, _ report: CollarReport, now: BootInstant) {
        self.init(
            name: device.name, serial: device.serial, owner: device.owner, state: State(report.state),
            sinceSeconds: max(0, (now - report.since).milliseconds / 1_000))
        battery = (report.status?.battery ?? report.identity?.battery).map(Int.init)
        firmware = report.identity?.firmware
        log = report.status?.log
        oldest = report.status?.oldest
        next = report.status?.next
        checkpoint = report.checkpoint.map(Int64.init(clamping:))
        unread = report.status == nil ? nil : Int64(clamping: report.unread)
        settledThrough = report.settledEnd.flatMap { $0 > 0 ? Int64(clamping: $0 - 1) : nil }
        pendingClear = report.pendingClear.map { Int64(clamping: $0.through) }
        lastHeartbeatAge = report.lastHeartbeat.map { max(0, (now - $0).milliseconds / 1_000) }
        heldWhy = report.hold?.description
        lastError = report.lastError.map { words in
            let parts = words.split(separator: ":", maxSplits: 1)
            return .init(code: String(parts.first ?? ""), text: parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
        }
    }
}

extension StatusReport.Collar.State {
    init(_ state: CollarReport.State) {
        switch state {
        case .away: self = .away
        case .linking: self = .linking
        case .linked: self = .linked
        case .reading: self = .reading
        case .held: self = .held
        }
    }
}
