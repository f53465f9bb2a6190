import CBlueZ

/// The address of an LE device with its type; the two belong together, as the same 48 bits may exist as both (Core Vol 6 Part B 1.3).
public struct BluetoothAddress: Sendable, Hashable, CustomStringConvertible {
    /// Where the 48 bits come from; the raw values are the kernel's (`BDADDR_LE_PUBLIC`, `BDADDR_LE_RANDOM`).
    public enum Kind: UInt8, Sendable, Hashable {
        /// Registered with the IEEE, the device's for life.
        case `public` = 1
        /// Static, resolvable or non-resolvable random: the device chose it.
        case random = 2
    }

    /// The six octets in the order of the air and of `bdaddr_t`: least significant first.
    public let octets: [UInt8]
    public let kind: Kind

    /// - Parameter octets: least significant first, as in `bdaddr_t`; `nil` unless there are six.
    public init?(octets: [UInt8], kind: Kind) {
        guard octets.count == MemoryLayout<bdaddr_t>.size else { return nil }
        self.octets = octets
        self.kind = kind
    }

    /// Reads the text form `C0:00:5E:00:53:01`: six pairs of hexadecimal digits of either case between colons, and nothing else.
    public init?(_ text: String, kind: Kind) {
        // str2ba(3) is given exactly what it can judge: a longer text, or one with a NUL in it, would be judged by its beginning.
        guard text.utf8.count == 17, text.utf8.allSatisfy({ $0 != 0 && $0 < 0x80 }) else { return nil }
        var address = bdaddr_t()
        guard bachk(text) == 0, str2ba(text, &address) == 0 else { return nil }
        self.init(address, kind: kind)
    }

    init(_ address: bdaddr_t, kind: Kind) {
        octets = withUnsafeBytes(of: address) { Array($0) }
        self.kind = kind
    }

    /// What the kernel says of a controller that has no public address.
    static let unnamed = BluetoothAddress(bdaddr_t(), kind: .public)

    /// The kernel's form, for socket addresses and management commands.
    var bdaddr: bdaddr_t {
        var address = bdaddr_t()
        withUnsafeMutableBytes(of: &address) { $0.copyBytes(from: octets) }
        return address
    }

    /// The text form in capitals, as libbluetooth prints it.
    public var description: String {
        var address = bdaddr
        var text = [CChar](repeating: 0, count: 18)
        ba2str(&address, &text)
        return text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
}
