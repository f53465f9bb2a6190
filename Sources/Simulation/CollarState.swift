import Platform

/// What the collar's firmware knows, whatever link there is: flash, clock, battery.
public struct CollarState: Sendable {
    public var flash: CollarFlash
    public var clock: CollarClock
    /// Percent; 255 is unknown.
    public var batteryPercent: UInt8 = 100
    public var charging = false

    public init(flash: CollarFlash, clock: CollarClock) {
        self.flash = flash
        self.clock = clock
    }

    /// The 20 bytes of the heartbeat.
    public func betaMetrics(transferRunning: Bool, at now: BootInstant) -> [UInt8] {
        var flags: UInt8 = clock.isSet ? 1 : 0
        if charging { flags |= 2 }
        if flash.hasOverwritten { flags |= 4 }
        if transferRunning { flags |= 8 }
        var bytes: [UInt8] = [1, flags, batteryPercent, 0]
        bytes.append(littleEndian: flash.log)
        bytes.append(littleEndian: flash.oldest)
        bytes.append(littleEndian: flash.next)
        bytes.append(littleEndian: clock.time(at: now))
        return bytes
    }
}
