import CLinux
import Glibc
import Platform
import Synchronization
import struct Simulation.ATTServer
import struct Simulation.CollarTable
@testable import Radio

/// Events in the order in which they were told.
final class EventRecorder<Event: Sendable>: Sendable {
    private let events = Mutex<[Event]>([])

    var all: [Event] { events.withLock { $0 } }

    func note(_ event: Event) { events.withLock { $0.append(event) } }
}

/// The collar's end of a link, with the attributes of the profile and a script in place of a flash: what it answers to a request is the test's to say.
actor ScriptedCollar {
    typealias Script = @Sendable (isolated ScriptedCollar, [UInt8]) -> Void

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let loop: VirtualLoop
    private(set) var handles: CollarTable
    /// What came from the hub.
    private(set) var pdus: [[UInt8]] = []
    private var descriptor: Descriptor?
    private var server: ATTServer
    private let script: Script

    /// What was written to the control point.
    private(set) var requests: [[UInt8]] = []
    /// Value handles in the order in which they were subscribed.
    private(set) var subscriptions: [UInt16] = []
    private(set) var confirmations = 0
    /// The hub has ended the link.
    private(set) var hungUpAt: BootInstant?
    var metrics = Forge.metrics()
    private var heartbeat: TimerID?
    private var beats = true
    /// Answers a PDU in the server's place, with nothing when it gives no bytes.
    private var intercept: (@Sendable ([UInt8]) -> [UInt8]?)?
    /// What becomes of a PDU of the server on its way.
    private var alter: (@Sendable ([UInt8]) -> [UInt8])?

    init(_ descriptor: consuming Descriptor, loop: VirtualLoop, mtu: UInt16, table: CollarTable, encrypted: Bool, script: @escaping Script) {
        self.descriptor = consume descriptor
        self.loop = loop
        self.script = script
        handles = table
        server = ATTServer(table: table.table, preferredMTU: mtu, encrypted: encrypted)
    }

    var mtu: Int { server.mtu }

    func start(beats: Bool) throws {
        self.beats = beats
        server.setValue(metrics, of: handles.betaMetrics)
        guard let raw = descriptor?.raw else { return }
        try loop.watch(raw, for: .readable) { [weak self] _ in self?.assumeIsolated { $0.receive() } }
    }

    func set(metrics: [UInt8]) {
        self.metrics = metrics
        server.setValue(metrics, of: handles.betaMetrics)
    }

    func intercept(_ body: @escaping @Sendable ([UInt8]) -> [UInt8]?) { intercept = body }

    func alter(_ body: @escaping @Sendable ([UInt8]) -> [UInt8]) { alter = body }

    func perform(_ body: @Sendable (isolated ScriptedCollar) -> Void) { body(self) }

    // MARK: What a script does

    func answer(_ opcode: UInt8, _ result: UInt8 = 0, _ numbers: UInt32...) {
        indicate([0x80, opcode, result] + numbers.flatMap(LittleEndian.bytes))
    }

    func indicate(_ value: [UInt8]) {
        if let pdu = server.indicate(value, of: handles.controlPoint) { send(pdu) }
    }

    /// Notifies a window as the ATT_MTU of the link has it.
    func window(_ bytes: [UInt8]) {
        for value in Forge.values(bytes, mtu: mtu) { notify(value) }
    }

    func notify(_ value: [UInt8]) {
        if let pdu = server.notification(value, of: handles.rawWindows) { send(pdu) }
    }

    func beat(_ value: [UInt8]? = nil) {
        if let pdu = server.notification(value ?? metrics, of: handles.betaMetrics) { send(pdu) }
    }

    /// Serves other attributes from now on, and forgets who subscribed them unless told otherwise, but for Service Changed.
    func change(to table: CollarTable, keepingSubscriptions: Bool = false) {
        let profile = keepingSubscriptions ? [table.betaMetrics, table.rawWindows, table.controlPoint] : []
        server.replaceTable(table.table, keepingConfigurationsOf: Set(profile + [table.serviceChanged].compactMap { $0 }))
        handles = table
        server.setValue(metrics, of: table.betaMetrics)
    }

    /// Says that the attributes in a range have changed.
    func tellChange(from first: UInt16, to last: UInt16) {
        guard let handle = handles.serviceChanged else { return }
        let range = [first, last].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        if let pdu = server.indicate(range, of: handle) { send(pdu) }
    }

    /// Whether all of the profile is subscribed to.
    var isSubscribedWhole: Bool { [handles.betaMetrics, handles.rawWindows, handles.controlPoint].allSatisfy(server.isSubscribed) }

    /// Stops heartbeats.
    func fallSilent() { beats = false }

    func after(_ delay: Duration, _ body: @escaping @Sendable (isolated ScriptedCollar) -> Void) {
        _ = loop.schedule(after: delay) { [weak self] in self?.assumeIsolated { body($0) } }
    }

    func hangUp() {
        if let raw = descriptor?.raw { loop.unwatch(raw) }
        descriptor = nil
        if let heartbeat { loop.cancel(heartbeat) }
    }

    // MARK: The link

    private func receive() {
        while true {
            let pdu: [UInt8]
            do {
                guard let got = try descriptor?.read(upTo: 1_024) else { return }
                pdu = got
            } catch {
                pdu = []
            }
            guard !pdu.isEmpty else {
                hungUpAt = loop.now
                return hangUp()
            }
            pdus.append(pdu)
            if let response = intercept?(pdu) {
                if !response.isEmpty { send(response) }
                continue
            }
            for action in server.receive(pdu) {
                switch action {
                case .send(let response): send(response)
                case .confirmed: confirmations += 1
                case .request(let request):
                    requests.append(request)
                    script(self, request)
                case .configured(let handle, let subscribed):
                    if subscribed { subscriptions.append(handle) }
                    if handle == handles.betaMetrics, subscribed { beatNext() }
                }
            }
        }
    }

    private func beatNext() {
        heartbeat = loop.schedule(after: .seconds(5)) { [weak self] in
            self?.assumeIsolated { collar in
                guard collar.beats else { return }
                collar.beat()
                collar.beatNext()
            }
        }
    }

    private func send(_ pdu: [UInt8]) {
        do {
            // Scripts send less than a socket's buffer holds.
            if try descriptor?.send(alter?(pdu) ?? pdu) == nil, descriptor != nil { preconditionFailure("a script fills the socket") }
        } catch {
            hangUp()
        }
    }
}

