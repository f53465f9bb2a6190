import Platform
import Synchronization
import Testing
@testable import gateway

/// A manager, a storage thread and a hub that do as the test says.
private final class Surroundings: Sendable {
    private struct State {
        var told: [ServiceState] = []
        var takes = true
        var pings = 0
        var answers = true
        var hub: HubView
    }

    private let state: Mutex<State>

    init(_ hub: HubView) { state = Mutex(State(hub: hub)) }

    var told: [ServiceState] { state.withLock { $0.told } }
    var fed: Int { told.count { $0 == .watchdog } }
    var pings: Int { state.withLock { $0.pings } }
    var hub: HubView { state.withLock { $0.hub } }
    func tell(_ message: ServiceState) -> Bool {
        state.withLock { state in
            if state.takes { state.told.append(message) }
            return state.takes
        }
    }
    func ping() { state.withLock { $0.pings += 1 } }
    var answers: Bool {
        get { state.withLock { $0.answers } }
        set { state.withLock { $0.answers = newValue } }
    }
    var takes: Bool {
        get { state.withLock { $0.takes } }
        set { state.withLock { $0.takes = newValue } }
    }
    func change(_ change: (inout HubView) -> Void) { state.withLock { change(&$0.hub) } }
}

@Suite("What the service manager is told")
struct ServiceLinkTests {
    private let loop = VirtualLoop()
    private let sink = MemorySink()
    private let around: Surroundings

    init() throws {
        let configuration = try World(.init(seed: 1), recording: try projectRecording()).configuration()
        around = Surroundings(HubView(configuration: configuration, wall: WallTime(seconds: 0, synchronised: true)))
    }

    private func makeLink(period: Duration? = .seconds(30)) async -> ServiceLink {
        let loop = loop, around = around
        let link = ServiceLink(
            loop: loop, period: period, storage: .init(ping: { around.ping() }, hasAnswered: { around.answers }), log: Log(sink: sink) { loop.now }
        ) { around.tell($0) }
        await link.begin { around.hub }
        return link
    }

    /// Runs the body on the loop.
    private func run(_ body: @escaping @Sendable () async throws -> Void) throws { try loop.run(until: body) }

    @Test("READY=1 follows the open outbox at once, once; the watchdog is fed every 15 s from then on, and not before")
    func ready() throws {
        try run { [self] in
            let link = await makeLink()
            try await loop.sleep(for: .seconds(12))
            #expect(around.fed == 0)
            around.change { $0.isOpen = true }
            await link.show(around.hub)
            await link.show(around.hub)
            try await loop.sleep(for: .seconds(301))
            #expect(around.told.count { $0 == .ready } == 1)
            #expect(around.fed == 21)
            #expect(around.pings == 11)
            await link.stop()
        }
    }

    @Test("without a controller READY=1 comes after 20 s; while the outbox is being opened it does not come")
    func limit() throws {
        try run { [self] in
            around.change { $0.radio = .init(controller: .absent("there is none")) }
            let link = await makeLink()
            await link.show(around.hub)
            try await loop.sleep(for: .seconds(60))
            #expect(!around.told.contains(.ready))
            around.change { $0.isOpen = true }
            await link.show(around.hub)
            #expect(around.told.contains(.ready))
            await link.stop()
        }
        try run { [self] in
            around.change { $0.isOpen = true }
            let before = around.told.count { $0 == .ready }
            let link = await makeLink()
            await link.show(around.hub)
            try await loop.sleep(for: .milliseconds(19_900))
            #expect(around.told.count { $0 == .ready } == before)
            try await loop.sleep(for: .milliseconds(200))
            #expect(around.told.count { $0 == .ready } == before + 1)
            await link.stop()
        }
    }

    @Test("READY=1 that the manager did not take is said again")
    func unheard() throws {
        try run { [self] in
            around.takes = false
            around.change { $0.isOpen = true }
            let link = await makeLink()
            await link.show(around.hub)
            try await loop.sleep(for: .seconds(3))
            #expect(around.told == [])
            around.takes = true
            try await loop.sleep(for: .seconds(2))
            #expect(around.told.contains(.ready))
            await link.stop()
        }
    }

