import Platform

/// A configured device as the radio needs to know it.
public struct RadioDevice: Sendable, Hashable {
    /// When its link is encrypted.
    public enum Security: String, Sendable, Hashable, CaseIterable {
        /// Before it is used, always.
        case encrypted
        /// Once the device has asked for it, and from then on.
        case onDemand
        /// Never: firmware that cannot pair.
        case none
    }

    /// How the hub names the device; distinct among all, and the same for ever. A collar's is its serial number.
    public let id: String
    /// The primary service by which its kind is recognised in advertisements.
    public let service: BluetoothUUID
    /// Services by which its kind is recognised as well.
    public let otherServices: Set<BluetoothUUID>
    /// What Device Information must say before a new address is adopted; `nil` for devices whose serial number is not known.
    public let serial: String?
    /// What the service data under `service` must be; `nil` for devices that do not say who they are, which are adopted only while pairing is open.
    public let identity: [UInt8]?
    /// The address in the configuration, if there is one. An adopted address comes before it.
    public let address: BluetoothAddress?
    public let security: Security
    public let pairing: PairingPolicy
    /// What its links begin with.
    public let parameters: ConnectionParameters
    /// The longest pause after links that were short; `nil` for `ConnectorSettings.flapPauseLimit`. A device that is there for moments only must not be missed for it.
    public let pauseLimit: Duration?

    public init(
        id: String, service: BluetoothUUID, otherServices: Set<BluetoothUUID> = [], serial: String?, identity: [UInt8]?, address: BluetoothAddress?,
        security: Security = .encrypted, pairing: PairingPolicy = PairingPolicy(), parameters: ConnectionParameters = .rest, pauseLimit: Duration? = nil
    ) {
        self.id = id
        self.service = service
        self.otherServices = otherServices
        self.serial = serial
        self.identity = identity
        self.address = address
        self.security = security
        self.pairing = pairing
        self.parameters = parameters
        self.pauseLimit = pauseLimit
    }

    /// Whether somebody who advertises this could be of its kind. Data of a service name it as its list of services does; the two may come in different packets.
    func isOfKind(_ data: AdvertisingData) -> Bool {
        otherServices.union([service]).contains { data.services.contains($0) || data.serviceData[$0] != nil }
    }

    /// A collar: it says who it is in its service data.
    public static func collar(
        serial: String, profile: CollarProfile, address: BluetoothAddress?, pairing: PairingPolicy = PairingPolicy(),
        parameters: ConnectionParameters = .rest
    ) -> RadioDevice {
        RadioDevice(
            id: serial, service: profile.service, serial: serial, identity: CollarIdentity(serial: serial).serviceDataIdentity, address: address,
            security: profile.security == .none ? .none : .encrypted, pairing: pairing, parameters: parameters)
    }
}

/// The figures of the connector.
public struct ConnectorSettings: Sendable, Hashable {
    /// Failed connects after which a peer is stale.
    public var failureLimit = 3
    /// Without a word from a peer for so long, it is stale.
    public var unheardLimit = Duration.seconds(600)
    /// A device that is waited for and heard is linked within that, or the kernel is stuck.
    public var heardLimit = Duration.seconds(90)
    /// A device that is looked for and not heard by the scans of so long may be held by the controller, without the kernel's knowledge.
    public var silenceLimit = Duration.seconds(300)
    /// The least time between two power cycles for such devices.
    public var cyclePause = Duration.seconds(3_600)
    /// From the start of one scan for stale peers to the start of the next.
    public var scanInterval = Duration.seconds(60)
    /// The pause between two scans while somebody waits for their outcome.
    public var scanPause = Duration.seconds(1)
    /// The pause after a scan that could not be begun.
    public var scanFailurePause = Duration.seconds(10)
    /// A scan whose end is not told counts as ended after this.
    public var scanLimit = Duration.seconds(30)
    /// How long pairing stays open.
    public var pairingWindow = Duration.seconds(120)
    /// How long after it was first heard a candidate waits for a second one, while pairing is open.
    public var candidateSettling = Duration.seconds(8)
    /// A candidate that was not heard for so long is gone.
    public var candidateLifetime = Duration.seconds(40)
    /// The most candidates, spoofs and unknown devices that are remembered, each.
    public var memoryLimit = 64
    /// How long somebody who pretended to be one of ours is remembered.
    public var spoofMemory = Duration.seconds(3_600)
    /// The first pause after a trial that failed; it doubles up to `trialPauseLimit`.
    public var trialPause = Duration.seconds(10)
    public var trialPauseLimit = Duration.seconds(600)
    /// A trial whose end is not told counts as failed after this; longer than all that the shell waits for in one.
    public var trialLimit = Duration.seconds(240)
    /// How long storage may take.
    public var storageLimit = Duration.seconds(60)
    /// The kernel has linked a device and no channel follows: how long that may last.
    public var channelLimit = Duration.seconds(10)
    /// How long raising the security of a link may take.
    public var securityLimit = Duration.seconds(60)
    /// How long after the encryption the keys of a new bond may take.
    public var keysLimit = Duration.seconds(15)
    /// From the link to the heartbeat subscription.
    public var subscriptionLimit = Duration.seconds(150)
    /// How long an intended disconnection may take.
    public var closingLimit = Duration.seconds(15)
    /// A link that lasted so long shows that the peer is not flapping.
    public var steadyLink = Duration.seconds(60)
    /// How many short links in a row are re-made at once.
    public var freeFlaps = 2
    /// The pause after a pairing that failed while pairing is open.
    public var pairingPause = Duration.seconds(5)
    /// The first pause of a flapping peer; it doubles up to `flapPauseLimit`.
    public var flapPause = Duration.seconds(2)
    public var flapPauseLimit = Duration.seconds(64)
    /// How long a peer whose keys do not fit is left alone before the stored keys are tried again.
    public var needsPairingPause = Duration.seconds(600)

    public init() {}
}
