import Indicators
import Outbox
import Platform
import Radio
import Uplink

/// The one place where radio, outbox, uplink and indicators meet: it carries values from one to the other and decides nothing that a machine
/// below can decide.
///
/// Wake-up → reconcile → store → deliver → settle → clear. The agents do the first three and the last for their collars, the
/// uplink delivers, and what it reports becomes transactions of the outbox.
actor Hub {
    /// What the hub is made of besides its configuration; tests put virtual parts in their places.
    struct Parts: Sendable {
        let loop: any EventLoop
        /// The thread that may block.
        let storage: any SerialExecutor
        let transport: any HTTPTransport
        /// Where the links to a collar come from that is not reached over the air.
        let links: @Sendable (Configuration.Collar) throws -> any LinkSource
        /// Where the links to a cuff come from that is not reached over the air; `nil` for one that is.
        var cuffLinks: @Sendable (Configuration.Cuff) -> (any LinkSource)? = { _ in nil }
        let wallClock: WallClock
        /// Where the hub and its cuffs are: cuffs keep local time.
        var zone = TimeZoneRules.system
        let log: Log
        let leds: any LEDOutput
        let layout: LEDLayout
        /// Gives memory of the process back, when nothing has happened for a while.
        var releaseMemory: @Sendable () -> Void = {}
        /// Makes a generator of random numbers.
        let random: @Sendable () -> any RandomNumberGenerator & Sendable
        /// The bounds of the outbox, and the disk under it.
        var outbox = OutboxSettings()
        /// Opens the kernel's Bluetooth for these devices; what happens to it is told to the closure.
        var openRadio: @Sendable ([RadioDevice], OutboxBonds, ControllerPolicy, @escaping @Sendable (RadioEvent) -> Void) throws -> RadioController = { _, _, _, _ in
            throw BluetoothError(.controlChannelClosed)
        }
        /// Told how the hub is, after every change.
        var onView: @Sendable (HubView) -> Void = { _ in }
        /// The radio asks for a new process.
        var onRadioEnd: @Sendable (String) -> Void = { _ in }
    }

    /// How often an unsynchronised clock is looked at again.
    private static let clockInterval = Duration.seconds(10)
    /// For how long nothing must have been stored or settled before memory is given back.
    private static let quietTime = Duration.seconds(5)

    /// What is in force. `adopt` alone changes it.
    var configuration: Configuration
    let parts: Parts
    let started: BootInstant

    private(set) var agents: [String: CollarAgent] = [:]
    private(set) var cuffs: [String: CuffAgent] = [:]
    private(set) var store: StoreKeeper?
    private(set) var broker: PlaceBroker?
    private(set) var uplink: Uplink?
    private(set) var board: IndicatorBoard?
    /// `nil` when no configured device is reached over the air.
    private(set) var radio: HubRadio?

    private var clockTimer: TimerID?
    var awayTimer: TimerID?
    private var quietTimer: TimerID?
    private var synchronised = false
    /// What came of the configuration when it was last read.
    var configurationState = StatusReport.Configuration()
    private(set) var running = false
    var refreshing = false
    var refreshWanted = false
    /// The most windows that an owner's backend takes at a time, as far as it was learned.
    private var limits: [String: Int] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { parts.loop.asUnownedSerialExecutor() }

    init(configuration: Configuration, parts: Parts) {
        self.configuration = configuration
        self.parts = parts
        started = parts.loop.now
    }

    // MARK: Life

    /// Starts every part. Returns when the outbox has been opened or has failed to; collars are looked for either way.
    ///
    /// - Throws: `UplinkError` when the backend's address cannot be used; what `Parts.links` throws.
    func start() async throws {
        running = true
        synchronised = parts.wallClock.read().synchronised
        let board = IndicatorBoard(loop: parts.loop, output: parts.leds, layout: parts.layout)
        self.board = board
        // What is not known yet is not shown as well.
        await board.set([.starting, .lookingForDevices, .waitingToSend])
        guard running else { return }
        let owners = Set(configuration.owners.map(\.key))
        let store = StoreKeeper(
            loop: parts.loop, storage: parts.storage, directory: configuration.outboxDirectory, settings: parts.outbox, owners: owners, log: parts.log, random: parts.random
        ) { [weak self] in self?.assumeIsolated { $0.storeChanged() } }
        self.store = store
        var places = Places(parts.outbox, owners: owners.count)
        places.keepOne(for: Set(configuration.collars.map(\.owner)))
        broker = PlaceBroker(loop: parts.loop, places: places) { [weak self] device in
            self?.assumeIsolated { $0.wake(device) }
        } onLineChanged: { [weak self] in
            self?.assumeIsolated { $0.lineChanged() }
        }
        uplink = try makeUplink(store)
        radio = makeRadio(store)
        try makeAgents(owners, store: store)
        makeCuffs(owners, store: store)
        await store.open()
        // A stop may have come while the disk was busy.
        guard running else { return }
        await radio?.start()
        guard running else { return }
        for agent in agents.values { await agent.start() }
        for cuff in cuffs.values {
            await cuff.settleOwners()
            await cuff.start()
        }
        await uplink?.flush(.start)
        watchClock()
        refresh()
    }

    /// Ends every part in order: no new reads, no new requests, then the books.
    func stop() async {
        running = false
        if let clockTimer { parts.loop.cancel(clockTimer) }
        if let awayTimer { parts.loop.cancel(awayTimer) }
        if let quietTimer { parts.loop.cancel(quietTimer) }
        for agent in agents.values { await agent.stop() }
        for cuff in cuffs.values { await cuff.stop() }
        await radio?.stop()
        await uplink?.stop()
        await store?.close()
        await board?.stop()
    }

    /// The operator wants everything read and sent now.
    @discardableResult
    func flush() async -> FlushReport {
        for agent in agents.values { await agent.flush() }
        for cuff in cuffs.values { await cuff.resumePause() }
        await uplink?.flush(.requested)
        let queued = await store?.snapshot?.queued ?? []
        return FlushReport(owners: configuration.owners.count, entries: queued.count)
    }

    /// What an operator asks about what is set aside, or does with it.
    func perform(_ request: OperatorRequest, by user: UInt32) async -> Result<OperatorAnswer, ControlError> {
        guard running, let store, let broker else { return .failure(.notRunning) }
        let desk = OperatorDesk(
            store: store, places: broker, owners: Set(configuration.owners.map(\.key)), wallClock: parts.wallClock, log: parts.log,
            onSettled: { [weak self] device in self?.assumeIsolated { $0.wake(device, settled: true) } },
            onSendable: { [weak self] in self?.assumeIsolated { $0.retry() } })
        return await desk.perform(request, by: user)
    }

    /// The kernel has got an address or a route.
    func networkChanged() {
        guard running else { return }
        parts.loop.spawn { await self.uplink?.flush(.networkBack) }
    }

    private func retry() {
        guard running else { return }
        parts.loop.spawn { await self.uplink?.flush(.requested) }
    }

    private func makeUplink(_ store: StoreKeeper) throws -> Uplink {
        let queue = OutboxDeliveryQueue(store: store, log: parts.log) { [weak self] device in
            self?.assumeIsolated { $0.wake(device, settled: true) }
        }
        return Uplink(
            loop: parts.loop, transport: parts.transport, queue: queue, settings: try UplinkSettings(configuration), wallClock: parts.wallClock,
            random: parts.random(), log: parts.log
        ) { [weak self] event in self?.assumeIsolated { $0.heard(event) } }
    }

    private func makeAgents(_ owners: Set<String>, store: StoreKeeper) throws {
        guard let broker else { return }
        for collar in configuration.collars {
            let services = CollarAgent.Services(
                loop: parts.loop, store: store, places: broker, wallClock: parts.wallClock, log: parts.log,
                isDraining: { [weak self] in await self?.isDraining(collar.owner) ?? false },
                batchLimit: { [weak self] owner in await self?.batchLimit(owner) ?? OutboxSettings.windowLimit },
                databases: collar.isOnAir ? radio?.shelf(of: collar.serial) : nil
            ) { [weak self] event in self?.assumeIsolated { $0.heard(event) } }
            let source: any LinkSource = collar.isOnAir ? radio?.links(of: collar.serial) ?? NoLinks(loop: parts.loop) : try parts.links(collar)
            agents[collar.serial] = CollarAgent(
                device: collar, source: source, owners: owners, sync: configuration.sync, services: services)
        }
    }

    private func makeCuffs(_ owners: Set<String>, store: StoreKeeper) {
        guard let broker else { return }
        for cuff in configuration.cuffs {
            let services = CuffAgent.Services(
                loop: parts.loop, store: store, places: broker, wallClock: parts.wallClock, zone: parts.zone, log: parts.log
            ) { [weak self] event in self?.assumeIsolated { $0.heard(event) } }
            let source = parts.cuffLinks(cuff) ?? radio?.links(of: cuff.serial) ?? NoLinks(loop: parts.loop)
            cuffs[cuff.serial] = CuffAgent(
                device: cuff, source: source, owners: owners, logsReadings: configuration.logReadings, random: parts.random(), services: services)
        }
    }

    // MARK: What the parts tell

    private func heard(_ event: CollarAgent.Event) {
        guard running else { return }
        switch event {
        case .changed: break
        case .linked: parts.loop.spawn { await self.uplink?.flush(.deviceLinked) }
        case .stored: parts.loop.spawn { await self.board?.show(.batchRead) }
        }
        lookAtClock()
        refresh()
    }

    private func heard(_ event: CuffAgent.Event) {
        guard running else { return }
        switch event {
        case .changed: break
        case .linked: parts.loop.spawn { await self.uplink?.flush(.deviceLinked) }
        case .readingStored: parts.loop.spawn { await self.board?.show(.readingStored) }
        case .measurementFailed: parts.loop.spawn { await self.board?.show(.measurementFailed) }
        }
        lookAtClock()
        refresh()
    }

    private func heard(_ event: UplinkEvent) {
        guard running else { return }
        switch event {
        case .limitLearned(let owner, let windows): limits[owner] = windows
        case .settled(let owner, let entry, let receipt), .partSettled(let owner, let entry, _, let receipt):
            if !receipt.rejected.isEmpty {
                let codes = Set(receipt.rejected.map(\.code)).sorted().joined(separator: ", ")
                parts.log(.warning, .windowsRejected, "the backend rejected \(receipt.rejected.count) windows of entry \(entry) (\(codes)); they are kept here",
                          LogField("OWNER", owner), LogField("ENTRY", entry))
            }
        case .readingsAccepted: parts.loop.spawn { await self.board?.show(.readingAccepted) }
        default: break
        }
        refresh()
    }

    /// The queue changed, or whether it can be used: those who work on it are shown how it is now.
    private func storeChanged() {
        guard running, let store else { return }
        if let queued = store.assumeIsolated({ $0.snapshot?.queued }) {
            broker?.assumeIsolated { $0.update(queued: queued) }
            uplink?.assumeIsolated { $0.setEntries(queued.map(QueuedEntry.init)) }
        }
        // What a disk that failed did not take still stands in their lines.
        if case .open = store.assumeIsolated({ $0.state }) { for cuff in cuffs.values { cuff.assumeIsolated { $0.storageWorks() } } }
        refresh()
        awaitQuiet()
    }

    /// After the start, a catch-up or a batch: what only that needed is given back.
    private func awaitQuiet() {
        if let quietTimer { parts.loop.cancel(quietTimer) }
        quietTimer = parts.loop.schedule(after: Self.quietTime) { [weak self] in
            self?.assumeIsolated { $0.giveMemoryBack() }
        }
    }

    private func giveMemoryBack() {
        quietTimer = nil
        parts.loop.spawn {
            await self.store?.releaseMemory()
            self.parts.releaseMemory()
        }
    }

    private func lineChanged() {
        parts.loop.spawn {
            let full = await self.broker?.isFull ?? false
            self.parts.log(full ? .warning : .notice, full ? .queueFull : .queueFree,
                           full ? "the queue is full: devices keep what they have until entries are delivered" : "the queue has room again")
        }
        refresh()
    }

    private func wake(_ device: String, settled: Bool = false) {
        guard running else { return }
        if let cuff = cuffs[device] { parts.loop.spawn { await cuff.storeLine() } }
        guard let agent = agents[device] else { return }
        parts.loop.spawn {
            if settled { await agent.booksChanged() } else { await agent.wake() }
        }
    }

    // MARK: What the agents ask

    /// Whether an owner's entries leave the queue, or none is there.
    private func isDraining(_ owner: String) async -> Bool {
        let lane = await uplink?.lanes.first { $0.owner == owner && $0.endpoint == .rawWindows }
        return lane.map { $0.queued == 0 || $0.lastError == nil } ?? true
    }

    private func batchLimit(_ owner: String) -> Int {
        max(1, min(OutboxSettings.windowLimit, limits[owner] ?? OutboxSettings.windowLimit))
    }

    // MARK: The clock

    /// Until the clock is set it is looked at again and again; afterwards never.
    private func watchClock() {
        guard running, !synchronised, clockTimer == nil else { return }
        clockTimer = parts.loop.schedule(after: Self.clockInterval) { [weak self] in
            self?.assumeIsolated { hub in
                hub.clockTimer = nil
                hub.lookAtClock()
                hub.watchClock()
            }
        }
    }

    private func lookAtClock() {
        guard !synchronised, parts.wallClock.read().synchronised else { return }
        synchronised = true
        parts.log(.notice, .clockSet, "the clock has been set")
        let agents = Array(agents.values), cuffs = Array(cuffs.values)
        parts.loop.spawn {
            await self.uplink?.clockChanged()
            for agent in agents { await agent.clockWasSet() }
            for cuff in cuffs { await cuff.settleOwners() }
        }
        refresh()
    }
}

extension UplinkSettings {
    /// - Throws: `UplinkError` when the base is no https URL.
    init(_ configuration: Configuration) throws(UplinkError) {
        let tokenFiles = Dictionary(uniqueKeysWithValues: configuration.owners.map { ($0.key, $0.tokenFile) })
        let uplink = configuration.uplink
        try self.init(
            base: uplink.base, fhirBase: uplink.fhirBase, tokenFiles: tokenFiles,
            patients: Dictionary(uniqueKeysWithValues: configuration.owners.compactMap { owner in owner.patient.map { (owner.key, $0) } }), policy: RetryPolicy(uplink))
    }
}
