import Outbox
import Platform

extension SetAsideReport {
    /// The report as JSON. Names do not change between releases.
    var json: JSONValue {
        .object([
            "entries": .array(quarantined.map(\.json)), "sealed": .array(sealed.map(\.json)), "evidence": .array(evidence.map(\.json)),
            "room": .object(["entries": .number(room.quarantine), "sealed": .number(room.sealed), "evidence": .number(room.evidence)])
        ])
    }
}

extension SetAsideReport.Entry {
    fileprivate var json: JSONValue {
        .object([
            "id": .string(id), "owner": .string(owner), "device": .string(device), "log": .number(log), "first": .number(first), "count": .number(count),
            "gaps": .number(gaps), "received": .integer(received), "attempts": .number(attempts), "reason": reason.map { .string($0) } ?? .null
        ])
    }
}

extension SetAsideReport.Sealed {
    fileprivate var json: JSONValue {
        .object([
            "owner": .string(owner), "entries": .number(entries), "windows": .number(windows), "devices": .array(devices.map { .string($0) }),
            "returning": .bool(returning)
        ])
    }
}

extension SetAsideReport.Evidence {
    fileprivate var json: JSONValue {
        .object([
            "number": .integer(number), "owner": .string(owner), "device": .string(device), "log": .number(log), "sequence": .number(sequence),
            "code": .string(code), "receipt": .string(receipt)
        ])
    }
}

extension AuditLine {
    /// The line as JSON. Names do not change between releases.
    var json: JSONValue { .object(["at": .integer(at), "by": .string(by), "act": .string(act)]) }
}
