import Testing

@testable import gateway

private func read<Value>(_ form: ValueForm<Value>, _ text: String) -> Value? {
    let value = TOMLValue(content: .string(text), position: SourcePosition(file: "f", line: 1, column: 1))
    return try? form.read(value).get()
}

@Suite("Values are read as they are documented")
struct FormTests {
    private static let span = ValueForm<Duration>.duration(.milliseconds(1) ... .seconds(30 * 86_400), example: .seconds(1))

    @Test("durations carry one of five units", arguments: [
        ("500ms", Duration.milliseconds(500)), ("60s", .seconds(60)), ("2min", .seconds(120)), ("24h", .seconds(86_400)), ("7d", .seconds(604_800))
    ])
    func durations(text: String, duration: Duration) {
        #expect(read(Self.span, text) == duration)
    }

    @Test("what is not digits and a unit is no duration", arguments: [
        "", "s", "60", "-1s", "+1s", "1.5h", "1h30min", "60 s", " 60s", "60s ", "60S", "60sec", "0x1s", "٣s", "1e3s", "99999999999999999999s", "106751991168d"
    ])
    func noDurations(text: String) {
        #expect(read(Self.span, text) == nil)
    }

    @Test("a default is written so that it reads as itself, in its largest unit")
    func written() {
        #expect(Self.span.write(.seconds(120)) == "\"2min\"")
        #expect(Self.span.write(.milliseconds(1_500)) == "\"1500ms\"")
        #expect(Self.span.write(.seconds(86_400)) == "\"1d\"")
        let size = ValueForm<Int64>.size(0...1 << 40, example: 1)
        #expect(size.write(8 << 20) == "\"8MiB\"")
        #expect(size.write(1_000) == "\"1000B\"")
        #expect(read(size, "8MiB") == 8 << 20)
        #expect(read(size, "8MB") == nil)
    }

    @Test("addresses carry their type or are static random", arguments: [
        ("C0:FF:EE:12:34:56", "C0:FF:EE:12:34:56/random"), ("c0:ff:ee:12:34:56", "C0:FF:EE:12:34:56/random"),
        ("FF:FF:EE:12:34:56/random", "FF:FF:EE:12:34:56/random"), ("00:1B:DC:12:34:56/public", "00:1B:DC:12:34:56/public"),
        ("C0:FF:EE:12:34:56/public", "C0:FF:EE:12:34:56/public")
    ])
    func addresses(text: String, written: String) {
        #expect(read(.deviceAddress, text).map(ValueForm.deviceAddress.write) == "\"\(written)\"")
    }

    @Test("what can be no identity address is refused", arguments: [
        "", "C0:FF:EE:12:34", "C0:FF:EE:12:34:56:78", "C0-FF-EE-12-34-56", "C0FFEE123456", "C0:FF:EE:12:34:5", "C0:FF:EE:12:34:5G", "C0:FF:EE:12:34:+5",
        "C0:FF:EE:12:34:56/", "C0:FF:EE:12:34:56/static", "C0:FF:EE:12:34:56/random/random", " C0:FF:EE:12:34:56", "00:1B:DC:12:34:56",
        "4F:FF:EE:12:34:56/random", "C0:00:00:00:00:00", "FF:FF:FF:FF:FF:FF", "00:00:00:00:00:00/public", "FF:FF:FF:FF:FF:FF/public", "٠0:FF:EE:12:34:56"
    ])
    func noAddresses(text: String) {
        #expect(read(.deviceAddress, text) == nil)
    }

    @Test("a base is an https URL and loses the slashes at its end", arguments: [
        ("https://backend.example", "https://backend.example"), ("HTTPS://backend.example/", "https://backend.example"),
        ("https://backend.example:8443/a/b//", "https://backend.example:8443/a/b"), ("https://[::1]:8443/x", "https://[::1]:8443/x"),
        ("https://192.0.2.1", "https://192.0.2.1")
    ])
    func bases(text: String, base: String) {
        #expect(read(.httpsBase, text) == base)
    }

    @Test("what is no base is refused", arguments: [
        "", "https://", "https:///x", "http://backend.example", "backend.example", "ftp://backend.example", "https://user@backend.example", "https://a:b@c/",
        "https://backend.example/?x", "https://backend.example/#x", "https://backend.example:0", "https://backend.example:65536", "https://backend.example:",
        "https://backend.example:8a", "https://[::1", "https://[x]", "https://back end", "https://bäckend.example", "https://a\nb", "https://a/\u{7f}"
    ])
    func noBases(text: String) {
        #expect(read(.httpsBase, text) == nil)
    }

    @Test("pins are SHA-256 digests in Base64")
    func pins() {
        let pin = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        #expect(read(.pins, pin) == pin)
        #expect(read(.pins, "\(pin);\(pin)") == "\(pin);\(pin)")
        for wrong in ["", ";", "\(pin);", "sha256//", String(pin.dropLast()), pin.replacing("U=", with: "V="), pin.replacing("47", with: "4*"), "/etc/pin.pem"] {
            #expect(read(.pins, wrong) == nil, "\(wrong)")
        }
    }

    @Test("UUIDs have 128 bits in five groups")
    func uuids() {
        #expect(read(.uuid, "6F1E0001-2c4b-4d1e-9f3a-8a5b7c9d1e20")?.description == "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20")
        for wrong in ["", "180d", "6f1e00012c4b4d1e9f3a8a5b7c9d1e20", "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e2", "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e2g"] {
            #expect(read(.uuid, wrong) == nil, "\(wrong)")
        }
    }

    @Test("the distance between names counts slips, and a swap is one")
    func distances() {
        #expect(NearestName.distance("adress", "address") == 1)
        #expect(NearestName.distance("ownre", "owner") == 1)
        #expect(NearestName.distance("", "pin") == 3)
        #expect(NearestName.distance("kitten", "sitting") == 3)
        #expect(NearestName.of("tokenfile", among: ["key", "token_file"]) == "token_file")
        #expect(NearestName.of("Adress", among: ["address"]) == "address")
        #expect(NearestName.of("xyz", among: ["key", "name"]) == nil)
    }
}
