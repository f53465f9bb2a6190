import Platform
import Synchronization
import Testing
@testable import Uplink

/// The uplink as the daemon runs it: real loop, real TLS, the reference backend, and the queue in memory.
@Suite("The uplink and the reference backend", .serialized)
struct EndToEndTests {
    private final class WholeQueue: DeliveryQueue {
        private struct State {
            var entries: [QueuedEntry]
            var settled: [String] = []
            var outcomes: [DeliveryOutcome] = []
            var changed: (@Sendable ([QueuedEntry]) async -> Void)?
        }

        private let state: Mutex<State>

        init(_ entries: [QueuedEntry]) { state = Mutex(State(entries: entries)) }

        var entries: [QueuedEntry] { state.withLock { $0.entries } }
        var settled: [String] { state.withLock { $0.settled } }
        var outcomes: [DeliveryOutcome] { state.withLock { $0.outcomes } }
        func onChange(_ body: @escaping @Sendable ([QueuedEntry]) async -> Void) { state.withLock { $0.changed = body } }

        func load(_ id: String, part: Int?) async throws -> Shipment? {
            guard let entry = entries.first(where: { $0.id == id }) else { return nil }
            let first = UInt32(id.dropFirst())! * 100
            guard let part else { return .windows(wholeDelivery(id, first: first, count: entry.count, owner: entry.owner, device: "C-\(entry.owner)")) }
            guard let range = entry.parts.first(where: { $0.index == part }) else { return nil }
            var delivery = wholeDelivery("\(id).\(part)", first: first + UInt32(range.offset), count: range.count, owner: entry.owner, device: "C-\(entry.owner)")
            delivery.id = id
            return .windows(delivery)
        }

        func record(_ outcome: DeliveryOutcome) async throws {
            let (entries, changed) = state.withLock { state in
                state.outcomes.append(outcome)
                let index = state.entries.firstIndex { $0.id == outcome.id }
                switch outcome {
                case .settled(let id, _):
                    state.settled.append(id)
                    index.map { _ = state.entries.remove(at: $0) }
                case .partSettled(let id, let part, _):
                    guard let index else { break }
                    for position in state.entries[index].parts.indices where state.entries[index].parts[position].index == part { state.entries[index].parts[position].settled = true }
                    if state.entries[index].parts.allSatisfy(\.settled) {
                        state.settled.append(id)
                        state.entries.remove(at: index)
                    }
                case .split(_, let parts): index.map { state.entries[$0].parts = state.entries[$0].parts.filter(\.settled) + parts }
                case .attemptFailed, .rekey, .quarantine, .readingsSettled, .readingSetAside: break
                }
                return (state.entries, state.changed)
            }
            await changed?(entries)
        }
    }

    /// Runs an uplink until everything is settled, or for at most 20 s.
    private func run(_ backend: Backend, _ entries: [QueuedEntry], policy: RetryPolicy) throws -> WholeQueue {
        let authority = try Authority.path()
        let scratch = Scratch()
        let files = ["anna": scratch.write("anna", "token-of-anna\n"), "ben": scratch.write("ben", "token-of-ben\n")]
        let queue = WholeQueue(entries)
        let loop = try EpollLoop()
        let transport = try CurlTransport(loop: loop, settings: CurlSettings(trust: .file("\(authority)/ca.pem"), totalTimeout: .seconds(5), userAgent: "gateway/test"))
        let settings = try UplinkSettings(base: "https://127.0.0.1:\(backend.port)", tokenFiles: files, policy: policy)
        let uplink = Uplink(loop: loop, transport: transport, queue: queue, settings: settings, wallClock: .system(marker: nil), random: SplitMix64(seed: 7),
                            log: Log(sink: MemorySink()) { loop.now }, onEvent: { _ in })
        let (all, continuation) = AsyncStream.makeStream(of: Void.self)
        queue.onChange { left in
            await uplink.setEntries(left)
            if left.isEmpty { continuation.finish() }
        }
        try loop.run {
            let limit = loop.schedule(after: .seconds(20)) { continuation.finish() }
            await uplink.setEntries(queue.entries)
            for await _ in all {}
            loop.cancel(limit)
            await uplink.stop()
            await transport.close()
        }
        #expect(connections(to: backend.port) == 0)
        return queue
    }

    private let entries = (0..<12).map { entry("e\($0)", owner: $0 % 3 == 0 ? "ben" : "anna", count: 20) }

    private func check(_ backend: Backend, _ queue: WholeQueue) throws {
        #expect(Set(queue.settled) == Set(entries.map(\.id)) && queue.settled.count == 12)
        guard case .object(let windows)? = try backend.tell("{\"query\": \"books\"}")["windows"] else { Issue.record("no books"); return }
        #expect(windows["distinct"] == .integer(240))
        let audit = try backend.tell("{\"query\": \"audit\"}")
        #expect(audit.members.map(\.value).allSatisfy { if case .array(let found) = $0 { found.isEmpty } else { true } })
    }

    @Test("deliver every entry of two owners once")
    func delivers() throws {
        let backend = try Backend()
        let queue = try run(backend, entries, policy: RetryPolicy())
        try check(backend, queue)
        #expect(try backend.requests() == 12)
    }

    @Test("deliver every entry once through lost connections, wrong receipts, portals, refusals of the token and errors")
    func troubled() throws {
        let backend = try Backend()
        for fault in ["{\"fault\": \"close-after\", \"count\": 2}", "{\"fault\": \"status\", \"status\": 503, \"count\": 2}", "{\"fault\": \"portal\", \"count\": 2}",
                      "{\"fault\": \"receipt\", \"change\": \"digest\"}", "{\"fault\": \"status\", \"status\": 401}", "{\"fault\": \"truncate\"}", "{\"fault\": \"close-before\"}"] {
            try backend.tell(fault)
        }
        let policy = RetryPolicy(backoffBase: .milliseconds(20), maximumDelay: .milliseconds(200), flushInterval: .milliseconds(100))
        try check(backend, try run(backend, entries, policy: policy))
    }

    @Test("find the size that the backend takes")
    func splits() throws {
        let backend = try Backend(options: ["--max-body", "\(6 * Delivery.windowSize)"])
        let queue = try run(backend, entries, policy: RetryPolicy())
        try check(backend, queue)
        let outcomes = queue.outcomes
        #expect(!outcomes.contains { if case .quarantine = $0 { true } else { false } })
    }
}
