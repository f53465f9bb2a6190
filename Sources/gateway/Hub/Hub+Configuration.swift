import Uplink

extension Hub {
    /// Works by another configuration from now on.
    ///
    /// - Parameters:
    ///   - configuration: what is in force, with nothing changed but what may change while the hub works (`Configuration.adopting`).
    ///   - waiting: what in the configuration that was read waits for the next start, in words.
    func adopt(_ configuration: Configuration, waiting: [String] = []) async {
        self.configuration = configuration
        configurationState = .init(restartNeeded: waiting)
        for agent in agents.values { await agent.adopt(configuration.sync) }
        for cuff in cuffs.values { await cuff.adopt(logsReadings: configuration.logReadings) }
        await uplink?.policyChanged(RetryPolicy(configuration.uplink))
        // Tokens are read for each request: one that was renewed ends a refusal now, not at the next probe.
        await uplink?.flush(.tokenChanged)
        refresh()
    }

    /// A configuration that was to be adopted has errors: the status LED says so until one without was read.
    func refuseConfiguration() {
        configurationState.isRefused = true
        refresh()
    }
}

extension CollarAgent {
    /// Reads by other thresholds from now on; a pass that runs goes on, the next batch of it by these.
    func adopt(_ sync: Configuration.Sync) {
        planner.batchWindows = sync.batchWindows
        trigger.adopt(batchWindows: sync.batchWindows, batchAge: sync.batchAge)
        wake()
    }
}

extension RetryPolicy {
    init(_ uplink: Configuration.Uplink) {
        self.init(backoffBase: uplink.backoff, maximumDelay: uplink.holdMax, flushInterval: uplink.flushInterval)
    }
}
