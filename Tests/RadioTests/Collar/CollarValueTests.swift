import Platform
import Testing
@testable import Radio

@Suite("Values of the collar profile")
struct CollarValueTests {
    @Test("the checksum of 123456789 is 0x29B1")
    func checksumVector() {
        #expect(CRC16.checksum(Array("123456789".utf8)) == 0x29B1)
        #expect(CRC16.checksum([]) == 0xFFFF)
    }

    @Test("a window is intact until any one bit of it is flipped, the checksum's own included")
    func everyBitCounts() throws {
        let bytes = Forge.bytes(0xFFFF_FFFE)
        #expect(try #require(CollarWindow(bytes)).isIntact)
        for bit in 0..<(8 * bytes.count) {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try #require(CollarWindow(flipped)).isIntact == false, "bit \(bit)")
        }
    }

    @Test("only 322 bytes are a window", arguments: [0, 1, 321, 323, 644])
    func windowLength(_ count: Int) {
        #expect(CollarWindow([UInt8](repeating: 0, count: count)) == nil)
    }

    @Test("the order of sequences goes round the wrap, and opposites have none")
    func serialOrder() {
        #expect(SerialNumber.distance(from: 0xFFFF_FFFF, to: 2) == 3)
        #expect(SerialNumber.distance(from: 2, to: 0xFFFF_FFFF) == -3)
        #expect(SerialNumber.isBefore(0xFFFF_FFFF, 0))
        #expect(!SerialNumber.isBefore(0, 0xFFFF_FFFF))
        #expect(!SerialNumber.isBefore(5, 5))
        #expect(!SerialNumber.isBefore(0, 0x8000_0000))
        #expect(!SerialNumber.isBefore(0x8000_0000, 0))
        #expect(SerialNumber.isBefore(0, 0x7FFF_FFFF))
    }

    @Test("a sequence is unwrapped to the nearest number that ends in it, and never to a negative one")
    func unwrapping() {
        let wrap: Int64 = 1 << 32
        #expect(SerialNumber.unwrap(5, near: 3) == 5)
        #expect(SerialNumber.unwrap(1, near: wrap - 1) == wrap + 1)
        #expect(SerialNumber.unwrap(0xFFFF_FFFF, near: wrap) == wrap - 1)
        #expect(SerialNumber.unwrap(0xFFFF_FFFF, near: 7 * wrap + 2) == 7 * wrap - 1)
        #expect(SerialNumber.unwrap(0xFFFF_FFFF, near: 2) == wrap - 1)
        #expect(SerialNumber.unwrap(3, near: -9) == 3)
    }

    @Test("unwrapping near either end of 64 bits traps nowhere and keeps the low 32 bits")
    func unwrappingAtTheEnds() {
        var random = SplitMix64(seed: 11)
        let references: [Int64] = [.min, -1, 0, 1, 0x7FFF_FFFF, 0x8000_0000, .max - 1, .max]
        for reference in references {
            for sequence in [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF] + (0..<50).map({ _ in UInt32.random(in: 0 ... .max, using: &random) }) {
                let unwrapped = SerialNumber.unwrap(sequence, near: reference)
                #expect(unwrapped >= 0)
                #expect(UInt32(truncatingIfNeeded: unwrapped) == sequence)
            }
        }
    }

    @Test("Beta Metrics are read field by field")
    func metrics() throws {
        let metrics = try BetaMetrics(parsing: [1, 0b1101, 42, 99, 4, 3, 2, 1, 0xFE, 0xFF, 0xFF, 0xFF, 3, 0, 0, 0, 0x10, 0x27, 0, 0])
        #expect(metrics.flags == [.clockIsSet, .overwrittenSinceClear, .transferRunning])
        #expect(metrics.battery == 42)
        #expect(metrics.log == 0x0102_0304)
        #expect(metrics.oldest == 0xFFFF_FFFE)
        #expect(metrics.next == 3)
        #expect(metrics.time == 10_000)
        #expect(metrics.held == 5)
    }

    @Test("a battery that the collar does not know, or cannot have, is unknown", arguments: [101, 200, 255] as [UInt8])
    func battery(_ value: UInt8) throws {
        #expect(try BetaMetrics(parsing: Forge.metrics(battery: value)).battery == nil)
    }

    @Test("Beta Metrics of another length, version or direction are refused by name")
    func malformedMetrics() {
        let good = Forge.metrics()
        let bad = [[], Array(good.dropLast()), good + [0], Forge.metrics(version: 2), Forge.metrics(oldest: 9, next: 8), Forge.metrics(oldest: 0, next: 0x8000_0000)]
        for bytes in bad {
            #expect(code { () throws(CollarError) in _ = try BetaMetrics(parsing: bytes) } == .malformedMetrics)
        }
    }

    @Test("Beta Metrics of random bytes trap nowhere")
    func fuzzedMetrics() {
        var random = SplitMix64(seed: 5)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in UInt8.random(in: 0 ... 255, using: &random) }
            _ = try? BetaMetrics(parsing: bytes)
            _ = try? ControlAnswer(parsing: bytes)
        }
    }

    @Test("the profile's own UUIDs are the reference ones")
    func uuids() {
        let profile = CollarProfile()
        #expect(profile.service == BluetoothUUID("6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20"))
        #expect(profile.heartbeat == BluetoothUUID("6f1e0002-2c4b-4d1e-9f3a-8a5b7c9d1e20"))
        #expect(profile.windows == BluetoothUUID("6f1e0003-2c4b-4d1e-9f3a-8a5b7c9d1e20"))
        #expect(profile.control == BluetoothUUID("6f1e0004-2c4b-4d1e-9f3a-8a5b7c9d1e20"))
        #expect(profile.security == .encrypted)
    }

    @Test("the identity in the advertisement is the head of the serial number's SHA-256")
    func identity() {
        // FIPS 180-4's own example: SHA-256 of "abc" begins with ba7816bf8f01cfea.
        #expect(CollarIdentity(serial: "abc").serviceDataIdentity.hexadecimal == "ba7816bf8f01cfea")
    }

    @Test("a serial number is printable text, and zero bytes behind it are not part of it")
    func serialText() {
        #expect(CollarConnection.text(Array("C-1042".utf8) + [0, 0]) == "C-1042")
        #expect(CollarConnection.text(Array("Ä7".utf8)) == "Ä7")
        for bytes in [[], [0, 0], [0x41, 0x0A], [0xFF, 0x41], [0x41, 0, 0x42], [UInt8](repeating: 0x41, count: 65)] as [[UInt8]] {
            #expect(CollarConnection.text(bytes) == nil)
        }
    }

    @Test("each error code is a name of its own in kebab case, with advice")
    func errorCodes() {
        #expect(Set(CollarError.Code.allCases.map(\.rawValue)).count == CollarError.Code.allCases.count)
        for code in CollarError.Code.allCases {
            #expect(code.rawValue.allSatisfy { $0 == "-" || ("a"..."z").contains($0) })
            #expect(!CollarError(code, "x").advice.isEmpty)
        }
    }
}
