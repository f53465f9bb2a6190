/// The parameters of an LE connection in the units of the air (Core Vol 4 Part E 7.8.12), only in combinations that the specification allows.
///
/// The kernel answers Load Connection Parameters with success even when it leaves an entry out as invalid, so what can be loaded is decided here.
public struct ConnectionParameters: Sendable, Hashable, CustomStringConvertible {
    /// 1.25 ms each, 6 to 3,200.
    public let minimumInterval: UInt16
    /// 1.25 ms each, not below the minimum.
    public let maximumInterval: UInt16
    /// Connection events that the peripheral may skip, 0 to 499.
    public let latency: UInt16
    /// 10 ms each, 10 to 3,200.
    public let supervisionTimeout: UInt16

    /// `nil` for a combination that is not allowed. The supervision timeout must be longer than two times the time that the peripheral may be silent, which in these units
    /// is `latency < timeout × 4 ÷ interval − 1`. (The kernel lets pass what is just as long; a controller need not.)
    public init?(minimumInterval: UInt16, maximumInterval: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
        guard minimumInterval >= 6, minimumInterval <= maximumInterval, maximumInterval <= 3_200, (10...3_200).contains(supervisionTimeout),
              latency <= 499, (Int(latency) + 1) * Int(maximumInterval) < Int(supervisionTimeout) * 4
        else { return nil }
        self.minimumInterval = minimumInterval
        self.maximumInterval = maximumInterval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// For a link that streams: 15 to 30 ms, no latency, 4 s.
    public static let stream = ConnectionParameters(minimumInterval: 12, maximumInterval: 24, latency: 0, supervisionTimeout: 400)!
    /// For a link at rest: 100 to 200 ms, the peripheral may skip 4 events, 6 s.
    public static let rest = ConnectionParameters(minimumInterval: 80, maximumInterval: 160, latency: 4, supervisionTimeout: 600)!

    public var description: String {
        "interval \(Double(minimumInterval) * 1.25)-\(Double(maximumInterval) * 1.25) ms, latency \(latency), supervision timeout \(Int(supervisionTimeout) * 10) ms"
    }

    var octets: [UInt8] {
        var octets: [UInt8] = []
        for value in [minimumInterval, maximumInterval, latency, supervisionTimeout] { octets.append16(value) }
        return octets
    }
}

/// One default of the kernel for a controller (Set Default System Configuration); an open set of values of 16 bits.
public struct SystemConfigurationValue: Sendable, Hashable {
    public let parameter: UInt16
    public let value: UInt16

    public init(parameter: UInt16, value: UInt16) {
        self.parameter = parameter
        self.value = value
    }

    /// The interval of the scan that waits for devices of the auto-connect list, 0.625 ms each.
    public static func scanInterval(_ value: UInt16) -> Self { Self(parameter: 0x000D, value: value) }
    /// The window of that scan, 0.625 ms each.
    public static func scanWindow(_ value: UInt16) -> Self { Self(parameter: 0x000E, value: value) }
    /// The interval of discovery, 0.625 ms each.
    public static func discoveryScanInterval(_ value: UInt16) -> Self { Self(parameter: 0x0011, value: value) }
    /// The window of discovery, 0.625 ms each.
    public static func discoveryScanWindow(_ value: UInt16) -> Self { Self(parameter: 0x0012, value: value) }
    /// The interval of the scan while a connection is being made, 0.625 ms each.
    public static func connectScanInterval(_ value: UInt16) -> Self { Self(parameter: 0x0015, value: value) }
    /// The window of that scan, 0.625 ms each.
    public static func connectScanWindow(_ value: UInt16) -> Self { Self(parameter: 0x0016, value: value) }
    /// How long the kernel tries one connection of the auto-connect list before it looks for the others again, in milliseconds.
    public static func autoConnectTimeout(milliseconds: UInt16) -> Self { Self(parameter: 0x001B, value: milliseconds) }

    /// The defaults of new connections for devices without parameters of their own.
    public static func connection(_ parameters: ConnectionParameters) -> [Self] {
        [
            Self(parameter: 0x0017, value: parameters.minimumInterval), Self(parameter: 0x0018, value: parameters.maximumInterval),
            Self(parameter: 0x0019, value: parameters.latency), Self(parameter: 0x001A, value: parameters.supervisionTimeout),
        ]
    }
}
