import Platform

/// What a cuff has and says, found by looking: nothing is written, and no measurement is subscribed, so that it keeps what it has to send.
public struct CuffSurvey: Sendable, Hashable {
    /// Every service with its characteristics and descriptors.
    public let database: GATTDatabase
    /// What Device Information says, and the battery.
    public let identity: CuffIdentity
    /// The largest PDU of the link, octets.
    public let mtu: UInt16
    public let isEncrypted: Bool
    /// What is not as the driver needs it, in words; empty when all is.
    public let findings: [String]

    /// Looks at a cuff from end to end.
    ///
    /// - Parameters:
    ///   - client: started, on a link that stays the caller's.
    ///   - driver: whose attributes are expected.
    /// - Throws: `GATTError` when the link breaks; what the peer refuses is a finding.
    public static func make(with client: GATTClient, driver: CuffDriver) async throws -> CuffSurvey {
        let mtu = try await client.exchangeMTU()
        let database = try await client.discoverDatabase()
        var findings = missing(in: database, driver)
        var values: [BluetoothUUID: [UInt8]] = [:]
        for entry in [CuffUUID.deviceInformation, CuffUUID.battery].flatMap({ database.services($0) }).flatMap(\.characteristics) {
            let characteristic = entry.characteristic
            guard CuffIdentity.characteristics.contains(characteristic.uuid), values[characteristic.uuid] == nil else { continue }
            do {
                values[characteristic.uuid] = try await client.read(characteristic.valueHandle)
            } catch {
                guard let refusal = error as? GATTError, refusal.attCode != nil else { throw error }
                findings.append("\(characteristic.uuid) cannot be read: \(refusal)")
            }
        }
        return CuffSurvey(
            database: database, identity: CuffIdentity(values), mtu: mtu, isEncrypted: await client.isLinkEncrypted, findings: findings)
    }

    fileprivate static func of(_ client: GATTClient, _ driver: CuffDriver) async throws(CuffError) -> CuffSurvey {
        do { return try await make(with: client, driver: driver) } catch { throw CuffError(cause: error) }
    }

    private static func missing(in database: GATTDatabase, _ driver: CuffDriver) -> [String] {
        guard let service = database.services(driver.service).first else { return ["there is no service \(driver.service)"] }
        func has(_ uuid: BluetoothUUID, _ property: GATTProperties) -> Bool {
            service.characteristics.contains { $0.characteristic.uuid == uuid && $0.characteristic.properties.contains(property) }
        }
        switch driver {
        case .standard:
            let measures = has(CuffUUID.measurement, .indicate) || has(CuffUUID.enhancedMeasurement, .indicate)
            return measures ? [] : ["the service indicates no Blood Pressure Measurement (\(CuffUUID.measurement))"]
        case .bp2:
            let answers = has(BP2Connection.answer, .notify)
            let takes = has(BP2Connection.request, .write) || has(BP2Connection.request, .writeWithoutResponse)
            return (takes ? [] : ["requests cannot be written to \(BP2Connection.request)"]) + (answers ? [] : ["\(BP2Connection.answer) notifies no answers"])
        }
    }
}

extension CuffConnection {
    /// Looks at the cuff over this connection, which goes on working meanwhile.
    ///
    /// - Throws: `CuffError` when the connection is over.
    public func survey() async throws(CuffError) -> CuffSurvey { try await CuffSurvey.of(client, .standard) }
}

extension BP2Connection {
    /// Looks at the cuff over this connection, which goes on working meanwhile.
    ///
    /// - Throws: `CuffError` when the connection is over.
    public func survey() async throws(CuffError) -> CuffSurvey { try await CuffSurvey.of(client, .bp2) }
}
