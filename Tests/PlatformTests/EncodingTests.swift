import Platform
import Testing

@Suite("Encodings, digests, durations")
struct EncodingTests {
    @Test("Base64 gives the vectors of RFC 4648, section 10", arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")
    ])
    func base64(_ plain: String, _ encoded: String) {
        #expect(Array(plain.utf8).base64 == encoded)
    }

    @Test("Base64 uses the whole alphabet in its order")
    func alphabet() {
        // 64 groups of six bits, counting from 0 to 63.
        var bits: [UInt8] = []
        for value in stride(from: 0, to: 64, by: 4) {
            let group = (value..<(value + 4)).reduce(0) { $0 << 6 | $1 }
            bits += [UInt8(group >> 16 & 255), UInt8(group >> 8 & 255), UInt8(group & 255)]
        }
        #expect(bits.base64 == "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        #expect(([255, 254] as [UInt8]).base64 == "//4=")
    }

    @Test("hexadecimal gives the vectors of RFC 4648, section 10, in lower case", arguments: [
        ("", ""), ("f", "66"), ("fo", "666f"), ("foobar", "666f6f626172")
    ])
    func hexadecimal(_ plain: String, _ encoded: String) {
        #expect(Array(plain.utf8).hexadecimal == encoded)
        #expect(([0, 15, 16, 255] as [UInt8]).hexadecimal == "000f10ff")
    }

    @Test("SHA-256 gives the examples of FIPS 180", arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    ])
    func sha256(_ message: String, _ digest: String) {
        #expect(SHA256.digest(Array(message.utf8)).hexadecimal == digest)
    }

    @Test("SplitMix64 gives the sequence of its author's code")
    func splitMix() {
        var generator = SplitMix64(seed: 1_234_567)
        #expect((0..<5).map { _ in generator.next() } == [
            6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431, 16_408_922_859_458_223_821
        ])
    }

    private static let nearLimit = Duration.seconds(9_223_372_036)

    static let durations: [(Duration, Int64)] = [
        (Duration.zero, 0),
        (Duration.nanoseconds(1), 1),
        (Duration.nanoseconds(-1), -1),
        (Duration.seconds(-2), -2_000_000_000),
        (Duration.seconds(Int64.max), Int64.max),
        (Duration.seconds(Int64.min), Int64.min),
        (Duration.nanoseconds(Int64.max), Int64.max),
        (Duration.nanoseconds(Int64.min), Int64.min),
        (nearLimit + .nanoseconds(854_775_806), Int64.max - 1),
        (nearLimit + .nanoseconds(854_775_807), Int64.max),
        (nearLimit + .nanoseconds(854_775_808), Int64.max),
        (.zero - nearLimit - .nanoseconds(854_775_809), Int64.min),
        (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0)
    ]

    @Test("durations that do not fit are cut, not trapped over", arguments: durations)
    func saturation(_ duration: Duration, _ nanoseconds: Int64) {
        #expect(duration.saturatingNanoseconds == nanoseconds)
    }

    @Test("moments add and subtract without a trap at either end")
    func moments() {
        let late = BootInstant(nanoseconds: .max - 5)
        #expect(late + .nanoseconds(5) == BootInstant(nanoseconds: .max))
        #expect(late + .nanoseconds(6) == BootInstant(nanoseconds: .max))
        #expect(late + .seconds(Int64.max) == BootInstant(nanoseconds: .max))
        let early = BootInstant(nanoseconds: .min + 5)
        #expect(early + .seconds(-1) == BootInstant(nanoseconds: .min))
        #expect(BootInstant(nanoseconds: .max) - BootInstant(nanoseconds: .min) > .seconds(18_000_000_000))
        #expect(BootInstant(nanoseconds: 3_000) - BootInstant(nanoseconds: 5_000) == .nanoseconds(-2_000))
        #expect((.milliseconds(1_999) as Duration).milliseconds == 1_999)
        #expect(Duration.microseconds(-1_999).milliseconds == -1)
        #expect(early < late)
    }
}
