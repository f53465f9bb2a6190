import Platform

/// What a device has and says, found by looking and changing nothing but the subscription to its heartbeat for a moment.
public struct CollarSurvey: Sendable, Hashable {
    /// Every service with its characteristics and descriptors.
    public let database: GATTDatabase
    /// What Device Information says; `nil` when it says nothing that can be read.
    public let serial: String?
    /// The Beta Metrics; `nil` when they could not be had.
    public let metrics: BetaMetrics?
    /// The largest PDU of the link, octets.
    public let mtu: UInt16
    public let isEncrypted: Bool
    /// What is not as the profile says, in words; empty when all is.
    public let findings: [String]

    private static let deviceInformation = BluetoothUUID.uuid16(0x180A)
    private static let serialNumber = BluetoothUUID.uuid16(0x2A25)

    /// Looks at a device from end to end.
    ///
    /// - Parameters:
    ///   - client: started, on a link that stays the caller's.
    ///   - profile: where a collar's attributes are expected.
    /// - Throws: `GATTError` when the link breaks; what the peer refuses is a finding.
    public static func make(with client: GATTClient, profile: CollarProfile) async throws -> CollarSurvey {
        let mtu = try await client.exchangeMTU()
        let database = try await client.discoverDatabase()
        let findings = Findings(database, profile)
        var words = findings.words
        if mtu < 23 + 2 { words.append("the ATT MTU is \(mtu): reads are slow") }
        var serial: String?
        if let characteristic = database.services(deviceInformation).flatMap(\.characteristics).first(where: { $0.characteristic.uuid == serialNumber }) {
            do {
                serial = CollarConnection.text(try await client.read(characteristic.characteristic.valueHandle))
                if serial == nil { words.append("the serial number is no printable text of 1 to 64 octets") }
            } catch {
                try rethrowUnlessRefused(error)
                words.append("the serial number cannot be read: \(error)")
            }
        } else {
            words.append("there is no Serial Number String (0x2A25) in Device Information (0x180A), by which alone a collar is known")
        }
        var metrics: BetaMetrics?
        if let heartbeat = findings.heartbeat, heartbeat.properties.contains(.read) {
            do {
                metrics = try BetaMetrics(parsing: try await client.read(heartbeat.valueHandle))
            } catch {
                if !(error is CollarError) { try rethrowUnlessRefused(error) }
                words.append("Beta Metrics: \(error)")
            }
        }
        return CollarSurvey(
            database: database, serial: serial, metrics: metrics, mtu: mtu, isEncrypted: await client.isLinkEncrypted, findings: words)
    }

    private static func rethrowUnlessRefused(_ error: any Error) throws {
        guard let refusal = error as? GATTError, refusal.attCode != nil else { throw error }
    }

    /// What the discovered database lacks of the profile.
    private struct Findings {
        var words: [String] = []
        var heartbeat: GATTCharacteristic?

        init(_ database: GATTDatabase, _ profile: CollarProfile) {
            let services = database.services(profile.service)
            guard let service = services.first else {
                words.append("there is no service \(profile.service)")
                return
            }
            if services.count > 1 { words.append("there are \(services.count) services \(profile.service); the first one is used") }
            heartbeat = check(profile.heartbeat, "Beta Metrics", [.read, .notify], in: service)
            _ = check(profile.windows, "Raw Windows", [.notify], in: service)
            _ = check(profile.control, "Control Point", [.write, .indicate], in: service)
        }

        private mutating func check(_ uuid: BluetoothUUID, _ name: String, _ properties: GATTProperties, in service: GATTDatabase.Service) -> GATTCharacteristic? {
            guard let found = service.characteristics.first(where: { $0.characteristic.uuid == uuid }) else {
                words.append("the service has no characteristic \(name) (\(uuid))")
                return nil
            }
            let missing = properties.subtracting(found.characteristic.properties)
            if !missing.isEmpty { words.append("\(name) lacks: \(missing.names.joined(separator: ", "))") }
            let wantsConfiguration = !properties.isDisjoint(with: [.notify, .indicate])
            if wantsConfiguration, !found.descriptors.contains(where: { $0.uuid == .clientCharacteristicConfiguration }) {
                words.append("\(name) has no Client Characteristic Configuration (0x2902)")
            }
            return found.characteristic
        }
    }
}

extension GATTProperties {
    /// The properties by the names of Core Vol 3 Part G 3.3.1.1, in small letters.
    public var names: [String] {
        let all: [(GATTProperties, String)] = [
            (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write without response"), (.write, "write"), (.notify, "notify"),
            (.indicate, "indicate"), (.authenticatedSignedWrites, "authenticated signed writes"), (.extendedProperties, "extended properties"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}

extension CollarConnection {
    /// Looks at the device over this connection, which goes on working meanwhile.
    ///
    /// - Throws: `CollarError` when the connection is over.
    public func survey() async throws(CollarError) -> CollarSurvey {
        do { return try await CollarSurvey.make(with: client, profile: profile) } catch { throw CollarError(cause: error) }
    }
}
