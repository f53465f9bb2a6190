/// What was wrong with the octets of a PDU.
struct ATTMalformation: Error, Sendable, Hashable {
    /// The opcode, unless there was not even one.
    let opcode: ATTOpcode?
    /// In words, e.g. `1 octet of an attribute handle is missing`.
    let fault: String
}

/// Reads a PDU's octets from left to right; every step fails rather than reach beyond the end.
struct ATTReader {
    private let opcode: ATTOpcode?
    private var octets: ArraySlice<UInt8>

    init(_ octets: ArraySlice<UInt8>, of opcode: ATTOpcode? = nil) {
        self.octets = octets
        self.opcode = opcode
    }

    var remaining: Int { octets.count }

    func malformed(_ fault: String) -> ATTMalformation { ATTMalformation(opcode: opcode, fault: fault) }

    mutating func octet(_ field: StaticString) throws(ATTMalformation) -> UInt8 {
        guard let octet = octets.popFirst() else { throw malformed("ends before its \(field)") }
        return octet
    }

    mutating func number16(_ field: StaticString) throws(ATTMalformation) -> UInt16 {
        let low = try octet(field)
        return UInt16(low) | UInt16(try octet(field)) << 8
    }

    mutating func handle(_ field: StaticString = "attribute handle") throws(ATTMalformation) -> AttributeHandle {
        AttributeHandle(rawValue: try number16(field))
    }

    /// A UUID that takes all the rest: 2 or 16 octets.
    mutating func uuidToTheEnd() throws(ATTMalformation) -> BluetoothUUID {
        guard remaining == 2 || remaining == 16 else { throw malformed("has a UUID of \(remaining) octets") }
        return try uuid(octets: remaining)
    }

    mutating func uuid(octets count: Int) throws(ATTMalformation) -> BluetoothUUID {
        let octets = try self.octets(count, "UUID")
        guard let uuid = BluetoothUUID(littleEndian: octets) else { throw malformed("has a UUID of \(count) octets") }
        return uuid
    }

    mutating func octets(_ count: Int, _ field: StaticString) throws(ATTMalformation) -> [UInt8] {
        guard count >= 0, count <= octets.count else { throw malformed("ends before its \(field)") }
        defer { octets.removeFirst(count) }
        return Array(octets.prefix(count))
    }

    mutating func rest() -> [UInt8] {
        defer { octets = [] }
        return Array(octets)
    }

    /// Fails when something is left.
    func end() throws(ATTMalformation) {
        guard octets.isEmpty else { throw malformed("has \(octets.count) octets too many") }
    }
}

/// Writes a PDU's octets from left to right.
struct ATTWriter {
    private(set) var octets: [UInt8] = []

    init(_ opcode: ATTOpcode, capacity: Int = Int(ATTLimit.defaultMTU)) {
        octets.reserveCapacity(capacity)
        octets.append(opcode.rawValue)
    }

    mutating func octet(_ value: UInt8) { octets.append(value) }

    mutating func number16(_ value: UInt16) {
        octets.append(UInt8(truncatingIfNeeded: value))
        octets.append(UInt8(truncatingIfNeeded: value >> 8))
    }

    mutating func handle(_ value: AttributeHandle) { number16(value.rawValue) }

    mutating func uuid(_ value: BluetoothUUID) { octets.append(contentsOf: value.littleEndian) }

    mutating func append(_ value: [UInt8]) { octets.append(contentsOf: value) }
}
