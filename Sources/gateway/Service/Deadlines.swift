import Platform

/// Something that should long have come to its end by itself.
struct OverdueWork: Sendable, Hashable, CustomStringConvertible {
    enum Kind: String, Sendable, Hashable {
        /// An owner's next attempt, or probe, did not come at its moment.
        case attempt = "attempt-overdue"
        /// A request is out longer than any may be.
        case request = "request-overdue"
        /// A link is neither set up nor given up.
        case link = "link-overdue"
        /// A read brings nothing and does not end.
        case read = "read-overdue"
        /// The controller is neither set up, nor given up, nor started anew.
        case controller = "controller-overdue"
    }

    let kind: Kind
    /// The owner's key or the device's name; empty for the controller.
    let subject: String

    var description: String { subject.isEmpty ? kind.rawValue : "\(kind.rawValue) (\(subject))" }
}

/// Holds what the hub is at against how long that may take, as a value.
///
/// Each machine has timers of its own that end what it waits for. This is for the case that one of them is lost by a mistake in the program: then the hub would turn, answer and do nothing, for ever.
/// The bounds are those of the machines with much room: they are not what ends a wait, and a wait that is merely long must never end the daemon.
struct Deadlines: Sendable {
    /// A link is set up in some twenty transactions of at most 30 s, mostly within two seconds.
    static let link = Duration.seconds(900)
    /// A read gives up after 15 s without a window or a record, and what came is stored within the storage thread's own bound.
    static let read = Duration.seconds(600)
    /// The controller's steps have 2 to 20 s each; after two power cycles the daemon ends by itself.
    static let controller = Duration.seconds(900)
    /// For a timer that is due, over what it waits for.
    static let slack = Duration.seconds(60)

    /// What somebody is at. The same thing at two checks is one piece of work that goes on.
    private enum Work: Hashable, Sendable {
        case request(owner: String, entry: String)
        case link(device: String, since: BootInstant)
        case read(device: String, since: BootInstant, checkpoint: UInt64?)
        case take(device: String, since: BootInstant, last: BootInstant?)
        case controller

        var overdue: OverdueWork {
            switch self {
            case .request(let owner, _): OverdueWork(kind: .request, subject: owner)
            case .link(let device, _): OverdueWork(kind: .link, subject: device)
            case .read(let device, _, _), .take(let device, _, _): OverdueWork(kind: .read, subject: device)
            case .controller: OverdueWork(kind: .controller, subject: "")
            }
        }
    }

    private var since: [Work: BootInstant] = [:]

    /// What is overdue at this moment.
    mutating func overdue(_ view: HubView, now: BootInstant) -> [OverdueWork] {
        // An attempt goes twice when the token is read anew.
        let request = view.configuration.uplink.requestTimeout * 2 + Self.slack
        var current: [Work: Duration] = [:]
        var found: [OverdueWork] = []
        for lane in view.lanes {
            switch lane.state {
            case .sending(let entry): current[.request(owner: lane.owner, entry: entry)] = request
            case .waiting(let moment), .holding(_, let moment):
                // A hold shows the moment of the probe also while the probe is out; with nothing to send there is none.
                if lane.queued > lane.exhausted, now - moment > request { found.append(OverdueWork(kind: .attempt, subject: lane.owner)) }
            case .idle: break
            }
        }
        for (device, report) in view.collars {
            switch report.state {
            case .linking: current[.link(device: device.name, since: report.since)] = Self.link
            case .reading: current[.read(device: device.name, since: report.since, checkpoint: report.checkpoint)] = Self.read
            case .away, .linked, .held: break
            }
        }
        for (device, report) in view.cuffs {
            switch report.state {
            case .linking: current[.link(device: device.name, since: report.since)] = Self.link
            case .reading: current[.take(device: device.name, since: report.since, last: report.lastReading)] = Self.read
            case .away, .linked, .measuring, .held: break
            }
        }
        switch view.radio?.controller {
        case .starting, .recovering: current[.controller] = Self.controller
        case .ready, .absent, nil: break
        }
        var former = since
        since = [:]
        for (work, limit) in current {
            let began = former.removeValue(forKey: work) ?? now
            since[work] = began
            if now - began > limit { found.append(work.overdue) }
        }
        return found.sorted { ($0.kind.rawValue, $0.subject) < ($1.kind.rawValue, $1.subject) }
    }
}
