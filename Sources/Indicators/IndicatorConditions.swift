/// Everything that can be true of the gateway and is worth a light. Several may hold at once; which is shown is decided by `LEDPriority`.
///
/// What is true when nothing is the matter (all is well, every device linked, everything delivered) has no member here: it is
/// what an LED shows when none of its conditions holds.
public struct IndicatorConditions: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The data partition or the outbox cannot be used; nothing is read and nothing confirmed.
    public static let storageFault = IndicatorConditions(rawValue: 1 << 0)
    /// The configuration was refused; the former one, if any, is in force.
    public static let configurationRefused = IndicatorConditions(rawValue: 1 << 1)
    /// The wall clock has not been set since boot, and uploads are held for it.
    public static let clockUnset = IndicatorConditions(rawValue: 1 << 2)
    /// The gateway has not finished starting.
    public static let starting = IndicatorConditions(rawValue: 1 << 3)

    /// There is no Bluetooth controller, or power-cycling it did not help.
    public static let noController = IndicatorConditions(rawValue: 1 << 4)
    /// A new device may be paired.
    public static let pairingOpen = IndicatorConditions(rawValue: 1 << 5)
    /// A configured device has been away for longer than its `away_after`.
    public static let deviceAway = IndicatorConditions(rawValue: 1 << 6)
    /// A configured device that should be linked is not, and is looked for.
    public static let lookingForDevices = IndicatorConditions(rawValue: 1 << 7)
    /// Stored windows are being read from a device.
    public static let readingFromDevice = IndicatorConditions(rawValue: 1 << 8)

    /// The backend refused an owner's authorisation.
    public static let authorisationRefused = IndicatorConditions(rawValue: 1 << 9)
    /// The queue has no place left, and reading has stopped.
    public static let queueFull = IndicatorConditions(rawValue: 1 << 10)
    /// The backend cannot be reached, or answers without receipts.
    public static let backendUnreachable = IndicatorConditions(rawValue: 1 << 11)
    /// Entries are queued and not delivered yet.
    public static let waitingToSend = IndicatorConditions(rawValue: 1 << 12)
}

/// Something that happened once, shown once over whatever its LED shows.
public enum IndicatorEvent: String, CaseIterable, Sendable {
    /// A batch of windows was read and stored. It dips the LED only while that shows `readingFromDevice`: over a counted
    /// pattern it would spoil the count.
    case batchRead
    /// A cuff's reading arrived and is stored.
    case readingStored
    /// A cuff reported a measurement that failed.
    case measurementFailed
    /// The backend accepted a blood-pressure reading.
    case readingAccepted

    /// The LED whose matter it is.
    public var led: LED { self == .readingAccepted ? .uplink : .radio }
}
