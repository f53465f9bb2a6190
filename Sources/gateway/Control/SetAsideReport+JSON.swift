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
        var members: JSONObject = ["id": .string(id), "owner": .string(owner)]
        if !isOfReadings {
            members["device"] = .string(device)
            members["log"] = .number(log)
            members["first"] = .number(first)
        }
        members["count"] = .number(count)
        if !isOfReadings { members["gaps"] = .number(gaps) }
        members["received"] = .integer(received)
        members["attempts"] = .number(attempts)
        members["reason"] = reason.map { .string($0) } ?? .null
        if isOfReadings { members["readings"] = readings?.json ?? .null }
        return .object(members)
    }
}

extension SetAsideReport.Readings {
    fileprivate var json: JSONValue {
        .object([
            "cuffs": .array(cuffs.map { .string($0) }), "first": .integer(first), "last": .integer(last), "users": .array(users.map { .number($0) }),
            "unreadable": .number(unreadable), "codes": .array(codes.map { .string($0) })
        ])
    }
}

extension SetAsideReport.Sealed {
    fileprivate var json: JSONValue {
        .object([
            "owner": .string(owner), "entries": .number(entries), "windows": .number(windows), "devices": .array(devices.map { .string($0) }),
            "returning": .bool(returning), "readings": .number(readings)
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
