/// Why there is no controller to work with.
public enum ControllerAbsence: Sendable, Hashable, CustomStringConvertible {
    /// None is there, or none that speaks LE.
    case none
    /// The configured one is not there.
    case notFound(BluetoothAddress)
    /// It was removed.
    case removed(ControllerIndex)
    /// The radio is switched off by rfkill(8).
    case blocked(ControllerIndex)
    /// The daemon may not manage controllers (CAP_NET_ADMIN).
    case notPermitted(ControllerIndex)
    /// It lost power, or its settings were changed by somebody else; it is being set up anew.
    case reset(ControllerIndex)
    /// It is in trouble and is being power cycled.
    case recovering(ControllerIndex, ControllerTrouble)

    public var description: String {
        switch self {
        case .none: "there is no Bluetooth LE controller"
        case .notFound(let address): "the configured Bluetooth controller \(address) is not there"
        case .removed(let index): "\(index) was removed"
        case .blocked(let index): "\(index) is switched off (rfkill)"
        case .notPermitted(let index): "\(index) may not be managed; CAP_NET_ADMIN is needed"
        case .reset(let index): "\(index) was reset and is being set up anew"
        case .recovering(let index, let trouble): "\(index) is being power cycled: \(trouble)"
        }
    }
}

/// What is wrong with a controller that is there.
public enum ControllerTrouble: Sendable, Hashable, CustomStringConvertible {
    /// A command was not answered.
    case silent(ManagementOpcode)
    /// A step of the set-up failed again and again.
    case setUpFailed(SetUpStep, ManagementStatus)
    /// Connections are refused as busy again and again.
    case busy
    /// Nothing at all was heard in so many scans.
    case unheard(scans: Int)

    /// A short name that stays the same between releases.
    public var code: String {
        switch self {
        case .silent: "controller-silent"
        case .setUpFailed: "controller-set-up-failed"
        case .busy: "controller-busy"
        case .unheard: "controller-unheard"
        }
    }

    public var description: String {
        switch self {
        case .silent(let opcode): "\(opcode) was not answered"
        case .setUpFailed(let step, let status): "\(step) failed: \(status)"
        case .busy: "every connection is refused as busy"
        case .unheard(let scans): "nothing was heard in \(scans) scans"
        }
    }
}

/// What the controller has to tell the connector, in the order in which it happened.
public enum ControllerEvent: Sendable, Hashable {
    /// The controller is set up, every device is on the kernel's list: links may come.
    case ready(ControllerIndex, ControllerInformation)
    /// Until `ready` nothing can be done; links that were up are down, or about to be.
    case unavailable(ControllerAbsence)
    /// A step that is not needed failed, and the set-up went on without it.
    case stepSkipped(SetUpStep, ManagementStatus)
    /// The kernel did not take this device; it is tried again from time to time.
    case deviceRefused(BluetoothAddress, ManagementStatus)

    case connected(BluetoothAddress)
    case disconnected(BluetoothAddress, DisconnectReason)
    case connectFailed(BluetoothAddress, ManagementStatus)

    case found(Advertisement)
    /// A scan is over, or could not be begun (`failure`); `heard` counts advertisements.
    case scanEnded(heard: Int, failure: ManagementStatus?)

    /// A pairing gave a key: it must be on the disk before the link is used.
    case newLongTermKey(LongTermKey)
    /// A pairing told who is behind the private address `randomAddress` (six octets, all zero when there was none): it must be on the disk before the link is used.
    case newIdentityResolvingKey(IdentityResolvingKey, randomAddress: [UInt8])
    /// The peer asks for other parameters on its later links; `nil` when they are not allowed.
    case newConnectionParameters(BluetoothAddress, ConnectionParameters?)
    /// A pairing or an encryption failed: the peer has no key, another one, or does not want to.
    case authenticationFailed(BluetoothAddress, ManagementStatus)
    /// The device wants this passkey to be typed there.
    case passkeyToShow(BluetoothAddress, UInt32)
    /// A pairing asked for what policy does not allow, and was refused.
    case pairingRefused(BluetoothAddress)
    /// Pair Device has ended.
    case pairingEnded(BluetoothAddress, ManagementStatus)
    /// The keys of the device are gone from the kernel; `success`, or `notPaired` when there were none.
    case unpaired(BluetoothAddress, ManagementStatus)
}

/// A timer of the machine; there is one of each.
public enum ControllerTimer: Sendable, Hashable, CaseIterable {
    case retry, scan, audit, steady
}

/// What the shell has to do, in the order given.
public enum ControllerAction: Sendable, Hashable {
    /// The outcome is reported under the tag.
    case command(ManagementCommand, ControllerIndex, tag: UInt64)
    /// Starts a timer, in place of one that still runs.
    case startTimer(ControllerTimer, Duration)
    case cancelTimer(ControllerTimer)
    case event(ControllerEvent)
    /// Nothing here helps any more: the process is to end, so that it is started anew.
    case exit(ControllerTrouble)
}
