import Glibc
import Platform
import Synchronization
import Testing
import Uplink

/// A directory of its own for a test, removed with it.
final class Scratch: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/uplink-tests-XXXXXX".utf8CString)
        path = mkdtemp(&template).map { String(cString: $0) } ?? "/nowhere"
    }

    deinit {
        try? Child.run(["rm", "-rf", path])
    }

    @discardableResult
    func write(_ name: String, _ text: String, mode: mode_t = 0o600) -> String {
        let file = "\(path)/\(name)"
        unlink(file)
        let descriptor = creat(file, mode)
        fchmod(descriptor, mode)
        let bytes = Array(text.utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
        close(descriptor)
        return file
    }
}

/// Draws nothing but the least, so that delays are exact; or the most.
struct FixedRandom: RandomNumberGenerator, Sendable {
    let value: UInt64
    func next() -> UInt64 { value }
}

/// An uplink on a virtual loop between a scripted backend and a queue in memory.
final class Bench {
    let loop = VirtualLoop()
    let transport: ScriptedTransport
    let queue = MemoryQueue()
    let uplink: Uplink
    let scratch = Scratch()
    let sink = MemorySink()
    private let told: Told
    private let wall: Wall

    private final class Told: Sendable {
        let events = Mutex<[UplinkEvent]>([])
        let hook = Mutex<(@Sendable (UplinkEvent) -> Void)?>(nil)
    }
    private final class Wall: Sendable { let time = Mutex(WallTime(seconds: 1_700_000_100, synchronised: true)) }

    init(
        owners: [String] = ["anna", "ben"], patients: [String: String]? = nil, fhirBase: String? = nil, policy: RetryPolicy = RetryPolicy(), random: UInt64 = 0
    ) throws {
        let loop = loop
        transport = ScriptedTransport(loop: loop)
        var files: [String: String] = [:]
        for owner in owners { files[owner] = scratch.write(owner, "token-of-\(owner)\n") }
        let told = Told(), wall = Wall()
        self.told = told
        self.wall = wall
        uplink = Uplink(loop: loop, transport: transport, queue: queue, settings: try UplinkSettings(base: "https://backend.example/hub", fhirBase: fhirBase, tokenFiles: files,
                        patients: patients ?? Dictionary(uniqueKeysWithValues: owners.map { ($0, "Patient/\($0)") }), policy: policy),
                        wallClock: WallClock { wall.time.withLock { $0 } }, random: FixedRandom(value: random), log: Log(sink: sink, threshold: .debug) { loop.now },
                        onEvent: { event in
                            told.events.withLock { $0.append(event) }
                            told.hook.withLock { $0 }?(event)
                        })
        queue.onChange { [uplink] entries in await uplink.setEntries(entries) }
    }

    var events: [UplinkEvent] { told.events.withLock { $0 } }
    var failures: [DeliveryFailure] { events.compactMap { if case .failed(let failure) = $0 { failure } else { nil } } }
    var holds: [HoldReason] { events.compactMap { if case .holdBegan(_, let reason, _) = $0 { reason } else { nil } } }
    var holdsEnded: [HoldReason] { events.compactMap { if case .holdEnded(_, let reason) = $0 { reason } else { nil } } }
    var sent: [ScriptedTransport.Sent] { transport.sent }
    var keys: [String] { transport.keys }
    /// Seconds since the bench was made, of every request.
    var times: [Double] { sent.map { Double(($0.at - start).milliseconds) / 1_000 } }
    private let start = BootInstant(nanoseconds: 1_000_000_000_000)

    func clock(_ time: WallTime) { wall.time.withLock { $0 = time } }

    /// Has every event handed to `body`, within the call that tells it.
    func onEvent(_ body: @escaping @Sendable (UplinkEvent) -> Void) { told.hook.withLock { $0 = body } }

    /// Puts entries into the queue and tells the uplink.
    func queue(_ entries: [QueuedEntry]) {
        queue.set(entries)
        perform { await $0.setEntries(entries) }
    }

    func add(_ entry: QueuedEntry) { queue(queue.entries + [entry]) }

    func perform(_ body: @escaping @Sendable (Uplink) async -> Void) {
        loop.spawn { [uplink] in await body(uplink) }
        loop.advance(by: .zero)
    }

    func flush(_ reason: FlushReason = .requested) { perform { await $0.flush(reason) } }
    func advance(_ seconds: Double) { loop.advance(by: .milliseconds(Int64(seconds * 1_000))) }

    func lane(_ owner: String = "anna", _ endpoint: Endpoint = .rawWindows) throws -> LaneStatus {
        let lanes = try loop.run { [uplink] in await uplink.lanes }
        return try #require(lanes.first { $0.owner == owner && $0.endpoint == endpoint })
    }
}

/// An entry of readings; see `MemoryQueue.readings` for what is in it.
func readings(_ id: String, owner: String = "anna", count: Int = 3, attempts: Int = 0, exhausted: Bool = false) -> QueuedEntry {
    QueuedEntry(id: id, owner: owner, endpoint: .readings, count: count, attempts: attempts, exhausted: exhausted)
}

func entry(_ id: String, owner: String = "anna", count: Int = 3, attempts: Int = 0, exhausted: Bool = false) -> QueuedEntry {
    QueuedEntry(id: id, owner: owner, count: count, attempts: attempts, exhausted: exhausted)
}
