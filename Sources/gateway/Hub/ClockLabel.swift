import Platform

/// The `Hub-Clock` of an entry: whose clocks were set when it was read, and by how much the device's differed (uplink contract, "Raw windows").
struct ClockLabel: Sendable, Equatable {
    /// Whether the hub's own clock was synchronised.
    var synchronised: Bool
    /// Whether the device's clock was set when the windows were recorded.
    var deviceIsSet: Bool
    /// Device time minus hub time in seconds; known only when both are set.
    var offset: Int64?

    /// The structured-field text, e.g. `synced;device=set;offset=-3`.
    var text: String {
        let head = "\(synchronised ? "synced" : "unsynced");device=\(deviceIsSet ? "set" : "unset")"
        guard synchronised, deviceIsSet, let offset else { return head }
        return "\(head);offset=\(offset)"
    }
}
