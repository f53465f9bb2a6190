/// What a collar says about itself in its heartbeat: the 20 bytes of Beta Metrics, version 1.
///
/// It is a wake-up and a claim, never data: what the collar holds is known once it was read.
public struct BetaMetrics: Sendable, Hashable {
    /// The bits of byte 1.
    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `time` counts from 1970.
        public static let clockIsSet = Flags(rawValue: 1 << 0)
        /// The battery is being charged.
        public static let charging = Flags(rawValue: 1 << 1)
        /// Windows were overwritten since the last clear.
        public static let overwrittenSinceClear = Flags(rawValue: 1 << 2)
        /// A range is being read.
        public static let transferRunning = Flags(rawValue: 1 << 3)
    }

    /// The length of the record in bytes.
    public static let length = 20

    public var flags: Flags
    /// Percent, 0...100; `nil` when the collar does not know it.
    public var battery: UInt8?
    /// The identity of the flash log.
    public var log: UInt32
    /// The sequence of the oldest window held.
    public var oldest: UInt32
    /// The sequence that the next window will get.
    public var next: UInt32
    /// Seconds since 1970 when the clock is set, else seconds since the collar started.
    public var time: UInt32

    /// How many windows the collar holds.
    public var held: UInt32 { next &- oldest }

    /// Puts a record together.
    public init(flags: Flags, battery: UInt8?, log: UInt32, oldest: UInt32, next: UInt32, time: UInt32) {
        self.flags = flags
        self.battery = battery
        self.log = log
        self.oldest = oldest
        self.next = next
        self.time = time
    }

    /// Reads the 20 bytes of version 1. Bits and bytes that the profile reserves are ignored; a battery over 100 percent is unknown.
    ///
    /// - Throws: `CollarError` with `.malformedMetrics` for another length or version, and for a range that runs backwards.
    public init(parsing bytes: [UInt8]) throws(CollarError) {
        guard let version = bytes.first else { throw CollarError(.malformedMetrics, "Beta Metrics are empty") }
        guard version == 1 else { throw CollarError(.malformedMetrics, "Beta Metrics of version \(version), known is 1") }
        guard bytes.count == Self.length else {
            throw CollarError(.malformedMetrics, "Beta Metrics of \(bytes.count) bytes instead of \(Self.length)")
        }
        self.init(
            flags: Flags(rawValue: bytes[1]),
            battery: bytes[2] <= 100 ? bytes[2] : nil,
            log: LittleEndian.u32(bytes, at: 4),
            oldest: LittleEndian.u32(bytes, at: 8),
            next: LittleEndian.u32(bytes, at: 12),
            time: LittleEndian.u32(bytes, at: 16)
        )
        // Half the circle of sequences or more: `next` is before `oldest`, or their order is undefined (RFC 1982, section 3.2).
        guard SerialNumber.distance(from: oldest, to: next) >= 0 else {
            throw CollarError(.malformedMetrics, "the range of windows runs backwards, from \(oldest) to \(next)")
        }
    }
}
