/// The four requests that search a table: Find Information, Find By Type Value, Read By Type and Read By Group Type
/// (Core, Vol 3, Part F, 3.4.3 and 3.4.4).
struct ATTDiscovery {
    let table: GATTTable
    let mtu: Int
    let encrypted: Bool

    /// The response to one request. `handle` becomes the attribute that an error is about.
    func respond(_ opcode: UInt8, _ fields: inout FieldReader, _ handle: inout UInt16) throws(ATTError) -> [UInt8] {
        guard let start: UInt16 = fields.integer(), let end: UInt16 = fields.integer() else { throw .invalidPDU }
        handle = start
        guard start != 0, start <= end else { throw .invalidHandle }
        let attributes = table.attributes.filter { $0.handle >= start && $0.handle <= end }
        switch opcode {
        case ATTOpcode.findInformationRequest:
            guard fields.left == 0 else { throw .invalidPDU }
            return try findInformation(attributes)
        case ATTOpcode.findByTypeValueRequest:
            guard let type: UInt16 = fields.integer() else { throw .invalidPDU }
            return try findByTypeValue(attributes, BluetoothUUID(type), fields.rest())
        case ATTOpcode.readByTypeRequest:
            guard let type = BluetoothUUID(littleEndian: fields.rest()) else { throw .invalidPDU }
            return try readByType(attributes, type, &handle)
        default:
            guard let type = BluetoothUUID(littleEndian: fields.rest()) else { throw .invalidPDU }
            guard type == .primaryService || type == .secondaryService else { throw .unsupportedGroupType }
            return try readByGroupType(attributes, type)
        }
    }

    /// Handles with their types, as many of one UUID length as fit (3.4.3.2).
    private func findInformation(_ attributes: [GATTTable.Attribute]) throws(ATTError) -> [UInt8] {
        guard let size = attributes.first?.type.bytes.count else { throw .attributeNotFound }
        var response: [UInt8] = [ATTOpcode.findInformationResponse, size == 2 ? 1 : 2]
        for attribute in attributes {
            guard attribute.type.bytes.count == size, response.count + 2 + size <= mtu else { break }
            response.append(littleEndian: attribute.handle)
            response += attribute.type.bytes
        }
        return response
    }

    /// Groups whose attribute has this type and exactly this value (3.4.3.4).
    private func findByTypeValue(_ attributes: [GATTTable.Attribute], _ type: BluetoothUUID, _ value: [UInt8]) throws(ATTError) -> [UInt8] {
        let wanted = BluetoothUUID(littleEndian: value)
        var response = [ATTOpcode.findByTypeValueResponse]
        for attribute in attributes where attribute.type == type && attribute.read == .open {
            guard attribute.value == value || (wanted != nil && BluetoothUUID(littleEndian: attribute.value) == wanted) else { continue }
            guard response.count + 4 <= mtu else { break }
            response.append(littleEndian: attribute.handle)
            response.append(littleEndian: attribute.groupEnd)
        }
        guard response.count > 1 else { throw .attributeNotFound }
        return response
    }

    /// Values of one type and one length (3.4.4.2). One that may not be read ends the list, or is the error when it is the first.
    private func readByType(_ attributes: [GATTTable.Attribute], _ type: BluetoothUUID, _ handle: inout UInt16) throws(ATTError) -> [UInt8] {
        var response: [UInt8] = []
        var size = 0
        for attribute in attributes where attribute.type == type {
            do throws(ATTError) {
                try attribute.read.admit(encrypted, otherwise: .readNotPermitted)
            } catch {
                if response.isEmpty {
                    handle = attribute.handle
                    throw error
                }
                break
            }
            if response.isEmpty {
                size = attribute.value.count
                response = [ATTOpcode.readByTypeResponse, UInt8(2 + min(size, mtu - 4, 253))]
            }
            let value = attribute.value.prefix(min(mtu - 4, 253))
            guard attribute.value.count == size, response.count + 2 + value.count <= mtu else { break }
            response.append(littleEndian: attribute.handle)
            response += value
        }
        guard !response.isEmpty else { throw .attributeNotFound }
        return response
    }

    /// Services with the end of their group, as many of one UUID length as fit (3.4.4.10).
    private func readByGroupType(_ attributes: [GATTTable.Attribute], _ type: BluetoothUUID) throws(ATTError) -> [UInt8] {
        var response: [UInt8] = []
        var size = 0
        for attribute in attributes where attribute.type == type {
            if response.isEmpty {
                size = attribute.value.count
                response = [ATTOpcode.readByGroupTypeResponse, UInt8(4 + size)]
            }
            guard attribute.value.count == size, response.count + 4 + size <= mtu else { break }
            response.append(littleEndian: attribute.handle)
            response.append(littleEndian: attribute.groupEnd)
            response += attribute.value
        }
        guard !response.isEmpty else { throw .attributeNotFound }
        return response
    }
}
