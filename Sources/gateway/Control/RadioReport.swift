import Radio

/// What the daemon answers about the radio.
enum RadioAnswer: Sendable, Hashable {
    case paired(PairingReport)
    case forgotten(ForgetReport)
    case heard(ScanReport)
    case probed(ProbeReport)
}

/// What a pairing that was opened came to.
struct PairingReport: Sendable, Hashable {
    /// A device that is bonded now.
    struct Paired: Sendable, Hashable {
        /// As the configuration calls it.
        var device: String
        var serial: String
        var address: BluetoothAddress
        /// Whether its address was not known before.
        var adopted: Bool
        /// Whether somebody in the middle is excluded.
        var authenticated: Bool
    }

    /// A device that is not, and why.
    struct Failed: Sendable, Hashable {
        var device: String
        /// A stable code.
        var code: String
        var text: String
    }

    var paired: [Paired]
    var failed: [Failed]
}

/// What was forgotten of a device.
struct ForgetReport: Sendable, Hashable {
    /// As the configuration calls it.
    var device: String
    var serial: String
    /// How many bonds there were, with all controllers together.
    var bonds: Int
    /// The adopted address that there was.
    var address: BluetoothAddress?
}

/// What was heard, unfiltered.
struct ScanReport: Sendable, Hashable {
    /// The most devices that are listed; the strongest ones are.
    static let limit = 256

    /// A device that advertises.
    struct Heard: Sendable, Hashable {
        var address: BluetoothAddress
        /// What it calls itself.
        var name: String?
        /// The services that it advertises, as UUIDs.
        var services: [String]
        /// The strength of the last advertisement, dBm; `nil` when the controller does not say.
        var rssi: Int?
        /// The configured device that has this address.
        var known: String?
        /// The configured devices that it says it is; that is proved only when it is paired.
        var claims: [String] = []
        /// The configured devices of its kind that do not say who they are, and whose address is not known yet.
        var mayBe: [String] = []
    }

    /// How long was listened.
    var seconds: Int
    /// The strongest first.
    private(set) var devices: [Heard]
    /// Devices that were heard and are not listed.
    private(set) var more: Int

    /// - Parameter heard: in any order.
    init(seconds: Int, heard: [Heard]) {
        self.seconds = seconds
        let ordered = heard.sorted { left, right in
            (right.rssi ?? .min, left.address.description) < (left.rssi ?? .min, right.address.description)
        }
        devices = Array(ordered.prefix(Self.limit))
        more = ordered.count - devices.count
    }
}

/// What a device has and says, without a change of anything.
struct ProbeReport: Sendable, Hashable {
    struct Service: Sendable, Hashable {
        var uuid: String
        var first: UInt16
        var last: UInt16
        var characteristics: [Characteristic]
    }

    struct Characteristic: Sendable, Hashable {
        var uuid: String
        /// The handle of its value.
        var handle: UInt16
        /// Its properties by the names of Core Vol 3 Part G 3.3.1.1, in small letters.
        var properties: [String]
    }

    /// What the collar's heartbeat says.
    struct Heartbeat: Sendable, Hashable {
        /// Percent; `nil` when it does not know.
        var battery: Int?
        var log: UInt32
        /// The range of sequences that it holds, up to and without `next`.
        var oldest: UInt32
        var next: UInt32
    }

    /// As the configuration calls it.
    var device: String
    /// The serial number that the device gives; `nil` when it gives none.
    var serial: String?
    var address: BluetoothAddress?
    var encrypted: Bool
    /// The largest PDU of the link, bytes.
    var mtu: Int
    var services: [Service]
    /// `nil` when it has no such characteristic, or gave no heartbeat in time.
    var heartbeat: Heartbeat?
    /// What in it is not as its driver needs it; empty when all is.
    var findings: [String]
}
