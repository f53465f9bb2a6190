/// The peer's database as a whole: discovered, kept between links, and discovered again where it changes (Core Vol 3 Part G 2.5.2, 7).
extension GATTClient {
    /// How often a database may change while it is being discovered.
    private static var patience: Int { 8 }

    // MARK: Opening

    /// Makes the database known and keeps it so for as long as the link lasts.
    ///
    /// Reads the Database Hash; discovers everything unless `cache` was kept under that very hash; subscribes Service Changed; and asks for robust caching
    /// and for notifications of several values in one PDU, where the peer has these. From then on a change is noticed, confirmed and
    /// discovered. Meanwhile requests for handles in the changed range wait; one whose handle means something else afterwards fails with
    /// `databaseChanged`, and nothing is sent.
    ///
    /// - Parameters:
    ///   - cache: of a bonded peer, from an earlier link.
    ///   - services: the primary services that the caller needs, when it needs no others. A database that is not kept is discovered in these and in the GATT
    ///     service alone, without included services and without descriptors that configure nothing; it has no hash then. `nil`: everything is always discovered.
    ///   - isKept: whether the caller keeps a database that has a hash for later links. One without is never kept.
    ///   - onChange: called on the loop with each new database after the first. Subscriptions in the changed range are to be made again.
    /// - Throws: `GATTError`, or `CancellationError`.
    public func openDatabase(
        _ cache: GATTDatabaseCache? = nil, needing services: Set<BluetoothUUID>? = nil, isKept: Bool = true,
        onChange: @escaping @Sendable (GATTDatabase) -> Void = { _ in }
    ) async throws -> GATTDatabase {
        let hash = try await offeredHash()
        let isCached = hash != nil && cache?.database.hash == hash
        if let cache, isCached {
            needed = nil
            database = cache.database
        } else {
            needed = hash == nil || !isKept ? services?.union([.genericAttribute]) : nil
            database = GATTDatabase(hash: needed == nil ? hash : nil, services: try await walk(.everything, needed))
        }
        onDatabaseChange = onChange
        try await watchServiceChanged()
        try await announceFeatures()
        // What changed before Service Changed was heard shows in the hash alone.
        if hash != nil, !isCached, try await readDatabaseHash() != hash {
            databaseChanged(.everything)
        }
        try await wait(for: .rediscovery)
        guard let database else { throw GATTError(.databaseUnstable) }
        return database
    }

    /// Discovers the whole database: primary and secondary services, what they include, then service by service the characteristics with
    /// their descriptors. The client finds descriptors for subscriptions in it from then on.
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverDatabase() async throws -> GATTDatabase {
        let found = GATTDatabase(hash: nil, services: try await walk(.everything, nil))
        database = found
        return found
    }

    /// Reads the peer's hash of its database (7.3): with Read Using Characteristic UUID, as its handle may be what has changed.
    ///
    /// - Returns: 16 octets; `nil` when the peer has no such characteristic.
    /// - Throws: `GATTError`, or `CancellationError`.
    public func readDatabaseHash() async throws -> [UInt8]? {
        let response = try await request(.readByTypeRequest(.everything, type: .databaseHash), discovering: true)
        switch response {
        case .readByTypeResponse(let list):
            guard let hash = list.first?.value, hash.count == 16 else {
                throw GATTError(.implausible(response.opcode, "has a Database Hash of \(list.first?.value.count ?? 0) octets"))
            }
            return hash
        case .errorResponse(_, _, .attributeNotFound), .errorResponse(_, _, .requestNotSupported): return nil
        default: throw Self.failure(response, on: .first)
        }
    }

    /// A peer that refuses its hash, or answers with none that can be one, is none the less usable.
    private func offeredHash() async throws -> [UInt8]? {
        do { return try await readDatabaseHash() } catch let error as GATTError where !error.endsBearer { return nil }
    }

    /// - Parameter needed: the primary services that are discovered, and no more of them than using them takes; `nil` for everything.
    private func walk(_ range: ATTHandleRange, _ needed: Set<BluetoothUUID>?) async throws -> [GATTDatabase.Service] {
        let primary = try await discover(ServicesPage(type: .primaryService), in: range).filter { needed?.contains($0.uuid) ?? true }
        let secondary = needed == nil ? try await secondaryServices(in: range) : []
        let found = primary.map { ($0, true) } + secondary.map { ($0, false) }
        var included: [[GATTIncludedService]] = []
        for (service, _) in found {
            // A service that is its declaration alone has no room for more.
            let isBare = needed != nil || service.startHandle == service.endHandle
            included.append(isBare ? [] : try await discoverIncludedServices(of: service))
        }
        var services: [GATTDatabase.Service] = []
        for (position, (service, isPrimary)) in found.enumerated() {
            var characteristics: [GATTDatabase.Characteristic] = []
            if service.startHandle != service.endHandle {
                for characteristic in try await discoverCharacteristics(of: service) {
                    let isBare = needed != nil && characteristic.properties.isDisjoint(with: [.notify, .indicate])
                    let descriptors = isBare ? [] : try await discoverDescriptors(of: characteristic)
                    characteristics.append(GATTDatabase.Characteristic(characteristic, descriptors: descriptors))
                }
            }
            services.append(GATTDatabase.Service(service, isPrimary: isPrimary, included: included[position], characteristics: characteristics))
        }
        return services
    }

