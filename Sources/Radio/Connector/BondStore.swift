/// All that is kept of one device's pairing with one controller: under which address it is known, and the keys.
public struct Bond: Sendable, Hashable {
    /// `RadioDevice.id`.
    public let device: String
    /// The identity address. It may be another than the configured one: then it was adopted.
    public let address: BluetoothAddress
    /// None for a device that was adopted without security, or with another controller.
    public let longTermKeys: [LongTermKey]
    public let identityResolvingKey: IdentityResolvingKey?

    public init(device: String, address: BluetoothAddress, longTermKeys: [LongTermKey] = [], identityResolvingKey: IdentityResolvingKey? = nil) {
        self.device = device
        self.address = address
        self.longTermKeys = longTermKeys
        self.identityResolvingKey = identityResolvingKey
    }
}

/// Where bonds outlive the process. What it answers is on the disk.
///
/// Keys belong to two identities, so they are kept for each of the hub's controllers; the address of a device belongs to the device alone.
public protocol BondStore: Sendable {
    /// What is kept of every device for the controller with this identity address, one for a device. What cannot be read is left out and told by the store.
    func bonds(with controller: BluetoothAddress) async throws -> [Bond]

    /// Puts a bond in place of the device's former one with this controller, and its address in place of the one adopted before. Returns once it is committed;
    /// the link whose keys these are is not used before. What throws has changed nothing.
    func store(_ bond: Bond, with controller: BluetoothAddress) async throws

    /// Forgets the device's keys with this controller; its address stays. Does nothing when there are none.
    func removeBond(of device: String, with controller: BluetoothAddress) async throws

    /// Forgets the device's keys with every controller, and its adopted address.
    func forget(_ device: String) async throws
}
