import Platform

extension StatusReport {
    /// The report as JSON. Names do not change between releases; what is not known is null.
    var json: JSONValue {
        .object([
            "version": .string(version),
            "pid": .integer(Int64(pid)),
            "uptime": .integer(uptimeSeconds),
            "clock": .object(["synchronised": .bool(clock.synchronised), "unix_time": .integer(clock.unixSeconds)]),
            "configuration": .object(["refused": .bool(configuration.isRefused), "restart_needed": .array(configuration.restartNeeded.map { .string($0) })]),
            "outbox": outbox.json,
            "owners": .array(owners.map(\.json)),
            "radio": radio?.json ?? .null,
            "collars": .array(collars.map(\.json)),
            "cuffs": .array(cuffs.map(\.json)),
            "leds": .object([
                "status": .optional(indicators.status), "radio": .optional(indicators.radio), "uplink": .optional(indicators.uplink)
            ])
        ])
    }
}

extension StatusReport.Fault {
    fileprivate var json: JSONValue { .object(["code": .string(code), "text": .string(text)]) }
}

extension StatusReport.Outbox {
    fileprivate var json: JSONValue {
        .object([
            "queued": .integer(Int64(queued)), "places": .integer(Int64(places)), "free": .integer(Int64(free)),
            "exhausted": .integer(Int64(exhausted)), "quarantined": .integer(Int64(quarantined)), "sealed": .integer(Int64(sealed)),
            "evidence": .integer(Int64(evidence)),
            "damaged_file": .optional(damagedFile), "fault": fault?.json ?? .null
        ])
    }
}

extension StatusReport.Owner {
    fileprivate var json: JSONValue {
        .object([
            "key": .string(key), "state": .string(state.rawValue), "endpoint": .optional(endpoint), "holding": .optional(holding),
            "waiting": .optional(waitingSeconds), "queued": .integer(Int64(queued)),
            "last_success_age": .optional(lastSuccessAge), "last_error": lastError?.json ?? .null
        ])
    }
}

extension StatusReport.Radio {
    fileprivate var json: JSONValue {
        .object([
            "state": .string(state.rawValue), "controller": .optional(controller), "why": .optional(why), "pairing_open": .optional(pairingSeconds)
        ])
    }
}

extension StatusReport.Collar {
    fileprivate var json: JSONValue {
        .object([
            "name": .string(name), "serial": .string(serial), "owner": .string(owner),
            "state": .string(state.rawValue), "since": .integer(sinceSeconds),
            "battery": .optional(battery), "firmware": .optional(firmware), "log": .optional(log),
            "oldest": .optional(oldest), "next": .optional(next), "checkpoint": .optional(checkpoint),
            "unread": .optional(unread), "settled_through": .optional(settledThrough), "pending_clear": .optional(pendingClear),
            "last_heartbeat_age": .optional(lastHeartbeatAge),
            "link": .optional(link), "address": .optional(address), "bonded": bonded.map { .bool($0) } ?? .null,
            "held_why": .optional(heldWhy), "last_error": lastError?.json ?? .null
        ])
    }
}

extension StatusReport.Cuff {
    fileprivate var json: JSONValue {
        .object([
            "name": .string(name), "serial": .string(serial), "owner": .string(owner),
            "state": .string(state.rawValue), "since": .integer(sinceSeconds),
            "battery": .optional(battery), "battery_low_since": .optional(batteryLowSeconds), "model": .optional(model), "firmware": .optional(firmware),
            "last_reading_age": .optional(lastReadingAge), "clock_ahead": .optional(clockAhead),
            "link": .optional(link), "address": .optional(address), "bonded": bonded.map { .bool($0) } ?? .null,
            "held_why": .optional(heldWhy), "last_error": lastError?.json ?? .null
        ])
    }
}

extension JSONValue {
    static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    static func optional(_ number: (some BinaryInteger)?) -> JSONValue { number.map { .number($0) } ?? .null }
}
