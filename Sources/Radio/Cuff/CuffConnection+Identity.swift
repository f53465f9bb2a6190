/// Who the cuff is, and its clock.
extension CuffConnection {
    /// Reads Device Information and Battery, as far as the cuff has them.
    ///
    /// - Parameter byName: whether what it calls itself is asked for, too.
    func identify(byName: Bool) async throws -> CuffIdentity {
        var values: [BluetoothUUID: [UInt8]] = [:]
        let services = (byName ? [CuffUUID.genericAccess] : []) + [CuffUUID.deviceInformation, CuffUUID.battery]
        for uuid in services {
            for service in try await client.discoverPrimaryServices(uuid) {
                for characteristic in try await client.discoverCharacteristics(of: service) where CuffIdentity.characteristics.contains(characteristic.uuid) {
                    if values[characteristic.uuid] == nil, let value = try await readIfAllowed(characteristic) { values[characteristic.uuid] = value }
                }
            }
        }
        return CuffIdentity(values)
    }

    /// What the peer may refuse without being any less a cuff; a broken link is thrown.
    func readIfAllowed(_ characteristic: GATTCharacteristic) async throws -> [UInt8]? {
        do { return try await client.read(characteristic.valueHandle) } catch let error as GATTError where error.attCode != nil { return nil }
    }

    // MARK: The clock

    /// Looks at the cuff's clock, sets it where that is due, and looks again: some cuffs take a new time and keep the old one.
    func checkClock(in characteristics: [BluetoothUUID: GATTCharacteristic]) async throws -> CuffClockCheck {
        guard let clock = try await findClock(in: characteristics) else { return CuffClockCheck(found: .unreadable, setting: .notNeeded) }
        let found = try await lookAt(clock)
        let now = wall.read()
        guard setsClock, found.shouldBeSet(now: now), clock.properties.contains(.write), let local = zone.civil(at: now.seconds) else {
            return CuffClockCheck(found: found, setting: .notNeeded)
        }
        let value = clock.uuid == CuffUUID.currentTime ? CurrentTimeValue(local).encoded : DateTimeValue(local).encoded
        do {
            try await client.write(value, to: clock.valueHandle)
        } catch let error as GATTError where error.attCode != nil {
            return CuffClockCheck(found: found, setting: .refused)
        }
        guard case .ahead(let seconds) = try await lookAt(clock), seconds.magnitude <= CuffClock.tolerance.magnitude else {
            return CuffClockCheck(found: found, setting: .kept)
        }
        return CuffClockCheck(found: found, setting: .set(local))
    }

    private func lookAt(_ clock: GATTCharacteristic) async throws -> CuffClock {
        guard let value = try await readIfAllowed(clock) else { return .unreadable }
        do throws(CuffError) {
            let time = clock.uuid == CuffUUID.currentTime ? try CurrentTimeValue(parsing: value).time : try DateTimeValue(parsing: value)
            return CuffClock(shown: time.civil, now: wall.read(), zone: zone)
        } catch {
            report(error)
            return .unreadable
        }
    }

    /// Current Time in its service; else Date Time, which cuffs have in the blood pressure service.
    private func findClock(in characteristics: [BluetoothUUID: GATTCharacteristic]) async throws -> GATTCharacteristic? {
        for service in try await client.discoverPrimaryServices(CuffUUID.currentTimeService) {
            let found = try await client.discoverCharacteristics(of: service)
            if let clock = found.first(where: { $0.uuid == CuffUUID.currentTime }) { return clock }
        }
        return characteristics[CuffUUID.currentTime] ?? characteristics[CuffUUID.dateTime]
    }
}
