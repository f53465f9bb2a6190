import Glibc
import Outbox
import Platform
import Radio
import Testing

@testable import gateway

private func address(_ text: String, _ kind: BluetoothAddress.Kind = .random) -> BluetoothAddress {
    guard let address = BluetoothAddress(text, kind: kind) else { fatalError("no address") }
    return address
}

@Suite("What is asked of the radio, on the wire and in words")
struct RadioRequestTests {
    @Test("a request is read as it was written, and says what its answer is called", arguments: [
        (.pair(device: nil), "pair"), (.pair(device: "front"), "pair"), (.forget(device: "front"), "forget"), (.scan(seconds: 120), "scan"),
        (.probe(device: "front"), "probe")
    ] as [(RadioRequest, String)])
    func roundTrip(request: RadioRequest, member: String) throws {
        let asked = ControlRequest.radio(request)
        #expect(asked.line.count <= ControlRequest.limit)
        #expect(try ControlRequest(parsing: Array(asked.line.dropLast())) == asked)
        #expect(asked.answerMember == member && asked.allowance == request.allowance && request.allowance > .zero)
    }

    @Test("what is malformed is refused with what is allowed", arguments: [
        (#"{"command":"forget"}"#, #"forget needs "device", a string"#),
        (#"{"command":"pair","device":null}"#, #"pair needs "device", a string"#),
        (#"{"command":"probe","device":"a b"}"#, #""a b" is no device's name; allowed: 1 to 64 letters, digits, dots, hyphens and underscores"#),
        (#"{"command":"probe","name":"front"}"#, #"probe does not take "name"; it takes "device""#),
        (#"{"command":"scan"}"#, #"scan needs "seconds", a whole number"#),
        (#"{"command":"scan","seconds":1.5}"#, #"scan needs "seconds", a whole number"#),
        (#"{"command":"scan","seconds":0}"#, "0 is no length of a scan; allowed: 1 to 120 seconds"),
        (#"{"command":"scan","seconds":9223372036854775807}"#, "9223372036854775807 is no length of a scan; allowed: 1 to 120 seconds")
    ])
    func malformed(line: String, words: String) {
        do throws(ControlError) {
            let request = try ControlRequest(parsing: Array(line.utf8))
            Issue.record("taken as \(request)")
        } catch {
            #expect(error.code == "malformed" && error.text == words)
        }
    }

    @Test("a device that is not configured is refused with those that are, and without a controller nothing else is done")
    func desk() async {
        let idle = RadioDesk(devices: ["front", "back"], drive: nil)
        #expect(await idle.perform(.probe(device: "frnt")) == .failure(.refused(code: "unknown-device", "no device is called \"frnt\"; did you mean \"front\"?")))
        #expect(await idle.perform(.forget(device: "cellar"))
            == .failure(.refused(code: "unknown-device", "no device is called \"cellar\"; configured: \"front\", \"back\"")))
        for request in [RadioRequest.pair(device: nil), .pair(device: "back"), .forget(device: "back"), .scan(seconds: 1), .probe(device: "back")] {
            #expect(await idle.perform(request) == .failure(.noController))
        }
        #expect(ControlError.noController.code == "no-controller")
        let driven = RadioDesk(devices: ["front"]) { request in
            .success(.forgotten(ForgetReport(device: request.device ?? "", serial: "AC-1", bonds: 1, address: nil)))
        }
        #expect(await driven.perform(.forget(device: "front")) == .success(.forgotten(ForgetReport(device: "front", serial: "AC-1", bonds: 1, address: nil))))
        guard case .failure(let error) = await driven.perform(.pair(device: "x")) else { return #expect(Bool(false)) }
        #expect(error.code == "unknown-device")
    }
}

@Suite("The radio's answers")
struct RadioReportTests {
    private static let scan = ScanReport(seconds: 10, heard: [
        .init(address: address("00:1B:DC:12:34:56", .public), name: "bl\u{1b}[2J\"a", services: ["180f"], rssi: -80, known: nil),
        .init(address: address("C0:FF:EE:12:34:56"), name: nil, services: [], rssi: nil, known: nil),
        .init(address: address("D0:FF:EE:12:34:56"), name: "Collar", services: ["6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20", "180a"], rssi: -7, known: "front")
    ])

    private static let probe = ProbeReport(
        device: "front", serial: "AC-0001", address: address("D0:FF:EE:12:34:56"), encrypted: true, mtu: 517,
        services: [.init(uuid: "180a", first: 1, last: 9, characteristics: [
            .init(uuid: "2a25", handle: 3, properties: ["read"]), .init(uuid: "2a29", handle: 5, properties: [])
        ])],
        heartbeat: .init(battery: nil, log: 7, oldest: .max, next: 4), findings: ["no Control\u{7} Point"])

    @Test("a scan lists the strongest first, one line each, and nothing that a terminal obeys")
    func scanText() {
        #expect(RadioAnswer.heard(Self.scan).text == """
            D0:FF:EE:12:34:56/random    -7 dBm  known as front  "Collar"  6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20  180a
            00:1B:DC:12:34:56/public   -80 dBm  unknown  "bl\\u{1b}[2J\\"a"  180f
            C0:FF:EE:12:34:56/random         ?  unknown

            """)
        #expect(RadioAnswer.heard(ScanReport(seconds: 1, heard: [])).text == "nothing was heard in 1 second\n")
    }

    @Test("a stranger of the kind of a cuff without an address may be that cuff, and says nothing of itself")
    func mayBe() throws {
        var device = Self.scan.devices[1]
        device.mayBe = ["arm", "wrist"]
        let text = RadioAnswer.heard(ScanReport(seconds: 1, heard: [device])).text
        #expect(text.contains("  may be arm or wrist  "))
        device.claims = ["front"]
        #expect(RadioAnswer.heard(ScanReport(seconds: 1, heard: [device])).text.contains("  says it is front  "))
    }

    @Test("a scan keeps its names in JSON")
    func scanJSON() {
        let heard = ScanReport(seconds: 10, heard: Array(Self.scan.devices[1...]))
        #expect(RadioAnswer.heard(heard).json.encoded() == #"""
            {"seconds":10,"devices":[{"address":"00:1B:DC:12:34:56","address_type":"public","name":"bl\u001B[2J\"a","services":["180f"],"rssi":-80,"known":null,"claims":[],"may_be":[]},\#
            {"address":"C0:FF:EE:12:34:56","address_type":"random","name":null,"services":[],"rssi":null,"known":null,"claims":[],"may_be":[]}],"more":0}
            """#)
    }

    @Test("more devices than are listed are counted, and the fullest list fits into an answer")
    func crowded() {
        let services = [String](repeating: "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20", count: 15)
        let heard = (0..<300).map { number in
            ScanReport.Heard(
                address: address("C0:FF:EE:12:34:56"), name: String(repeating: "\u{1}", count: 248), services: services, rssi: -number, known: nil)
        }
        let report = ScanReport(seconds: 1, heard: heard)
        #expect(report.devices.count == 256 && report.more == 44 && report.devices.last?.rssi == -255)
        #expect(report.text.hasSuffix("\nand 44 more, weaker ones\n"))
        #expect(ControlAnswer.radio(.success(.heard(report)), to: .radio(.scan(seconds: 1))).count < ControlClient.limit)
    }

    @Test("a probe reads as text and keeps its names in JSON")
    func probed() {
        #expect(RadioAnswer.probed(Self.probe).text == """
            front    D0:FF:EE:12:34:56/random, serial number AC-0001, encrypted, MTU 517
            service 180a, handles 1 to 9
              2a25, handle 3: read
              2a29, handle 5: no properties
            heartbeat: log 7, windows 4294967295 up to 4 (5 held), battery unknown
            finding: no Control\\u{7} Point

            """)
        #expect(RadioAnswer.probed(Self.probe).json.encoded() == #"""
            {"device":"front","serial":"AC-0001","address":"D0:FF:EE:12:34:56","address_type":"random","encrypted":true,"mtu":517,\#
            "services":[{"uuid":"180a","first":1,"last":9,"characteristics":[{"uuid":"2a25","handle":3,"properties":["read"]},\#
            {"uuid":"2a29","handle":5,"properties":[]}]}],"heartbeat":{"battery":null,"log":7,"oldest":4294967295,"next":4},"findings":["no Control\u0007 Point"]}
            """#)
        let bare = ProbeReport(device: "front", serial: nil, address: nil, encrypted: false, mtu: 23, services: [], heartbeat: nil, findings: [])
        #expect(bare.text == "front    no address, serial number not given, not encrypted, MTU 23\nno heartbeat came\nall is as the collar profile says\n")
    }

    @Test("pairing and forgetting say what is there now and what was there")
    func bonds() {
        let report = PairingReport(
            paired: [.init(device: "front", serial: "AC-0001", address: address("D0:FF:EE:12:34:56"), adopted: true, authenticated: false)],
            failed: [.init(device: "back", code: "not-heard", text: "it was not heard\n")])
        #expect(RadioAnswer.paired(report).text == """
            front: paired at D0:FF:EE:12:34:56/random, serial number AC-0001; its address was learned; not authenticated: nothing excludes somebody in the middle
            back: not paired: it was not heard\\u{a} [not-heard]

            """)
        #expect(RadioAnswer.paired(report).json.encoded() == #"""
            {"paired":[{"device":"front","serial":"AC-0001","address":"D0:FF:EE:12:34:56","address_type":"random","adopted":true,"authenticated":false}],\#
            "failed":[{"device":"back","code":"not-heard","text":"it was not heard\n"}]}
            """#)
        #expect(PairingReport(paired: [], failed: []).text == "every configured device has a bond\n")
        let forgotten = ForgetReport(device: "front", serial: "AC-0001", bonds: 2, address: address("D0:FF:EE:12:34:56"))
        #expect(forgotten.text == "front: forgotten: 2 bonds and the address D0:FF:EE:12:34:56; pair it again with: gateway pair front\n")
        #expect(RadioAnswer.forgotten(forgotten).json.encoded()
            == #"{"device":"front","serial":"AC-0001","bonds":2,"address":"D0:FF:EE:12:34:56","address_type":"random"}"#)
        #expect(ForgetReport(device: "front", serial: "AC-0001", bonds: 0, address: nil).text == "front: there was nothing to forget\n")
    }
}

@Suite("The radio's commands over the control socket")
struct RadioServerTests {
    @Test("an answer may take as long as its request says, and no longer; other requests wait for nobody")
    func patience() throws {
        let scratch = try ConfigurationScratch()
        let path = "\(scratch.path)/control.sock"
        let loop = VirtualLoop()
        let server = ControlServer(on: loop, at: path, allowed: [geteuid()], log: Log(sink: MemorySink()) { loop.now }) {
            .example(collars: 1)
        } flush: {
            FlushReport(owners: 1, entries: 3)
        } operate: { _, _ in
            .failure(.busy)
        } radio: { request in
            guard case .scan(let seconds) = request else {
                try? await loop.sleep(for: .seconds(3_600))
                return .failure(.noController)
            }
            try? await loop.sleep(for: .seconds(seconds))
            return .success(.heard(ScanReport(seconds: seconds, heard: [])))
        }
        try loop.run {
            try await server.start()
            let scan = try ControlProbe(on: loop, at: path), pair = try ControlProbe(on: loop, at: path)
            try scan.send("{\"command\":\"scan\",\"seconds\":100}\n")
            try pair.send("{\"command\":\"pair\"}\n")
            let began = loop.now
            let answer = try await scan.json()
            #expect(answer["scan"]?["seconds"]?.integer == 100 && answer["text"]?.string == "nothing was heard in 100 seconds\n")
            #expect(loop.now - began >= .seconds(100))
            #expect(try await pair.answer().isEmpty)
            #expect(loop.now - began == RadioRequest.pair(device: nil).allowance + ControlServer.patience)
            await server.stop()
        }
    }
}