    /// A peer without any may say that it does not know the type.
    private func secondaryServices(in range: ATTHandleRange) async throws -> [GATTService] {
        do {
            return try await discover(ServicesPage(type: .secondaryService), in: range)
        } catch let error as GATTError where error.attCode == .unsupportedGroupType || error.attCode == .requestNotSupported {
            return []
        }
    }

    // MARK: Being told of changes

    private func watchServiceChanged() async throws {
        guard let found = database?.characteristics(.serviceChanged).first?.characteristic, found.valueHandle != serviceChangedHandle else { return }
        do {
            try await subscribe(to: found, as: .indications) { [weak self] update in
                self?.assumeIsolated { $0.serviceChanged(update) }
            }
            serviceChangedHandle = found.valueHandle
        } catch let error as GATTError where !error.endsBearer {
            // A peer that refuses to tell of changes is none the less usable: its hash and Database Out Of Sync are left.
        }
    }

    /// Says that this side can handle robust caching and Multiple Handle Value Notifications (7.2). A bit once set is never cleared.
    private func announceFeatures() async throws {
        guard let features = database?.characteristics(.clientSupportedFeatures).first?.characteristic else { return }
        do {
            var value = features.properties.contains(.read) ? try await read(features.valueHandle) : []
            if value.isEmpty { value = [0] }
            guard value[0] & 0x05 != 0x05 else { return }
            value[0] |= 0x05
            try await write(value, to: features.valueHandle)
        } catch let error as GATTError where !error.endsBearer {
            // Optional on both sides.
        }
    }

    /// A Service Changed indication (7.1).
    private func serviceChanged(_ update: ValueUpdate) {
        var reader = ATTReader(update.value[...])
        if let start = try? reader.handle(), let end = try? reader.handle(), reader.remaining == 0, start != .none, start <= end {
            databaseChanged(ATTHandleRange(start: start, end: end))
        } else {
            // Something has changed, whatever the peer meant to say.
            databaseChanged(.everything)
        }
        if update.isIndication { confirmUnwanted() }
    }

    // MARK: Discovering again

    /// Discovers again what changed without this side having been told.
    func rediscover() async throws {
        databaseChanged(.everything)
        try await wait(for: .rediscovery)
    }

    private func databaseChanged(_ range: ATTHandleRange) {
        changed = changed?.union(range) ?? range
        unasked = unasked?.union(range) ?? range
        withdrawAffected()
        begin(.rediscovery) { try await self.discoverChanges() }
    }

    private func discoverChanges() async throws {
        let before = database
        do {
            var rounds = 0
            while let range = unasked {
                unasked = nil
                rounds += 1
                guard rounds <= Self.patience else { throw GATTError(.databaseUnstable) }
                try await discoverChange(in: range)
            }
        } catch {
            changed = nil
            unasked = nil
            database = nil
            // A handle may mean anything now. The next link discovers everything.
            end(.requested("the changed database could not be discovered: \(error)"))
            throw error
        }
        changed = nil
        guard let database, database != before else { return }
        // The descriptor that configures a characteristic may have moved, and a new one is not configured.
        configurations = [:]
        // Not within the errand: it may come to wait for one.
        loop.spawn { _ = try? await self.watchServiceChanged() }
        onDatabaseChange(database)
    }

    private func discoverChange(in range: ATTHandleRange) async throws {
        guard let known = database else { return }
        let hash = try await readDatabaseHash()
        if let hash, hash == known.hash { return }
        let wide = known.widened(range)
        database = known.replacing(wide, by: try await walk(wide, needed), hash: needed == nil ? hash : nil)
    }

    /// Whether a PDU names a handle that may mean something else now.
    func isAffected(_ pdu: ATTPDU) -> Bool {
        guard let changed else { return false }
        return pdu.namedHandles.contains { changed.start <= $0 && $0 <= changed.end }
    }

    /// - Throws: when a handle of the request is not what it was in the database that the caller knew.
    func check(_ pdu: ATTPDU, against known: GATTDatabase?) throws(GATTError) {
        for handle in pdu.namedHandles where known?.attribute(handle) != database?.attribute(handle) {
            throw GATTError(.databaseChanged(handle))
        }
    }
}

extension ATTHandleRange {
    static let everything = ATTHandleRange(start: .first, end: .last)

    func union(_ other: ATTHandleRange) -> ATTHandleRange {
        ATTHandleRange(start: min(start, other.start), end: max(end, other.end))
    }
}
