/// What a peer serves, as discovered: services with what they include, their characteristics, and the descriptors of these.
public struct GATTDatabase: Sendable, Hashable {
    /// A characteristic with its descriptors, in the order of their handles.
    public struct Characteristic: Sendable, Hashable {
        public let characteristic: GATTCharacteristic
        public let descriptors: [GATTDescriptor]

        public init(_ characteristic: GATTCharacteristic, descriptors: [GATTDescriptor]) {
            self.characteristic = characteristic
            self.descriptors = descriptors
        }
    }

    /// A service with all that it holds, in the order of the handles.
    public struct Service: Sendable, Hashable {
        public let service: GATTService
        /// Whether it stands for itself; a secondary one is only there to be included.
        public let isPrimary: Bool
        public let included: [GATTIncludedService]
        public let characteristics: [Characteristic]

        public init(_ service: GATTService, isPrimary: Bool, included: [GATTIncludedService], characteristics: [Characteristic]) {
            self.service = service
            self.isPrimary = isPrimary
            self.included = included
            self.characteristics = characteristics
        }
    }

    /// The peer's own Database Hash of it (Core Vol 3 Part G 7.3), 16 octets as they come; `nil` when the peer has none.
    public internal(set) var hash: [UInt8]?
    /// In the order of their handles.
    public let services: [Service]

    public init(hash: [UInt8]?, services: [Service]) {
        self.hash = hash
        self.services = services.sorted { $0.service.startHandle < $1.service.startHandle }
    }

    /// The services of one UUID.
    public func services(_ uuid: BluetoothUUID) -> [Service] { services.filter { $0.service.uuid == uuid } }

    /// The characteristics of one UUID in all services.
    public func characteristics(_ uuid: BluetoothUUID) -> [Characteristic] {
        services.flatMap(\.characteristics).filter { $0.characteristic.uuid == uuid }
    }

    /// The characteristic whose value has a handle.
    func characteristic(valueHandle: AttributeHandle) -> Characteristic? {
        services.lazy.flatMap(\.characteristics).first { $0.characteristic.valueHandle == valueHandle }
    }

    // MARK: What a handle stands for

    /// An attribute by all that makes it what it is. Two databases that have the same one at a handle mean the same by the handle.
    enum Attribute: Hashable {
        case service(BluetoothUUID)
        case include(GATTService)
        case declaration(of: BluetoothUUID, service: BluetoothUUID)
        case value(of: BluetoothUUID, GATTProperties, service: BluetoothUUID)
        case descriptor(BluetoothUUID, of: BluetoothUUID, service: BluetoothUUID)
    }

    /// The attribute of a handle; `nil` when none was discovered there.
    func attribute(_ handle: AttributeHandle) -> Attribute? {
        guard let home = services.first(where: { $0.service.startHandle <= handle && handle <= $0.service.endHandle }) else { return nil }
        let service = home.service.uuid
        if handle == home.service.startHandle { return .service(service) }
        if let include = home.included.first(where: { $0.handle == handle }) { return .include(include.service) }
        for entry in home.characteristics {
            let characteristic = entry.characteristic
            guard characteristic.declarationHandle <= handle, handle <= characteristic.endHandle else { continue }
            if handle == characteristic.declarationHandle { return .declaration(of: characteristic.uuid, service: service) }
            if handle == characteristic.valueHandle { return .value(of: characteristic.uuid, characteristic.properties, service: service) }
            return entry.descriptors.first { $0.handle == handle }.map { .descriptor($0.uuid, of: characteristic.uuid, service: service) }
        }
        return nil
    }

    // MARK: Changes

    /// The range widened to the ends of the services that it touches: what is discovered again, so that no half of a service stays.
    func widened(_ range: ATTHandleRange) -> ATTHandleRange {
        services.reduce(range) { wide, entry in
            guard entry.service.startHandle <= range.end, range.start <= entry.service.endHandle else { return wide }
            return ATTHandleRange(start: min(wide.start, entry.service.startHandle), end: max(wide.end, entry.service.endHandle))
        }
    }

    /// The database with everything in a range replaced by what was discovered there.
    func replacing(_ range: ATTHandleRange, by fresh: [Service], hash: [UInt8]?) -> GATTDatabase {
        let end = fresh.map(\.service.endHandle).max().map { max($0, range.end) } ?? range.end
        let kept = services.filter { $0.service.endHandle < range.start || end < $0.service.startHandle }
        return GATTDatabase(hash: hash, services: kept + fresh)
    }
}
