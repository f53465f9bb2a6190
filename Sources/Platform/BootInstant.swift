/// A moment on the boot clock (`CLOCK_BOOTTIME`, clock_gettime(2)): nanoseconds since the machine started, suspended time included.
///
/// Every interval of the gateway runs on this clock. It never steps, so a wall clock that is set late or wrong
/// cannot lose, reorder or delay work.
public struct BootInstant: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Nanoseconds since boot.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    public static func < (left: BootInstant, right: BootInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The moment `duration` later; saturates instead of trapping, for durations that came from outside.
    public static func + (instant: BootInstant, duration: Duration) -> BootInstant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.saturatingNanoseconds)
        return BootInstant(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// The time from `right` to `left`.
    public static func - (left: BootInstant, right: BootInstant) -> Duration {
        .nanoseconds(left.nanoseconds) - .nanoseconds(right.nanoseconds)
    }

    public var description: String { "\(Duration.nanoseconds(nanoseconds))" }
}

extension Duration {
    /// The duration in nanoseconds, cut to what 64 bits hold (292 years).
    public var saturatingNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in whole milliseconds, rounded towards zero.
    public var milliseconds: Int64 { saturatingNanoseconds / 1_000_000 }
}
