import Glibc
import Indicators
import Outbox
import Platform
import Radio
import Simulation
import Synchronization
import Testing
import Uplink
@testable import gateway

/// The whole in one process, on one virtual loop: a simulated collar, the hub with a real SQLite file, and a backend that keeps the contract.
/// A run is a function of its seed.
final class World: Sendable {
    struct Options: Sendable {
        var seed: UInt64
        var backlog = 300
        var firstSequence: UInt32 = 0
        var capacity = 100_000
        var collarFaults = CollarFaults.none
        var backendFaults = ModelBackend.Faults.none
        var mtu: UInt16 = 517
        var heartbeat = Duration.seconds(5)
        var windowsPerSecond: Int?
    }

    let loop = VirtualLoop()
    let collar: SimulatedCollar
    let backend: ModelBackend
    let directory: String
    let log: Log
    let lines = MemorySink()
    let options: Options
    /// How many hubs there were: each life of a process has randomness of its own.
    private let lives = Mutex<UInt64>(0)
    /// When memory was given back.
    let releases = Mutex<[BootInstant]>([])

    init(_ options: Options, recording: Recording) throws {
        self.options = options
        directory = try temporaryDirectory()
        var configuration = CollarConfiguration(serial: "C-1", seed: options.seed)
        configuration.backlog = options.backlog
        configuration.firstSequence = options.firstSequence
        configuration.capacity = options.capacity
        configuration.faults = options.collarFaults
        configuration.mtu = options.mtu
        configuration.heartbeatInterval = options.heartbeat
        configuration.windowsPerSecond = options.windowsPerSecond
        collar = SimulatedCollar(configuration, recording: recording, loop: loop)
        backend = ModelBackend(loop: loop, owners: ["ann": "token-ann", "ben": "token-ben"], seed: options.seed &+ 1, faults: options.backendFaults)
        let loop = loop
        log = Log(sink: lines, threshold: .debug, budget: LogBudget(capacity: 1 << 30)) { loop.now }
        for owner in ["ann", "ben"] { try writeSecret("token-\(owner)", to: "\(directory)/\(owner).token") }
    }

    deinit { removeTree(directory) }

    /// A configuration with one collar, or with `owner` as its owner.
    func configuration(owner: String = "ann", backlog: Configuration.Backlog? = nil, owners: [String] = ["ann", "ben"]) -> Configuration {
        let profile = CollarProfile()
        return Configuration(
            owners: owners.map { .init(key: $0, tokenFile: "\(directory)/\($0).token", patient: nil) },
            collars: [.init(
                name: "front", serial: "C-1", owner: owner, link: .socket(path: "unused"), backlog: backlog, awayAfter: .seconds(86_400),
                security: .none, service: profile.service, heartbeat: profile.heartbeat, windows: profile.windows, control: profile.control)],
            uplink: .init(
                base: "https://backend.invalid", fhirBase: nil, caFile: nil, pin: nil, connectTimeout: .seconds(10), requestTimeout: .seconds(60),
                lowSpeedLimit: 100, lowSpeedTime: .seconds(30), flushInterval: .seconds(120), backoff: .seconds(30), holdMax: .seconds(900)),
            outboxDirectory: directory, controlSocket: "unused", sync: .init(batchWindows: 128, batchAge: .seconds(60)), clockSource: .always,
            indicators: .none, logLevel: .debug, settings: [])
    }

    func hub(_ configuration: Configuration, wallClock: WallClock? = nil) -> Hub {
        let life = lives.withLock { lives in
            lives += 1
            return lives
        }
        let (loop, collar, seed) = (loop, collar, options.seed &+ 1_000 &* life)
        // Wall time follows the virtual boot clock, so that a collar's clock and the hub's agree.
        let wall = wallClock ?? WallClock { WallTime(seconds: 1_790_000_000 + loop.now.nanoseconds / 1_000_000_000, synchronised: true) }
        return Hub(configuration: configuration, parts: Hub.Parts(
            loop: loop, storage: loop, transport: backend, links: { _ in VirtualLinks(loop: loop, collar: collar) }, wallClock: wall, log: log,
            leds: NoLEDs(), layout: .full, releaseMemory: { [weak self] in self?.releases.withLock { $0.append(loop.now) } },
            random: { SplitMix64(seed: seed &+ 2) }))
    }

    /// Waits, in virtual time, until `condition` holds.
    func wait(_ limit: Duration, for condition: @Sendable () async throws -> Bool) async throws -> Bool {
        let end = loop.now + limit
        while loop.now < end {
            if try await condition() { return true }
            try await loop.sleep(for: .seconds(1))
        }
        return try await condition()
    }

    /// Whether the backend has, as window or as gap, everything that the collar produced.
    func everythingIsAccountedFor() async -> Bool {
        await unaccounted(limit: 1).isEmpty
    }

    /// Windows that the collar produced and the backend knows nothing of.
    func unaccounted(limit: Int = 10) async -> [String] {
        let books = await collar.books()
        var missing: [String] = []
        let (windows, gaps) = (await backend.windows, await backend.gaps)
        for range in books.logs {
            for sequence in range.sequences {
                let key = ModelBackend.WindowKey(device: "C-1", log: range.log, sequence: sequence)
                if windows[key] == nil, gaps[key] == nil { missing.append("\(range.log)/\(sequence)") }
                if missing.count >= limit { return missing }
            }
        }
        return missing
    }

    /// Holds the invariants against the books of both ends.
    func checkInvariants(sourceLocation: SourceLocation = #_sourceLocation) async {
        let books = await collar.books()
        let (windows, gaps) = (await backend.windows, await backend.gaps)
        for (key, stored) in windows {
            let original = await collar.window(log: key.log, sequence: key.sequence)
            #expect(stored.bytes == original, "window \(key.log)/\(key.sequence) was altered", sourceLocation: sourceLocation)
        }
        for clear in books.clears {
            guard let range = books.logs.first(where: { $0.log == clear.log }) else { continue }
            for sequence in range.sequences {
                let key = ModelBackend.WindowKey(device: "C-1", log: clear.log, sequence: sequence)
                let settled = [windows[key]?.at, gaps[key]?.at].compactMap { $0 }.min()
                #expect(settled.map { $0 <= clear.at } ?? false, "window \(clear.log)/\(sequence) was cleared before it was settled", sourceLocation: sourceLocation)
                if sequence == clear.through { break }
            }
        }
        #expect(await backend.violations.isEmpty, sourceLocation: sourceLocation)
        #expect(await backend.foreignTokens == 0, sourceLocation: sourceLocation)
    }
}

/// LEDs that nobody sees.
struct NoLEDs: LEDOutput {
    mutating func set(_ led: LED, lit: Bool) {}
    mutating func close() {}
}

/// The recording of the project.
func projectRecording(file: String = #filePath) throws -> Recording {
    let tests = file.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    return try Recording(path: "\(tests)/Recordings/motion-trunk.csv")
}
