import Glibc
import Platform
import Testing

@testable import Simulation

/// A recording of three samples, for tests that do not care about motion.
func smallRecording() throws -> Recording {
    try Recording(csv: Array("x_mg,y_mg,z_mg\n330,942,-145\n310,933,-155\n0,1000,0\n".utf8))
}

/// A forge over the small recording.
func smallForge(damage: Double = 0) throws -> WindowForge {
    WindowForge(recording: try smallRecording(), seed: 7, damageProbability: damage)
}

/// What `body` throws; `nil` when it throws nothing.
func failure(_ body: () throws(SimulationError) -> Void) -> SimulationError? {
    do throws(SimulationError) {
        try body()
        return nil
    } catch {
        return error
    }
}

/// The little-endian bytes of a 32-bit number.
func word(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) } }

/// The number in four little-endian bytes.
func word(_ bytes: some Collection<UInt8>) -> UInt32 { bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } }

/// A pair of connected packet sockets, each to be owned by somebody.
func packetPair() throws -> (CInt, CInt) {
    var pair: [CInt] = [-1, -1]
    try #require(socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
    return (pair[0], pair[1])
}

/// The hub's end of a link, as a script of PDUs: it knows nothing but bytes.
final class ScriptedHub: @unchecked Sendable {
    // Unchecked: it is used on one loop's thread only.
    let loop: VirtualLoop
    let collar: SimulatedCollar
    let handles: CollarTable
    private(set) var received: [[UInt8]] = []
    private(set) var ended = false
    private let socket: Descriptor
    /// Whether indications are confirmed as they come.
    var confirms = true

    init(_ collar: SimulatedCollar, loop: VirtualLoop, encrypted: Bool = true, sendBuffer: CInt? = nil) throws {
        let (theirs, ours) = try packetPair()
        if var size = sendBuffer { setsockopt(theirs, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size)) }
        self.loop = loop
        self.collar = collar
        handles = CollarTable(serial: "", firmware: "")
        socket = Descriptor(owning: ours)
        try collar.assumeIsolated { try $0.link(descriptor: Descriptor(owning: theirs), encrypted: encrypted) }
    }

    /// Takes everything that has arrived, and lets what follows from it happen.
    func settle(_ duration: Duration = .zero) throws {
        loop.advance(by: duration)
        var more = true
        while more {
            more = false
            while !ended {
                let pdu: [UInt8]?
                do { pdu = try socket.read(upTo: 1_024) } catch { pdu = [] }
                guard let pdu else { break }
                if pdu.isEmpty {
                    ended = true
                    break
                }
                received.append(pdu)
                more = true
                if pdu[0] == 0x1D, confirms { try send([0x1E]) }
            }
            loop.advance(by: .zero)
        }
    }

    /// Sends one PDU. That the collar has dropped the link is seen where it is read from.
    func send(_ pdu: [UInt8]) throws {
        do throws(SystemError) { _ = try socket.send(pdu) } catch { if error.code != EPIPE { throw error } }
    }

    /// Sends one PDU and gives everything that came since.
    func exchange(_ pdu: [UInt8]) throws -> [[UInt8]] {
        try settle()
        let before = received.count
        try send(pdu)
        try settle()
        return Array(received[before...])
    }

    func exchangeMTU(_ mtu: UInt16) throws {
        _ = try exchange([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)])
    }

    /// Writes a value with response.
    func write(_ handle: UInt16, _ value: [UInt8]) throws -> [[UInt8]] {
        try exchange([0x12, UInt8(handle & 0xFF), UInt8(handle >> 8)] + value)
    }

    /// Finds the client configuration of a value by its UUID, and writes it.
    func subscribe(_ handle: UInt16, _ bits: UInt8) throws -> [[UInt8]] {
        var start = handle + 1
        while true {
            let response = try exchange([0x04, UInt8(start & 0xFF), UInt8(start >> 8), 0xFF, 0xFF]).last ?? []
            try #require(response.first == 0x05, "no client configuration behind \(handle)")
            let size = response[1] == 1 ? 4 : 18
            for at in stride(from: 2, to: response.count, by: size) {
                start = UInt16(response[at]) | UInt16(response[at + 1]) << 8
                if response[1] == 1, response[at + 2] == 0x02, response[at + 3] == 0x29 { return try write(start, [bits, 0]) }
            }
            start += 1
        }
    }

    func subscribeAll() throws {
        _ = try subscribe(handles.betaMetrics, 1)
        _ = try subscribe(handles.rawWindows, 1)
        _ = try subscribe(handles.controlPoint, 2)
    }

    /// Writes a request; gives the answers of the control point that came with it.
    func request(_ value: [UInt8]) throws -> [[UInt8]] {
        values(of: handles.controlPoint, in: try write(handles.controlPoint, value))
    }

    func read(log: UInt32, first: UInt32, count: UInt32) throws -> [[UInt8]] { try request([1] + word(log) + word(first) + word(count)) }

    func clear(log: UInt32, through: UInt32) throws -> [[UInt8]] { try request([3] + word(log) + word(through)) }

    /// The values notified or indicated of a characteristic.
    func values(of handle: UInt16, in pdus: [[UInt8]]? = nil) -> [[UInt8]] {
        (pdus ?? received).filter { ($0[0] == 0x1B || $0[0] == 0x1D) && UInt16($0[1]) | UInt16($0[2]) << 8 == handle }.map { Array($0[3...]) }
    }

    var windows: [[UInt8]] { values(of: handles.rawWindows) }
    var heartbeats: [[UInt8]] { values(of: handles.betaMetrics) }
    func forget() { received = [] }
}

/// A collar with a hub on one virtual loop.
struct Bench {
    let loop = VirtualLoop()
    let collar: SimulatedCollar

    init(backlog: Int = 0, seed: UInt64 = 1, _ adjust: (inout CollarConfiguration) -> Void = { _ in }) throws {
        var configuration = CollarConfiguration(serial: "C-0001", seed: seed)
        configuration.backlog = backlog
        configuration.clock = 1_750_000_000
        adjust(&configuration)
        collar = SimulatedCollar(configuration, recording: try smallRecording(), loop: loop)
    }

    /// A link, subscribed to everything at the given MTU.
    func hub(mtu: UInt16 = 517, encrypted: Bool = true, sendBuffer: CInt? = nil) throws -> ScriptedHub {
        let hub = try ScriptedHub(collar, loop: loop, encrypted: encrypted, sendBuffer: sendBuffer)
        if mtu != 23 { try hub.exchangeMTU(mtu) }
        try hub.subscribeAll()
        hub.forget()
        return hub
    }

    /// What the collar says, on the loop's thread that this is.
    func ask<Value: Sendable>(_ body: (isolated SimulatedCollar) throws -> Value) rethrows -> Value { try collar.assumeIsolated(body) }

    var books: CollarBooks { ask { $0.books() } }
}
