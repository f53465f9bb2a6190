import Platform
import Radio

/// The reports as JSON. Names do not change between releases.
extension RadioAnswer {
    var json: JSONValue {
        switch self {
        case .paired(let report): report.json
        case .forgotten(let report): report.json
        case .heard(let report): report.json
        case .probed(let report): report.json
        }
    }

    var text: String {
        switch self {
        case .paired(let report): report.text
        case .forgotten(let report): report.text
        case .heard(let report): report.text
        case .probed(let report): report.text
        }
    }
}

extension PairingReport {
    fileprivate var json: JSONValue {
        .object([
            "paired": .array(paired.map { device in
                .object([
                    "device": .string(device.device), "serial": .string(device.serial), "address": .string(device.address.description),
                    "address_type": .string(device.address.typeName), "adopted": .bool(device.adopted), "authenticated": .bool(device.authenticated)
                ])
            }),
            "failed": .array(failed.map { device in
                .object(["device": .string(device.device), "code": .string(device.code), "text": .string(device.text)])
            })
        ])
    }
}

extension ForgetReport {
    fileprivate var json: JSONValue {
        .object([
            "device": .string(device), "serial": .string(serial), "bonds": .number(bonds), "address": .optional(address?.description),
            "address_type": .optional(address?.typeName)
        ])
    }
}

extension ScanReport {
    fileprivate var json: JSONValue {
        .object([
            "seconds": .number(seconds),
            "devices": .array(devices.map { device in
                .object([
                    "address": .string(device.address.description), "address_type": .string(device.address.typeName), "name": .optional(device.name),
                    "services": .array(device.services.map { .string($0) }), "rssi": device.rssi.map { .number($0) } ?? .null,
                    "known": .optional(device.known), "claims": .array(device.claims.map { .string($0) }),
                    "may_be": .array(device.mayBe.map { .string($0) })
                ])
            }),
            "more": .number(more)
        ])
    }
}

extension ProbeReport {
    fileprivate var json: JSONValue {
        .object([
            "device": .string(device), "serial": .optional(serial), "address": .optional(address?.description),
            "address_type": .optional(address?.typeName), "encrypted": .bool(encrypted), "mtu": .number(mtu), "services": .array(services.map(\.json)),
            "heartbeat": heartbeat?.json ?? .null, "findings": .array(findings.map { .string($0) })
        ])
    }
}

extension ProbeReport.Service {
    fileprivate var json: JSONValue {
        .object([
            "uuid": .string(uuid), "first": .number(first), "last": .number(last),
            "characteristics": .array(characteristics.map { characteristic in
                .object([
                    "uuid": .string(characteristic.uuid), "handle": .number(characteristic.handle),
                    "properties": .array(characteristic.properties.map { .string($0) })
                ])
            })
        ])
    }
}

extension ProbeReport.Heartbeat {
    fileprivate var json: JSONValue {
        .object(["battery": battery.map { .number($0) } ?? .null, "log": .number(log), "oldest": .number(oldest), "next": .number(next)])
    }
}

extension BluetoothAddress {
    /// `public` or `random`.
    var typeName: String { kind == .public ? "public" : "random" }
}
