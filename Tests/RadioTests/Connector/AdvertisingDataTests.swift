import Platform
import Testing

@testable import Radio

@Suite("Advertising data")
struct AdvertisingDataTests {
    @Test("flags, services of each length, service data and name are read")
    func whole() {
        let long = CollarProfile().service
        let data = AdvertisingData(hex("02 01 06 05 03 0A180F18 05 05 78563412 06 16 0F18 64AABB 04 09 41 42 43") + [17, 7] + long.littleEndian)
        #expect(data.flags == [.generalDiscoverable, .noBREDR])
        #expect(data.services == [.uuid16(0x180A), .uuid16(0x180F), .uuid32(0x1234_5678), long])
        #expect(data.serviceData == [.uuid16(0x180F): [0x64, 0xAA, 0xBB]])
        #expect(data.name == "ABC")
        #expect(!data.isMalformed)
    }

    @Test("a collar's identity is found under its service")
    func identity() {
        let data = collarData("A1")
        #expect(data.serviceData[CollarProfile().service] == CollarIdentity(serial: "A1").serviceDataIdentity)
    }

    @Test("a structure longer than what is left keeps what came before it")
    func truncated() {
        let data = AdvertisingData(hex("03 03 0A18 09 09 41"))
        #expect(data.services == [.uuid16(0x180A)])
        #expect(data.name == nil)
        #expect(data.isMalformed)
    }

    @Test("a length of zero ends the data without fault")
    func early() {
        let data = AdvertisingData(hex("03 03 0A18 00 FF FF FF"))
        #expect(data.services == [.uuid16(0x180A)])
        #expect(!data.isMalformed)
    }

    @Test("a list of UUIDs with a rest, and service data without a UUID, are malformed and cost only themselves")
    func odd() {
        #expect(AdvertisingData(hex("04 03 0A18 0F")).services == [.uuid16(0x180A)])
        #expect(AdvertisingData(hex("04 03 0A18 0F")).isMalformed)
        #expect(AdvertisingData(hex("02 16 0F 03 03 0A18")).services == [.uuid16(0x180A)])
    }

    @Test("a complete name comes before a shortened one, and no control character gets through")
    func names() {
        #expect(AdvertisingData(hex("02 08 41 03 09 41 42")).name == "AB")
        #expect(AdvertisingData(hex("03 09 41 42 02 08 41")).name == "AB")
        #expect(AdvertisingData(hex("06 09 1B 5B 32 4A FF")).name == "\u{FFFD}[2J\u{FFFD}")
        #expect(AdvertisingData(hex("04 09 E2 80 AE")).name == "\u{FFFD}", "no change of direction either")
    }

    @Test("of service data given twice the first counts")
    func twice() {
        #expect(AdvertisingData(hex("04 16 0F18 01 04 16 0F18 02")).serviceData == [.uuid16(0x180F): [1]])
    }

    @Test("any octets at all are read without a trap and to bounded size", arguments: [1, 2, 3] as [UInt64])
    func fuzz(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...Int.random(in: 1...1_650, using: &random), using: &random)
            var octets = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            if count > 4, Bool.random(using: &random) { octets[1] = [0x03, 0x07, 0x09, 0x16, 0x21].randomElement(using: &random)! }
            let data = AdvertisingData(octets)
            #expect(data.services.count <= AdvertisingData.limit)
            #expect(data.serviceData.count <= AdvertisingData.limit)
        }
        let many = AdvertisingData((0..<5).flatMap { part in [UInt8(241), 3] + (0..<120).flatMap { [UInt8($0), UInt8(part)] } })
        #expect(many.services.count == AdvertisingData.limit)
    }
}
