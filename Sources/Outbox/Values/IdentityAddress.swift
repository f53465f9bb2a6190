/// The lasting address of a Bluetooth controller or device: a public one, or a static random one (Core Vol 6 Part B 1.3).
///
/// Private addresses are none: the kernel neither keeps keys for one nor waits for it.
public struct IdentityAddress: Sendable, Hashable, CustomStringConvertible {
    /// The 48 bits as a number.
    let value: UInt64
    /// Whether the device chose it; `false` for one that is registered with the IEEE. The same 48 bits may exist as both.
    public let isRandom: Bool

    /// - Parameter octets: least significant first, as on the air; `nil` unless there are six, and for a random address that is not static.
    public init?(octets: [UInt8], isRandom: Bool) {
        guard octets.count == 6 else { return nil }
        self.init(value: octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }, isRandom: isRandom)
    }

    init?(value: UInt64, isRandom: Bool) {
        guard value < 1 << 48, !isRandom || value >> 46 == 0b11 else { return nil }
        self.value = value
        self.isRandom = isRandom
    }

    /// The six octets, least significant first.
    public var octets: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) } }

    /// For example `C0:FF:EE:12:34:56/random`.
    public var description: String {
        let pairs = octets.reversed().map { octet in
            let digits = String(octet, radix: 16, uppercase: true)
            return octet < 16 ? "0" + digits : digits
        }
        return pairs.joined(separator: ":") + (isRandom ? "/random" : "/public")
    }
}
