/// Sequences travel in 32 bits and wrap; the outbox counts in 64.
public enum SequenceNumber {
    /// The 64-bit sequence nearest to `near` whose low 32 bits are `wire` (serial-number arithmetic, RFC 1982).
    ///
    /// - Parameters:
    ///   - wire: the sequence as a device sent it.
    ///   - near: a sequence of the same log that is less than 2^31 away, such as the checkpoint.
    public static func unwrap(_ wire: UInt32, near: UInt64) -> UInt64 {
        let step = Int32(bitPattern: wire &- UInt32(truncatingIfNeeded: near))
        let moved = near.addingReportingOverflow(UInt64(bitPattern: Int64(step)))
        // Before the first 2^32 there is nothing behind zero: such a sequence can only lie ahead.
        if step < 0, near < UInt64(step.magnitude) { return UInt64(wire) }
        return moved.partialValue
    }

    /// The 32 bits that travel.
    public static func wire(_ sequence: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: sequence) }
}
