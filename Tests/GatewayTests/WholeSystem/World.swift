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
        /// The backlog of a second collar, "C-2" of ben; without one there is one collar.
        var secondBacklog: Int?
        var genericAttribute = CollarTable.GenericAttribute.serviceChanged
        /// Cuffs by serial number.
        var cuffs: [String: SimulatedCuff.Habits] = [:]
    }

    /// One life of the hub: what a kill takes away with it.
    struct Life: Sendable {
        let hub: Hub
        let disk: SlowDisk
        let links: [String: VirtualLinks]
        let cuffLinks: [String: VirtualCuffLinks]
        let directory: String
    }

    let loop = VirtualLoop()
    let collar: SimulatedCollar
    /// All of them, by serial number.
    let collars: [String: SimulatedCollar]
    /// The cuffs, by serial number.
    let cuffs: [String: SimulatedCuff]
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
        configuration.genericAttribute = options.genericAttribute
        collar = SimulatedCollar(configuration, recording: recording, loop: loop)
        if let backlog = options.secondBacklog {
            configuration.serial = "C-2"
            configuration.seed = options.seed &+ 77
            configuration.backlog = backlog
            collars = ["C-1": collar, "C-2": SimulatedCollar(configuration, recording: recording, loop: loop)]
        } else {
            collars = ["C-1": collar]
        }
        let zone = Self.zone
        let world = loop
        cuffs = Dictionary(uniqueKeysWithValues: options.cuffs.map { serial, habits in
            let cuff = SimulatedCuff(serial: serial, habits: habits, loop: world) {
                let now = Self.wall(world)
                return now + Int64(zone.offset(now))
            }
            return (serial, cuff)
        })
        backend = ModelBackend(loop: loop, owners: ["ann": "token-ann", "ben": "token-ben"], seed: options.seed &+ 1, faults: options.backendFaults)
        let loop = loop
        log = Log(sink: lines, threshold: .debug, budget: LogBudget(capacity: 1 << 30)) { loop.now }
        for owner in ["ann", "ben"] { try writeSecret("token-\(owner)", to: "\(directory)/\(owner).token") }
    }

    deinit { removeTree(directory) }

    /// Where the world's hub and cuffs are.
    static let zone = TimeZoneRules.fixed(7_200)

    /// The time in the world, which follows the virtual boot clock.
    static func wall(_ loop: VirtualLoop) -> Int64 { 1_790_000_000 + loop.now.nanoseconds / 1_000_000_000 }

    /// A configuration with `owner` as the owner of the first collar; `second` is the second one's, if there is one.
    func configuration(
        owner: String = "ann", backlog: Configuration.Backlog? = nil, owners: [String] = ["ann", "ben"], second: String = "ben", directory outbox: String? = nil,
        cuffs: [Configuration.Cuff] = [], patients: Bool = true
    ) -> Configuration {
        let profile = CollarProfile()
        let devices = [("front", "C-1", owner, backlog), ("back", "C-2", second, nil)].prefix(collars.count)
        return Configuration(
            owners: owners.map { .init(key: $0, tokenFile: "\(directory)/\($0).token", patient: patients ? "Patient/\($0)" : nil) },
            collars: devices.map { name, serial, owner, backlog in .init(
                name: name, serial: serial, owner: owner, link: .socket(path: "unused"), backlog: backlog, awayAfter: .seconds(86_400),
                security: .none, pairing: .init(repair: false, passkey: .none), service: profile.service, heartbeat: profile.heartbeat,
                windows: profile.windows, control: profile.control) },
            cuffs: cuffs, controller: .any,
            uplink: .init(
                base: "https://backend.invalid", fhirBase: nil, caFile: nil, pin: nil, connectTimeout: .seconds(10), requestTimeout: .seconds(60),
                lowSpeedLimit: 100, lowSpeedTime: .seconds(30), flushInterval: .seconds(120), backoff: .seconds(30), holdMax: .seconds(900)),
            outboxDirectory: outbox ?? directory, controlSocket: "unused", sync: .init(batchWindows: 128, batchAge: .seconds(60)), clockSource: .always,
            indicators: .none, logLevel: .debug, logReadings: false, settings: [])
    }

    func hub(_ configuration: Configuration, wallClock: WallClock? = nil) -> Hub {
        life(configuration, wallClock: wallClock).hub
    }

    /// A hub with everything that a kill takes away with it.
    ///
    /// - Parameters:
    ///   - vfs: the disk under its outbox.
    ///   - tamper: what becomes of each PDU of a collar on its way to the hub.
    func life(
        _ configuration: Configuration, wallClock: WallClock? = nil, disk: SlowDisk? = nil, vfs: String? = nil, tamper: VirtualLinks.Tamper? = nil,
        settings: OutboxSettings = .init(), leds: any LEDOutput = NoLEDs()
    ) -> Life {
        let number = lives.withLock { lives in
            lives += 1
            return lives
        }
        let (loop, seed) = (loop, options.seed &+ 1_000 &* number)
        // Wall time follows the virtual boot clock, so that a collar's clock and the hub's agree.
        let wall = wallClock ?? WallClock { WallTime(seconds: Self.wall(loop), synchronised: true) }
        let storage = disk ?? SlowDisk(loop: loop, seed: seed, slowest: .zero)
        var settings = settings
        settings.vfs = vfs
        let links = collars.mapValues { VirtualLinks(loop: loop, collar: $0, tamper: tamper) }
        let cuffLinks = cuffs.mapValues { VirtualCuffLinks(loop: loop, cuff: $0) }
        let hub = Hub(configuration: configuration, parts: Hub.Parts(
            loop: loop, storage: storage, transport: backend, links: { links[$0.serial] ?? VirtualLinks(loop: loop, collar: self.collar) },
            cuffLinks: { cuffLinks[$0.serial] }, wallClock: wall, zone: Self.zone, log: log, leds: leds, layout: .full,
            releaseMemory: { [weak self] in self?.releases.withLock { $0.append(loop.now) } }, random: { SplitMix64(seed: seed &+ 2) }, outbox: settings))
        return Life(hub: hub, disk: storage, links: links, cuffLinks: cuffLinks, directory: configuration.outboxDirectory)
    }

    /// Ends a hub as SIGKILL does: nothing of it runs on. What its disk held at this moment is in the directory that comes back; the old one
    /// stays locked by the dead.
    func kill(_ life: Life) async throws -> String {
        life.disk.freeze()
        for links in life.links.values { await links.end() }
        for links in life.cuffLinks.values { await links.end() }
        for collar in collars.values { await collar.dropLink() }
        for cuff in cuffs.values { await cuff.hangUp() }
        let copy = "\(directory)/life-\(lives.withLock { $0 })"
        try copyDirectory(life.directory, to: copy)
        return copy
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

    /// Windows that a collar produced and the backend knows nothing of.
    func unaccounted(limit: Int = 10) async -> [String] {
        let (windows, gaps) = (await backend.windows, await backend.gaps)
        var missing: [String] = []
        for (serial, collar) in collars.sorted(by: { $0.key < $1.key }) {
            for range in await collar.books().logs {
                for sequence in range.sequences {
                    let key = ModelBackend.WindowKey(device: serial, log: range.log, sequence: sequence)
                    if windows[key] == nil, gaps[key] == nil { missing.append("\(range.log)/\(sequence)") }
                    if missing.count >= limit { return missing }
                }
            }
        }
        return missing
    }

    /// What to look at when something never arrived.
    func explanation(of hub: Hub) async -> String {
        let lines = lines.records.suffix(40).map { "\($0.event.name) \($0.message)" }
        return "never accounted for: \(await unaccounted()); \(await hub.status().json.encoded())\n\(lines.joined(separator: "\n"))"
    }

    /// Holds the invariants against the books of both ends.
    func checkInvariants(sourceLocation: SourceLocation = #_sourceLocation) async {
        let (windows, gaps) = (await backend.windows, await backend.gaps)
        for (key, stored) in windows {
            let original = await collars[key.device]?.window(log: key.log, sequence: key.sequence)
            #expect(stored.bytes == original, "window \(key.log)/\(key.sequence) was altered", sourceLocation: sourceLocation)
        }
        for (serial, collar) in collars {
            let books = await collar.books()
            // Each is looked at once, at the first clear that covers it.
            var checked: [UInt32: UInt32] = [:]
            for clear in books.clears {
                guard let range = books.logs.first(where: { $0.log == clear.log }) else { continue }
                let start = checked[clear.log] ?? range.first
                guard Int32(bitPattern: clear.through &+ 1 &- start) > 0 else { continue }
                for sequence in range.sequences.dropFirst(Int(start &- range.first)) {
                    let key = ModelBackend.WindowKey(device: serial, log: clear.log, sequence: sequence)
                    let settled = [windows[key]?.at, gaps[key]?.at].compactMap { $0 }.min()
                    #expect(settled.map { $0 <= clear.at } ?? false, "window \(clear.log)/\(sequence) was cleared before it was settled", sourceLocation: sourceLocation)
                    if sequence == clear.through { break }
                }
                checked[clear.log] = clear.through &+ 1
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
