import Testing

@testable import Radio

@Suite("UUIDs, handles and addresses")
struct ATTUUIDTests {
    @Test("a UUID is the same in its short and its long form")
    func forms() throws {
        let short = BluetoothUUID.uuid16(0x2902)
        #expect(short == BluetoothUUID("00002902-0000-1000-8000-00805f9b34fb"))
        #expect(short == .uuid32(0x2902))
        #expect(short == BluetoothUUID(littleEndian: [0x02, 0x29]))
        #expect(short == BluetoothUUID(littleEndian: hex("FB 34 9B 5F 80 00 00 80 00 10 00 00 02 29 00 00")))
        #expect(short.number16 == 0x2902)
        #expect(BluetoothUUID.uuid32(0x0001_180D).number16 == nil)
        #expect(BluetoothUUID("00002902-0000-1000-8000-00805f9b34fc")?.number16 == nil)
    }

    @Test("the text form can be read back", arguments: [
        ("2902", "2902"), ("0000180D", "180D"), ("0001180d", "0001180D"),
        ("6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20", "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20"),
        ("6F1E0001-2C4B-4D1E-9F3A-8A5B7C9D1E20", "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20"),
    ])
    func text(given: String, printed: String) throws {
        let uuid = try #require(BluetoothUUID(given))
        #expect(uuid.description == printed)
        #expect(BluetoothUUID(uuid.description) == uuid)
        #expect(BluetoothUUID(littleEndian: uuid.littleEndian) == uuid)
    }

    @Test("what is no UUID is refused", arguments: [
        "", "290", "29022", "0x2902", "290g", "+290", "6f1e00012c4b4d1e9f3a8a5b7c9d1e20", "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e2",
        "6f1e0001-2c4b-4d1e-9f3a+8a5b7c9d1e20", "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e2é", "６f１e", " 2902",
    ])
    func noUUID(text: String) {
        #expect(BluetoothUUID(text) == nil)
    }

    @Test("on the air a UUID has 2 or 16 octets, the least significant first")
    func air() throws {
        #expect(BluetoothUUID.uuid16(0x180F).littleEndian == [0x0F, 0x18])
        #expect(BluetoothUUID.uuid32(0x0001_180F).littleEndian.count == 16)
        #expect(try #require(BluetoothUUID("6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20")).littleEndian == hex("20 1E 9D 7C 5B 8A 3A 9F 1E 4D 4B 2C 01 00 1E 6F"))
        #expect(BluetoothUUID(littleEndian: [1, 2, 3]) == nil)
    }

    @Test("the last handle has none behind it")
    func handles() {
        #expect(AttributeHandle(rawValue: 0x0012).next == 0x0013)
        #expect(AttributeHandle.last.next == nil)
        #expect("\(AttributeHandle(rawValue: 0x0012))" == "0x0012")
    }

    @Test("an address is read from its text and printed in capitals")
    func address() throws {
        let address = try #require(BluetoothAddress("c0:00:5e:00:53:01", kind: .random))
        #expect(address.description == "C0:00:5E:00:53:01")
        #expect(address.octets == hex("01 53 00 5E 00 C0"))
        #expect(BluetoothAddress(address.bdaddr, kind: .random) == address)
        #expect(BluetoothAddress("C0:00:5E:00:53:01", kind: .public) != address)
        #expect(BluetoothAddress(octets: address.octets, kind: .random) == address)
        #expect(BluetoothAddress(octets: [1, 2, 3], kind: .random) == nil)
    }

    @Test("what is no address is refused", arguments: [
        "", "C0:00:5E:00:53", "C0:00:5E:00:53:01:", "C0-00-5E-00-53-01", "C0:00:5E:00:53:0", "C0:00:5E:00:53:0G", "C0:00:5E:00:53: 1", " 0:00:5E:00:53:01",
        "C0:00:5E:00:53:01\0junk", "C0:00:5E:00:53:\0\0", "+0:00:5E:00:53:01", "0x:00:5E:00:53:01", "C0:00:5E:00:53:é",
    ])
    func noAddress(text: String) {
        #expect(BluetoothAddress(text, kind: .random) == nil)
    }
}
