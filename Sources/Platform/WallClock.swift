import CLinux
import Glibc

/// What the wall clock said, with its provenance.
public struct WallTime: Sendable, Hashable {
    /// Seconds since 1970 (UTC, without leap seconds), as time(2) counts them.
    public var seconds: Int64
    /// Whether the clock has been set from a time source since boot.
    public var synchronised: Bool

    public init(seconds: Int64, synchronised: Bool) {
        self.seconds = seconds
        self.synchronised = synchronised
    }
}

/// The wall clock: a label for people and records, never the measure of an interval.
public struct WallClock: Sendable {
    /// Reads the clock.
    public let read: @Sendable () -> WallTime

    public init(read: @escaping @Sendable () -> WallTime) {
        self.read = read
    }

    /// The system's clock, taken as synchronised once the file `marker` exists (systemd-timesyncd makes
    /// `/run/systemd/timesync/synchronized`), or always when there is no marker to look for.
    public static func system(marker: String?) -> WallClock {
        WallClock {
            let synchronised = marker.map { access($0, F_OK) == 0 } ?? true
            return WallTime(seconds: Int64(time(nil)), synchronised: synchronised)
        }
    }
}
