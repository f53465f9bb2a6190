import Platform
import Testing

@testable import Radio

@Suite("A database kept between links")
struct GATTDatabaseCacheTests {
    private static let included = GATTDatabase(hash: hex(GATTScripts.hash), services: GATTScripts.database.services + [
        GATTDatabase.Service(GATTService(uuid: BluetoothUUID("6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20")!, startHandle: 0x20, endHandle: 0xFFFF), isPrimary: false, included: [
            GATTIncludedService(handle: 0x21, service: GATTService(uuid: .uuid16(0x180D), startHandle: 0x10, endHandle: 0x14)),
        ], characteristics: []),
    ])
    private static let octets = GATTDatabaseCache(included)!.encoded()

    /// Octets with a digest that is right for them.
    private static func sealed(_ body: [UInt8]) -> [UInt8] { body + SHA256.digest(body) }

    @Test("what is stored is read back as it was")
    func roundTrip() throws {
        #expect(try GATTDatabaseCache(parsing: Self.octets).database == Self.included)
        let empty = GATTDatabase(hash: hex(GATTScripts.hash), services: [])
        #expect(try GATTDatabaseCache(parsing: GATTDatabaseCache(empty)!.encoded()).database == empty)
    }

    @Test("the stored form stays readable between releases")
    func form() {
        let small = GATTDatabase(hash: hex(GATTScripts.hash), services: [
            GATTDatabase.Service(GATTService(uuid: .uuid16(0x180F), startHandle: 1, endHandle: 4), isPrimary: true, included: [], characteristics: [
                GATTDatabase.Characteristic(GATTCharacteristic(uuid: .uuid16(0x2A19), properties: .notify, declarationHandle: 2, valueHandle: 3, endHandle: 4),
                                            descriptors: [GATTDescriptor(uuid: .clientCharacteristicConfiguration, handle: 4)]),
            ]),
        ])
        let base = "FB 34 9B 5F 80 00 00 80 00 10 00 00"
        #expect(hexText(GATTDatabaseCache(small)!.encoded().dropLast(32)) == """
            47 44 42 01 \(GATTScripts.hash) 01 00 01 01 00 04 00 \(base) 0F 18 00 00 00 00 01 00 10 02 00 03 00 04 00 \(base) 19 2A 00 00 01 00 04 00 \(base) 02 29 00 00
            """)
    }

    @Test("a database without a hash of 16 octets is not kept", arguments: [nil, [], [1, 2, 3]] as [[UInt8]?])
    func noHash(hash: [UInt8]?) {
        #expect(GATTDatabaseCache(GATTDatabase(hash: hash, services: [])) == nil)
    }

    @Test("a flipped bit anywhere is found")
    func flipped() {
        for position in Self.octets.indices {
            var damaged = Self.octets
            damaged[position] ^= 0x10
            #expect(throws: GATTError.self) { _ = try GATTDatabaseCache(parsing: damaged) }
        }
    }

    @Test("octets that are cut short are named, at every length")
    func cut() {
        for length in 0..<Self.octets.count {
            #expect(throws: GATTError.self) { _ = try GATTDatabaseCache(parsing: Array(Self.octets.prefix(length))) }
            guard length < Self.octets.count - 32 else { continue }
            #expect(throws: GATTError.self) { _ = try GATTDatabaseCache(parsing: Self.sealed(Array(Self.octets.prefix(length)))) }
        }
    }

    @Test("what cannot be is named", arguments: [
        ("47 44 42 02", "has another form"), ("47 44 42 01", "is cut short"), ("", "has another form"),
    ])
    func refused(octets: String, fault: String) {
        do {
            _ = try GATTDatabaseCache(parsing: hex(octets))
            Issue.record("it was read")
        } catch {
            #expect(error == GATTError(.unreadableCache(fault)))
            #expect(error.code == "gatt-unreadable-cache")
        }
    }

    @Test("octets that somebody changed and sealed again never trap, and what is read of them is written as it was", arguments: UInt64(1)...8)
    func hostile(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let body = Array(Self.octets.dropLast(32))
        var read = 0
        for _ in 0..<400 {
            var changed = body
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                changed[Int.random(in: 4..<changed.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            guard let cache = try? GATTDatabaseCache(parsing: Self.sealed(changed)) else { continue }
            read += 1
            #expect(cache.encoded() == Self.sealed(changed))
        }
        // Most of the octets are UUIDs and the hash, where anything can be.
        #expect(read > 100)
    }
}
