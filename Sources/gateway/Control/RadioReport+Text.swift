/// The reports for people, line by line. What came over the air is made fit for a terminal.
extension PairingReport {
    var text: String {
        if paired.isEmpty, failed.isEmpty { return "every configured device has a bond\n" }
        let lines = paired.map { device in
            "\(device.device): paired at \(device.address)/\(device.address.typeName), serial number \(shown(device.serial, upTo: 64))"
                + (device.adopted ? "; its address was learned" : "")
                + (device.authenticated ? "" : "; not authenticated: nothing excludes somebody in the middle")
        } + failed.map { "\($0.device): not paired: \(shown($0.text, upTo: 256)) [\($0.code)]" }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension ForgetReport {
    var text: String {
        if bonds == 0, address == nil { return "\(device): there was nothing to forget\n" }
        let parts = (bonds > 0 ? [counted(bonds, "bond", "bonds")] : []) + (address.map { ["the address \($0)"] } ?? [])
        return "\(device): forgotten: \(parts.joined(separator: " and ")); pair it again with: gateway pair \(device)\n"
    }
}

extension ScanReport {
    var text: String {
        if devices.isEmpty { return "nothing was heard in \(counted(seconds, "second", "seconds"))\n" }
        var lines = devices.map(\.line)
        if more > 0 { lines.append("and \(more) more, weaker ones") }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension ScanReport.Heard {
    fileprivate var line: String {
        let strength = rssi.map { "\($0) dBm" } ?? "?"
        let padding = String(repeating: " ", count: max(0, 8 - strength.utf8.count))
        var parts = ["\(address)/\(address.typeName)  \(padding)\(strength)", who]
        if let name { parts.append("\"\(shown(name, upTo: 64, escaping: ["\"", "\\"]))\"") }
        return (parts + services).joined(separator: "  ")
    }

    private var who: String {
        if let known { return "known as \(known)" }
        if !claims.isEmpty { return "says it is \(claims.joined(separator: " or "))" }
        return mayBe.isEmpty ? "unknown" : "may be \(mayBe.joined(separator: " or "))"
    }
}

extension ProbeReport {
    var text: String {
        var lines = ["\(device)    \(address.map { "\($0)/\($0.typeName)" } ?? "no address"), serial number \(serial.map { shown($0, upTo: 64) } ?? "not given"), "
            + "\(encrypted ? "encrypted" : "not encrypted"), MTU \(mtu)"]
        for service in services {
            lines.append("service \(service.uuid), handles \(service.first) to \(service.last)")
            lines += service.characteristics.map { "  \($0.uuid), handle \($0.handle): \($0.properties.isEmpty ? "no properties" : $0.properties.joined(separator: ", "))" }
        }
        if let heartbeat {
            lines.append("heartbeat: log \(heartbeat.log), windows \(heartbeat.oldest) up to \(heartbeat.next) (\(heartbeat.next &- heartbeat.oldest) held), "
                + "battery \(heartbeat.battery.map { "\($0) %" } ?? "unknown")")
        } else {
            lines.append("no heartbeat came")
        }
        lines += findings.isEmpty ? ["all is as the collar profile says"] : findings.map { "finding: \(shown($0, upTo: 256))" }
        return lines.joined(separator: "\n") + "\n"
    }
}
