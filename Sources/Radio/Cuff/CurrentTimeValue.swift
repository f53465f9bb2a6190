import Platform

/// Current Time (0x2A2B): a clock with the day of the week, 1/256 seconds and the reason of its last change (Current Time Service 1.1, 3.1).
public struct CurrentTimeValue: Sendable, Hashable {
    /// Why the clock was changed (GATT Specification Supplement, "Current Time", Adjust Reason).
    public struct AdjustReason: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let manual = AdjustReason(rawValue: 1 << 0)
        public static let externalReference = AdjustReason(rawValue: 1 << 1)
        public static let timeZone = AdjustReason(rawValue: 1 << 2)
        public static let daylightSaving = AdjustReason(rawValue: 1 << 3)
    }

    /// The length in octets.
    public static let length = 10

    public let time: DateTimeValue
    /// 1 is Monday, 7 Sunday; 0 when the clock does not know it.
    public let dayOfWeek: UInt8
    /// 1/256 seconds.
    public let fractions: UInt8
    public let reason: AdjustReason

    /// A clock that shows `time`, set from outside.
    public init(_ time: CivilTime, reason: AdjustReason = .externalReference) {
        self.time = DateTimeValue(time)
        dayOfWeek = UInt8(time.daysSinceMonday + 1)
        fractions = 0
        self.reason = reason
    }

    /// Reads the 10 octets.
    ///
    /// - Throws: `CuffError` with `.malformedTime` for another length.
    public init(parsing octets: [UInt8]) throws(CuffError) {
        do throws(ATTMalformation) {
            var reader = ATTReader(octets[...])
            time = try DateTimeValue(&reader)
            dayOfWeek = try reader.octet("day of week")
            fractions = try reader.octet("fractions")
            reason = AdjustReason(rawValue: try reader.octet("adjust reason"))
            try reader.end()
        } catch {
            throw CuffError(.malformedTime, "Current Time", error)
        }
    }

    /// The 10 octets.
    public var encoded: [UInt8] { time.encoded + [dayOfWeek, fractions, reason.rawValue] }
}
