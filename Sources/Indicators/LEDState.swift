/// One state of the table of indicators: what is shown, in words and as a pattern.
public enum LEDState: String, CaseIterable, Sendable {
    case storageUnusable = "storage-unusable"
    case configurationRefused = "configuration-refused"
    case clockNotSet = "clock-not-set"
    case starting = "starting"
    case allWell = "all-well"

    case noController = "no-controller"
    case pairingOpen = "pairing-open"
    case deviceAway = "device-away"
    case lookingForDevices = "looking-for-devices"
    case readingFromDevice = "reading-from-device"
    case everyDeviceLinked = "every-device-linked"

    case authorisationRefused = "authorisation-refused"
    case queueFull = "queue-full"
    case backendUnreachable = "backend-unreachable"
    case waitingToSend = "waiting-to-send"
    case everythingDelivered = "everything-delivered"

    /// What has to be true for the state to be shown. Empty for what is shown when nothing else is: it always matches.
    public var condition: IndicatorConditions {
        switch self {
        case .storageUnusable: .storageFault
        case .configurationRefused: .configurationRefused
        case .clockNotSet: .clockUnset
        case .starting: .starting
        case .noController: .noController
        case .pairingOpen: .pairingOpen
        case .deviceAway: .deviceAway
        case .lookingForDevices: .lookingForDevices
        case .readingFromDevice: .readingFromDevice
        case .authorisationRefused: .authorisationRefused
        case .queueFull: .queueFull
        case .backendUnreachable: .backendUnreachable
        case .waitingToSend: .waitingToSend
        case .allWell, .everyDeviceLinked, .everythingDelivered: []
        }
    }

    /// How the LED shows it.
    public var pattern: LEDPattern {
        switch self {
        case .storageUnusable, .configurationRefused: .flashes(5)
        case .noController, .authorisationRefused: .flashes(4)
        case .clockNotSet, .queueFull: .flashes(3)
        case .deviceAway, .backendUnreachable: .flashes(2)
        case .starting, .lookingForDevices, .waitingToSend: .flashes(1)
        case .pairingOpen: .even
        case .readingFromDevice: .onDippingWithBatches
        case .allWell: .onWithDip
        case .everyDeviceLinked, .everythingDelivered: .on
        }
    }

    /// The state in a few words, for `gateway status` and the board on the terminal.
    public var words: String {
        switch self {
        case .storageUnusable: "storage cannot be used"
        case .configurationRefused: "configuration refused"
        case .clockNotSet: "clock not set, uploads held"
        case .starting: "starting"
        case .allWell: "all well"
        case .noController: "no Bluetooth controller"
        case .pairingOpen: "pairing open"
        case .deviceAway: "a device has been away for long"
        case .lookingForDevices: "looking for devices"
        case .readingFromDevice: "reading from a device"
        case .everyDeviceLinked: "every device linked"
        case .authorisationRefused: "authorisation refused"
        case .queueFull: "queue full, reading stopped"
        case .backendUnreachable: "backend not reachable"
        case .waitingToSend: "waiting to send"
        case .everythingDelivered: "everything delivered"
        }
    }
}
