import Platform

/// What the hub shows and logs of a device's link.
public enum DeviceLinkState: String, Sendable, Hashable, CaseIterable {
    /// Nobody has said under which address it is, and pairing is not open.
    case noAddress = "no-address"
    /// Waited for; it will be linked as soon as it is heard.
    case expected
    /// Linked, its heartbeat not subscribed to yet.
    case linking
    /// Linked and in use.
    case working
    /// Looked for under other addresses too.
    case stale
    /// A new address or new keys are being made.
    case pairing
    /// Its keys are lost or wrong, and somebody must open the pairing.
    case needsPairing = "needs-pairing"
    /// Left alone for a while.
    case backingOff = "backing-off"
}

/// What the connector has to tell the hub, for the log, the LEDs and `gateway status`.
public enum ConnectorEvent: Sendable, Hashable {
    case stateChanged(device: String, DeviceLinkState)
    /// The device is looked for: three links failed, or it was not heard for long.
    case stale(device: String, failures: Int)
    /// The device is on the kernel's list and is heard, and the kernel does not link it: the controller is switched off and on.
    case heardInVain(device: String)
    /// The device is looked for and not heard. It may be away; the controller may as well hold a link to it that the kernel knows nothing of, and is switched off and on.
    case silent(device: String)
    /// A new address is stored and in use.
    case adopted(device: String, BluetoothAddress)
    /// Several candidates for one device, or several devices for one candidate: nothing is adopted.
    case ambiguous(devices: [String], [BluetoothAddress])
    /// A device of a configured kind that is none of ours, or says that it is one of `claims`, for which nobody looks at the moment.
    case unknown(BluetoothAddress, claims: [String])
    /// It says that it is one of ours, and is not; left alone for a while.
    case spoofed(device: String, BluetoothAddress, serial: String?)
    /// Trying a candidate failed; it is tried again later.
    case candidateFailed(device: String, BluetoothAddress, TrialFailure)
    /// Its keys are lost or wrong.
    case bondLost(device: String)
    /// A pairing with it failed.
    case pairingFailed(device: String)
    /// It was paired, and its keys are stored.
    case bonded(device: String)
    /// Keys or an address could not be stored; the link is not used until they are.
    case notStored(device: String)
    /// Its keys and its adopted address are forgotten, as somebody wished. Whether the store did it too is the store's to say.
    case forgotten(device: String)
    /// It was linked and lost so often in a row that it is left alone until then.
    case flapping(device: String, times: Int, pause: Duration)
    /// Pairing is open for so long, for one device or for all that need it.
    case pairingOpened(device: String?, Duration)
    case pairingClosed
}

/// Why a trial of a candidate came to nothing.
public enum TrialFailure: String, Error, Sendable, Hashable, CaseIterable {
    /// It could not be connected.
    case unreachable
    /// Another connection was pending.
    case busy
    /// The pairing failed.
    case notPaired = "not-paired"
    /// The link is not encrypted, or its keys did not come, although the device's configuration asks for that.
    case notEncrypted = "not-encrypted"
    /// The serial number could not be read.
    case noSerial = "no-serial"
    /// What was found could not be stored.
    case notStored = "not-stored"
    /// It did not end in time.
    case timeout
}

/// What a trial found.
public struct TrialFinding: Sendable, Hashable {
    /// The address under which the device is known for good; another than the one that was heard when that is a private one.
    public let address: BluetoothAddress
    /// What Device Information said.
    public let serial: String?
    /// Whether the link was encrypted with keys that the policy accepts and that can be stored.
    public let isEncrypted: Bool

    public init(address: BluetoothAddress, serial: String?, isEncrypted: Bool) {
        self.address = address
        self.serial = serial
        self.isEncrypted = isEncrypted
    }
}
