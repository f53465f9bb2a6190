extension HubView {
    /// How the hub is, in one line for `systemctl status`. Every user of the machine can read it, so it counts and names nobody.
    var statusLine: String {
        var parts: [String] = []
        if configurationState.isRefused { parts.append("a changed configuration was refused") }
        if let fault {
            parts.append("the outbox cannot be used (\(fault.code.rawValue))")
        } else if !isOpen {
            parts.append("opening the outbox")
        }
        switch radio?.controller {
        case .starting: parts.append("setting up the controller")
        case .absent: parts.append("no Bluetooth controller")
        case .recovering: parts.append("setting up the controller anew")
        case .ready, nil: break
        }
        let linked = collars.count { $0.report.state != .away && $0.report.state != .linking }
        if !collars.isEmpty || cuffs.isEmpty { parts.append("\(linked) of \(counted(collars.count, "collar", "collars")) linked") }
        // Cuffs are on the air only while somebody measures.
        if !cuffs.isEmpty { parts.append(counted(cuffs.count, "cuff", "cuffs")) }
        if let snapshot {
            let waiting = snapshot.queued.count
            parts.append(waiting == 0 ? "nothing waits to be sent" : "\(counted(waiting, "entry waits", "entries wait"))")
        }
        if isFull { parts.append("the queue is full") }
        return parts.joined(separator: "; ")
    }
}
