extension StatusReport {
    /// The report as JSON. Names do not change between releases; what is not known is null.
    var json: JSONValue {
        .object([
            .init("version", .string(version)),
            .init("pid", .integer(Int64(pid))),
            .init("uptime", .integer(uptimeSeconds)),
            .init("clock", .object([.init("synchronised", .boolean(clock.synchronised)), .init("unix_time", .integer(clock.unixSeconds))])),
            .init("outbox", outbox.json),
            .init("owners", .array(owners.map(\.json))),
            .init("collars", .array(collars.map(\.json))),
            .init("leds", .object([
                .init("status", .optional(indicators.status)), .init("radio", .optional(indicators.radio)), .init("uplink", .optional(indicators.uplink))
            ]))
        ])
    }
}

extension StatusReport.Fault {
    fileprivate var json: JSONValue { .object([.init("code", .string(code)), .init("text", .string(text))]) }
}

extension StatusReport.Outbox {
    fileprivate var json: JSONValue {
        .object([
            .init("queued", .integer(Int64(queued))), .init("places", .integer(Int64(places))), .init("free", .integer(Int64(free))),
            .init("exhausted", .integer(Int64(exhausted))), .init("quarantined", .integer(Int64(quarantined))), .init("sealed", .integer(Int64(sealed))),
            .init("damaged_file", .optional(damagedFile)), .init("fault", fault?.json ?? .null)
        ])
    }
}

extension StatusReport.Owner {
    fileprivate var json: JSONValue {
        .object([
            .init("key", .string(key)), .init("state", .string(state.rawValue)), .init("holding", .optional(holding)),
            .init("waiting", .optional(waitingSeconds)), .init("queued", .integer(Int64(queued))),
            .init("last_success_age", .optional(lastSuccessAge)), .init("last_error", lastError?.json ?? .null)
        ])
    }
}

extension StatusReport.Collar {
    fileprivate var json: JSONValue {
        .object([
            .init("name", .string(name)), .init("serial", .string(serial)), .init("owner", .string(owner)),
            .init("state", .string(state.rawValue)), .init("since", .integer(sinceSeconds)),
            .init("battery", .optional(battery)), .init("firmware", .optional(firmware)), .init("log", .optional(log)),
            .init("oldest", .optional(oldest)), .init("next", .optional(next)), .init("checkpoint", .optional(checkpoint)),
            .init("unread", .optional(unread)), .init("settled_through", .optional(settledThrough)), .init("pending_clear", .optional(pendingClear)),
            .init("last_heartbeat_age", .optional(lastHeartbeatAge)), .init("held_why", .optional(heldWhy)), .init("last_error", lastError?.json ?? .null)
        ])
    }
}

extension JSONValue {
    fileprivate static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    fileprivate static func optional(_ number: (some BinaryInteger)?) -> JSONValue { number.map { .integer(Int64($0)) } ?? .null }
}
