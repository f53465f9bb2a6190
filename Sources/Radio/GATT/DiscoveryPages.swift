/// Discover All Primary Services (Core Vol 3 Part G 4.4.1), and secondary ones in the same way.
struct ServicesPage: DiscoveryPage {
    /// «Primary Service» or «Secondary Service».
    let type: BluetoothUUID

    func request(_ range: ATTHandleRange) -> ATTPDU { .readByGroupTypeRequest(range, type: type) }

    func items(in response: ATTPDU) throws(DiscoveryFault) -> [(item: GATTService, range: ATTHandleRange)] {
        guard case .readByGroupTypeResponse(let groups) = response else { throw .unexpected(response) }
        var items: [(item: GATTService, range: ATTHandleRange)] = []
        for group in groups {
            guard group.value.count == 2 || group.value.count == 16, let uuid = BluetoothUUID(littleEndian: group.value) else {
                throw DiscoveryFault("has a service UUID of \(group.value.count) octets")
            }
            items.append((GATTService(uuid: uuid, startHandle: group.range.start, endHandle: group.range.end), group.range))
        }
        return items
    }
}

/// Discover Primary Service by Service UUID (Core Vol 3 Part G 4.4.2).
struct PrimaryServicesByUUIDPage: DiscoveryPage {
    let uuid: BluetoothUUID
    /// Whether the UUID is said in 16 octets though it has a short form.
    let inFull: Bool

    func request(_ range: ATTHandleRange) -> ATTPDU {
        .findByTypeValueRequest(range, type: 0x2800, value: inFull ? uuid.littleEndian128 : uuid.littleEndian)
    }

    func items(in response: ATTPDU) throws(DiscoveryFault) -> [(item: GATTService, range: ATTHandleRange)] {
        guard case .findByTypeValueResponse(let ranges) = response else { throw .unexpected(response) }
        return ranges.map { (GATTService(uuid: uuid, startHandle: $0.start, endHandle: $0.end), $0) }
    }
}

/// A characteristic's declaration; where the characteristic ends is known with the next one.
struct CharacteristicDeclaration: Sendable, Hashable {
    let handle: AttributeHandle
    let properties: GATTProperties
    let valueHandle: AttributeHandle
    let uuid: BluetoothUUID
}

/// Discover All Characteristics of a Service (Core Vol 3 Part G 4.6.1).
struct CharacteristicsPage: DiscoveryPage {
    /// The last handle of the service.
    let serviceEnd: AttributeHandle

    func request(_ range: ATTHandleRange) -> ATTPDU { .readByTypeRequest(range, type: .characteristic) }

    /// The next request begins behind the last declaration (4.6.1), not behind its value.
    func boundary(of range: ATTHandleRange) -> AttributeHandle { range.start }

    func items(in response: ATTPDU) throws(DiscoveryFault) -> [(item: CharacteristicDeclaration, range: ATTHandleRange)] {
        guard case .readByTypeResponse(let list) = response else { throw .unexpected(response) }
        var items: [(item: CharacteristicDeclaration, range: ATTHandleRange)] = []
        for entry in list {
            // Properties, value handle, UUID (3.3.1).
            guard entry.value.count == 5 || entry.value.count == 19, let uuid = BluetoothUUID(littleEndian: entry.value.dropFirst(3)) else {
                throw DiscoveryFault("has a characteristic's declaration of \(entry.value.count) octets")
            }
            let valueHandle = AttributeHandle(rawValue: UInt16(entry.value[1]) | UInt16(entry.value[2]) << 8)
            guard valueHandle > entry.handle, valueHandle <= serviceEnd else {
                throw DiscoveryFault("declares at \(entry.handle) a value at \(valueHandle), outside the characteristic")
            }
            let declaration = CharacteristicDeclaration(handle: entry.handle, properties: GATTProperties(rawValue: entry.value[0]),
                                                        valueHandle: valueHandle, uuid: uuid)
            items.append((declaration, ATTHandleRange(start: entry.handle, end: valueHandle)))
        }
        return items
    }

    /// The characteristics of a whole service: each ends before the next declaration, the last one with the service.
    func characteristics(from declarations: [CharacteristicDeclaration]) -> [GATTCharacteristic] {
        declarations.indices.map { position in
            let declaration = declarations[position]
            let nextDeclaration = position + 1 < declarations.count ? declarations[position + 1].handle : nil
            let end = nextDeclaration.map { AttributeHandle(rawValue: $0.rawValue - 1) } ?? serviceEnd
            return GATTCharacteristic(uuid: declaration.uuid, properties: declaration.properties, declarationHandle: declaration.handle,
                                      valueHandle: declaration.valueHandle, endHandle: end)
        }
    }
}

/// Discover All Characteristic Descriptors (Core Vol 3 Part G 4.7.1).
struct DescriptorsPage: DiscoveryPage {
    func request(_ range: ATTHandleRange) -> ATTPDU { .findInformationRequest(range) }

    func items(in response: ATTPDU) throws(DiscoveryFault) -> [(item: GATTDescriptor, range: ATTHandleRange)] {
        guard case .findInformationResponse(let list) = response else { throw .unexpected(response) }
        return list.map { (GATTDescriptor(uuid: $0.type, handle: $0.handle), ATTHandleRange(start: $0.handle, end: $0.handle)) }
    }
}

/// Read Using Characteristic UUID (Core Vol 3 Part G 4.8.2).
struct ValuesByUUIDPage: DiscoveryPage {
    let uuid: BluetoothUUID
    /// ATT_MTU when the request was made: what fills its entry may have been cut.
    let mtu: Int

    func request(_ range: ATTHandleRange) -> ATTPDU { .readByTypeRequest(range, type: uuid) }

    func items(in response: ATTPDU) throws(DiscoveryFault) -> [(item: GATTValue, range: ATTHandleRange)] {
        guard case .readByTypeResponse(let list) = response else { throw .unexpected(response) }
        // An entry's length is one octet, and counts the handle (Part F 3.4.4.2).
        let room = min(mtu - 4, 253)
        return list.map { entry in
            let value = GATTValue(handle: entry.handle, value: entry.value, isWhole: entry.value.count < room)
            return (value, ATTHandleRange(start: entry.handle, end: entry.handle))
        }
    }
}

extension DiscoveryFault {
    static func unexpected(_ response: ATTPDU) -> DiscoveryFault { DiscoveryFault("answers another procedure (\(response.opcode))") }
}
