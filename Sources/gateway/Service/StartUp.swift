/// When the start is done, as the service manager is told it (`READY=1`).
///
/// It is done when the outbox is open and a controller is set up. A hub without a controller, or with a disk that does not do what it should, is at work too: it
/// looks for the one and tries the other again by itself, and to be started anew would help neither. So it is also done at the limit, whatever is missing then; but
/// not while the outbox is still being opened, which a slow card may need minutes for.
struct StartUp: Sendable {
    /// How the outbox fares.
    enum Store: Sendable, Hashable {
        case opening, open, faulted
    }

    /// How the radio fares.
    enum Controller: Sendable, Hashable {
        /// No configured device is reached over the air.
        case unneeded
        case missing
        case ready
    }

    private enum State: Sendable {
        /// → late, done
        case early(store: Store, controller: Controller)
        /// The limit has passed. → done
        case late(store: Store)
        case done
    }

    private var state = State.early(store: .opening, controller: .missing)

    /// Whether the start is done.
    var isDone: Bool { if case .done = state { true } else { false } }

    /// How the hub is now.
    mutating func update(store: Store, controller: Controller) {
        switch state {
        case .early where store == .open && controller != .missing: state = .done
        case .early: state = .early(store: store, controller: controller)
        case .late: enterLate(store)
        case .done: break
        }
    }

    /// The limit has passed.
    mutating func limitReached() {
        if case .early(let store, _) = state { enterLate(store) }
    }

    private mutating func enterLate(_ store: Store) {
        state = store == .opening ? .late(store: store) : .done
    }
}

extension StartUp {
    /// How the hub is, for the start.
    mutating func update(_ view: HubView) {
        let store: Store = view.fault != nil ? .faulted : view.isOpen ? .open : .opening
        let controller: Controller
        switch view.radio?.controller {
        case nil: controller = .unneeded
        case .ready: controller = .ready
        case .starting, .absent, .recovering: controller = .missing
        }
        update(store: store, controller: controller)
    }
}
