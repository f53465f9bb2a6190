import Platform

/// Whether the service manager's watchdog is fed, as a value: no I/O, no clock, no log.
///
/// It is fed when the loop has turned (or there would be no check), the hub has answered what it was asked on the loop, the storage thread has answered a ping, and nothing is
/// past a deadline of its own. How the work goes is no matter: a hub that is offline, alone, full or without a disk is alive.
struct WatchdogMachine: Sendable {
    /// The times that count.
    struct Bounds: Sendable, Hashable {
        /// Within how long the manager wants to be fed.
        let period: Duration
        /// How often the storage thread is asked while it answers. Each time wakes that thread.
        var ping = Duration.seconds(30)
        /// How long a ping may be unanswered. A card that tidies up, or another program's large write, holds a sync for tens of seconds: a new start would not help
        /// there, and nothing is lost while it lasts. From the beginning of such a wait it takes 75 to 120 s until the manager ends the process.
        var storage = Duration.seconds(60)

        /// A check is welcome from here on: with the usual 30 s early enough for every second heartbeat, and for every dip of an LED.
        var earliest: Duration { period * 3 / 10 }
        /// And it comes here at the latest: two of them are within the period.
        var latest: Duration { period / 2 }
    }

    /// Why it is not fed.
    enum Complaint: Sendable, Hashable {
        case storageSilent
        case overdue(OverdueWork)
    }

    enum Action: Sendable, Hashable {
        case feed
        /// Ask the storage thread.
        case ping
        /// From now on it is not fed, for these reasons.
        case complain([Complaint])
        /// It is fed again.
        case recovered
    }

    private enum Storage: Sendable {
        /// Asked and not known to have answered. → answered
        case asked(since: BootInstant)
        /// Asked then, and it has answered. → asked
        case answered(BootInstant)
    }

    let bounds: Bounds
    private var storage: Storage?
    private var complaints: [Complaint] = []

    init(_ bounds: Bounds) {
        self.bounds = bounds
    }

    /// A check.
    ///
    /// - Parameters:
    ///   - storageAnswers: whether the storage thread has answered every ping.
    ///   - overdue: what the hub knows to be past its deadline.
    mutating func check(storageAnswers: Bool, overdue: [OverdueWork], now: BootInstant) -> [Action] {
        var actions: [Action] = []
        var found = overdue.map { Complaint.overdue($0) }
        switch storage {
        case .asked(let since) where storageAnswers: storage = .answered(since)
        case .asked(let since) where now - since > bounds.storage: found.append(.storageSilent)
        case .asked, .answered, nil: break
        }
        switch storage {
        case nil: actions.append(.ping)
        case .answered(let asked) where now - asked >= bounds.ping: actions.append(.ping)
        case .answered, .asked: break
        }
        if actions == [.ping] { storage = .asked(since: now) }
        if found.isEmpty {
            if !complaints.isEmpty { actions.append(.recovered) }
            actions.append(.feed)
        } else if found != complaints {
            actions.append(.complain(found))
        }
        complaints = found
        return actions
    }
}
