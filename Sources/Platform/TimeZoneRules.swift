import Glibc

/// What a zone's clocks show at a moment: the one thing that is asked of a time zone here.
public struct TimeZoneRules: Sendable {
    /// Seconds east of UTC that hold at a moment (seconds since 1970, UTC).
    public let offset: @Sendable (Int64) -> Int

    public init(offset: @escaping @Sendable (Int64) -> Int) {
        self.offset = offset
    }

    /// The same offset all the time.
    public static func fixed(_ seconds: Int) -> TimeZoneRules { TimeZoneRules { _ in seconds } }

    /// The zone that this system is set to (localtime(3)).
    public static let system = TimeZoneRules { seconds in
        // Notices that the zone of the system was changed meanwhile.
        tzset()
        var time = time_t(seconds)
        var broken = tm()
        guard localtime_r(&time, &broken) != nil else { return 0 }
        return broken.tm_gmtoff
    }

    /// The moment at which clocks of this zone show `civil`. Of the two in an hour that comes twice it is the first; a time that is skipped is
    /// counted on from the offset before it.
    public func moment(of civil: CivilTime) -> Int64 {
        let local = civil.secondsSince1970
        // No zone changes twice within a day before and after, so these are the two offsets in question.
        let before = offset(local - 86_400), after = offset(local + 86_400)
        for candidate in [max(before, after), min(before, after)] where offset(local - Int64(candidate)) == candidate {
            return local - Int64(candidate)
        }
        return local - Int64(before)
    }

    /// What clocks of this zone show at a moment; `nil` outside the calendar's years.
    public func civil(at moment: Int64) -> CivilTime? {
        let (local, overflow) = moment.addingReportingOverflow(Int64(offset(moment)))
        return overflow ? nil : CivilTime(secondsSince1970: local)
    }
}
