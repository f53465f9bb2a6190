import Platform

/// The database of a bonded peer as it is kept between links, under the peer's own hash of it: while the peer still has that hash, nothing is
/// discovered again (Core Vol 3 Part G 2.5.2, 7.3).
public struct GATTDatabaseCache: Sendable, Hashable {
    public let database: GATTDatabase

    /// - Returns: `nil` for a database without a hash: there is no telling whether it still holds.
    public init?(_ database: GATTDatabase) {
        guard database.hash?.count == Self.hashLength else { return nil }
        self.database = database
    }

    private static let hashLength = 16
    private static let digestLength = 32
    private static let magic: [UInt8] = [0x47, 0x44, 0x42, 0x01]
    /// More than any device has; stored octets could say anything.
    private static let limit = 1024

    // MARK: Octets

    /// The octets to store: "GDB", the number of this form (1), the hash, the services, and the SHA-256 of all that. Numbers are little-endian, UUIDs take
    /// 16 octets, each list has its length before it in 2.
    public func encoded() -> [UInt8] {
        var writer = CacheWriter(octets: Self.magic + (database.hash ?? []))
        writer.list(database.services) { writer, entry in
            writer.octets.append(entry.isPrimary ? 1 : 0)
            writer.service(entry.service)
            writer.list(entry.included) { writer, include in
                writer.handle(include.handle)
                writer.service(include.service)
            }
            writer.list(entry.characteristics) { writer, entry in
                let characteristic = entry.characteristic
                writer.octets.append(characteristic.properties.rawValue)
                writer.handle(characteristic.declarationHandle)
                writer.handle(characteristic.valueHandle)
                writer.handle(characteristic.endHandle)
                writer.octets += characteristic.uuid.littleEndian128
                writer.list(entry.descriptors) { writer, descriptor in
                    writer.handle(descriptor.handle)
                    writer.octets += descriptor.uuid.littleEndian128
                }
            }
        }
        return writer.octets + SHA256.digest(writer.octets)
    }

    /// Reads stored octets, whatever they are.
    ///
    /// - Throws: `GATTError` that says what is wrong with them; the database is to be discovered then.
    public init(parsing octets: [UInt8]) throws(GATTError) {
        do {
            try self.init(checking: octets)
        } catch {
            throw GATTError(.unreadableCache(error.fault))
        }
    }

    private init(checking octets: [UInt8]) throws(ATTMalformation) {
        guard octets.starts(with: Self.magic) else { throw ATTMalformation(opcode: nil, fault: "has another form") }
        guard octets.count >= Self.magic.count + Self.hashLength + Self.digestLength else { throw ATTMalformation(opcode: nil, fault: "is cut short") }
        let body = octets.dropLast(Self.digestLength)
        guard SHA256.digest(Array(body)).elementsEqual(octets.suffix(Self.digestLength)) else { throw ATTMalformation(opcode: nil, fault: "is damaged") }
        var reader = ATTReader(body.dropFirst(Self.magic.count))
        let hash = try reader.octets(Self.hashLength, "hash")
        var last = AttributeHandle.none
        let services = try Self.list(&reader) { reader throws(ATTMalformation) in
            let service = try Self.service(&reader, after: last)
            last = service.service.endHandle
            return service
        }
        try reader.end()
        database = GATTDatabase(hash: hash, services: services)
    }

    private static func list<Item>(_ reader: inout ATTReader, _ item: (inout ATTReader) throws(ATTMalformation) -> Item) throws(ATTMalformation) -> [Item] {
        let count = Int(try reader.number16("length of a list"))
        guard count <= limit else { throw reader.malformed("has a list of \(count)") }
        var items: [Item] = []
        for _ in 0..<count { items.append(try item(&reader)) }
        return items
    }

    private static func uuid(_ reader: inout ATTReader) throws(ATTMalformation) -> BluetoothUUID { try reader.uuid(octets: 16) }

    private static func range(_ reader: inout ATTReader) throws(ATTMalformation) -> GATTService {
        let start = try reader.handle("start"), end = try reader.handle("end")
        guard start != .none, start <= end else { throw reader.malformed("has a service from \(start) to \(end)") }
        return GATTService(uuid: try uuid(&reader), startHandle: start, endHandle: end)
    }

    private static func service(_ reader: inout ATTReader, after last: AttributeHandle) throws(ATTMalformation) -> GATTDatabase.Service {
        let kind = try reader.octet("kind of service")
        guard kind <= 1 else { throw reader.malformed("has the unknown kind of service \(kind)") }
        let service = try range(&reader)
        guard service.startHandle > last else { throw reader.malformed("goes back to \(service.startHandle)") }
        func within(_ handle: AttributeHandle) -> Bool { service.startHandle < handle && handle <= service.endHandle }
        let included = try list(&reader) { reader throws(ATTMalformation) in
            let handle = try reader.handle()
            guard within(handle) else { throw reader.malformed("has \(handle) outside of its service") }
            return GATTIncludedService(handle: handle, service: try range(&reader))
        }
        let characteristics = try list(&reader) { reader throws(ATTMalformation) in
            let properties = GATTProperties(rawValue: try reader.octet("properties"))
            let declaration = try reader.handle(), value = try reader.handle(), end = try reader.handle()
            guard within(declaration), within(end), declaration < value, value <= end else {
                throw reader.malformed("has a characteristic from \(declaration) to \(end) with its value at \(value)")
            }
            let characteristic = GATTCharacteristic(uuid: try uuid(&reader), properties: properties, declarationHandle: declaration,
                                                    valueHandle: value, endHandle: end)
            let descriptors = try list(&reader) { reader throws(ATTMalformation) in
                let handle = try reader.handle()
                guard value < handle, handle <= end else { throw reader.malformed("has \(handle) outside of its characteristic") }
                return GATTDescriptor(uuid: try uuid(&reader), handle: handle)
            }
            return GATTDatabase.Characteristic(characteristic, descriptors: descriptors)
        }
        return GATTDatabase.Service(service, isPrimary: kind == 1, included: included, characteristics: characteristics)
    }
}

private struct CacheWriter {
    var octets: [UInt8]

    mutating func number16(_ number: Int) { octets += [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)] }

    mutating func handle(_ handle: AttributeHandle) { number16(Int(handle.rawValue)) }

    mutating func service(_ service: GATTService) {
        handle(service.startHandle)
        handle(service.endHandle)
        octets += service.uuid.littleEndian128
    }

    mutating func list<Item>(_ items: [Item], _ write: (inout CacheWriter, Item) -> Void) {
        number16(items.count)
        for item in items { write(&self, item) }
    }
}
