import Outbox
import Platform
import Radio
import Uplink

/// Looks after one cuff: keeps a link to it whenever there is one, stores what it measured, and lets it forget that only then.
///
/// What came from the cuff stands in one line (`CuffLine`) until it is stored, so that readings keep their order; what the disk or the queue does not take stays
/// there for as long as the link lasts, unconfirmed, and the cuff sends it again on another one.
actor CuffAgent {
    /// What others want to know at once.
    enum Event: Sendable {
        /// The report changed.
        case changed
        /// A link is ready for work.
        case linked
        /// A reading was stored.
        case readingStored
        /// The cuff reported a measurement that failed.
        case measurementFailed
    }

    /// What the agent works with.
    struct Services: Sendable {
        let loop: any EventLoop
        let store: StoreKeeper
        let places: PlaceBroker
        let wallClock: WallClock
        /// Where hub and cuff are.
        let zone: TimeZoneRules
        let log: Log
        let onEvent: @Sendable (Event) -> Void
    }

    /// Readings that one transaction stores at the most.
    static let transactionLimit = 8

    let device: Configuration.Cuff
    let source: any LinkSource
    let services: Services
    /// The keys of the owners that there are.
    let owners: Set<String>
    /// Whether values of health may stand in the log.
    var logsReadings: Bool
    private var random: any RandomNumberGenerator & Sendable

    var report: CuffReport
    /// The link that is up, from its first moment.
    var current: CuffLink?
    var linkTask: Task<Void, Never>?
    /// What waits for the end of the link, or for a reason to look at the cuff again.
    var pause: CheckedContinuation<Void, Never>?
    /// The link that is up, or is being set up, has ended.
    var linkIsOver = false
    /// Counts the links.
    var linkNumber: UInt64 = 0
    /// Something new was stored on this link.
    var hasServed = false
    /// Links in a row that could not be opened.
    var failedLinks = 0
    /// Who wants the device to be looked at from end to end on the next link.
    var probes: [ProbeWaiter] = []

    /// What came and is not stored.
    var line = CuffLine()
    /// How what comes on this link is filed, once the cuff has said who it is and how its clock stands.
    var filing: CuffFiling?
    /// The books, as they were when the link came.
    var books: CuffBooks?
    /// How the cuff's clock was when the hub set it last.
    var clockSetting: CuffClockSetting?
    /// What of a cuff of the BP2 family is stored already.
    var checkpoint = BP2Checkpoint()
    private var isStoring = false
    /// There was a reason to try since the line was looked at last.
    private var isWanted = false
    /// The disk did not take what stands in the line.
    private var waitsForDisk = false
    private var storing: [CheckedContinuation<Void, Never>] = []
    /// The queue had no room for what stands first in the line.
    var waitsForPlace = false
    /// Measurements that failed and were told, by their octets: a cuff sends its memory more than once.
    private var failuresTold: [[UInt8]] = []
    /// When inflation was noticed last.
    var measuringTimer: TimerID?

    nonisolated var unownedExecutor: UnownedSerialExecutor { services.loop.asUnownedSerialExecutor() }

    init(
        device: Configuration.Cuff, source: any LinkSource, owners: Set<String>, logsReadings: Bool, random: any RandomNumberGenerator & Sendable, services: Services
    ) {
        self.device = device
        self.source = source
        self.owners = owners
        self.logsReadings = logsReadings
        self.random = random
        self.services = services
        let now = services.loop.now
        report = CuffReport(since: now, awaySince: now)
    }

    // MARK: Storing

    /// Something came that is to be stored.
    func take(_ content: CuffLine.Content, _ origin: CuffLine.Origin) {
        line.append(content, origin, link: linkNumber, received: services.wallClock.read(), nonce: nonce())
        storeLine()
    }

    /// Begins to store what stands in the line, unless that is being done: something came, there may be room again, or the disk works again.
    func storeLine() {
        isWanted = true
        guard !isStoring, filing != nil, !line.isEmpty else { return }
        isStoring = true
        services.loop.spawn { await self.storeAll() }
    }

    /// The outbox can be used: what it did not take is tried again.
    func storageWorks() {
        guard waitsForDisk else { return }
        waitsForDisk = false
        storeLine()
    }

    /// Waits until what stands in the line is stored, or cannot be at the moment.
    func waitForStoring() async {
        if isStoring { await withCheckedContinuation { storing.append($0) } }
    }

    private func storeAll() async {
        if current != nil { enter(.reading) }
        while isWanted, let filing {
            isWanted = false
            while !line.isEmpty {
                let batch = line.first(Self.transactionLimit)
                let kept = await keep(batch, filing)
                line.remove(kept)
                guard kept.count == batch.count else { break }
            }
        }
        isStoring = false
        for continuation in storing { continuation.resume() }
        storing = []
        if report.state == .reading { enter(report.heldWhy == nil ? .linked : .held) }
        if !waitsForPlace { await services.places.leave(device: device.serial) }
        resumePause()
    }

    /// Stores items in order, in one transaction.
    ///
    /// - Returns: the numbers of those that are durably stored, or are nothing to store.
    private func keep(_ items: [CuffLine.Item], _ filing: CuffFiling) async -> Set<UInt64> {
        let places = items.map { item -> CuffFiling.Place in
            switch item.content {
            case .measurement(let measurement): filing.place(measurement, received: item.received, nonce: item.nonce)
            case .unreadable(let octets, let error): filing.place(unreadable: octets, error, received: item.received)
            case .nothing: .failedMeasurement
            }
        }
        var place: PlaceBroker.Place?
        if waitsForPlace, let owner = places.lazy.compactMap(\.owner).first {
            place = await services.places.reserve(device: device.serial, owner: owner, kind: .cuff)
            guard place != nil else { return [] }
        }
        defer { place?.giveBack() }
        do {
            var outcomes = try await services.store.commit(places.compactMap(\.change))[...]
            waitsForPlace = false
            var kept: Set<UInt64> = []
            for (item, place) in zip(items, places) {
                let outcome = place.change == nil ? nil : outcomes.popFirst()
                if case .refused(let refusal) = outcome {
                    await refused(refusal, place)
                    // What stands behind it may be stored all the same.
                    continue
                }
                kept.insert(item.number)
                await isKept(item, place, outcome)
            }
            if kept.count == items.count { setHold(nil) }
            return kept
        } catch {
            // The keeper tells of its fault, and wakes us when it is over.
            waitsForDisk = true
            return []
        }
    }

    private func isKept(_ item: CuffLine.Item, _ place: CuffFiling.Place, _ outcome: ChangeOutcome?) async {
        switch place {
        case .failedMeasurement:
            if case .measurement(let measurement) = item.content { tellFailure(measurement) }
        case .stored(let record, let reading):
            guard case .readingStored(let entry) = outcome else { break }
            services.log(.notice, .readingStored, "a blood-pressure reading of \(device.name) is stored for \(record.owner)\(words(reading))",
                         LogField("DEVICE", device.serial), LogField("OWNER", record.owner), LogField("ENTRY", entry))
            await served()
            services.onEvent(.readingStored)
        case .doubted(_, let reading, let doubt, _):
            guard case .readingStored(let entry) = outcome else { break }
            services.log(.error, .readingSetAside, "a blood-pressure reading of \(device.name) is nobody's and is set aside: \(doubt.words(reading.measurement.user)); "
                         + "see: gateway quarantine", LogField("DEVICE", device.serial), LogField("ENTRY", entry), LogField("REASON", doubt.rawValue))
            await served()
        case .unreadable(_, let error):
            guard case .readingStored(let entry) = outcome else { break }
            services.log(.error, .readingSetAside, "something that \(device.name) sent cannot be read and is set aside: \(error); \(error.advice)",
                         LogField("DEVICE", device.serial), LogField("ENTRY", entry), LogField("REASON", error.code.rawValue))
            await served()
        }
        switch item.origin {
        case .indication(let confirmation):
            // On another link the same number is another indication.
            let isConfirmed = item.link == linkNumber ? await current?.confirm(confirmation) : nil
            if isConfirmed != true { line.remember(item) }
        case .record: break
        case .file(let file): checkpoint.stored(file.name, file.octets)
        }
    }

    private func refused(_ refusal: Refusal, _ place: CuffFiling.Place) async {
        switch refusal.code {
        case .noPlace:
            guard !waitsForPlace, let owner = place.owner else { return }
            waitsForPlace = true
            // A place that became free meanwhile wakes us as well.
            if let place = await services.places.reserve(device: device.serial, owner: owner, kind: .cuff) {
                place.giveBack()
                services.loop.spawn { await self.storeLine() }
            }
            setHold("the queue is full; the cuff keeps its readings")
        case .quarantineFull:
            setHold("\(refusal); look at it and decide: gateway quarantine")
        default:
            setHold("\(refusal)")
        }
    }

    /// What makes the name of a reading without a time.
    private func nonce() -> [UInt8] { (0..<2).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } } }

    private func served() async {
        report.lastReading = services.loop.now
        report.lastError = nil
        guard !hasServed else { return }
        hasServed = true
        await source.linkServed()
    }

    private func tellFailure(_ measurement: CuffMeasurement) {
        guard !failuresTold.contains(measurement.raw) else { return }
        failuresTold.append(measurement.raw)
        if failuresTold.count > 64 { failuresTold.removeFirst() }
        services.log(.notice, .measurementFailed, "\(device.name) reports a measurement that failed; there is nothing to send", LogField("DEVICE", device.serial))
        services.onEvent(.measurementFailed)
    }

    // MARK: Telling

    func enter(_ state: CuffReport.State) {
        guard report.state != state else { return }
        report.state = state
        report.since = services.loop.now
        services.onEvent(.changed)
    }

    func setHold(_ why: String?) {
        let isNews = report.heldWhy != why
        report.heldWhy = why
        guard isNews else { return }
        if let why { services.log(.error, .deviceHeld, "readings of \(device.name) cannot be stored: \(why)", LogField("DEVICE", device.serial)) }
        services.onEvent(.changed)
    }

    func note(_ error: any Error) {
        let words = "\(error)"
        // One line per change: a cuff that fails the same way on every link says so once.
        guard report.lastError != words else { return }
        report.lastError = words
        services.log(.warning, .deviceFault, "\(device.name): \(words)", LogField("DEVICE", device.serial))
    }

    /// What was measured, where the configuration lets that into the log.
    private func words(_ reading: CuffReading) -> String {
        guard logsReadings else { return "" }
        let measured = reading.measurement
        let unit = measured.unit == .kPa ? "kPa" : "mmHg"
        let pulse = measured.pulse.map { ", pulse \($0.words)" } ?? ""
        return ": \(measured.systolic.words)/\(measured.diastolic.words) \(unit)\(pulse)"
    }
}

extension SFLOAT {
    fileprivate var words: String { number.map { "\($0)" } ?? "?" }
}

extension CuffFiling.Place {
    /// Whose place in the queue it needs.
    fileprivate var owner: String? {
        if case .stored(let record, _) = self { record.owner } else { nil }
    }
}

extension CuffOwners.Doubt {
    fileprivate func words(_ user: UInt32?) -> String {
        switch self {
        case .unmappedUser: "no [[cuff.user]] says who its user \(user.map { "\($0)" } ?? "") is"
        case .missingUser: "it does not say which of its users it is of"
        case .beforeAssignment: "it is, or may be, from before this owner had the cuff"
        }
    }
}

extension LogEvent {
    static let readingStored = LogEvent("reading-stored", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0030")
    static let measurementFailed = LogEvent("measurement-failed", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0032")
}
