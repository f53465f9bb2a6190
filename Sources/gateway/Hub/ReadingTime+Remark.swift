import Platform
import Radio

extension ReadingTime {
    /// How the moment is known, for whoever reads the record; `nil` when the cuff's clock was right.
    var remark: String? {
        let label = received.synchronised ? "" : " The hub's clock was not set then."
        switch basis {
        case .received:
            guard let device else { return "The cuff gave no time; this is when the reading was received.\(label)" }
            return "The cuff's clock showed \(device), which cannot be; this is when the reading was received.\(label)"
        case .correctedCuffClock:
            guard case .ahead(let seconds) = clock, let device else { return "The time of the cuff was corrected." }
            return "The cuff's clock showed \(device) and was \(Self.span(seconds.magnitude)) \(seconds < 0 ? "behind" : "ahead"); the time is corrected by that."
        case .cuffClock:
            switch clock {
            case .ahead: return nil
            case .unreadable: return "The time is the cuff's own; its clock could not be checked."
            case .unset: return "The time is the cuff's own; its clock showed no time when it was checked."
            case .unverified: return "The time is the cuff's own; it could not be checked, as the hub's clock was not set."
            }
        }
    }

    /// Seconds in words, the two largest units.
    private static func span(_ seconds: UInt64) -> String {
        let units: [(size: UInt64, name: String)] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")]
        guard let largest = units.firstIndex(where: { seconds >= $0.size }) else { return "0 s" }
        var rest = seconds
        var words: [String] = []
        for unit in units[largest...].prefix(2) {
            let count = rest / unit.size
            rest %= unit.size
            if count > 0 { words.append("\(count) \(unit.name)") }
        }
        return words.joined(separator: " ")
    }
}
