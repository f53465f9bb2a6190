/// The passkey of a device: six decimal digits (Core Vol 3 Part H 2.3.5.3). No way to print it shows them.
struct Passkey: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// 0 to 999,999.
    let number: UInt32

    /// - Parameter text: just six ASCII digits.
    init?(_ text: String) {
        guard text.utf8.count == 6, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = UInt32(text) else { return nil }
        self.number = number
    }

    /// The six digits themselves.
    var digits: String {
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    var description: String { "<passkey>" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
