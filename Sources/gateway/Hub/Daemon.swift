import Glibc
import Platform

/// The daemon's frame: the loop, the signals, the log and the control socket.
enum Daemon {
    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Returns: the program's exit status.
    static func run(configuration: Configuration) -> CInt {
        do {
            let loop = try EpollLoop()
            try loop.watchSignals([SIGTERM, SIGINT]) { [unowned loop] _ in loop.stop() }
            let log = Log(sink: PrefixSink(), threshold: configuration.logLevel.threshold) { [unowned loop] in loop.now }
            let started = loop.now
            let clock = WallClock.system(marker: configuration.clockSource.marker)
            let server = ControlServer(on: loop, at: configuration.controlSocket, log: log) { [unowned loop] in
                idle(configuration, uptime: loop.now - started, clock: clock.read())
            } flush: {
                // Nothing is queued as long as nothing is read.
                FlushReport(owners: configuration.owners.count, entries: 0)
            }
            try server.assumeIsolated { try $0.start() }
            loop.run()
            server.assumeIsolated { $0.stop() }
            return ExitStatus.done
        } catch {
            Output.complain("gateway: \(error)")
            return ExitStatus.unavailable
        }
    }

    /// The report of a daemon whose devices are all out of reach.
    private static func idle(_ configuration: Configuration, uptime: Duration, clock: WallTime) -> StatusReport {
        let seconds = uptime.milliseconds / 1_000
        return StatusReport(
            version: Versions.gateway, pid: getpid(), uptimeSeconds: seconds,
            clock: StatusReport.Clock(synchronised: clock.synchronised, unixSeconds: clock.seconds),
            outbox: StatusReport.Outbox(queued: 0, places: 20, free: 20, exhausted: 0, quarantined: 0, sealed: 0),
            owners: configuration.owners.map { StatusReport.Owner(key: $0.key, state: .idle, queued: 0) },
            collars: configuration.collars.map {
                StatusReport.Collar(name: $0.name, serial: $0.serial, owner: $0.owner, state: .away, sinceSeconds: seconds)
            },
            indicators: StatusReport.Indicators())
    }
}
