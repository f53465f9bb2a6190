/// What an advertisement says, read from octets that anybody may have sent (Core Vol 3 Part C 11; the kernel calls it EIR).
///
/// Reading never fails: it stops at the first structure that does not fit, keeps what came before it, and says so in `isMalformed`.
public struct AdvertisingData: Sendable, Hashable {
    /// Bits of the Flags structure (Supplement to the Core Specification, Part A 1.3).
    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let limitedDiscoverable = Flags(rawValue: 1 << 0)
        public static let generalDiscoverable = Flags(rawValue: 1 << 1)
        public static let noBREDR = Flags(rawValue: 1 << 2)
    }

    /// The most UUIDs and the most service data that are kept of one advertisement, however long its data are.
    public static let limit = 32

    public private(set) var flags: Flags?
    /// Services that the device says it has, in the order of the air, each once.
    public private(set) var services: [BluetoothUUID] = []
    /// Data of services. Of a service that is named twice the first counts.
    public private(set) var serviceData: [BluetoothUUID: [UInt8]] = [:]
    /// The local name, complete or shortened, fit to be printed: what is no text is shown as U+FFFD.
    public private(set) var name: String?
    /// Whether the data ended within a structure, or a structure had a length that its kind cannot have.
    public private(set) var isMalformed = false

    public init(_ octets: [UInt8]) {
        var rest = octets[...]
        while let length = rest.popFirst(), length > 0 {
            // A length of zero ends the significant part early.
            guard rest.count >= Int(length), let type = rest.popFirst() else {
                isMalformed = true
                return
            }
            let value = rest.prefix(Int(length) - 1)
            rest = rest.dropFirst(value.count)
            read(type, value)
        }
    }

    private mutating func read(_ type: UInt8, _ value: ArraySlice<UInt8>) {
        switch type {
        case 0x01: flags = value.first.map { Flags(rawValue: $0) }
        case 0x02, 0x03: readServices(value, octets: 2)
        case 0x04, 0x05: readServices(value, octets: 4)
        case 0x06, 0x07: readServices(value, octets: 16)
        // A complete name is better than a shortened one.
        case 0x08: name = name ?? Self.printable(value)
        case 0x09: name = Self.printable(value)
        case 0x16: readServiceData(value, octets: 2)
        case 0x20: readServiceData(value, octets: 4)
        case 0x21: readServiceData(value, octets: 16)
        default: break
        }
    }

    private mutating func readServices(_ value: ArraySlice<UInt8>, octets: Int) {
        if !value.count.isMultiple(of: octets) { isMalformed = true }
        var rest = value
        while rest.count >= octets, services.count < Self.limit {
            if let uuid = BluetoothUUID(littleEndian: rest.prefix(octets)), !services.contains(uuid) { services.append(uuid) }
            rest = rest.dropFirst(octets)
        }
    }

    private mutating func readServiceData(_ value: ArraySlice<UInt8>, octets: Int) {
        guard value.count >= octets, let uuid = BluetoothUUID(littleEndian: value.prefix(octets)) else {
            isMalformed = true
            return
        }
        guard serviceData.count < Self.limit, serviceData[uuid] == nil else { return }
        serviceData[uuid] = Array(value.dropFirst(octets))
    }

    /// Text for a terminal and a journal: no control character of a stranger reaches either.
    private static func printable(_ octets: ArraySlice<UInt8>) -> String? {
        var text = ""
        for scalar in String(decoding: octets, as: UTF8.self).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: text.unicodeScalars.append("\u{FFFD}")
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text.isEmpty ? nil : text
    }
}
