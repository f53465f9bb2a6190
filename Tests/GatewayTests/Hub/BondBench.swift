import Outbox
import Platform
import Radio
import Simulation
import Testing
@testable import gateway

/// A static random address of the test's own.
func address(_ number: UInt8) -> BluetoothAddress {
    guard let address = BluetoothAddress(octets: [number, 0, 0x5E, 0, 0, 0xC0], kind: .random) else { preconditionFailure("six octets") }
    return address
}

/// The public address of a controller.
func controller(_ number: UInt8) -> BluetoothAddress {
    guard let address = BluetoothAddress(octets: [number, 0, 0, 0x5E, 0, 0], kind: .public) else { preconditionFailure("six octets") }
    return address
}

func bond(_ device: String, at address: BluetoothAddress, keys: UInt8 = 1) -> Radio.Bond {
    let key = LongTermKey(
        address: address, kind: .unauthenticatedP256, isInitiator: true, encryptionSize: 16, encryptedDiversifier: 0, random: 0,
        value: [UInt8](repeating: keys, count: 16))
    return Radio.Bond(
        device: device, address: address, longTermKeys: [key].compactMap { $0 },
        identityResolvingKey: IdentityResolvingKey(address: address, value: [UInt8](repeating: keys &+ 100, count: 16)))
}

/// Bonds in an outbox on a real disk, under virtual time.
struct BondBench {
    let loop: VirtualLoop
    let store: StoreKeeper
    let bonds: OutboxBonds

    /// Runs a test with two collars: "A1" at `address(1)` by configuration, and "C3", whose address is to be learned.
    ///
    /// - Parameter settings: the bounds of the outbox.
    static func run(settings: OutboxSettings = .init(), _ body: @escaping @Sendable (BondBench) async throws -> Void) throws {
        let directory = try temporaryDirectory()
        defer { removeTree(directory) }
        let loop = VirtualLoop()
        try loop.run {
            let store = StoreKeeper(
                loop: loop, storage: SlowDisk(loop: loop, seed: 1, slowest: .zero), directory: directory, settings: settings, owners: ["ann"],
                log: Log(sink: MemorySink()) { loop.now }, random: { SplitMix64(seed: 7) }, onChange: {})
            await store.open()
            let devices: [RadioDevice] = [
                .collar(serial: "A1", profile: CollarProfile(), address: address(1), pairing: PairingPolicy()),
                .collar(serial: "C3", profile: CollarProfile(), address: nil, pairing: PairingPolicy()),
            ]
            try await body(BondBench(loop: loop, store: store, bonds: OutboxBonds(store: store, devices: devices)))
            await store.close()
        }
    }

    /// What is stored, for a comparison of before and after.
    func stored() async throws -> Stored {
        let (bonds, adopted) = try await store.bonds()
        return Stored(bonds: Set(bonds), adopted: adopted)
    }

    struct Stored: Equatable {
        let bonds: Set<StoredBond>
        let adopted: [String: IdentityAddress]
    }
}
