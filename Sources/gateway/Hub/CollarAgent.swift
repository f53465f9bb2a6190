import Outbox
import Platform
import Radio

/// Looks after one collar: keeps a link to it, and on every wake-up brings what it holds into the outbox and clears what is settled.
///
/// Wake-ups coalesce: however many come, one pass runs at a time, and one more follows if any came meanwhile.
actor CollarAgent {
    /// What others want to know at once.
    enum Event: Sendable {
        /// The report changed.
        case changed
        /// A link is ready for work.
        case linked
        /// A batch of windows was stored.
        case stored
    }

    /// What the agent works with.
    struct Services: Sendable {
        let loop: any EventLoop
        let store: StoreKeeper
        let places: PlaceBroker
        let wallClock: WallClock
        let log: Log
        /// Whether entries leave the queue, or none is there.
        let isDraining: @Sendable () async -> Bool
        /// The most windows that the owner's backend takes in one request.
        let batchLimit: @Sendable (_ owner: String) async -> Int
        let onEvent: @Sendable (Event) -> Void
    }

    /// Entries that one pass stores at the most; what is left is the next wake-up's work.
    private static let passLimit = 32
    /// Reads that brought nothing although the collar said that it holds the range; after so many of them in one pass it contradicts itself.
    private static let fruitlessLimit = 3
    /// How long a collar may be busy on one link. A new link ends whatever it believes to be doing.
    private static let busyLimit = Duration.seconds(60)
    /// How long a collar rests whose windows the outbox did not take: reading them again at each heartbeat would empty its battery.
    private static let refusalRest = Duration.seconds(60)

    let device: Configuration.Collar
    private let source: any LinkSource
    private let profile: CollarProfile
    let services: Services
    private let planner: SyncPlanner

    private(set) var report: CollarReport
    /// The collar, once its profile is open.
    private var connection: CollarConnection?
    /// The link that is up, from its first moment.
    private var current: CollarConnection?
    private var linkTask: Task<Void, Never>?
    private var linkEnded: CheckedContinuation<Void, Never>?
    /// The link that is up, or is being set up, has ended.
    private var linkIsOver = false
    /// Links in a row that brought nothing.
    private var failedLinks = 0
    /// Since when the collar has answered nothing but that it is busy.
    private var busySince: BootInstant?
    /// Not before this moment is anything read.
    private var restUntil: BootInstant?

    private var wanted = false
    private var working = false
    /// The last pass ended for want of a place.
    private var waitsForPlace = false
    private var trigger: PassTrigger
    private var clock = CollarClock()
    /// Whether the collar's clock was looked at on this link.
    private var clockChecked = false
    /// The clear that the collar refused for good on this link, and why.
    private var givenUp: (clear: PendingClear, why: String)?
    /// A log and the highest `next` that the collar announced in it.
    private var announced: (log: UInt32, next: UInt64)?
    private var books: CollarBooks?

    nonisolated var unownedExecutor: UnownedSerialExecutor { services.loop.asUnownedSerialExecutor() }

    init(device: Configuration.Collar, source: any LinkSource, owners: Set<String>, sync: Configuration.Sync, services: Services) {
        self.device = device
        self.source = source
        self.services = services
        profile = CollarProfile(device)
        planner = SyncPlanner(owner: device.owner, backlog: device.backlog, configuredOwners: owners, batchWindows: sync.batchWindows)
        trigger = PassTrigger(batchWindows: sync.batchWindows, batchAge: sync.batchAge)
        let now = services.loop.now
        report = CollarReport(since: now, awaySince: now)
    }

    // MARK: The link

    /// Begins to look for the collar.
    func start() {
        guard linkTask == nil else { return }
        linkTask = services.loop.spawn { await self.keepLinked() }
    }

    /// Lets go of the collar.
    func stop() async {
        linkTask?.cancel()
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
            if Task.isCancelled { return }
            // A collar that links and fails again and again must not keep the hub busy; it is never given up either.
            failedLinks = min(failedLinks + 1, 6)
            if failedLinks > 1 { try? await services.loop.sleep(for: .seconds(min(60, 1 << failedLinks))) }
        }
    }

    /// Sets a link up and stays with it until it ends.
    private func hold(_ link: consuming Link) async throws {
        enter(.linking)
        report.awaySince = nil
        linkIsOver = false
        defer {
            connection = nil
            current = nil
            waitsForPlace = false
            report.awaySince = services.loop.now
            enter(.away)
        }
        let client = GATTClient(descriptor: link.takeDescriptor(), loop: services.loop)
        let connection = CollarConnection(client: client, profile: profile, loop: services.loop) { [weak self] event in
            self?.assumeIsolated { $0.received(event) }
        }
        current = connection
        do {
            let identity = try await connection.open()
            guard identity.serial == device.serial else {
                // Another collar answers at this address: its windows belong to somebody else.
                services.log(.error, .deviceRefused, "\(device.name): the collar at its address has serial number \(identity.serial), not \(device.serial)",
                             LogField("DEVICE", device.serial))
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
        self.connection = connection
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
        case .closed:
            linkIsOver = true
            linkEnded?.resume()
            linkEnded = nil
            connection = nil
        }
    }

    // MARK: Wake-ups

    /// There may be work: a heartbeat, a new link, a free place, a settled range.
    func wake() {
        wanted = true
        guard !working, connection != nil else { return }
        working = true
        services.loop.spawn { await self.work() }
    }

    /// Something of this collar was settled: there may be a clear to send.
    func booksChanged() async {
        // A fault of the storage is the keeper's to tell; the next heartbeat asks again.
        try? await loadBooks()
        wake()
    }

    /// The hub's own clock was set: the collar's is looked at again.
    func clockWasSet() {
        clockChecked = false
        wake()
    }

    /// Reads what there is, however little.
    func flush() {
        trigger.demand()
        wake()
    }

    private func work() async {
        while wanted, let connection {
            wanted = false
            guard await hasWork() else { continue }
            do {
                try await pass(connection)
                failedLinks = 0
                busySince = nil
                report.lastError = refusedClear
            } catch let error as CollarError {
                note(error)
                // Busy passes by itself, or with the link. After anything else the state of the link is uncertain: a new one reconciles.
                if error.code != .busy || isBusyForLong() { await connection.close() }
            } catch {
                note(error)
                if let refused = error as? ChangeRefused, refused.refusal.code != .noPlace { restUntil = services.loop.now + Self.refusalRest }
            }
            let isUp = self.connection === connection
            if isUp, report.state == .reading { enter(report.hold == nil ? .linked : .held) }
            // The link may have gone while the pass asked for a place.
            if !isUp { waitsForPlace = false }
            if !waitsForPlace { await services.places.leave(device: device.serial) }
        }
        working = false
    }

    private func isBusyForLong() -> Bool {
        let since = busySince ?? services.loop.now
        busySince = since
        return services.loop.now - since >= Self.busyLimit
    }

    /// The clear that was refused for good, as long as it stands.
    private var refusedClear: String? {
        givenUp.flatMap { $0.clear == report.pendingClear ? "clear-refused: \($0.why)" : nil }
    }

    /// Whether a wake-up is worth asking the collar: the heartbeat's figures are a hint for that and for nothing else.
    private func hasWork() async -> Bool {
        guard clockChecked, let books, let status = report.status, status.log == books.log else { return true }
        if waitsForPlace { return true }
        if let clear = report.pendingClear, clear != givenUp?.clear { return true }
        // Only a restart with another configuration ends a hold; a new link or log is looked at all the same.
        if report.hold != nil { return false }
        if let restUntil, services.loop.now < restUntil { return false }
        if report.checkpoint == nil || !books.unreported.isEmpty { return true }
        if SequenceNumber.unwrap(status.oldest, near: books.checkpoint) > books.checkpoint { return true }
        if SequenceNumber.unwrap(status.next, near: books.checkpoint) < books.checkpoint { return true }
        return trigger.isDue(draining: await services.isDraining(), now: services.loop.now)
    }

    // MARK: A pass

    private func pass(_ connection: CollarConnection) async throws {
        waitsForPlace = false
        var status = try await connection.status()
        heard(status)
        try await loadBooks()
        try await lookAtClock(connection, status)
        try await clearSettled(connection, status)
        let draining = await services.isDraining()
        guard needsReading(draining: draining) else { return }
        trigger.begin(draining: draining, now: services.loop.now)
        var stored = 0
        var fruitless = 0
        while stored < Self.passLimit {
            switch planner.step(status: status, books: books, ownersLost: ownersLost, formerNext: formerNext) {
            case .rest:
                setHold(nil)
                trigger.stored(0, leaving: 0, now: services.loop.now)
                return
            case .hold(let reason):
                setHold(reason)
                return
            case .begin(let beginning):
                guard try await begin(beginning, status: status) else { return }
            case .assign(let log, let assignment):
                try await make([.assign(device: device.serial, log: log, from: assignment.first, owner: assignment.owner)])
            case .report(let gaps):
                guard try await store(gaps, status: status) else { return }
            case .read(let order):
                setHold(nil)
                guard trigger.isDue(draining: draining, now: services.loop.now) || stored > 0 && report.unread >= trigger.batchWindows else { return }
                guard let outcome = try await read(order, connection, status: status) else { return }
                stored += 1
                let reached = books.map { max($0.checkpoint, order.first) - order.first } ?? 0
                trigger.stored(reached, leaving: report.unread, now: services.loop.now)
                fruitless = outcome == .nothing ? fruitless + 1 : 0
                guard fruitless < Self.fruitlessLimit else {
                    throw CollarError(.unexpectedResult, "it says that it holds window \(order.first) of log \(order.log), and does not when it is read")
                }
                if outcome != .whole {
                    status = try await connection.status()
                    heard(status)
                }
            }
            try await loadBooks()
            try await clearSettled(connection, status)
        }
        // More than one pass may do: the next wake-up goes on.
        wanted = true
    }

    /// The highest `next` that the collar announced in the log of the books.
    private var formerNext: UInt64? { announced.flatMap { $0.log == books?.log ? $0.next : nil } }

    private func needsReading(draining: Bool) -> Bool {
        guard let books, let status = report.status, status.log == books.log, books.unreported.isEmpty, books.owner == device.owner else { return true }
        let next = SequenceNumber.unwrap(status.next, near: books.checkpoint)
        if next < books.checkpoint || next - min(UInt64(status.held), next) > books.checkpoint { return true }
        return trigger.isDue(draining: draining, now: services.loop.now)
    }

    /// Opens the books of a log.
    ///
    /// - Returns: false when a report goes with it and has no place.
    private func begin(_ beginning: LogBeginning, status: BetaMetrics) async throws -> Bool {
        var changes: [Change] = [
            beginning.wentBack
                ? .restartLog(device: device.serial, log: beginning.log, base: beginning.base)
                : .beginLog(device: device.serial, log: beginning.log, base: beginning.base, formerEnd: beginning.formerEnd)
        ]
        changes += beginning.assignments.map { .assign(device: device.serial, log: beginning.log, from: $0.first, owner: $0.owner) }
        clock.logChanged()
        if let withheld = beginning.withheld {
            guard try await store(withheld, status: status, after: changes) else { return false }
        } else {
            try await make(changes)
        }
        // Not before: until the books are written, what was announced of the former log is all that tells how far it went.
        announced = (beginning.log, beginning.base + UInt64(status.held))
        if beginning.wentBack {
            services.log(.error, .logBegun, "\(device.name): the numbers of log \(beginning.log) went back; it is treated as a new log", LogField("DEVICE", device.serial))
        } else {
            services.log(.info, .logBegun, "\(device.name) writes log \(beginning.log)", LogField("DEVICE", device.serial))
        }
        return true
    }

    /// Stores a report of gaps.
    ///
    /// - Returns: false when no place is free; the pass ends and goes on when one is.
    private func store(_ gaps: GapReport, status: BetaMetrics, after changes: [Change] = []) async throws -> Bool {
        guard let place = await reserve(for: gaps.owner) else { return false }
        var changes = changes
        if let assignment = gaps.assignment {
            changes.append(.assign(device: device.serial, log: gaps.log, from: assignment.first, owner: assignment.owner))
        }
        let label = label(status, part: nil, at: gaps.next)
        changes.append(.enqueue(WindowBatch(
            device: device.serial, owner: gaps.owner, log: gaps.log, first: gaps.next, body: [], gaps: gaps.gaps,
            received: services.wallClock.read().seconds, clock: label.text, next: gaps.next)))
        defer { place.giveBack() }
        try await make(changes)
        logGaps(gaps.gaps)
        return true
    }

    /// How a read ended that may be followed by another.
    private enum ReadOutcome {
        case whole
        /// The collar stopped on the way: it has to say anew what it holds.
        case cut
        /// The same, and nothing came.
        case nothing
    }

    /// Reads one range and stores what came of it.
    ///
    /// - Returns: `nil` when no place is free; the pass ends and goes on when one is.
    private func read(_ order: ReadOrder, _ connection: CollarConnection, status: BetaMetrics) async throws -> ReadOutcome? {
        // The place comes before the request: what is read can always be stored.
        guard let place = await reserve(for: order.owner) else { return nil }
        defer { place.giveBack() }
        try checkUp(connection)
        enter(.reading)
        let count = min(order.count, await services.batchLimit(order.owner))
        let read = try await connection.read(log: order.log, first: SequenceNumber.wire(order.first), count: UInt32(count))
        let batches = BatchWriter(device: device.serial, order: order, clock: clock, status: status, hub: services.wallClock.read()).batches(read)
        var places: [PlaceBroker.Place] = []
        defer { for place in places { place.giveBack() } }
        for _ in batches.dropFirst() {
            // Further parts are stored if there is room; otherwise they are read again.
            guard let further = await services.places.reserve(device: device.serial, owner: order.owner, waiting: false) else { break }
            places.append(further)
        }
        let kept = batches.prefix(1 + places.count)
        if !kept.isEmpty {
            try await make(kept.map { .enqueue($0) })
            for batch in kept { logGaps(batch.gaps) }
            failedLinks = 0
            services.onEvent(.stored)
        }
        switch read.end {
        case .complete, .unreadable: return .whole
        case .notHeld, .wrongLog: return kept.isEmpty ? .nothing : .cut
        case .busy: throw CollarError(.busy, "the collar reads for itself, or believes to be read")
        case .interrupted(let error): throw error
        }
    }

    /// A pass outlives its link while the disk is slow. What it finds afterwards says nothing about the link that came next.
    private func checkUp(_ connection: CollarConnection) throws(CollarError) {
        guard self.connection === connection else { throw CollarError(.linkClosed, "the link ended during a pass") }
    }

    private func reserve(for owner: String) async -> PlaceBroker.Place? {
        let place = await services.places.reserve(device: device.serial, owner: owner)
        waitsForPlace = place == nil
        return place
    }

    // MARK: Clearing

    /// Lets the collar forget what is settled.
    private func clearSettled(_ connection: CollarConnection, _ status: BetaMetrics) async throws {
        guard let clear = report.pendingClear, clear != givenUp?.clear else { return }
        // Where numbers went back they name other windows now than those that were settled.
        if let books, SyncPlanner.wentBack(status, books) { return }
        switch try await ClearProcedure(clear: clear).run(connection) {
        case .cleared:
            services.log(.debug, .collarCleared, "\(device.name): cleared through \(clear.through)", LogField("DEVICE", device.serial))
            try await make([.cleared(device: device.serial, log: clear.log, through: clear.through)])
        case .logGone:
            try await make([.logEnded(device: device.serial, log: clear.log)])
        case .later: break
        case .refused(let why):
            services.log(.error, .clearRefused, "\(device.name): the clear through \(clear.through) was refused: \(why)", LogField("DEVICE", device.serial))
            try await make([.clearRefused(device: device.serial, log: clear.log, through: clear.through)])
            try checkUp(connection)
            if let refused = report.pendingClear { givenUp = (refused, why) }
            report.lastError = refusedClear
        }
    }

    // MARK: Books and clocks

    private var ownersLost = false

    private func loadBooks() async throws {
        let record = try await services.store.device(device.serial)
        ownersLost = record?.assignmentsLost ?? false
        books = record.flatMap(CollarBooks.init)
        report.checkpoint = books?.checkpoint
        report.settledEnd = record?.current?.settledEnd
        report.pendingClear = record?.pendingClear
        if let status = report.status { heard(status) }
        services.onEvent(.changed)
    }

    /// Takes in what the collar says it holds.
    private func heard(_ status: BetaMetrics) {
        report.status = status
        guard let books, books.log == status.log else {
            report.unread = UInt64(status.held)
            trigger.announced(unread: report.unread, now: services.loop.now)
            return
        }
        let next = SequenceNumber.unwrap(status.next, near: books.checkpoint)
        let start = max(books.checkpoint, next - min(UInt64(status.held), next))
        report.unread = next > start ? next - start : 0
        if announced.map({ $0.log != status.log || $0.next < next }) ?? true { announced = (status.log, next) }
        trigger.announced(unread: report.unread, now: services.loop.now)
    }

    private func lookAtClock(_ connection: CollarConnection, _ status: BetaMetrics) async throws {
        let hub = services.wallClock.read()
        let isSet = status.flags.contains(.clockIsSet)
        clock.compared(device: isSet ? status.time : nil, hub: hub)
        guard !clockChecked else { return }
        try checkUp(connection)
        clockChecked = true
        guard hub.synchronised, let seconds = UInt32(exactly: hub.seconds), !isSet || abs(Int64(status.time) - hub.seconds) > 2 else { return }
        switch try await connection.setTime(seconds) {
        case .set: break
        case .busy:
            clockChecked = false
            return
        case .unsupported(let error):
            note(error)
            return
        }
        clock.wasSet(at: SequenceNumber.unwrap(status.next, near: books?.checkpoint ?? UInt64(status.oldest)))
        services.log(.info, .deviceClockSet, "\(device.name): its clock was \(isSet ? "wrong" : "not set") and has been set", LogField("DEVICE", device.serial))
    }

    private func label(_ status: BetaMetrics, part: BatchCutter.ClockKind?, at sequence: UInt64) -> ClockLabel {
        ClockLabel(status: status, kind: part, offset: clock.offset(at: sequence), hub: services.wallClock.read())
    }

    /// Makes changes durable; one that the outbox refuses is a fault of the books or of the collar and ends the pass.
    private func make(_ changes: [Change]) async throws {
        for outcome in try await services.store.commit(changes) {
            if case .refused(let refusal) = outcome {
                throw ChangeRefused(refusal: refusal)
            }
        }
        try await loadBooks()
    }

    // MARK: Telling

    private func enter(_ state: CollarReport.State) {
        guard report.state != state else { return }
        report.state = state
        report.since = services.loop.now
        services.onEvent(.changed)
    }

    private func setHold(_ reason: CollarHold?) {
        let isNews = report.hold?.isLike(reason) != true
        report.hold = reason
        if let reason {
            enter(.held)
            guard isNews else { return }
            services.log(.error, .deviceHeld, "\(device.name) is not read: \(reason)", LogField("DEVICE", device.serial))
        } else if report.state == .held {
            enter(.linked)
        }
    }

    private func note(_ error: any Error) {
        let words = "\(error)"
        // One line per change: a collar that fails the same way at every try says so once.
        guard report.lastError != words else { return }
        report.lastError = words
        services.log(.warning, .deviceFault, "\(device.name): \(words)", LogField("DEVICE", device.serial))
    }

    private func logGaps(_ gaps: [SequenceGap]) {
        for gap in gaps {
            services.log(.warning, .gapFound, "\(device.name): \(gap.count) windows from \(gap.first) of log \(gap.log): \(gap.reason.rawValue)",
                         LogField("DEVICE", device.serial), LogField("REASON", gap.reason.rawValue))
        }
    }
}

/// The outbox did not make a change that the hub asked for.
struct ChangeRefused: Error, CustomStringConvertible {
    let refusal: Refusal
    var description: String { "\(refusal)" }
}
