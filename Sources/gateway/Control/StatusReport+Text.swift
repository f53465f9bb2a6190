extension StatusReport {
    /// The report for people, line by line.
    var text: String {
        var lines = ["gateway \(version), process \(pid), up \(span(uptimeSeconds))"]
        lines.append("clock    \(clock.synchronised ? "set" : "not set, uploads that need it wait")")
        if configuration.isRefused { lines.append("config   refused when it was last read, the former one is in force; see: gateway check-config") }
        for change in configuration.restartNeeded { lines.append("config   waits for a restart: \(change)") }
        lines.append("outbox   " + outbox.text)
        if outbox.quarantined + outbox.sealed + outbox.evidence > 0 { lines.append("         something is set aside; see: gateway quarantine") }
        if let file = outbox.damagedFile { lines.append("         a damaged file was moved to \(file)") }
        if let fault = outbox.fault { lines.append("         fault: \(fault.text) [\(fault.code)]") }
        if let radio { lines.append("radio    " + radio.text) }
        for owner in owners { lines += owner.lines }
        for collar in collars { lines += collar.lines }
        for cuff in cuffs { lines += cuff.lines }
        let leds = [("status", indicators.status), ("radio", indicators.radio), ("uplink", indicators.uplink)]
        lines.append("leds     " + leds.map { "\($0.0) \($0.1 ?? "off")" }.joined(separator: ", "))
        return lines.joined(separator: "\n") + "\n"
    }
}

extension StatusReport.Outbox {
    fileprivate var text: String {
        let parts = ["\(queued) of \(places) places taken, \(free) free"]
            + [(exhausted, "exhausted"), (quarantined, "in quarantine"), (sealed, "sealed"), (evidence, "rejected windows kept")].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        return parts.joined(separator: ", ")
    }
}

extension StatusReport.Radio {
    fileprivate var text: String {
        let parts = ["controller \(state.rawValue)" + (controller.map { " (\($0))" } ?? "")] + (why.map { [$0] } ?? [])
            + (pairingSeconds.map { ["pairing open for \(span($0))"] } ?? [])
        return parts.joined(separator: ", ")
    }
}

extension StatusReport.Owner {
    fileprivate var lines: [String] {
        var parts = [state.rawValue + (holding.map { " (\($0))" } ?? "") + (endpoint.map { " (\($0))" } ?? ""), "\(queued) queued"]
        if let waitingSeconds { parts.append("next attempt in \(span(waitingSeconds))") }
        parts.append(lastSuccessAge.map { "last receipt \(span($0)) ago" } ?? "no receipt since the start")
        return ["owner    \(key): " + parts.joined(separator: ", ")] + (lastError.map { ["         last error: \($0.text) [\($0.code)]"] } ?? [])
    }
}

extension StatusReport.Collar {
    fileprivate var lines: [String] {
        var first = ["\(state.rawValue) for \(span(sinceSeconds))" + (heldWhy.map { " (\($0))" } ?? "")]
        if let battery { first.append("battery \(battery) %") }
        if let lastHeartbeatAge { first.append("heard \(span(lastHeartbeatAge)) ago") }
        if let unread { first.append("\(unread) unread") }
        var lines = ["collar   \(name) (\(serial), \(owner)): " + first.joined(separator: ", ")]
        var second: [String] = []
        if let log { second.append("log \(log)") }
        if let oldest, let next { second.append("holds \(oldest) up to before \(next)") }
        if let checkpoint { second.append("stored up to before \(checkpoint)") }
        if let settledThrough { second.append("settled through \(settledThrough)") }
        if let pendingClear { second.append("clear through \(pendingClear) waits") }
        if let firmware { second.append("firmware \(firmware)") }
        if !second.isEmpty { lines.append("         " + second.joined(separator: ", ")) }
        if let link {
            let keys = bonded == true ? ", paired" : ""
            lines.append("         link \(link), \(address.map { "at \($0)" } ?? "no address yet")\(keys)")
        }
        if let lastError { lines.append("         last error: \(lastError.text) [\(lastError.code)]") }
        return lines
    }
}

extension StatusReport.Cuff {
    fileprivate var lines: [String] {
        var first = ["\(state.rawValue) for \(span(sinceSeconds))" + (heldWhy.map { " (\($0))" } ?? "")]
        if let battery { first.append("battery \(battery) %") }
        if let batteryLowSeconds { first.append("battery low for \(span(batteryLowSeconds))") }
        first.append(lastReadingAge.map { "last reading \(span($0)) ago" } ?? "no reading since the start")
        var lines = ["cuff     \(name) (\(serial), \(owner)): " + first.joined(separator: ", ")]
        var second: [String] = []
        if let model { second.append(model) }
        if let firmware { second.append("firmware \(firmware)") }
        if let clockAhead, clockAhead.magnitude > 60 { second.append("its clock was \(span(Int64(clamping: clockAhead.magnitude))) \(clockAhead > 0 ? "fast" : "slow")") }
        if !second.isEmpty { lines.append("         " + second.joined(separator: ", ")) }
        if let link { lines.append("         link \(link), \(address.map { "at \($0)" } ?? "no address yet")\(bonded == true ? ", paired" : "")") }
        if let lastError { lines.append("         last error: \(lastError.text) [\(lastError.code)]") }
        return lines
    }
}

/// Seconds as people say them, in the two largest units.
func span(_ seconds: Int64) -> String {
    let units: [(Int64, String)] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")]
    guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "0 s" }
    let whole = "\(seconds / units[first].0) \(units[first].1)"
    guard first + 1 < units.count else { return whole }
    let rest = seconds % units[first].0 / units[first + 1].0
    return rest == 0 ? whole : "\(whole) \(rest) \(units[first + 1].1)"
}
