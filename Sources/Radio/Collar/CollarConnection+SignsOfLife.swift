import Platform

/// The shell around `SilenceWatch`: heartbeats, and windows during a read.
extension CollarConnection {
    /// What has to be heard from time to time.
    enum Sign: Hashable {
        /// Beta Metrics, on any open connection.
        case heartbeat
        /// A window or the answer, while a read runs.
        case window
    }

    /// A notification of Beta Metrics.
    func heartbeatNotified(_ value: [UInt8]) {
        heard(.heartbeat)
        do throws(CollarError) {
            let metrics = try BetaMetrics(parsing: value)
            lastMalformedHeartbeat = nil
            onEvent(.heartbeat(metrics))
        } catch {
            // A sign of life even so: to connect again would not make the firmware any better.
            guard error != lastMalformedHeartbeat else { return }
            lastMalformedHeartbeat = error
            onEvent(.malformedHeartbeat(error))
        }
    }

    /// From now on the sign has to be heard within each `limit`.
    func expect(_ sign: Sign, within limit: Duration) {
        forget(sign)
        let watch = SilenceWatch(limit: limit, now: loop.now)
        watches[sign] = (watch, schedule(sign, at: watch.deadline))
    }

    /// The sign was heard.
    func heard(_ sign: Sign) {
        guard let moved = watches[sign]?.watch.heard(at: loop.now), let timer = watches[sign]?.timer else { return }
        loop.cancel(timer)
        watches[sign]?.timer = schedule(sign, at: moved)
    }

    /// The sign is not expected any more.
    func forget(_ sign: Sign) {
        if let timer = watches.removeValue(forKey: sign)?.timer { loop.cancel(timer) }
    }

    private func schedule(_ sign: Sign, at deadline: BootInstant) -> TimerID {
        loop.schedule(at: deadline) { [weak self] in self?.assumeIsolated { $0.check(sign) } }
    }

    private func check(_ sign: Sign) {
        switch (watches[sign]?.watch.fired(at: loop.now), sign) {
        case (nil, _):
            break
        case (.rearm(let deadline), _):
            watches[sign]?.timer = schedule(sign, at: deadline)
        case (.silent, .heartbeat):
            onEvent(.silent)
            end(CollarError(.silent, "no heartbeat for \(timing.silence)"))
        case (.silent, .window):
            end(CollarError(.readStalled, "neither a window nor an answer for \(timing.stall)"))
        }
    }
}
