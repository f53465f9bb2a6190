/// The attributes of the profile in the collar's database, and what happens when that changes on a link that is up.
extension CollarConnection {
    /// The attributes of the profile with all that makes them usable: two that are equal are used alike.
    struct Attributes: Equatable {
        let heartbeat: GATTDatabase.Characteristic
        let windows: GATTDatabase.Characteristic
        let control: GATTDatabase.Characteristic

        /// - Throws: `.notACollar` when the database lacks one.
        init(in database: GATTDatabase, _ profile: CollarProfile) throws(CollarError) {
            guard let service = database.services(profile.service).first(where: \.isPrimary) else {
                throw CollarError(.notACollar, "no service \(profile.service)")
            }
            heartbeat = try Self.find(profile.heartbeat, "Beta Metrics", in: service)
            windows = try Self.find(profile.windows, "Raw Windows", in: service)
            control = try Self.find(profile.control, "Control Point", in: service)
        }

        private static func find(
            _ uuid: BluetoothUUID, _ name: String, in service: GATTDatabase.Service
        ) throws(CollarError) -> GATTDatabase.Characteristic {
            guard let found = service.characteristics.first(where: { $0.characteristic.uuid == uuid }) else {
                throw CollarError(.notACollar, "no characteristic \(name) (\(uuid))")
            }
            return found
        }

        var handles: Handles { Handles(heartbeat: heartbeat.characteristic.valueHandle, control: control.characteristic.valueHandle) }
    }

    // MARK: Opening

    /// The collar's database: kept, where the collar still has that one, or discovered.
    func openDatabase() async throws -> GATTDatabase {
        let database = try await client.openDatabase(
            cache, needing: [profile.service, Self.deviceInformation, Self.batteryService], isKept: onDatabase != nil
        ) { [weak self] database in
            self?.assumeIsolated { $0.databaseChanged(database) }
        }
        // It may have changed between the last answer and now.
        if let changedDatabase { return changedDatabase }
        keep(database)
        return database
    }

    private func keep(_ database: GATTDatabase) {
        if let onDatabase, let kept = GATTDatabaseCache(database), kept != cache { onDatabase(kept) }
    }

    /// Subscribes: Control Point, Raw Windows, and last the heartbeat. Doing so again replaces handlers, and asks the collar for what it has been asked before.
    func subscribe(_ attributes: Attributes) async throws {
        isSubscribing = true
        defer { isSubscribing = false }
        repeat {
            subscriptionsAreInDoubt = false
            try await client.subscribe(to: attributes.control.characteristic, as: .indications) { [weak self] update in
                self?.assumeIsolated { $0.controlIndicated(update) }
            }
            try await client.subscribe(to: attributes.windows.characteristic, as: .notifications) { [weak self] update in
                self?.assumeIsolated { $0.windowNotified(update.value) }
            }
            try checkNotClosed()
            if case .opening = phase {
                expect(.heartbeat, within: timing.silence)
                // From here on heartbeats come, and the hub may act on one before `open` has returned to it.
                phase = .open(attributes.handles)
            }
            try await client.subscribe(to: attributes.heartbeat.characteristic, as: .notifications) { [weak self] update in
                self?.assumeIsolated { $0.heartbeatNotified(update.value) }
            }
        } while subscriptionsAreInDoubt
    }

    // MARK: Changes

    /// The database is another one from now on.
    private func databaseChanged(_ database: GATTDatabase) {
        if case .closed = phase { return }
        changedDatabase = database
        keep(database)
        guard let attributes else { return }
        guard (try? Attributes(in: database, profile)) == attributes else {
            // Requests and windows may be under way for what is elsewhere now. The next link begins anew, and reads again what did not come.
            end(CollarError(.databaseChanged, "the profile's attributes are not what and where they were when the link was made"))
            return
        }
        subscriptionsAreInDoubt = true
        guard !isSubscribing, case .open = phase else { return }
        loop.spawn { await self.subscribeAgain() }
    }

    private func subscribeAgain() async {
        guard subscriptionsAreInDoubt, !isSubscribing, case .open = phase, let attributes else { return }
        do { try await subscribe(attributes) } catch { end(CollarError(cause: error)) }
    }
}
