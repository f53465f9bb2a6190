import Platform
import Synchronization
import Testing

@testable import Radio

/// A peer that answers anything with anything: well-formed, mutated, out of place.
private final class WildPeer: @unchecked Sendable {
    // Unchecked: touched on the loop's thread alone.
    private var random: SplitMix64
    private let loop: VirtualLoop
    private var descriptor: Descriptor?
    private var budget = 400
    private(set) var heard = 0

    init(seed: UInt64, descriptor: consuming Descriptor, loop: VirtualLoop) {
        random = SplitMix64(seed: seed)
        self.loop = loop
        self.descriptor = consume descriptor
    }

    func start() throws {
        guard let raw = descriptor?.raw else { return }
        try loop.watch(raw, for: .readable) { [unowned self] _ in read() }
    }

    func close() {
        guard let raw = descriptor?.raw else { return }
        loop.unwatch(raw)
        descriptor = nil
    }

    private func read() {
        guard let octets = try? descriptor?.read(upTo: 1024), !octets.isEmpty else { return close() }
        heard += 1
        for _ in 0..<Int.random(in: 0...2, using: &random) { send(unasked()) }
        if Int.random(in: 0..<200, using: &random) == 0 { return close() }
        send(answer(to: octets))
    }

    private func send(_ octets: [UInt8]) {
        budget -= 1
        if budget < 0 { return close() }
        var octets = octets
        // Mostly lawful, so that procedures get far enough to meet what is not.
        if Int.random(in: 0..<12, using: &random) == 0, !octets.isEmpty {
            octets[Int.random(in: 0..<octets.count, using: &random)] = .random(in: 0...255, using: &random)
        }
        if !octets.isEmpty { _ = try? descriptor?.send(octets) }
    }

    private func unasked() -> [UInt8] {
        switch Int.random(in: 0..<7, using: &random) {
        case 6: [0x1D, .random(in: 0...8, using: &random), 0x00, 0x01, 0x00, 0xFF, 0xFF]
        case 0: hex("1B 03 00 01 02")
        case 1: hex("23 03 00 01 00 0A 07 00 00 00")
        case 2: [0x52, .random(in: 0...255, using: &random)]
        case 3: hex("02 40 00")
        case 4: [.random(in: 0...255, using: &random), .random(in: 0...255, using: &random)]
        default: hex("10 01 00 FF FF 00 28")
        }
    }

    private func answer(to request: [UInt8]) -> [UInt8] {
        guard let opcode = request.first else { return [] }
        if Int.random(in: 0..<8, using: &random) == 0 { return [0x01, opcode, 0, 0, [0x0A, 0x06, 0x07, 0x0B, 0x05, 0x12].randomElement(using: &random)!] }
        let start = request.count > 2 ? Array(request[1...2]) : [1, 0]
        switch opcode {
        case 0x02: return hex("03 F7 00")
        case 0x04: return [0x05, 0x01] + start + hex("02 29")
        case 0x06: return [0x07] + start + start
        case 0x08 where request.suffix(2) == [0x2A, 0x2B]: return [0x09, 0x12, 0x08, 0x00] + [UInt8](repeating: .random(in: 0...2, using: &random), count: 16)
        case 0x08 where request.suffix(2) == [0x02, 0x28]: return [0x09, 0x06] + start + [0x10, 0x00, 0x1F, 0x00]
        case 0x08 where request.suffix(2) == [0x03, 0x28] && Bool.random(using: &random):
            return [0x09, 0x07] + start + [0x3A, start[0] &+ 1, start[1]] + [[0x05, 0x2A], [0x29, 0x2B]].randomElement(using: &random)!
        case 0x08: return [0x09, 0x07] + start + [0x3A, start[0] &+ 1, start[1]] + hex("37 2A")
        case 0x0A: return [0x0B] + [UInt8](repeating: 1, count: Int.random(in: 0...22, using: &random))
        case 0x0C: return [0x0D] + [UInt8](repeating: 2, count: Int.random(in: 0...22, using: &random))
        case 0x10: return [0x11, 0x06] + start + [start[0] | 0x0F, start[1]] + hex("0D 18")
        case 0x12: return [0x13]
        case 0x0E: return [0x0F, 0x01, 0x02]
        case 0x16: return [0x17] + request.dropFirst()
        case 0x18: return [0x19]
        case 0x20: return [0x21, 0x01, 0x00, 0x07, 0x02, 0x00, 0x08]
        default: return []
        }
    }
}

