/// What one LED may show, most urgent first. The first state whose condition holds is shown.
public struct LEDPriority: Sendable, Hashable {
    /// The states, most urgent first; the last one always matches.
    public let order: [LEDState]

    /// The state that is shown while `conditions` hold.
    public func state(for conditions: IndicatorConditions) -> LEDState {
        order.first { conditions.isSuperset(of: $0.condition) } ?? resting
    }

    /// What is shown when no condition holds.
    public var resting: LEDState { order[order.count - 1] }

    public static let status = LEDPriority(order: [.storageUnusable, .configurationRefused, .clockNotSet, .starting, .allWell])

    public static let radio = LEDPriority(order: [
        .noController, .pairingOpen, .deviceAway, .lookingForDevices, .readingFromDevice, .everyDeviceLinked
    ])

    public static let uplink = LEDPriority(order: [
        .authorisationRefused, .queueFull, .backendUnreachable, .waitingToSend, .everythingDelivered
    ])

    /// The order of the one LED that stands for all three.
    ///
    /// It keeps the order of each LED. Between them more flashes come first, so that a person may read the count as a degree of
    /// urgency; of one count, what stops more of the way from collar to backend. Pairing stands above all but broken parts: somebody has just
    /// asked for it and looks at the LED, and it ends by itself. At rest the LED is on with the dip of `allWell`, so that it too
    /// tells a hung daemon from a healthy one.
    public static let single = LEDPriority(order: [
        .storageUnusable, .configurationRefused,
        .noController, .pairingOpen, .authorisationRefused,
        .clockNotSet, .queueFull,
        .backendUnreachable, .deviceAway,
        .starting, .lookingForDevices, .waitingToSend,
        .readingFromDevice, .allWell
    ])

    /// The order of `led` on a board where each LED shows its own states.
    public static func of(_ led: LED) -> LEDPriority {
        switch led {
        case .status: .status
        case .radio: .radio
        case .uplink: .uplink
        }
    }
}
