import Glibc
import Outbox

extension SetAsideReport {
    /// The report for people, line by line.
    var text: String {
        guard !isEmpty else { return "nothing is set aside\n" }
        var lines: [String] = []
        if !quarantined.isEmpty {
            lines.append("quarantine  \(quarantined.count) of \(room.quarantine) entries; collars keep what lies behind them until they are released or settled")
            for entry in quarantined { lines += entry.lines }
        }
        if !sealed.isEmpty {
            lines.append("sealed      \(sealed.reduce(0) { $0 + $1.entries }) of \(room.sealed) entries")
            for owner in sealed { lines.append(owner.line) }
        }
        if !evidence.isEmpty {
            lines.append("evidence    \(evidence.count) of \(room.evidence) rejected windows; without room, receipts with rejections wait")
            lines += evidenceLines
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Windows that follow one another and were rejected for the same reason take one line.
    private var evidenceLines: [String] {
        var runs: [(first: Evidence, last: Evidence)] = []
        for window in evidence {
            if let run = runs.last, window.follows(run.last) { runs[runs.count - 1].last = window } else { runs.append((window, window)) }
        }
        return runs.map { first, last in
            "  \(range(first.number, last.number)): owner \(first.owner), device \(first.device), log \(first.log), \(range(first.sequence, last.sequence)): "
                + "\(shown(first.code, upTo: 64)), receipt \(shown(first.receipt, upTo: 64))"
        }
    }
}

extension SetAsideReport.Entry {
    fileprivate var lines: [String] {
        if isOfReadings { return readingLines }
        let windows = count > 0 ? "\(range(first, first + UInt64(count - 1))) (\(counted(count, "window", "windows")))" : "no windows"
        let gaps = gaps > 0 ? ", \(counted(self.gaps, "gap", "gaps"))" : ""
        return [
            "  \(id)",
            "    owner \(owner), device \(device), log \(log), \(windows)\(gaps)",
            "    read \(timestamp(received)), \(counted(attempts, "failed attempt", "failed attempts")), reason \(reason.map { shown($0, upTo: 128) } ?? "unknown")"
        ]
    }
}

extension SetAsideReport.Entry {
    private var readingLines: [String] {
        let whose = owner.isEmpty ? "nobody's" : "owner \(owner)"
        let why = "reason \(reason.map { shown($0, upTo: 128) } ?? "unknown")"
        guard let readings else {
            return ["  \(id)", "    \(whose), \(counted(count, "reading", "readings")) that are not what was stored", "    \(counted(attempts, "failed attempt", "failed attempts")), \(why)"]
        }
        var content = "    \(whose), \(counted(count, "reading", "readings")) of \(counted(readings.cuffs.count, "cuff", "cuffs")) \(readings.cuffs.joined(separator: ", "))"
        if !readings.users.isEmpty { content += ", user \(readings.users.map(String.init).joined(separator: ", "))" }
        if readings.unreadable > 0 { content += ", \(readings.unreadable) that cannot be read (\(shown(readings.codes.joined(separator: ", "), upTo: 128)))" }
        let span = readings.first == readings.last ? timestamp(readings.first) : "\(timestamp(readings.first)) to \(timestamp(readings.last))"
        return ["  \(id)", content, "    taken \(span), \(counted(attempts, "failed attempt", "failed attempts")), \(why)"]
    }
}

extension SetAsideReport.Sealed {
    fileprivate var line: String {
        let windows = devices.isEmpty ? [] : ["\(counted(windows, "window", "windows")) of \(devices.joined(separator: ", "))"]
        let content = windows + (readings > 0 ? [counted(readings, "reading", "readings")] : [])
        return "  owner \(owner): \(counted(entries, "entry", "entries")), \(content.joined(separator: " and "))"
            + (returning ? "; comes back as places become free" : "")
    }
}

extension SetAsideReport.Evidence {
    fileprivate func follows(_ other: Self) -> Bool {
        number == other.number + 1 && owner == other.owner && device == other.device && log == other.log && sequence == other.sequence + 1
            && code == other.code && receipt == other.receipt
    }
}

extension [AuditLine] {
    /// The acts for people, a line for each.
    var text: String {
        if isEmpty { return "no operator has done anything\n" }
        return map { "\(timestamp($0.at))  \($0.by): \($0.act)\n" }.joined()
    }
}

private func range<Number: BinaryInteger>(_ first: Number, _ last: Number) -> String { first == last ? "\(first)" : "\(first) to \(last)" }

/// Unix seconds as people read them, in UTC.
func timestamp(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = tm()
    // A year that has no place in `tm` is what a broken clock said.
    guard gmtime_r(&time, &parts) != nil else { return "\(seconds)" }
    var text = [CChar](repeating: 0, count: 40)
    let length = strftime(&text, text.count, "%Y-%m-%d %H:%M:%S UTC", &parts)
    return String(decoding: text[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
