import Glibc
import Indicators
import Platform
import Radio
import Uplink

/// The daemon's frame: the loop, the signals, the log, the control socket and the hub.
enum Daemon {
    /// How long an orderly end may take before the process ends all the same: systemd's and the installer's patience is 5 s, and nothing that was
    /// promised depends on the order.
    private static let stopLimit: UInt32 = 4

    /// Keeps SIGHUP until the loop takes it: one that comes while the configuration is read must not end the daemon, least of all with what systemd
    /// takes for an orderly end.
    static func holdHangUps() {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGHUP)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Runs until SIGTERM or SIGINT. SIGHUP lets it read its configuration again.
    ///
    /// - Parameter path: where the configuration was read from.
    /// - Returns: the program's exit status.
    static func run(configuration: Configuration, from path: String) -> CInt {
        do {
            // A peer that hangs up is an error of a call, not the end of the process.
            signal(SIGPIPE, SIG_IGN)
            // What the loader and the configuration's parser have touched is needed once only, and must not add to what the work needs.
            ProcessMemory.release()
            let loop = try EpollLoop()
            let log = try Log(sink: makeSink(), threshold: configuration.logLevel.threshold) { [unowned loop] in loop.now }
            let outcome = Outcome()
            try loop.watchSignals([SIGTERM, SIGINT, SIGHUP]) { [unowned loop] number in
                outcome.signalled(number, loop: loop, log: log)
            }
            let storage = try StorageThread()
            let transport = try CurlTransport(loop: loop, settings: CurlSettings(configuration.uplink))
            let onRadioEnd: @Sendable (String) -> Void = { [unowned loop] why in
                // Started anew, the kernel's side is set up from the beginning; what is stored waits on the disk.
                Output.complain("gateway: the radio needs a new start: \(why)")
                outcome.fail(ExitStatus.unavailable, loop: loop)
            }
            let indicators = IndicatorParts(configuration.indicators, loop: loop, log: log)
            let service = try serviceLink(loop, storage, log)
            var hubParts = parts(configuration, loop, storage, transport, log, indicators, onRadioEnd: onRadioEnd)
            if let service { hubParts.onView = { view in service.assumeIsolated { $0.show(view) } } }
            let hub = Hub(configuration: configuration, parts: hubParts)
            let reloader = ConfigurationReloader(path: path, hub: hub) { await transport.settingsChanged(CurlSettings($0.uplink)) }
            outcome.onHangUp = { reloader.assumeIsolated { $0.reload() } }
            let drive: @Sendable (RadioRequest) async -> Result<RadioAnswer, ControlError> = { await hub.perform($0) }
            let desk = RadioDesk(devices: configuration.deviceNames, drive: configuration.needsController ? drive : nil)
            let server = ControlServer(on: loop, at: configuration.controlSocket, log: log) {
                await hub.status()
            } flush: {
                await hub.flush()
            } operate: { request, user in
                await hub.perform(request, by: user)
            } radio: { request in
                await desk.perform(request)
            }
            // The socket is also what tells two daemons apart: the second one ends here, before it touches anything.
            try server.assumeIsolated { try $0.start() }
            let network = try NetworkWatch(loop: loop) { hub.assumeIsolated { $0.networkChanged() } }
            outcome.onStop = {
                await service?.stop()
                network.stop()
                await server.stop()
                await indicators.button?.stop()
                await hub.stop()
                await transport.close()
            }
            log(.notice, .daemonStarted, "gateway \(Versions.gateway) has started", LogField("VERSION", Versions.gateway))
            loop.spawn {
                await service?.begin { await hub.view() }
                await indicators.join(hub, devices: configuration.deviceNames, loop: loop, log: log)
                do {
                    try await hub.start()
                } catch {
                    Output.complain("gateway: \(error)")
                    outcome.fail(ExitStatus.unavailable, loop: loop)
                }
            }
            loop.run()
            storage.stop()
            return outcome.status
        } catch {
            Output.complain("gateway: \(error)")
            return ExitStatus.unavailable
        }
    }

    private static func makeSink() throws -> any LogSink {
        if JournalSink.isConnected(environment: getenv("JOURNAL_STREAM").map { String(cString: $0) }) {
            return try JournalSink(identifier: "gateway")
        }
        return PrefixSink()
    }

    /// The link to the service manager, when one has started this process and wants to be told.
    private static func serviceLink(_ loop: EpollLoop, _ storage: StorageThread, _ log: Log) throws(SystemError) -> ServiceLink? {
        guard let manager = try ServiceManager.current() else { return nil }
        let ping = ServiceLink.StoragePing(ping: { storage.ping() }, hasAnswered: { storage.hasAnswered })
        return ServiceLink(loop: loop, period: manager.watchdog, storage: ping, log: log) { manager.tell($0) }
    }

    private static func parts(
        _ configuration: Configuration, _ loop: EpollLoop, _ storage: StorageThread, _ transport: CurlTransport, _ log: Log,
        _ indicators: IndicatorParts, onRadioEnd: @escaping @Sendable (String) -> Void
    ) -> Hub.Parts {
        Hub.Parts(
            loop: loop, storage: storage, transport: transport,
            links: { collar in
                switch collar.link {
                case .socket(let path):
                    return UnixLinkSource(path: path, loop: loop) { error in
                        log(.debug, .deviceAway, "\(collar.name) does not answer: \(error)", LogField("DEVICE", collar.serial))
                    }
                case .bluetooth, .adoption:
                    return NoLinks(loop: loop)
                }
            },
            wallClock: .system(marker: configuration.clockSource.marker), log: log,
            leds: indicators.leds, layout: indicators.layout,
            releaseMemory: { ProcessMemory.release() }, random: { SystemRandomNumberGenerator() },
            openRadio: { devices, bonds, policy, onEvent in
                try RadioController(
                    channel: try ManagementClient.openControlChannel(), loop: loop, devices: devices, store: bonds, policy: policy, onEvent: onEvent)
            },
            onRadioEnd: onRadioEnd)
    }

    /// How the daemon ends. Touched on the loop's thread alone.
    private final class Outcome: @unchecked Sendable {
        var onStop: (@Sendable () async -> Void)?
        var onHangUp: (@Sendable () -> Void)?
        private(set) var status = ExitStatus.done
        private var stopping = false

        func signalled(_ number: CInt, loop: EpollLoop, log: Log) {
            guard number != SIGHUP else {
                if !stopping { onHangUp?() }
                return
            }
            log(.notice, .daemonStopping, "gateway is stopping")
            stop(loop)
        }

        func fail(_ status: CInt, loop: EpollLoop) {
            self.status = status
            stop(loop)
        }

        private func stop(_ loop: EpollLoop) {
            guard !stopping else { return }
            stopping = true
            // A disk that does not answer must not keep the process: SIGALRM ends it, as a power cut would.
            alarm(Daemon.stopLimit)
            let onStop = self.onStop
            loop.spawn {
                await onStop?()
                loop.stop()
            }
        }
    }
}

extension CurlSettings {
    init(_ uplink: Configuration.Uplink) {
        self.init(
            trust: uplink.caFile.map { .file($0) } ?? .system, pinnedPublicKey: uplink.pin, connectTimeout: uplink.connectTimeout,
            totalTimeout: uplink.requestTimeout, lowSpeedBytes: Int(uplink.lowSpeedLimit), lowSpeedTime: uplink.lowSpeedTime,
            userAgent: "gateway/\(Versions.gateway)")
    }
}
