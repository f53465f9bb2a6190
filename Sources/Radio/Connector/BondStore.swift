/// All that is kept of one device's pairing: under which address it is known, and the keys.
public struct Bond: Sendable, Hashable {
    /// `RadioDevice.id`.
    public let device: String
    /// The identity address. It may be another than the configured one: then it was adopted.
    public let address: BluetoothAddress
    /// None for a device that was adopted without security.
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
public protocol BondStore: Sendable {
    /// Every bond, one for a device. What cannot be read is left out and told by the store.
    func bonds() async throws -> [Bond]

    /// Puts a bond in place of the device's former one, in one transaction: address and keys change together or not at all. Returns once it is committed;
    /// the link whose keys these are is not used before.
    func store(_ bond: Bond) async throws

    /// Forgets the device's bond, its address too. Does nothing when there is none.
    func removeBond(of device: String) async throws
}
