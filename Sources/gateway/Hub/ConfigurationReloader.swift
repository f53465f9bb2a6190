import Platform
import Uplink

/// Reads the configuration anew when it is asked to, and lets the running hub work by what may change meanwhile.
///
/// It goes the way of `check-config`. A configuration with an error changes nothing: the former one stays in force, and journal and status LED say so
/// until one without error was read. Requests that come while it reads become one more reading.
actor ConfigurationReloader {
    /// The most lines about flaws that go into the journal at a time; `check-config` has all of them.
    private static let flawLimit = 20

    private let path: String
    private let hub: Hub
    private let reader: BlockingReader
    private let onAdopted: @Sendable (Configuration) async -> Void
    private var wanted = false
    private var working = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { hub.unownedExecutor }

    /// - Parameters:
    ///   - path: the configuration that the daemon was started with.
    ///   - onAdopted: told of the configuration in force, for what is no part of the hub.
    init(path: String, hub: Hub, onAdopted: @escaping @Sendable (Configuration) async -> Void) {
        self.path = path
        self.hub = hub
        self.onAdopted = onAdopted
        reader = BlockingReader(executor: hub.parts.storage)
    }

    /// Asks for a reading.
    func reload() {
        wanted = true
        guard !working else { return }
        working = true
        hub.parts.loop.spawn { await self.work() }
    }

    private func work() async {
        while wanted {
            wanted = false
            let outcome = await reader.load(path)
            if let configuration = outcome.configuration {
                await take(configuration, outcome.diagnostics)
            } else {
                await refuse(outcome.diagnostics)
            }
        }
        working = false
        // What the parser has touched is not needed again soon.
        hub.parts.releaseMemory()
    }

    private func take(_ new: Configuration, _ diagnostics: [Diagnostic]) async {
        let log = hub.parts.log
        let running = await hub.configuration
        let adopted = running.adopting(new)
        let taken = running.changes(to: adopted), waiting = adopted.changes(to: new)
        tell(diagnostics)
        // Before the threshold may rise above these lines.
        for change in taken { log(.notice, .configurationChanged, "configuration: \(change)") }
        for change in waiting { log(.warning, .restartNeeded, "configuration: \(change): this takes effect at the next start") }
        let summary = taken.isEmpty && waiting.isEmpty ? "nothing changed"
            : "\(counted(taken.count, "change", "changes")) made" + (waiting.isEmpty ? "" : ", \(waiting.count) at the next start")
        log(.notice, .configurationLoaded, "the configuration was read again: \(summary)")
        log.threshold = adopted.logLevel.threshold
        await onAdopted(adopted)
        await hub.adopt(adopted, waiting: waiting)
    }

    private func refuse(_ diagnostics: [Diagnostic]) async {
        tell(diagnostics)
        hub.parts.log(.error, .configurationRefused, "the configuration was refused, and the former one stays in force; see: gateway check-config --config \(path)")
        await hub.refuseConfiguration()
    }

    private func tell(_ diagnostics: [Diagnostic]) {
        for diagnostic in diagnostics.prefix(Self.flawLimit) {
            hub.parts.log(diagnostic.severity == .error ? .error : .warning, .configurationFlaw, "\(diagnostic)", LogField("CODE", diagnostic.code.rawValue))
        }
        if diagnostics.count > Self.flawLimit {
            hub.parts.log(.error, .configurationFlaw, "and \(counted(diagnostics.count - Self.flawLimit, "flaw", "flaws")) more")
        }
    }
}

/// Reads files on the thread that may block: a disk that takes its time must not keep the loop from turning.
private actor BlockingReader {
    private nonisolated let executor: any SerialExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(executor: any SerialExecutor) { self.executor = executor }

    func load(_ path: String) -> ConfigurationOutcome { ConfigurationFile.load(path, checks: .daemon) }
}

extension LogEvent {
    static let configurationLoaded = LogEvent("configuration-loaded", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0030")
    static let configurationChanged = LogEvent("configuration-changed", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0031")
    static let restartNeeded = LogEvent("restart-needed", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0032")
    static let configurationRefused = LogEvent("configuration-refused", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0033")
    static let configurationFlaw = LogEvent("configuration-flaw", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0034")
}