@Suite("Hostile peers")
struct GATTFuzzTests {
    @Test("whatever a peer says, nothing traps, every call ends, and the end is reported once", arguments: UInt64(1)...40)
    func wild(seed: UInt64) throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let peer = WildPeer(seed: seed, descriptor: Descriptor(owning: theirs), loop: loop)
        let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop, raiseSecurity: { requirement in
            if requirement == .keySize { throw CancellationError() }
        })
        let recorder = UpdateRecorder()
        try peer.start()
        try loop.run {
            try await client.start(onClose: recorder.ended)
            for _ in 0..<20 where await client.closure == nil {
                _ = await failure { _ = try await client.exchangeMTU() }
                _ = await failure {
                    for service in try await client.discoverPrimaryServices().prefix(4) {
                        for characteristic in try await client.discoverCharacteristics(of: service).prefix(4) {
                            try await client.subscribe(to: characteristic, as: .notifications, handler: recorder.record)
                            _ = try await client.read(characteristic.valueHandle)
                            try await client.write([1, 2, 3], to: characteristic.valueHandle)
                            try await client.unsubscribe(from: characteristic)
                        }
                    }
                }
                _ = await failure { try await client.confirmIndication() }
                _ = await failure { _ = try await client.openDatabase() }
                _ = await failure { try await client.writeLong([UInt8](0...40), to: 3) }
                _ = await failure { _ = try await client.readMultiple([3, 4]) }
                _ = await failure { _ = try await client.readMultipleVariable([3, 4]) }
                _ = await failure { _ = try await client.read(using: .uuid16(0x2A37)) }
                _ = await failure { _ = try await client.discoverPrimaryServices(.uuid16(0x180D)) }
            }
            await client.close()
        }
        loop.advance(by: .seconds(60))
        #expect(recorder.closures.count == 1)
        #expect(peer.heard > 0)
        #expect(recorder.values.count < 2_000)
        peer.close()
    }

    @Test("the bearer alone takes any octets in any state", arguments: UInt64(1)...10)
    func bearer(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var closures: Set<String> = []
        for _ in 0..<300 {
            var bearer = ATTBearer(receiveMTU: .random(in: 0...600, using: &random))
            for _ in 0..<60 {
                switch Int.random(in: 0..<6, using: &random) {
                case 0: _ = try? bearer.submit([.readRequest(3), .exchangeMTURequest(clientReceiveMTU: 517), .writeRequest(3, value: [1])].randomElement(using: &random)!)
                case 1: try? bearer.command(.writeCommand(3, value: [1]))
                case 2: try? bearer.confirm()
                case 3: if bearer.nextPDU() != nil { bearer.written() }
                default:
                    // The opcodes that mean something more often than chance would give them.
                    let first = [UInt8](arrayLiteral: 0x01, 0x02, 0x03, 0x0B, 0x13, 0x1B, 0x1D, 0x23, 0x52, .random(in: 0...255, using: &random)).randomElement(using: &random)!
                    let octets = [first] + (0..<Int.random(in: 0...24, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
                    _ = bearer.receive(octets[...], length: octets.count)
                }
                #expect((23...600).contains(bearer.mtu))
            }
            if let closure = bearer.closure {
                closures.insert(closure.code)
                #expect(bearer.nextPDU() == nil)
                #expect(bearer.openTransaction == nil)
            }
        }
        #expect(closures == ["att-violation"])
    }
}
