import Platform

/// One blood-pressure cuff of the Bluetooth SIG's profile on one link: opens it, looks at its clock, and hands over what it measured.
///
/// A connection is used once and lives on the loop. A measurement is an indication, and it is confirmed by the caller alone, when what it said is durably
/// stored: until then the cuff keeps it. Not to confirm is allowed as well; the cuff then gives up after the 30 s of the ATT transaction and sends
/// it again on another link.
public actor CuffConnection {
    enum Phase {
        /// Made. Goes on to opening, closed.
        case idle
        /// Discovery, clock and subscriptions. Goes on to open, closed.
        case opening
        /// In use. Goes on to closed.
        case open
        /// Over.
        case closed(CuffError)
    }

    /// Attributes that a cuff has or has not.
    struct Attributes {
        var feature: BloodPressureFeature = []
        var record: GATTCharacteristic?
        var access: GATTCharacteristic?
    }

    nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let client: GATTClient
    let loop: any EventLoop
    let timing: CuffTiming
    /// The models among which this one is, where the configuration leaves that open.
    private let models: [CuffModel]?
    /// What is known of the cuff: what the configuration says, else what the cuff calls itself once that is read.
    private(set) var model: CuffModel
    let setsClock: Bool
    let wall: WallClock
    let zone: TimeZoneRules
    let onEvent: @Sendable (CuffEvent) -> Void
    private(set) var phase = Phase.idle
    var attributes = Attributes()
    var assembler = BloodPressureRecordAssembler(hasCRC: false)
    /// The request to the record access control point that waits for its answer.
    var access: Access?
    /// The indication that waits for the caller.
    private var unconfirmed: CuffConfirmation?
    private var lastIndication: UInt64 = 0
    private var reported: Set<CuffError.Code> = []

    /// - Parameters:
    ///   - client: the attribute client of the link, not started yet, on the same loop.
    ///   - model: the cuff's model by the configuration; `nil` for what the cuff calls itself.
    ///   - models: among which it is then.
    ///   - setsClock: whether a wrong clock is set.
    ///   - wall: the hub's clock.
    ///   - zone: where hub and cuff are.
    ///   - onEvent: called on the loop's thread, in the order of the wire.
    public init(
        client: GATTClient, model: CuffModel? = nil, models: [CuffModel] = CuffModel.table, setsClock: Bool = true, wall: WallClock, zone: TimeZoneRules, loop: any EventLoop,
        timing: CuffTiming = .init(), onEvent: @escaping @Sendable (CuffEvent) -> Void
    ) {
        self.client = client
        self.model = model ?? .general(.standard)
        self.models = model == nil ? models : nil
        self.setsClock = setsClock
        self.wall = wall
        self.zone = zone
        self.loop = loop
        self.timing = timing
        self.onEvent = onEvent
    }

    // MARK: Opening and closing

    /// Starts the client, exchanges the MTU, discovers the services, reads who the cuff is, looks at its clock and sets it where that is due, and subscribes:
    /// measurements last, as a cuff begins to send its memory right then.
    ///
    /// What comes before the subscription is made (a bonded cuff remembers it) is handed over after the clock was looked at, too.
    /// - Throws: `CuffError`; the connection is closed then.
    public func open() async throws(CuffError) -> CuffOpening {
        guard case .idle = phase else { throw CuffError(.notOpen, "the connection was opened before") }
        phase = .opening
        do {
            return try await establish()
        } catch {
            let error = CuffError(cause: error)
            end(error)
            // The link may have ended first and have told the better reason.
            if case .closed(let first) = phase { throw first }
            throw error
        }
    }

    /// Ends the connection and the link.
    public func close() {
        end(CuffError(.linkClosed, "closed by the hub"))
    }

    private func establish() async throws -> CuffOpening {
        try await client.start { [weak self] closure in
            self?.assumeIsolated { $0.end(CuffError(closure: closure)) }
        }
        _ = try await client.exchangeMTU()
        guard let service = try await client.discoverPrimaryServices(CuffUUID.bloodPressure).first else {
            throw CuffError(.notACuff, "no service \(CuffUUID.bloodPressure)")
        }
        let characteristics = try await client.discoverCharacteristics(of: service)
        let byUUID = Dictionary(characteristics.map { ($0.uuid, $0) }) { first, _ in first }
        // A cuff that has both forms sends each measurement in both: one is enough, and the enhanced one says more.
        guard let measurement = byUUID[CuffUUID.enhancedMeasurement] ?? byUUID[CuffUUID.measurement] else {
            throw CuffError(.notACuff, "no characteristic Blood Pressure Measurement")
        }
        let identity = try await identify(byName: models != nil)
        // Before anything is measured for: what came early waits, and is read as this model's.
        if let models { model = .identified(by: [identity.name, identity.model].compactMap { $0 }, driver: .standard, in: models) }
        if let feature = byUUID[CuffUUID.feature], let value = try await readIfAllowed(feature) {
            do throws(CuffError) { attributes.feature = try BloodPressureFeature(parsing: value) } catch { report(error) }
        }
        let clock = try await checkClock(in: byUUID)
        try await subscribeOptional(byUUID)
        try checkNotClosed()
        // From here on measurements come, and the hub may act on one before `open` has returned to it.
        phase = .open
        let isEnhanced = measurement.uuid == CuffUUID.enhancedMeasurement
        try await client.subscribe(to: measurement, as: .indications) { [weak self] update in
            self?.assumeIsolated { $0.indicated(update, isEnhanced: isEnhanced) }
        }
        await client.subscriptionsComplete()
        try checkNotClosed()
        return CuffOpening(identity: identity, model: model, clock: clock, feature: attributes.feature, hasRecords: attributes.access != nil)
    }

    private func checkNotClosed() throws(CuffError) {
        if case .closed(let error) = phase { throw error }
    }

    /// The connection is over. Only the first reason counts.
    func end(_ error: CuffError) {
        if case .closed = phase { return }
        phase = .closed(error)
        unconfirmed = nil
        finishAccess(.failure(error))
        client.assumeIsolated { $0.close() }
        onEvent(.closed(error))
    }

    /// Tells of something irregular, once for each kind.
    func report(_ error: CuffError) {
        if reported.insert(error.code).inserted { onEvent(.irregular(error)) }
    }

    // MARK: Measurements

    private func indicated(_ update: ValueUpdate, isEnhanced: Bool) {
        if case .closed = phase { return }
        lastIndication += 1
        let confirmation = CuffConfirmation(number: lastIndication)
        // What came as a notification asks for no confirmation; to give one is then nothing.
        unconfirmed = update.isIndication ? confirmation : nil
        do throws(CuffError) {
            let measurement = isEnhanced
                ? try CuffMeasurement(enhancedBloodPressureMeasurement: update.value, quirks: model.quirks)
                : try CuffMeasurement(bloodPressureMeasurement: update.value, quirks: model.quirks)
            onEvent(.measurement(measurement, confirmation))
        } catch {
            onEvent(.unreadable(update.value, error, confirmation))
        }
    }

    /// Confirms an indication: the cuff may forget what it said. Called when that is durably stored.
    ///
    /// - Returns: whether the confirmation went out; not when the link has ended meanwhile, and the cuff will send it again.
    @discardableResult
    public func confirm(_ confirmation: CuffConfirmation) -> Bool {
        guard unconfirmed == confirmation else { return false }
        unconfirmed = nil
        return client.assumeIsolated { client in
            do {
                try client.confirmIndication()
                return true
            } catch {
                return false
            }
        }
    }
}
