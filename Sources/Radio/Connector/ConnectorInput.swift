import Platform

/// One advertisement, or scan response, with what is known of it.
public struct Sighting: Sendable, Hashable {
    /// The identity address where the kernel could resolve it.
    public let address: BluetoothAddress
    /// dBm.
    public let rssi: Int8?
    public let isConnectable: Bool
    public let data: AdvertisingData

    public init(address: BluetoothAddress, rssi: Int8?, isConnectable: Bool = true, data: AdvertisingData) {
        self.address = address
        self.rssi = rssi
        self.isConnectable = isConnectable
        self.data = data
    }

    public init(_ advertisement: Advertisement) {
        self.init(
            address: advertisement.address, rssi: advertisement.rssi, isConnectable: !advertisement.flags.contains(.notConnectable),
            data: AdvertisingData(advertisement.data))
    }
}

/// What happens to the connector.
public enum ConnectorInput: Sendable, Hashable {
    // The controller.
    case controllerReady
    case controllerUnavailable
    /// The controller is unplugged, and every link with it. The next one may be another: until it is ready, and its keys are known, nobody is waited for.
    case controllerGone
    /// Device Connected: the kernel has linked it. A channel should follow.
    case connected(BluetoothAddress)
    case disconnected(BluetoothAddress, DisconnectReason)
    case connectFailed(BluetoothAddress)
    case authenticationFailed(BluetoothAddress)
    case heard(Sighting)
    case scanEnded(failed: Bool)

    // Links.
    /// The listener has a channel to this device.
    case linkAccepted(BluetoothAddress)
    /// Raising the security of the device's link has ended. `authentication` tells a failure for want of fitting keys from a link that broke.
    case securityEnded(device: String, SecurityOutcome)
    /// The kernel has new keys for the device; they are not stored yet. `acceptable`: whether its policy takes them.
    case keysReceived(device: String, acceptable: Bool)
    /// The answer to `storeKeys`.
    case keysStored(device: String, Bool)
    /// The answer to `removeBond`.
    case bondRemoved(device: String)
    /// The device's driver has subscribed to its heartbeat: the link works.
    case subscribed(device: String)
    /// The link brought what it came for: however soon it ends, that is no flap.
    case served(device: String)
    /// The device asked for more security than its link has (ATT errors 0x05, 0x0C, 0x0F).
    case securityDemanded(device: String)
    /// The device's driver has let go of the link, or asks for the next.
    case linkReleased(device: String)
    /// Its driver wants these parameters for the link that is up; the next one begins with the configured ones again.
    case parametersWanted(device: String, ConnectionParameters)

    // Candidates.
    case trialEnded(BluetoothAddress, Result<TrialFinding, TrialFailure>)
    /// The answer to `adopt`.
    case adoptionStored(device: String, Bool)

    // The user.
    /// For one device, or for all that have no address or need new keys.
    case openPairing(device: String?)
    case closePairing
    /// Report everything that is heard for so long.
    case scan(Duration)
    case stopScan
    /// Forget the device's keys and its adopted address.
    case forget(device: String)

    /// The deadline has come.
    case timer
}

/// How raising a link's security ended.
public enum SecurityOutcome: Sendable, Hashable {
    case encrypted
    /// The keys do not fit, are missing on one side, or the pairing was refused.
    case authenticationFailed
    /// The link ended for a reason that the kernel has no word for. It is what keys of another pairing lead to (MIC failure, 0x3D), and also what a link
    /// that was never established (0x3E) or a peer that stopped answering (0x22) does.
    case unexplained
    /// The link broke, or nothing came in time: this says nothing of keys.
    case linkFailed
}

/// What the connector wants done, in the order given.
public enum ConnectorAction: Sendable, Hashable {
    /// The kernel's auto-connect list is these.
    case setDevices([ControllerDevice])
    case beginScan
    case endScan
    /// Ends the device's link, with whatever channel is open. It is off the list by then where it must not come back at once.
    case disconnect(BluetoothAddress)
    /// Raises the security of the device's accepted link. `mayPair`: whether what a pairing asks is answered. Ends with `securityEnded`.
    case secure(device: String, BluetoothAddress, mayPair: Bool)
    /// Stores the device's address and the keys that came. Ends with `keysStored`.
    case storeKeys(device: String, BluetoothAddress)
    /// Hands the accepted link to the device's driver.
    case deliver(device: String, BluetoothAddress)
    /// Closes the device's accepted link, unless its driver has it. (A link that is accepted takes the place of an earlier one by itself.)
    case dropLink(BluetoothAddress)
    /// Connects the candidate directly, pairs where the device's security asks for it, reads its serial number, and lets go. Ends with `trialEnded`.
    case tryCandidate(device: String, BluetoothAddress)
    /// Gives the trial up; nothing more is told of it.
    case abandonTrial(BluetoothAddress)
    /// Forgets the keys that a trial left in the kernel.
    case discardKeys(BluetoothAddress)
    /// Stores the device's new address with the trial's keys. Ends with `adoptionStored`.
    case adopt(device: String, BluetoothAddress)
    /// Makes the kernel and the store forget the device's keys. Ends with `bondRemoved`.
    case removeBond(device: String, BluetoothAddress)
    /// Switches the controller off and on again, and sets it up anew: nothing else gets the kernel to link the device that it hears.
    case cyclePower
    /// Makes the store forget all of the device, the kernel having no keys of it. Ends with `bondRemoved`.
    case forgetStored(device: String)
    case event(ConnectorEvent)
}
