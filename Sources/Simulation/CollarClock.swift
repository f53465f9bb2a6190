import Platform

/// The collar's clock: seconds since 1970 once somebody has set it, seconds since the collar started until then.
public struct CollarClock: Sendable, Equatable {
    private var startedAt: BootInstant
    private var setting: (seconds: UInt32, at: BootInstant)?

    /// A clock that nobody has set.
    public init(startedAt: BootInstant) {
        self.startedAt = startedAt
    }

    /// Whether somebody has set it since the collar got its battery.
    public var isSet: Bool { setting != nil }

    /// What the clock shows. Unset it stays below 10^9 however long the collar runs.
    public func time(at now: BootInstant) -> UInt32 {
        if let setting { return setting.seconds &+ UInt32(truncatingIfNeeded: (now - setting.at).milliseconds / 1_000) }
        return UInt32(max(0, min(999_999_999, (now - startedAt).milliseconds / 1_000)))
    }

    /// Sets the clock to `seconds` since 1970.
    public mutating func set(_ seconds: UInt32, at now: BootInstant) {
        setting = (seconds, now)
    }

    /// A new battery: the clock starts at zero and is not set.
    public mutating func restart(at now: BootInstant) {
        startedAt = now
        setting = nil
    }

    public static func == (left: CollarClock, right: CollarClock) -> Bool {
        left.startedAt == right.startedAt && left.setting?.seconds == right.setting?.seconds && left.setting?.at == right.setting?.at
    }
}
