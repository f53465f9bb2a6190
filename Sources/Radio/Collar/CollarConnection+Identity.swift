/// Who the collar is: Device Information and Battery, as the peer has them.
extension CollarConnection {
    static let deviceInformation = BluetoothUUID.uuid16(0x180A)
    private static let serialNumber = BluetoothUUID.uuid16(0x2A25)
    private static let firmwareRevision = BluetoothUUID.uuid16(0x2A26)
    static let batteryService = BluetoothUUID.uuid16(0x180F)
    private static let batteryLevel = BluetoothUUID.uuid16(0x2A19)

    /// Reads who the collar is.
    ///
    /// - Throws: `.noSerialNumber` when it does not say; what the client throws when the link breaks. All else may be absent.
    func identify(in database: GATTDatabase) async throws -> CollarIdentity {
        let characteristics = Self.characteristics(of: Self.deviceInformation, in: database)
        guard let serialNumber = characteristics.first(where: { $0.uuid == Self.serialNumber }) else {
            throw CollarError(.noSerialNumber, "no Serial Number String in Device Information")
        }
        let bytes = try await client.read(serialNumber.valueHandle)
        guard let serial = Self.text(bytes) else {
            throw CollarError(.noSerialNumber, "a serial number of \(bytes.count) bytes that is not printable text")
        }
        var firmware: String?
        if let revision = characteristics.first(where: { $0.uuid == Self.firmwareRevision }) {
            firmware = Self.text(try await readIfAllowed(revision) ?? [])
        }
        var battery: UInt8?
        if let level = Self.characteristics(of: Self.batteryService, in: database).first(where: { $0.uuid == Self.batteryLevel }),
           let value = try await readIfAllowed(level), value.count == 1, value[0] <= 100 {
            battery = value[0]
        }
        return CollarIdentity(serial: serial, firmware: firmware, battery: battery)
    }

    private static func characteristics(of service: BluetoothUUID, in database: GATTDatabase) -> [GATTCharacteristic] {
        database.services(service).filter(\.isPrimary).flatMap(\.characteristics).map(\.characteristic)
    }

    /// What the peer may refuse without being any less a collar; a broken link is thrown.
    private func readIfAllowed(_ characteristic: GATTCharacteristic) async throws -> [UInt8]? {
        do { return try await client.read(characteristic.valueHandle) } catch let error as GATTError where error.attCode != nil { return nil }
    }

    /// Printable text of 1...64 bytes of UTF-8, without the zero bytes that some firmware ends a string with.
    static func text(_ bytes: [UInt8]) -> String? {
        var bytes = bytes[...]
        while bytes.last == 0 { bytes.removeLast() }
        guard (1...64).contains(bytes.count), bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        // Repaired text would be another serial number.
        return text.utf8.elementsEqual(bytes) ? text : nil
    }
}
