import Outbox
import Platform
import Radio
import Testing
@testable import gateway

@Suite("The radio's bonds in the outbox")
struct OutboxBondsTests {
    @Test("a bond is found again whole with its controller, and with no other")
    func controllersApart() throws {
        try BondBench.run { bench in
            let (first, second) = (bond("A1", at: address(1), keys: 1), bond("A1", at: address(1), keys: 2))
            try await bench.bonds.store(first, with: controller(1))
            #expect(try await bench.bonds.bonds(with: controller(2)).isEmpty)
            try await bench.bonds.store(second, with: controller(2))
            #expect(try await bench.bonds.bonds(with: controller(1)) == [first])
            #expect(try await bench.bonds.bonds(with: controller(2)) == [second])
            try await bench.bonds.removeBond(of: "A1", with: controller(1))
            #expect(try await bench.bonds.bonds(with: controller(1)).isEmpty)
            #expect(try await bench.bonds.bonds(with: controller(2)) == [second])
        }
    }

    @Test("an address other than the configured one is adopted; back at the configured one, the adoption ends")
    func adopted() throws {
        try BondBench.run { bench in
            let moved = bond("A1", at: address(9))
            try await bench.bonds.store(bond("A1", at: address(1)), with: controller(1))
            #expect(try await bench.stored().adopted.isEmpty)
            try await bench.bonds.store(moved, with: controller(1))
            #expect(try await bench.bonds.bonds(with: controller(1)) == [moved])
            #expect(try await bench.stored().adopted == ["A1": IdentityAddress(address(9))])
            #expect(try await bench.stored().bonds.count == 1, "the keys of the former address take no place")
            let back = bond("A1", at: address(1), keys: 3)
            try await bench.bonds.store(back, with: controller(1))
            #expect(try await bench.bonds.bonds(with: controller(1)) == [back])
            #expect(try await bench.stored().adopted.isEmpty)
        }
    }

    @Test("the adopted address is the device's: with another controller it is known without keys")
    func addressWithAnotherController() throws {
        try BondBench.run { bench in
            try await bench.bonds.store(bond("C3", at: address(9)), with: controller(1))
            #expect(try await bench.bonds.bonds(with: controller(2)) == [Radio.Bond(device: "C3", address: address(9))])
        }
    }

    @Test("a device without security is adopted without keys")
    func withoutKeys() throws {
        try BondBench.run { bench in
            let bond = Radio.Bond(device: "C3", address: address(9))
            try await bench.bonds.store(bond, with: controller(1))
            #expect(try await bench.bonds.bonds(with: controller(1)) == [bond])
            #expect(try await bench.stored().bonds.isEmpty)
        }
    }

    @Test("keys that are removed leave the adopted address; forgetting takes everything with every controller")
    func removedAndForgotten() throws {
        try BondBench.run { bench in
            let other = bond("A1", at: address(1), keys: 5)
            try await bench.bonds.store(other, with: controller(1))
            try await bench.bonds.store(bond("C3", at: address(9), keys: 1), with: controller(1))
            try await bench.bonds.store(bond("C3", at: address(9), keys: 2), with: controller(2))
            try await bench.bonds.removeBond(of: "C3", with: controller(1))
            #expect(try await bench.bonds.bonds(with: controller(1)) == [other, Radio.Bond(device: "C3", address: address(9))])
            try await bench.bonds.removeBond(of: "C3", with: controller(1))
            try await bench.bonds.forget("C3")
            #expect(try await bench.bonds.bonds(with: controller(1)) == [other])
            #expect(try await bench.bonds.bonds(with: controller(2)).isEmpty)
            #expect(try await bench.stored().adopted.isEmpty)
        }
    }

    @Test("an address that another configured device has is refused, and nothing of either is touched")
    func addressTaken() throws {
        try BondBench.run { bench in
            try await bench.bonds.store(bond("A1", at: address(1), keys: 5), with: controller(1))
            try await bench.bonds.store(bond("C3", at: address(9), keys: 6), with: controller(1))
            let before = try await bench.stored()
            for other in [bond("C3", at: address(1), keys: 7), Radio.Bond(device: "C3", address: address(1)), bond("A1", at: address(9), keys: 7)] {
                await #expect(throws: BondRefused.self) { try await bench.bonds.store(other, with: controller(1)) }
                #expect(try await bench.stored() == before)
            }
        }
    }

    @Test("what was kept of a device that is configured no more does not keep its address from another")
    func formerDevice() throws {
        try BondBench.run { bench in
            let former = OutboxBonds(store: bench.store, devices: [.collar(serial: "Z9", profile: CollarProfile(), address: nil, pairing: PairingPolicy())])
            try await former.store(bond("Z9", at: address(9), keys: 5), with: controller(1))
            let new = bond("C3", at: address(9), keys: 6)
            try await bench.bonds.store(new, with: controller(1))
            #expect(try await bench.bonds.bonds(with: controller(1)) == [new])
            #expect(try await former.bonds(with: controller(1)).isEmpty)
        }
    }

    @Test("a bond for which there is no place leaves the device as it was, its address among it")
    func full() throws {
        try BondBench.run(settings: OutboxSettings(bondCapacity: 2)) { bench in
            try await bench.bonds.store(bond("A1", at: address(1), keys: 5), with: controller(1))
            try await bench.bonds.store(bond("C3", at: address(9), keys: 6), with: controller(1))
            let before = try await bench.stored()
            await #expect(throws: BondRefused.self) { try await bench.bonds.store(bond("C3", at: address(8), keys: 7), with: controller(2)) }
            #expect(try await bench.stored() == before)
            await #expect(throws: BondRefused.self) { try await bench.bonds.store(bond("A1", at: address(7), keys: 7), with: controller(2)) }
            #expect(try await bench.stored() == before)
        }
    }

    @Test("an adoption for which there is no place leaves no keys behind")
    func adoptionsFull() throws {
        try BondBench.run(settings: OutboxSettings(adoptionCapacity: 1)) { bench in
            try await bench.bonds.store(bond("C3", at: address(9), keys: 6), with: controller(1))
            try await bench.bonds.store(bond("A1", at: address(1), keys: 5), with: controller(1))
            let before = try await bench.stored()
            await #expect(throws: BondRefused.self) { try await bench.bonds.store(bond("A1", at: address(8), keys: 7), with: controller(1)) }
            #expect(try await bench.stored() == before)
        }
    }

    @Test("an address that does not last, and a key of the published kind, are refused before anything is stored")
    func unfit() throws {
        try BondBench.run { bench in
            let key = LongTermKey(
                address: address(9), kind: .debugP256, isInitiator: true, encryptionSize: 16, encryptedDiversifier: 0, random: 0, value: [UInt8](repeating: 1, count: 16))
            let debug = Radio.Bond(device: "C3", address: address(9), longTermKeys: [try #require(key)])
            await #expect(throws: BondRefused.self) { try await bench.bonds.store(debug, with: controller(1)) }
            let passing = try #require(BluetoothAddress(octets: [9, 0, 0x5E, 0, 0, 0x40], kind: .random))
            await #expect(throws: BondRefused.self) { try await bench.bonds.store(Radio.Bond(device: "C3", address: passing), with: controller(1)) }
            #expect(try await bench.stored() == BondBench.Stored(bonds: [], adopted: [:]))
        }
    }
}
