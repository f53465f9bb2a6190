/// Serial number arithmetic (RFC 1982) on the 32-bit sequences of a flash log, which wrap at 2^32.
public enum SerialNumber {
    /// How many steps lead from `start` to `end` by the shorter way: negative when `end` is before `start`, and -2^31 for the pair of
    /// opposites whose order RFC 1982 (section 3.2) leaves undefined.
    public static func distance(from start: UInt32, to end: UInt32) -> Int {
        Int(Int32(bitPattern: end &- start))
    }

    /// Whether `left` comes before `right`. Of two opposites neither does.
    public static func isBefore(_ left: UInt32, _ right: UInt32) -> Bool {
        let distance = distance(from: left, to: right)
        return distance > 0
    }

    /// The 64-bit number that ends in `sequence` (equal to it modulo 2^32) and is nearest to `reference`, but never negative.
    ///
    /// - Parameter reference: an unwrapped sequence of the same log; a negative one counts as 0.
    public static func unwrap(_ sequence: UInt32, near reference: Int64) -> Int64 {
        let wrap: Int64 = 1 << 32
        let reference = max(0, reference)
        let step = Int64(distance(from: UInt32(truncatingIfNeeded: reference), to: sequence))
        let (sum, overflow) = reference.addingReportingOverflow(step)
        if overflow { return reference - wrap + step }
        return sum < 0 ? sum + wrap : sum
    }
}
