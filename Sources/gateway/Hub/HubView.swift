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
    var cuffs: [(device: Configuration.Cuff, report: CuffReport)] = []
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
        // A cuff that is away is at rest, unless the configuration sets it a limit.
        if cuffs.contains(where: { device, report in Self.isLong(report.awaySince, device.awayAfter, now) }) { conditions.insert(.deviceAway) }
        if collars.contains(where: { $0.report.state == .reading }) || cuffs.contains(where: { $0.report.state == .reading }) {
            conditions.insert(.readingFromDevice)
        }
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
        let collars = collars.compactMap { device, report in report.awaySince.map { $0 + device.awayAfter } }
        let cuffs = cuffs.compactMap { device, report in device.awayAfter.flatMap { limit in report.awaySince.map { $0 + limit } } }
        return (collars + cuffs).filter { $0 > now }.min()
    }

    private static func isLong(_ since: BootInstant?, _ limit: Duration?, _ now: BootInstant) -> Bool {
        guard let since, let limit else { return false }
        return now - since >= limit
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
                StatusReport.Owner(key: owner.key, lanes: lanes.filter { $0.owner == owner.key }, queued: queued.count { $0.owner == owner.key }, now: now)
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
            cuffs: cuffs.map { device, report in
                var cuff = StatusReport.Cuff(device, report, now: now)
                if let radio {
                    cuff.link = radio.links[device.serial]?.rawValue
                    cuff.address = radio.addresses[device.serial].map { "\($0)" }
                    cuff.bonded = radio.bonded.contains(device.serial)
                }
                return cuff
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
    /// - Parameters:
    ///   - lanes: the owner's, one for each endpoint; what is most urgent in them is shown.
    ///   - queued: the owner's entries, counted in the outbox: the lanes may not have been told yet.
    init(key: String, lanes: [LaneStatus], queued: Int, now: BootInstant) {
        self.init(key: key, state: .idle, queued: queued)
        guard let lane = lanes.max(by: { $0.urgency < $1.urgency }) else { return }
        endpoint = lanes.count > 1 ? lane.endpoint.rawValue : nil
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
        lastSuccessAge = lanes.compactMap(\.lastSuccess).max().map { max(0, (now - $0).milliseconds / 1_000) }
        lastError = (lane.lastError ?? lanes.lazy.compactMap(\.lastError).first).map { .init(code: $0.code, text: $0.words) }
    }
}

extension LaneStatus {
    /// What of two lanes is shown first.
    fileprivate var urgency: Int {
        switch state {
        case .holding: 4
        case .waiting: lastError == nil ? 1 : 3
        case .sending: 2
        case .idle: lastError == nil ? 0 : 1
        }
    }
}

extension StatusReport.Fault {
    /// An error as it describes itself: its code, a colon, and words.
    fileprivate init(words: String) {
        let parts = words.split(separator: ":", maxSplits: 1)
        self.init(code: String(parts.first ?? ""), text: parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
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
        lastError = report.lastError.map { StatusReport.Fault(words: $0) }
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

extension StatusReport.Cuff {
    init(_ device: Configuration.Cuff, _ report: CuffReport, now: BootInstant) {
        self.init(
            name: device.name, serial: device.serial, owner: device.ownership.words, state: State(report.state),
            sinceSeconds: max(0, (now - report.since).milliseconds / 1_000))
        batteryLowSeconds = report.batteryLowSince.map { max(0, (now - $0).milliseconds / 1_000) }
        battery = report.identity?.battery.map(Int.init)
        model = report.model
        firmware = report.identity?.firmware
        lastReadingAge = report.lastReading.map { max(0, (now - $0).milliseconds / 1_000) }
        if case .ahead(let seconds) = report.clock?.found { clockAhead = seconds }
        heldWhy = report.heldWhy
        lastError = report.lastError.map { StatusReport.Fault(words: $0) }
    }
}

extension StatusReport.Cuff.State {
    init(_ state: CuffReport.State) {
        switch state {
        case .away: self = .away
        case .linking: self = .linking
        case .linked: self = .linked
        case .measuring: self = .measuring
        case .reading: self = .reading
        case .held: self = .held
        }
    }
}

extension Configuration.CuffOwnership {
    /// Whose it is, for people.
    fileprivate var words: String {
        switch self {
        case .owner(let owner): owner
        case .users(let users): users.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        }
    }
}
