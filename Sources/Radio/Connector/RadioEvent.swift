import Platform

/// What the radio tells the hub, on the loop's thread, in the order in which it happened.
public enum RadioEvent: Sendable, Hashable {
    /// A controller works.
    case controllerReady(ControllerIndex, ControllerInformation)
    /// None works at the moment.
    case controllerAbsent(ControllerAbsence)
    /// Of one device, of pairing, of somebody unknown.
    case device(ConnectorEvent)
    /// The device wants these six digits to be typed there.
    case passkeyToShow(device: String?, BluetoothAddress, UInt32)
    /// The device has a passkey that cannot be had; it is not paired.
    case passkeyMissing(device: String, PasskeyError)
    /// The stored bonds cannot be read, and nothing is linked until they can; tried again from time to time.
    case bondsUnreadable(String)
    /// A line for the log: the kernel refused or said something that nobody expected.
    case oddity(String)
    /// Nothing here helps any more: end the process, so that it is started anew.
    case exit(ControllerTrouble)
    /// The management channel is gone, and nothing more will come: end the process.
    case channelClosed(BluetoothError)
}

/// A device that was heard during a scan.
public struct HeardDevice: Sendable, Hashable {
    public let address: BluetoothAddress
    /// dBm, of the last packet.
    public let rssi: Int8?
    public let isConnectable: Bool
    /// Fit to be printed.
    public let name: String?
    public let services: [BluetoothUUID]
    public let serviceData: [BluetoothUUID: [UInt8]]
    /// `RadioDevice.id` of the configured device that has this address.
    public let device: String?
    /// `RadioDevice.id` of the configured devices that it says it is, by service and identity.
    public let claims: [String]
    /// `RadioDevice.id` of the configured devices of its kind that do not say who they are and have no address yet: it may be one of them, or anybody's.
    public let mayBe: [String]

    init(_ sighting: Sighting, device: String?, claims: [String], mayBe: [String] = [], before: HeardDevice? = nil) {
        address = sighting.address
        rssi = sighting.rssi ?? before?.rssi
        isConnectable = sighting.isConnectable || before?.isConnectable ?? false
        name = sighting.data.name ?? before?.name
        // Advertisement and scan response may come apart.
        services = ((before?.services ?? []) + sighting.data.services.filter { !(before?.services.contains($0) ?? false) }).prefixArray(AdvertisingData.limit)
        let merged = (before?.serviceData ?? [:]).merging(sighting.data.serviceData) { _, new in new }
        serviceData = merged.count <= AdvertisingData.limit ? merged : sighting.data.serviceData
        self.device = device
        self.claims = Set((before?.claims ?? []) + claims).sorted()
        self.mayBe = Set((before?.mayBe ?? []) + mayBe).sorted()
    }
}

extension Array {
    fileprivate func prefixArray(_ count: Int) -> [Element] { Array(prefix(count)) }
}