/// A connection to a scripted collar on a loop of virtual time.
struct CollarFixture: Sendable {
    let loop: VirtualLoop
    let collar: ScriptedCollar
    let connection: CollarConnection
    let events: EventRecorder<CollarEvent>
    /// What the connection gave to keep.
    let databases: EventRecorder<GATTDatabaseCache>

    /// Runs a test from a link that is up to the end of `body`.
    ///
    /// - Parameter script: what the collar does about a request to its control point, after the write's response.
    static func run<Value: Sendable>(
        mtu: UInt16 = 517, beats: Bool = true, encrypted: Bool = true, table: CollarTable = CollarTable(serial: "C-1042", firmware: "2.1"),
        profile: CollarProfile = CollarProfile(), cache: GATTDatabaseCache? = nil, isKept: Bool = false, script: @escaping ScriptedCollar.Script = { _, _ in },
        _ body: @escaping @Sendable (CollarFixture) async throws -> Value
    ) throws -> Value {
        let loop = VirtualLoop()
        return try loop.run {
            let (near, far) = try packetPair()
            let collar = ScriptedCollar(Descriptor(owning: far), loop: loop, mtu: mtu, table: table, encrypted: encrypted, script: script)
            try await collar.start(beats: beats)
            let events = EventRecorder<CollarEvent>()
            let databases = EventRecorder<GATTDatabaseCache>()
            let onDatabase: @Sendable (GATTDatabaseCache) -> Void = { databases.note($0) }
            let connection = CollarConnection(
                client: GATTClient(descriptor: Descriptor(owning: near), loop: loop), profile: profile, loop: loop, cache: cache,
                onDatabase: isKept ? onDatabase : nil
            ) { events.note($0) }
            let value = try await body(CollarFixture(loop: loop, collar: collar, connection: connection, events: events, databases: databases))
            await connection.close()
            await collar.hangUp()
            return value
        }
    }

    /// The same, with the connection opened.
    static func open<Value: Sendable>(
        mtu: UInt16 = 517, beats: Bool = true, script: @escaping ScriptedCollar.Script = { _, _ in },
        _ body: @escaping @Sendable (CollarFixture) async throws -> Value
    ) throws -> Value {
        try run(mtu: mtu, beats: beats, script: script) { fixture in
            _ = try await fixture.connection.open()
            return try await body(fixture)
        }
    }

    /// How many indications were confirmed, once what is on its way has arrived.
    func confirmations() async throws -> Int {
        try await loop.sleep(for: .milliseconds(1))
        return await collar.confirmations
    }
}
