import Radio

extension ValueForm where Value == BluetoothAddress {
    static let deviceAddress = ValueForm(
        allowed: "a static random address, or any with /public or /random behind it", example: "C0:FF:EE:12:34:56",
        parse: { BluetoothAddress(configured: $0) }, print: { "\($0)/\($0.kind == .public ? "public" : "random")" })
}

extension BluetoothAddress {
    /// Reads `C0:FF:EE:12:34:56`, optionally followed by `/random` or `/public`. Without either the two topmost bits must say
    /// that it is a static random address (Core Vol 6 Part B 1.3.2.1), because a public one cannot be told from a private one. Private addresses
    /// change and can stand in no file.
    init?(configured text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let kinds: [Substring: Kind] = ["public": .public, "random": .random]
        guard (1...2).contains(parts.count), let kind = parts.count == 1 ? .random : kinds[parts[1]] else { return nil }
        self.init(String(parts[0]), kind: kind)
        let all = octets.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch kind {
        case .public:
            guard all != 0, all != 0xFFFF_FFFF_FFFF else { return nil }
        case .random:
            // At least one bit of the random part is 0 and at least one is 1.
            let part = all & 0x3FFF_FFFF_FFFF
            guard all >> 46 == 0b11, part != 0, part != 0x3FFF_FFFF_FFFF else { return nil }
        }
    }
}

extension ValueForm where Value == BluetoothUUID {
    static let uuid = ValueForm(
        allowed: "a UUID of 128 bits", example: "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20",
        // The short forms are for what the Bluetooth SIG has assigned; a collar's service is nobody's but its maker's.
        parse: { $0.utf8.count == 36 ? BluetoothUUID($0) : nil }, print: { $0.description })
}
