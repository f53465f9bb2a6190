import Radio

extension ValueForm where Value == BluetoothAddress {
    static let deviceAddress = ValueForm(
        allowed: "a static random address, or any with /public or /random behind it", example: "C0:FF:EE:12:34:56",
        parse: { BluetoothAddress(configured: $0) }, print: { "\($0)/\($0.kind == .public ? "public" : "random")" })
}

extension ValueForm where Value == Configuration.Controller {
    /// Any controller, or the one with a public address: the kernel knows it by no other.
    static let controller = ValueForm(
        allowed: "\"any\", or the public address of a controller", example: "00:1A:7D:DA:71:13",
        parse: { text in
            if text == "any" { return .any }
            guard let address = BluetoothAddress(configured: text, unmarked: .public), address.kind == .public else { return nil }
            return .address(address)
        },
        print: { controller in
            switch controller {
            case .any: "any"
            case .address(let address): "\(address)"
            }
        })
}

extension ValueForm where Value == Passkey {
    /// Six digits. Messages do not repeat it.
    static let passkey = ValueForm(allowed: "six digits, in quotes when the first is 0", example: "123456") { value in
        let text: String
        switch value.content {
        case .integer(let number): text = "\(number)"
        case .string(let digits): text = digits
        default: return .failure(ValueRefusal(code: .wrongType, words: "is \(value.kind)"))
        }
        guard let passkey = Passkey(text) else { return .failure(ValueRefusal(code: .notAllowed, words: "does not fit")) }
        return .success(passkey)
    } write: { tomlString($0.digits) }
}

extension BluetoothAddress {
    /// Reads `C0:FF:EE:12:34:56`, optionally followed by `/random` or `/public`. Without either the two topmost bits must say
    /// that it is a static random address (Core Vol 6 Part B 1.3.2.1), because a public one cannot be told from a private one. Private addresses
    /// change and can stand in no file.
    ///
    /// - Parameter unmarked: what an address without either is.
    init?(configured text: String, unmarked: Kind = .random) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let kinds: [Substring: Kind] = ["public": .public, "random": .random]
        guard (1...2).contains(parts.count), let kind = parts.count == 1 ? unmarked : kinds[parts[1]] else { return nil }
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
