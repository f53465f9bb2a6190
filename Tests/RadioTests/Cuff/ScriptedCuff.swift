import CLinux
import Glibc
import Platform
import struct Simulation.ATTServer
import struct Simulation.BluetoothUUID
import struct Simulation.GATTTable
@testable import Radio

/// A cuff's end of a link with whatever attributes a test gives it; what it does about a request is the test's to say.
actor ScriptedCuff {
    typealias Script = @Sendable (isolated ScriptedCuff, [UInt8]) -> Void

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let loop: VirtualLoop
    private var descriptor: Descriptor?
    private var server: ATTServer
    private let script: Script
    /// Writes of this value are requests that ask for no subscription.
    private let requestHandle: UInt16?

    private(set) var requests: [[UInt8]] = []
    private(set) var subscriptions: [UInt16] = []
    private(set) var confirmations = 0

    init(_ descriptor: consuming Descriptor, loop: VirtualLoop, table: GATTTable, requestHandle: UInt16? = nil, script: @escaping Script) {
        self.descriptor = consume descriptor
        self.loop = loop
        self.script = script
        self.requestHandle = requestHandle
        server = ATTServer(table: table, preferredMTU: 100, encrypted: true)
    }

    func start() throws {
        guard let raw = descriptor?.raw else { return }
        try loop.watch(raw, for: .readable) { [weak self] _ in self?.assumeIsolated { $0.receive() } }
    }

    /// Indicates, whether or not that was subscribed on this link: a bonded cuff remembers.
    func indicate(_ value: [UInt8], of handle: UInt16) { send([0x1D] + CuffForge.u16(handle) + value) }

    func notify(_ value: [UInt8], of handle: UInt16) { send([0x1B] + CuffForge.u16(handle) + value) }

    func hangUp() {
        if let raw = descriptor?.raw { loop.unwatch(raw) }
        descriptor = nil
    }

    private func receive() {
        while let got = try? descriptor?.read(upTo: 1_024) {
            guard !got.isEmpty else { return hangUp() }
            // What was indicated past the server is confirmed past it.
            if got == [0x1E] {
                confirmations += 1
                continue
            }
            if let requestHandle, got.starts(with: [0x12] + CuffForge.u16(requestHandle)) {
                let request = Array(got[3...])
                requests.append(request)
                send([0x13])
                script(self, request)
                continue
            }
            for action in server.receive(got) {
                switch action {
                case .send(let response): send(response)
                case .confirmed: break
                case .request(let request):
                    requests.append(request)
                    script(self, request)
                case .configured(let handle, let subscribed): if subscribed { subscriptions.append(handle) }
                }
            }
        }
    }

    private func send(_ pdu: [UInt8]) { _ = try? descriptor?.send(pdu) }
}

/// A cuff of the standard profile, and its handles.
struct CuffTable {
    var table = GATTTable()
    var measurement: UInt16 = 0
    var enhanced: UInt16 = 0
    var pressure: UInt16 = 0
    var record: UInt16 = 0
    var access: UInt16 = 0

    /// - Parameters:
    ///   - information: whether it says who it is.
    ///   - name: its Device Name, if it has one.
    ///   - model: its Model Number, if it has one.
    ///   - optional: whether it has the optional parts of the service.
    init(information: Bool = true, name: String? = nil, model: String? = nil, optional: Bool = false, enhanced hasEnhanced: Bool = false) {
        if let name {
            table.addService(BluetoothUUID(0x1800))
            table.addCharacteristic(BluetoothUUID(0x2A00), .read, value: Array(name.utf8))
        }
        if information {
            table.addService(BluetoothUUID(0x180A))
            table.addCharacteristic(BluetoothUUID(0x2A25), .read, value: Array("BP-1".utf8))
            if let model { table.addCharacteristic(BluetoothUUID(0x2A24), .read, value: Array(model.utf8)) }
        }
        table.addService(BluetoothUUID(0x1810))
        measurement = table.addCharacteristic(BluetoothUUID(0x2A35), .indicate)
        pressure = table.addCharacteristic(BluetoothUUID(0x2A36), .notify)
        if hasEnhanced { enhanced = table.addCharacteristic(BluetoothUUID(0x2B34), .indicate) }
        guard optional else { return }
        record = table.addCharacteristic(BluetoothUUID(0x2B36), .notify)
        access = table.addCharacteristic(BluetoothUUID(0x2A52), [.write, .indicate], write: .open, requestsAfter: [record])
    }
}

/// A connection to a scripted cuff on a loop of virtual time.
struct CuffFixture: Sendable {
    let loop: VirtualLoop
    let cuff: ScriptedCuff
    let connection: CuffConnection
    let events: EventRecorder<CuffEvent>

    static func run<Value: Sendable>(
        _ table: CuffTable, model: CuffModel? = nil, models: [CuffModel] = CuffModel.table, script: @escaping ScriptedCuff.Script = { _, _ in },
        before: (@Sendable (isolated ScriptedCuff) -> Void)? = nil,
        _ body: @escaping @Sendable (CuffFixture) async throws -> Value
    ) throws -> Value {
        let loop = VirtualLoop()
        let attributes = table.table
        return try loop.run {
            let (near, far) = try packetPair()
            let cuff = ScriptedCuff(Descriptor(owning: far), loop: loop, table: attributes, script: script)
            try await cuff.start()
            if let before { await before(cuff) }
            let events = EventRecorder<CuffEvent>()
            let connection = CuffConnection(
                client: GATTClient(descriptor: Descriptor(owning: near), loop: loop), model: model, models: models, wall: WallClock { CuffPeer.now }, zone: CuffPeer.zone,
                loop: loop
            ) { events.note($0) }
            let value = try await body(CuffFixture(loop: loop, cuff: cuff, connection: connection, events: events))
            await connection.close()
            await cuff.hangUp()
            return value
        }
    }

    /// Lets what is on its way arrive.
    func settle() async throws { try await loop.sleep(for: .milliseconds(1)) }
}
