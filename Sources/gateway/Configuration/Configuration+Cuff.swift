import Radio

extension Configuration {
    /// Whose the readings of a cuff are.
    enum CuffOwnership: Sendable, Hashable {
        /// The key of an owner in `owners`: whatever user the cuff names.
        case owner(String)
        /// The keys of owners by the numbers that the cuff gives its users; at least one.
        case users([UInt32: String])

        /// The keys of all owners, each once, in order.
        var owners: [String] {
            switch self {
            case .owner(let key): [key]
            case .users(let users): Set(users.values).sorted()
            }
        }
    }

    /// Whose the readings are that a cuff took before its owner changed.
    enum CuffBacklog: String, Sendable, CaseIterable {
        case former, new
    }

    /// What a cuff's link must have before its characteristics are used.
    enum CuffSecurity: String, Sendable, CaseIterable {
        case encrypted
        /// Encryption once the cuff has asked for it, and from then on.
        case onDemand = "on-demand"
        case none

        init(_ security: RadioDevice.Security) {
            self = switch security {
            case .encrypted: .encrypted
            case .onDemand: .onDemand
            case .none: .none
            }
        }
    }

    /// A blood-pressure cuff, as `[[cuff]]` describes one.
    struct Cuff: Sendable, Hashable {
        let name: String
        /// How it is known here and at the backend. Distinct among all devices, collars included.
        let serial: String
        let ownership: CuffOwnership
        /// `.bluetooth` or `.adoption`.
        let link: Link
        /// `nil`: what was taken before a change of owner is set aside.
        let backlog: CuffBacklog?
        /// `nil`: however long it is out of reach, that is told nobody.
        var awayAfter: Duration?
        let security: CuffSecurity
        let pairing: Pairing
        /// `nil`: any cuff of the Blood Pressure Service; what more is known of it is found among `models` by what it calls itself.
        let model: CuffModel?
        /// All models that there are: those of the configuration, then the built-in ones.
        let models: [CuffModel]
        let setsClock: Bool

        /// How it is spoken to.
        var driver: CuffDriver { model?.driver ?? .standard }
    }
}
