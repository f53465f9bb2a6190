/// How the controller is to be run: what is configured, and the limits of patience.
public struct ControllerPolicy: Sendable, Hashable {
    /// The public address of the controller to use; with none it is the first that can be used.
    public var controller: BluetoothAddress?
    /// What pairings may ask of this side.
    public var ioCapability = IOCapability.noInputNoOutput
    /// Whether pairings leave keys behind.
    public var bondable = true
    public var secureConnections = SecureConnectionsMode.on
    /// Defaults that differ from the kernel's.
    public var systemConfiguration: [SystemConfigurationValue] = []
    /// Whether a pairing without protection against somebody in the middle is agreed to, with a device that may pair at all.
    public var acceptsJustWorks = true
    /// The passkey that every device shows which has none of its own in `devicePasskeys`; 0 to 999,999.
    public var passkey: UInt32?
    /// The passkeys of devices, by the address that they pair with.
    public var devicePasskeys: [BluetoothAddress: UInt32] = [:]

    /// How often in a row a connection may be refused as busy, with no link made in between, before the controller is power cycled.
    public var busyLimit = 5
    /// How many scans in a row may hear nothing at all before the controller is power cycled.
    public var unheardScanLimit = 30
    /// How often in a row the kernel may fail to take a device or to begin a scan, with no success and no link in between, before the controller is power
    /// cycled: the kernel answers for one that hangs, and says no more than that it failed.
    public var failureLimit = 3
    /// How often a step of the set-up is tried again.
    public var stepRetries = 4
    /// The pause before a step is tried again.
    public var stepRetryPause = Duration.seconds(2)
    /// The pause before a controller is looked for, or switched on, again.
    public var absencePause = Duration.seconds(20)
    /// The pause before the set-up is replayed after somebody else changed the controller's settings.
    public var settlePause = Duration.seconds(1)
    /// How often the controller's settings are checked, for what no event told.
    public var auditInterval = Duration.seconds(60)
    /// How long a scan may take before it is ended from here; the kernel's own takes about 10 s.
    public var scanLimit = Duration.seconds(20)
    /// How long a controller must have worked to count as cured.
    public var steadyPeriod = Duration.seconds(600)

    public init() {}
}

/// A device that the kernel is to link whenever it can be heard.
public struct ControllerDevice: Sendable, Hashable {
    /// The identity address.
    public let address: BluetoothAddress
    /// What its links begin with, and are changed to when this changes (on kernels that do that).
    public let parameters: ConnectionParameters

    public init(address: BluetoothAddress, parameters: ConnectionParameters = .rest) {
        self.address = address
        self.parameters = parameters
    }
}

/// The keys of all bonds, as they are stored.
public struct BondKeys: Sendable, Hashable {
    public var longTermKeys: [LongTermKey]
    public var identityResolvingKeys: [IdentityResolvingKey]

    public init(longTermKeys: [LongTermKey] = [], identityResolvingKeys: [IdentityResolvingKey] = []) {
        self.longTermKeys = longTermKeys
        self.identityResolvingKeys = identityResolvingKeys
    }

    /// Takes a key in; it replaces what it makes void: a legacy key that of the same direction, a key of Secure Connections all.
    public mutating func add(_ key: LongTermKey) {
        let legacy: Set<LongTermKey.Kind> = [.unauthenticatedLegacy, .authenticatedLegacy]
        longTermKeys.removeAll { old in
            old.address == key.address && !(legacy.contains(old.kind) && legacy.contains(key.kind) && old.isInitiator != key.isInitiator)
        }
        longTermKeys.append(key)
    }

    /// Takes a key in, in place of the device's former one.
    public mutating func add(_ key: IdentityResolvingKey) {
        identityResolvingKeys.removeAll { $0.address == key.address }
        identityResolvingKeys.append(key)
    }

    /// Forgets the keys of one device.
    public mutating func remove(_ address: BluetoothAddress) {
        longTermKeys.removeAll { $0.address == address }
        identityResolvingKeys.removeAll { $0.address == address }
    }

    /// Whether the device is bonded.
    public func contains(_ address: BluetoothAddress) -> Bool { longTermKeys.contains { $0.address == address } }
}
