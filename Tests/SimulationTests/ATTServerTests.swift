import Platform
import Testing

@testable import Simulation

/// Scripts of PDUs against the collar's table (Core, Vol 3, Part F).
@Suite("The collar's ATT server")
struct ATTServerTests {
    private let handles = CollarTable(serial: "C-0001 with a serial number that no PDU of 23 bytes holds", firmware: "1.2.3")

    private func server(mtu: UInt16 = 517, encrypted: Bool = true) -> ATTServer {
        ATTServer(table: handles.table, preferredMTU: mtu, encrypted: encrypted)
    }

    private func little(_ value: UInt16) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }

    private func error(_ opcode: UInt8, _ handle: UInt16, _ code: UInt8) -> [ATTServer.Action] { [.send([0x01, opcode] + little(handle) + [code])] }

    private func response(_ server: inout ATTServer, _ pdu: [UInt8]) -> [UInt8] {
        if case .send(let pdu)? = server.receive(pdu).first { return pdu }
        return []
    }

    /// The configuration's handle behind a value, by its UUID.
    private func configuration(_ value: UInt16) throws -> UInt16 {
        try #require(handles.table.attributes.first { if case .configuration(of: value, _) = $0.role { true } else { false } }).handle
    }

    @Test("the MTU is the smaller of both offers and never below 23", arguments: [(23, 517, 23), (185, 517, 185), (517, 247, 247), (10, 517, 23), (65_535, 517, 517)])
    func mtu(client: UInt16, offered: UInt16, agreed: Int) {
        var server = server(mtu: offered)
        #expect(server.mtu == 23)
        #expect(server.receive([0x02] + little(client)) == [.send([0x03] + little(offered))])
        #expect(server.mtu == agreed)
        var other = self.server(mtu: offered)
        #expect(other.mtuRequest() == [0x02] + little(offered))
        #expect(other.receive([0x03] + little(client)) == [])
        #expect(other.mtu == agreed)
    }

    @Test("primary services come with the ends of their groups, UUIDs of one length at a time")
    func services() {
        var server = server()
        var found: [[UInt8]] = []
        var start: UInt16 = 1
        while true {
            let response = response(&server, [0x10] + little(start) + [0xFF, 0xFF, 0x00, 0x28])
            if response.first != 0x11 {
                #expect(response == [0x01, 0x10] + little(start) + [0x0A])
                break
            }
            #expect(response.count <= 23)
            for at in stride(from: 2, to: response.count, by: Int(response[1])) {
                found.append(Array(response[(at + 4)..<(at + Int(response[1]))]))
                start = (UInt16(response[at + 2]) | UInt16(response[at + 3]) << 8) + 1
            }
        }
        #expect(found == [[0x00, 0x18], [0x01, 0x18], [0x0A, 0x18], [0x0F, 0x18], CollarUUIDs.reference.service.bytes])
        #expect(response(&server, [0x10, 1, 0, 0xFF, 0xFF, 0x03, 0x28]) == [0x01, 0x10, 1, 0, 0x10])
        #expect(response(&server, [0x10, 1, 0, 0xFF, 0xFF, 0x01, 0x28]) == [0x01, 0x10, 1, 0, 0x0A])
    }

    @Test("the reference UUIDs are those of the profile's text")
    func uuids() {
        #expect(BluetoothUUID("6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20") == CollarUUIDs.reference.service)
        #expect(BluetoothUUID("6F1E0004-2C4B-4D1E-9F3A-8A5B7C9D1E20") == CollarUUIDs.reference.controlPoint)
        #expect(BluetoothUUID("0000180a-0000-1000-8000-00805f9b34fb") == BluetoothUUID(0x180A))
        #expect(BluetoothUUID("6f1e") == nil && BluetoothUUID("zf1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20") == nil)
        #expect(BluetoothUUID(littleEndian: [1, 2, 3]) == nil)
    }

    @Test("a service is found by its value, in its short and in its long form")
    func findByValue() {
        var server = server()
        let group = little(0x0010) + little(0x0014)
        #expect(response(&server, [0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28, 0x0A, 0x18]) == [0x07] + group)
        let long: [UInt8] = [0xFB, 0x34, 0x9B, 0x5F, 0x80, 0, 0, 0x80, 0, 0x10, 0, 0, 0x0A, 0x18, 0, 0]
        #expect(response(&server, [0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28] + long) == [0x07] + group)
        #expect(response(&server, [0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28, 0x0B, 0x18]) == [0x01, 0x06, 1, 0, 0x0A])
    }

    @Test("characteristics are declared with their properties, value handles and UUIDs")
    func characteristics() {
        var server = server()
        _ = server.receive([0x02, 0x05, 0x02])
        let response = response(&server, [0x08, 0x30, 0x00, 0xFF, 0xFF, 0x03, 0x28])
        #expect(response[..<2] == [0x09, 21] && response.count == 2 + 3 * 21)
        let uuids = CollarUUIDs.reference
        for (index, (properties, handle, uuid)) in [
            (0x12, handles.betaMetrics, uuids.betaMetrics), (0x10, handles.rawWindows, uuids.rawWindows), (0x28, handles.controlPoint, uuids.controlPoint)
        ].enumerated() {
            let start = 4 + 21 * index
            let declaration: [UInt8] = [UInt8(properties)] + little(handle) + uuid.bytes
            #expect(Array(response[start..<(start + 19)]) == declaration)
        }
    }

    @Test("descriptors are listed with their types, a description before the client configuration")
    func descriptors() {
        var server = server()
        let first = handles.betaMetrics + 1
        let response = response(&server, [0x04] + little(first) + little(first + 1))
        let both: [[UInt8]] = [[0x05, 1], little(first), [0x01, 0x29], little(first + 1), [0x02, 0x29]]
        #expect(response == both.flatMap { $0 })
        let value = self.response(&server, [0x04] + little(handles.betaMetrics) + little(handles.betaMetrics))
        let long: [[UInt8]] = [[0x05, 2], little(handles.betaMetrics), CollarUUIDs.reference.betaMetrics.bytes]
        #expect(value == long.flatMap { $0 })
        #expect(self.response(&server, [0x04, 0, 0, 1, 0]) == [0x01, 0x04, 0, 0, 0x01])
        #expect(self.response(&server, [0x04, 2, 0, 1, 0]) == [0x01, 0x04, 2, 0, 0x01])
    }

    @Test("a long value is read in parts, up to its end and not beyond")
    func blobs() {
        var server = server()
        let serial = Array("C-0001 with a serial number that no PDU of 23 bytes holds".utf8)
        let found = response(&server, [0x08, 1, 0, 0xFF, 0xFF, 0x25, 0x2A])
        let handle = Array(found[2..<4])
        #expect(found[1] == 21 && Array(found[4...]) == Array(serial.prefix(19)))
        var value = Array(response(&server, [0x0A] + handle).dropFirst())
        #expect(value.count == 22)
        while true {
            let part = response(&server, [0x0C] + handle + little(UInt16(value.count)))
            #expect(part.first == 0x0D)
            value += part.dropFirst()
            if part.count < 23 { break }
        }
        #expect(value == serial)
        #expect(response(&server, [0x0C] + handle + little(UInt16(serial.count))) == [0x0D])
        #expect(response(&server, [0x0C] + handle + little(UInt16(serial.count + 1))) == [0x01, 0x0C] + handle + [0x07])
    }

    @Test("what may not be read or written, and what is not there, gets its error")
    func permissions() throws {
        var server = server()
        #expect(server.receive([0x0A, 0xFF, 0x00]) == error(0x0A, 0x00FF, 0x01))
        #expect(server.receive([0x0A] + little(handles.rawWindows)) == error(0x0A, handles.rawWindows, 0x02))
        #expect(server.receive([0x12] + little(handles.betaMetrics) + [1]) == error(0x12, handles.betaMetrics, 0x03))
        #expect(server.receive([0x08, 1, 0, 0xFF, 0xFF] + CollarUUIDs.reference.controlPoint.bytes) == error(0x08, handles.controlPoint, 0x02))
        let configuration = try configuration(handles.betaMetrics)
        #expect(server.receive([0x12] + little(configuration) + [1]) == error(0x12, configuration, 0x0D))
        #expect(server.receive([0x12] + little(configuration) + [2, 0]) == error(0x12, configuration, 0x13))
    }

    @Test("without encryption Raw Windows and the Control Point cannot be subscribed to, Beta Metrics can")
    func encryption() throws {
        var server = server(encrypted: false)
        for (value, bits) in [(handles.rawWindows, 1), (handles.controlPoint, 2)] {
            let configuration = try configuration(value)
            #expect(server.receive([0x12] + little(configuration) + [UInt8(bits), 0]) == error(0x12, configuration, 0x0F))
            #expect(!server.isSubscribed(value))
        }
        #expect(server.receive([0x12] + little(handles.controlPoint) + [2]) == error(0x12, handles.controlPoint, 0x0F))
        let beta = try configuration(handles.betaMetrics)
        #expect(server.receive([0x12] + little(beta) + [1, 0]) == [.send([0x13]), .configured(handle: handles.betaMetrics, subscribed: true)])
        server.encrypted = true
        let windows = try configuration(handles.rawWindows)
        #expect(server.receive([0x12] + little(windows) + [1, 0]).first == .send([0x13]))
    }

    @Test("a request before both subscriptions gets 0xFD, an empty one the error of its length")
    func improperlyConfigured() throws {
        var server = server()
        let request = [0x12] + little(handles.controlPoint)
        #expect(server.receive(request + [2]) == error(0x12, handles.controlPoint, 0xFD))
        _ = server.receive([0x12] + little(try configuration(handles.controlPoint)) + [2, 0])
        #expect(server.receive(request + [2]) == error(0x12, handles.controlPoint, 0xFD))
        _ = server.receive([0x12] + little(try configuration(handles.rawWindows)) + [1, 0])
        #expect(server.receive(request + [2]) == [.send([0x13]), .request([2])])
        #expect(server.receive(request) == error(0x12, handles.controlPoint, 0x0D))
        _ = server.receive([0x12] + little(try configuration(handles.rawWindows)) + [0, 0])
        #expect(server.receive(request + [2]) == error(0x12, handles.controlPoint, 0xFD))
    }

    @Test("a write without response subscribes silently and never is a request")
    func writeCommand() throws {
        var server = server()
        #expect(server.receive([0x52] + little(try configuration(handles.rawWindows)) + [1, 0]) == [.configured(handle: handles.rawWindows, subscribed: true)])
        #expect(server.receive([0x52] + little(try configuration(handles.controlPoint)) + [2, 0]) == [.configured(handle: handles.controlPoint, subscribed: true)])
        #expect(server.receive([0x52] + little(handles.controlPoint) + [2]) == [])
        #expect(server.receive([0x52, 0xFF, 0xFF, 1]) == [])
    }

    @Test("unknown requests are not supported, unknown commands and stray responses are ignored")
    func unknown() {
        var server = server()
        for opcode in [0x0E, 0x16, 0x18, 0x20, 0x22, 0x3E] as [UInt8] { #expect(server.receive([opcode, 1, 0]) == error(opcode, 0, 0x06)) }
        for pdu in [[0x42], [0xD2, 1, 0], [0x7F], [0x01, 0x0A, 1, 0, 1], [0x0B, 1], [0x13], [0x1B, 1, 0], [0x1E], []] as [[UInt8]] {
            #expect(server.receive(pdu) == [])
        }
    }

    @Test("a request that is too short is an invalid PDU", arguments: [[0x02, 1], [0x04, 1, 0, 2], [0x06, 1, 0, 2, 0], [0x08, 1, 0, 9, 0, 1, 2, 3], [0x0A, 1], [0x0C, 1, 0, 0], [0x10, 1], [0x12, 1]] as [[UInt8]])
    func short(pdu: [UInt8]) {
        var server = server()
        guard case .send(let response)? = server.receive(pdu).first else {
            Issue.record("there is no answer")
            return
        }
        #expect(response.count == 5 && response[0] == 0x01 && response[1] == pdu[0] && response[4] == 0x04)
    }

    @Test("no PDU whatever makes the server trap or answer more than the MTU")
    func anything() {
        var server = server()
        var generator = SplitMix64(seed: 11)
        for _ in 0..<20_000 {
            var pdu = (0..<Int.random(in: 0...30, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if pdu.count > 3, Bool.random(using: &generator) {
                pdu[0] &= 0x1F
                pdu[2] = 0
            }
            for case .send(let response) in server.receive(pdu) { #expect(response.count <= server.mtu) }
        }
    }

    @Test("notifications and indications are given to who subscribed, cut to the MTU, one indication at a time")
    func pushes() throws {
        var server = server()
        let long = [UInt8](repeating: 9, count: 100)
        #expect(server.notification(long, of: handles.betaMetrics) == nil)
        #expect(server.indicate(long, of: handles.controlPoint) == nil)
        _ = server.receive([0x12] + little(try configuration(handles.betaMetrics)) + [1, 0])
        _ = server.receive([0x12] + little(try configuration(handles.controlPoint)) + [2, 0])
        #expect(server.notification(long, of: handles.betaMetrics) == [0x1B] + little(handles.betaMetrics) + long.prefix(20))
        #expect(server.indicate([1], of: handles.controlPoint) == [0x1D] + little(handles.controlPoint) + [1])
        #expect(server.indicate([2], of: handles.controlPoint) == nil)
        #expect(server.receive([0x1E]) == [.confirmed, .send([0x1D] + little(handles.controlPoint) + [2])])
        #expect(server.receive([0x1E]) == [.confirmed])
        #expect(server.receive([0x1E]) == [])
    }
}
