/// Reads octets that nobody vouches for: each read says whether there was enough.
struct OctetReader {
    private var rest: ArraySlice<UInt8>

    init(_ octets: ArraySlice<UInt8>) { rest = octets }

    var count: Int { rest.count }
    var isAtEnd: Bool { rest.isEmpty }

    mutating func uint8() -> UInt8? { rest.popFirst() }

    mutating func uint16() -> UInt16? {
        guard let octets = octets(2) else { return nil }
        return octets.reversed().reduce(0) { $0 << 8 | UInt16($1) }
    }

    mutating func uint32() -> UInt32? {
        guard let octets = octets(4) else { return nil }
        return octets.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func uint64() -> UInt64? {
        guard let octets = octets(8) else { return nil }
        return octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func octets(_ number: Int) -> [UInt8]? {
        guard number >= 0, rest.count >= number else { return nil }
        let taken = Array(rest.prefix(number))
        rest = rest.dropFirst(number)
        return taken
    }

    /// An address with its type; `nil` too for a type that is none of LE's.
    mutating func address() -> BluetoothAddress? {
        guard let octets = octets(6), let type = uint8(), let kind = BluetoothAddress.Kind(rawValue: type) else { return nil }
        return BluetoothAddress(octets: octets, kind: kind)
    }

    mutating func remainder() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}

extension [UInt8] {
    mutating func append16(_ value: UInt16) { append(contentsOf: [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]) }

    mutating func append32(_ value: UInt32) {
        append16(UInt16(truncatingIfNeeded: value))
        append16(UInt16(truncatingIfNeeded: value >> 16))
    }

    mutating func append64(_ value: UInt64) {
        append32(UInt32(truncatingIfNeeded: value))
        append32(UInt32(truncatingIfNeeded: value >> 32))
    }

    /// The address as `struct mgmt_addr_info` has it.
    mutating func append(_ address: BluetoothAddress) {
        append(contentsOf: address.octets)
        append(address.kind.rawValue)
    }
}
