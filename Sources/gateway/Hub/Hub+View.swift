import Indicators
import Outbox
import Platform

/// What the hub shows: its LEDs, and `gateway status`.
extension Hub {
    /// Works out anew what the LEDs show. Requests that come meanwhile become one.
    func refresh() {
        refreshWanted = true
        guard !refreshing else { return }
        refreshing = true
        parts.loop.spawn { await self.refreshBoard() }
    }

    private func refreshBoard() async {
        while refreshWanted, running {
            refreshWanted = false
            let view = await view()
            let now = parts.loop.now
            await board?.set(view.conditions(now: now))
            parts.onView(view)
            scheduleAway(view, now)
        }
        refreshing = false
    }

    /// A device's long absence is noticed although nothing happens.
    private func scheduleAway(_ view: HubView, _ now: BootInstant) {
        if let awayTimer { parts.loop.cancel(awayTimer) }
        awayTimer = view.nextAway(after: now).map { moment in
            parts.loop.schedule(at: moment) { [weak self] in self?.assumeIsolated { $0.refresh() } }
        }
    }

    /// Everything that status and LEDs are made from, at one moment.
    func view() async -> HubView {
        var view = HubView(configuration: configuration, wall: parts.wallClock.read())
        if let store {
            view.snapshot = await store.snapshot
            view.opening = await store.report
            switch await store.state {
            case .opening: break
            case .open: view.isOpen = true
            case .faulted(let error): view.fault = error
            }
        }
        view.radio = await radio?.view()
        view.isFull = await broker?.isFull ?? false
        view.lanes = await uplink?.lanes ?? []
        for collar in configuration.collars {
            if let agent = agents[collar.serial] { view.collars.append((collar, await agent.report)) }
        }
        for cuff in configuration.cuffs {
            if let agent = cuffs[cuff.serial] { view.cuffs.append((cuff, await agent.report)) }
        }
        view.shown = await board?.shown ?? []
        view.configurationState = configurationState
        return view
    }

    /// What `gateway status` shows.
    func status() async -> StatusReport {
        await view().report(started: started, now: parts.loop.now)
    }
}