    @Test("a storage thread that is silent for more than a minute ends the feeding, with a line in the log; when it answers the feeding goes on")
    func blocked() throws {
        try run { [self] in
            around.change { $0.isOpen = true }
            let link = await makeLink()
            await link.show(around.hub)
            around.answers = false
            try await loop.sleep(for: .seconds(61))
            let fed = around.fed
            try await loop.sleep(for: .seconds(300))
            #expect(around.fed == fed)
            #expect(sink.records.filter { $0.event == .watchdogWithheld }.count == 1)
            #expect(sink.records.contains { $0.level == .critical })
            around.answers = true
            try await loop.sleep(for: .seconds(16))
            #expect(around.fed > fed)
            #expect(sink.records.contains { $0.event == .watchdogFed })
            await link.stop()
        }
    }

    @Test("a hub that does not answer on the loop gets the watchdog no food")
    func hung() throws {
        try run { [self] in
            let loop = loop, around = around
            around.change { $0.isOpen = true }
            let link = ServiceLink(
                loop: loop, period: .seconds(30), storage: .init(ping: {}, hasAnswered: { true }), log: Log(sink: sink) { loop.now }
            ) { around.tell($0) }
            await link.begin {
                try? await loop.sleep(for: .seconds(86_400))
                return around.hub
            }
            await link.show(around.hub)
            try await loop.sleep(for: .seconds(600))
            #expect(around.told.contains(.ready))
            #expect(around.fed == 0)
            await link.stop()
        }
    }

    @Test("a check waits for a wake-up that comes anyway, and costs none of its own")
    func wakeUps() throws {
        // A heartbeat every 5 s, as a linked collar sends it.
        func turns(period: Duration?) throws -> UInt64 {
            let before = loop.wakeUps
            try run { [self] in
                around.change { $0.isOpen = true }
                let link = await makeLink(period: period)
                await link.show(around.hub)
                for _ in 0..<60 { try await loop.sleep(for: .seconds(5)) }
                await link.stop()
            }
            return loop.wakeUps - before
        }
        let without = try turns(period: nil)
        let with = try turns(period: .seconds(30))
        #expect(around.fed >= 20)
        #expect(with == without)
    }

    @Test("the status line is said when it changes, counts, and names neither person nor device")
    func status() throws {
        try run { [self] in
            let link = await makeLink()
            await link.show(around.hub)
            await link.show(around.hub)
            around.change { hub in
                hub.isOpen = true
                hub.collars = hub.configuration.collars.map { ($0, CollarReport(since: BootInstant(nanoseconds: 0))) }
            }
            await link.show(around.hub)
            let lines = around.told.compactMap { if case .status(let line) = $0 { line } else { nil } }
            #expect(lines.count == 2)
            #expect(lines.first == "opening the outbox; 0 of 0 collars linked")
            let collars = around.hub.collars.count
            #expect(lines.last == "0 of \(counted(collars, "collar", "collars")) linked")
            for secret in around.hub.configuration.owners.map(\.key) + around.hub.configuration.collars.flatMap({ [$0.name, $0.serial] }) {
                #expect(lines.allSatisfy { !$0.contains(secret) })
            }
            await link.stop()
        }
    }

    @Test("STOPPING=1 is the last word")
    func stopping() throws {
        try run { [self] in
            around.change { $0.isOpen = true }
            let link = await makeLink()
            await link.show(around.hub)
            await link.stop()
            await link.stop()
            await link.show(around.hub)
            try await loop.sleep(for: .seconds(100))
            #expect(around.told.last == .stopping)
            #expect(around.told.count { $0 == .stopping } == 1)
        }
    }

    @Test("without WatchdogSec the start and the status are told all the same")
    func unwatched() throws {
        try run { [self] in
            around.change { $0.isOpen = true }
            let link = await makeLink(period: nil)
            await link.show(around.hub)
            try await loop.sleep(for: .seconds(100))
            #expect(around.told.contains(.ready))
            #expect(around.fed == 0)
            await link.stop()
        }
    }
}
