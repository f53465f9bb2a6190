import Platform

/// Which device is linked, looked for, paired and adopted, as a value over all configured devices. No I/O, no clock, no logging.
///
/// Allow-list only: a link that is none of a configured device's is dropped. The kernel's pending connections do the waiting, discovery runs beside them for
/// devices that are stale. One candidate at a time is connected directly, to pair and to read its serial number, and is adopted only when that matches.
/// Every state ends by something that does not depend on the peer: see `exit(of:)`.
public struct ConnectorMachine: Sendable {
    /// What is done about one device. Every case has its exits in `exit(of:)`.
    enum Phase: Sendable, Hashable {
        /// No address yet. → expected (adopted)
        case unplaced
        /// On the kernel's list, last heard of then. → connecting, securing, stale, backingOff
        case expected(since: BootInstant)
        /// On the list, and looked for under other addresses; last heard of, or given up, then. → connecting, securing, backingOff, expected (heard, adopted)
        case stale(since: BootInstant)
        /// The kernel says it is linked; its channel has not come. → securing, closing
        case connecting(until: BootInstant)
        /// Its security is being raised. → storing, linked, closing, removing
        case securing(until: BootInstant)
        /// Encrypted; keys are to come, or to be stored. → linked, closing
        case awaitingKeys(until: BootInstant)
        case storing(until: BootInstant)
        /// Handed over, heartbeat not subscribed to. → working, ending, expected, stale, closing
        case linked(until: BootInstant)
        /// In use. → ending, expected, backingOff
        case working
        /// Its driver has let go. → expected, stale, backingOff, closing
        case ending(until: BootInstant)
        /// Off the list, Disconnect is with the kernel. → what `then` says
        case closing(until: BootInstant, then: Afterwards)
        /// Off the list, its keys are being forgotten. → expected
        case removing(until: BootInstant)
        /// Off the list, its new address is being stored. → expected
        case adopting(until: BootInstant, from: BluetoothAddress)
        /// Off the list until somebody opens pairing, or until then, to try the keys again. → expected
        case needsPairing(until: BootInstant)
        /// Off the list until then. → expected, stale
        case backingOff(until: BootInstant)
    }

    /// What follows an intended disconnection.
    enum Afterwards: Sendable, Hashable {
        case rest
        case needsPairing
        case removeBond
        /// Left alone for so long.
        case pause(Duration)
    }

    /// Whether there are keys.
    enum BondState: Sendable, Hashable {
        case none
        /// In the kernel, and not in the store.
        case unstored
        case stored
    }

    struct Device: Sendable {
        var configured: RadioDevice
        /// The adopted address, else the configured one.
        var address: BluetoothAddress?
        var bond: BondState
        var phase: Phase
        /// Failed connects since it last worked.
        var failures = 0
        /// Short links and failed connects in a row.
        var flaps = 0
        var lastFlap: BootInstant?
        /// Its link has brought what it came for.
        var isServed = false
        /// When its link was accepted.
        var linkedAt: BootInstant?
        /// What its driver wants for this link, where that is not what links begin with.
        var parameters: ConnectionParameters?
        /// The end of a former link is still to be told by the controller.
        var owesDisconnect = false
        /// When it was heard first, waited for as it is, and not linked since.
        var heardAt: BootInstant?
        /// The controller was switched off and on for its silence; once for each.
        var isCycledFor = false
        /// Links in a row that ended without explanation while they were being encrypted.
        var doubts = 0
        /// Its keys were found to be wrong or were forgotten: pairing needs permission.
        var keysLost = false
        /// It asked for security.
        var wantsSecurity = false
        /// Its keys are being forgotten on the user's word, and its adopted address with them.
        var isForgotten = false
        /// Pairing is allowed until then.
        var permittedUntil: BootInstant?
        /// What was last told of it.
        var told: DeviceLinkState?
        /// Whether it is looked for since it was last linked.
        var toldStale = false
        var toldBondLost = false
        var trialFailures = 0
        var nextTrial: BootInstant?
        /// Not before that is it looked at again whether its candidates are unambiguous.
        var nextLook: BootInstant?
    }

    let settings: ConnectorSettings
    var devices: [String: Device] = [:]
    var isReady = false
    /// The controller was unplugged, and no other has taken its place.
    var isGone = false
    var listed: [ControllerDevice] = []
    var search = Search()
    var candidates = Candidates()
    var trial: Trial?
    /// When the controller was switched off and on for a device that was heard in vain, or not at all.
    var lastCycle: BootInstant?
    /// Pairing is open until then.
    var window: PairingWindow?
    var output: [ConnectorAction] = []

    public init(settings: ConnectorSettings = ConnectorSettings()) {
        self.settings = settings
    }

    // MARK: What can be asked

    /// When `timer` is to be told; `nil` while nothing is waited for.
    public var deadline: BootInstant? {
        var deadlines = devices.values.compactMap { deadline(of: $0) }
        deadlines += [search.deadline(settings), window?.until, trial?.until, candidateDeadline].compactMap { $0 }
        deadlines += devices.values.compactMap(\.permittedUntil)
        return deadlines.min()
    }

    /// The state of a device as the hub shows it; `nil` for one that is not configured.
    public func state(of device: String) -> DeviceLinkState? { devices[device].map { state($0) } }

    /// The address under which a device is waited for.
    public func address(of device: String) -> BluetoothAddress? { devices[device]?.address }

    /// Whose address this is.
    public func device(at address: BluetoothAddress) -> String? { devices.first { $0.value.address == address }?.key }

    /// Whether pairing is open, and for how long it will be.
    public var pairingOpenUntil: BootInstant? { window?.until }

    /// Whether all of the device is being forgotten, and not its keys alone.
    func isForgotten(_ device: String) -> Bool { devices[device]?.isForgotten ?? false }

    /// Whether the device's keys are in the store.
    public func isBonded(_ device: String) -> Bool { devices[device]?.bond == .stored }

    // MARK: Inputs

    /// The configured devices are these, and the store has these bonds. Devices that stay keep their state; the links of those that go are ended.
    public mutating func configure(_ list: [RadioDevice], bonds: [Bond], at now: BootInstant) -> [ConnectorAction] {
        let bonds = Dictionary(bonds.map { ($0.device, $0) }) { _, last in last }
        let ids = Set(list.map(\.id))
        for (id, device) in devices.sorted(by: { $0.key < $1.key }) where !ids.contains(id) {
            devices[id] = nil
            if trial?.device == id { abandonTrial() }
            if let address = device.address, device.linkedAt != nil { output += [.dropLink(address), .disconnect(address)] }
        }
        for entry in list {
            if var known = devices[entry.id] {
                let former = known.configured
                known.configured = entry
                devices[entry.id] = known
                // An address that was corrected in the configuration is the operator's word.
                if former.address != entry.address, let address = entry.address, address != known.address { replaceAddress(of: entry.id, by: address, at: now) }
            } else {
                // An address belongs to one device: what another has adopted is taken.
                let bond = bonds[entry.id].flatMap { self.device(at: $0.address) == nil ? $0 : nil }
                let address = bond?.address ?? entry.address.flatMap { address in
                    self.device(at: address) == nil && !bonds.values.contains { $0.device != entry.id && ids.contains($0.device) && $0.address == address } ? address : nil
                }
                devices[entry.id] = Device(
                    configured: entry, address: address, bond: bond.map { $0.longTermKeys.isEmpty } ?? true ? .none : .stored,
                    phase: address == nil ? .unplaced : .expected(since: now))
            }
        }
        return finish(at: now)
    }

    /// Another controller is in use, and the store has these bonds with it. To be told before `controllerReady`.
    public mutating func rebond(_ bonds: [Bond], at now: BootInstant) -> [ConnectorAction] {
        let bonds = Dictionary(bonds.map { ($0.device, $0) }) { _, last in last }
        for (id, device) in devices {
            let isBonded = bonds[id].map { $0.address == device.address && !$0.longTermKeys.isEmpty } ?? false
            devices[id]?.bond = isBonded ? .stored : .none
            // What became of the keys of another controller says nothing of this one's.
            devices[id]?.keysLost = false
            devices[id]?.toldBondLost = false
        }
        return finish(at: now)
    }

    /// Something has happened.
    public mutating func handle(_ input: ConnectorInput, at now: BootInstant) -> [ConnectorAction] {
        switch input {
        case .controllerReady: controllerReady(at: now)
        case .controllerUnavailable: controllerUnavailable()
        case .controllerGone: controllerGone(at: now)
        case .connected(let address): connected(address, at: now)
        case .disconnected(let address, let reason): disconnected(address, reason, at: now)
        case .connectFailed(let address): connectFailed(address, at: now)
        case .authenticationFailed(let address): authenticationFailed(address, at: now)
        case .heard(let sighting): heard(sighting, at: now)
        case .scanEnded(let failed): scanEnded(failed: failed, at: now)
        case .linkAccepted(let address): linkAccepted(address, at: now)
        case .securityEnded(let device, let outcome): securityEnded(device, outcome, at: now)
        case .keysReceived(let device, let acceptable): keysReceived(device, acceptable, at: now)
        case .keysStored(let device, let stored): keysStored(device, stored, at: now)
        case .bondRemoved(let device): bondRemoved(device, at: now)
        case .subscribed(let device): subscribed(device)
        case .served(let device): served(device)
        case .securityDemanded(let device): securityDemanded(device, at: now)
        case .linkReleased(let device): linkReleased(device, at: now)
        case .parametersWanted(let device, let parameters): parametersWanted(device, parameters)
        case .trialEnded(let address, let result): trialEnded(address, result, at: now)
        case .adoptionStored(let device, let stored): adoptionStored(device, stored, at: now)
        case .openPairing(let device): openPairing(device, at: now)
        case .closePairing: closePairing(at: now)
        case .scan(let duration): search.wantedUntil = now + min(max(duration, .zero), .seconds(3_600))
        case .stopScan: search.wantedUntil = nil
        case .forget(let device): forget(device, at: now)
        case .timer: break
        }
        return finish(at: now)
    }

    /// What is due by itself, then what follows from the state as a whole.
    private mutating func finish(at now: BootInstant) -> [ConnectorAction] {
        if let window, window.until <= now { closePairing(at: now) }
        for id in devices.keys.sorted() {
            if let until = devices[id]?.permittedUntil, until <= now { devices[id]?.permittedUntil = nil }
            if let device = devices[id], let deadline = deadline(of: device), deadline <= now { expired(id, device, at: now) }
        }
        if let until = trial?.until, until <= now, let address = trial?.address {
            output.append(.abandonTrial(address))
            trialEnded(address, .failure(.timeout), at: now)
        }
        candidates.prune(at: now, settings)
        chooseCandidate(at: now)
        checkForSilence(at: now)
        runSearch(at: now)
        tellStates()
        let list = wantedList()
        var actions = output
        output = []
        guard list != listed else { return actions }
        listed = list
        // Off the list before the disconnection, or the kernel redials; on the list after the keys.
        actions.insert(.setDevices(list), at: 0)
        return actions
    }

    // MARK: Parts

    /// The kernel's list: whoever is waited for or linked.
    private func wantedList() -> [ControllerDevice] {
        if isGone { return [] }
        return devices.keys.sorted().compactMap { id in
            guard let device = devices[id], let address = device.address else { return nil }
            switch device.phase {
            case .expected, .stale, .connecting, .securing, .awaitingKeys, .storing, .linked, .working, .ending:
                return ControllerDevice(address: address, parameters: device.parameters ?? device.configured.parameters)
            case .unplaced, .closing, .removing, .adopting, .needsPairing, .backingOff:
                return nil
            }
        }
    }

    private mutating func tellStates() {
        for id in devices.keys.sorted() {
            guard let device = devices[id] else { continue }
            let state = state(device)
            guard device.told != state else { continue }
            devices[id]?.told = state
            output.append(.event(.stateChanged(device: id, state)))
        }
    }

    private func state(_ device: Device) -> DeviceLinkState {
        if trial?.device == device.configured.id { return .pairing }
        switch device.phase {
        case .unplaced: return .noAddress
        case .expected: return .expected
        case .stale: return .stale
        case .securing where device.bond == .none: return .pairing
        case .awaitingKeys, .storing, .removing, .adopting, .closing(_, .removeBond): return .pairing
        case .connecting, .securing, .linked: return .linking
        case .working: return .working
        case .ending: return device.failures > 0 ? .linking : .expected
        case .closing(_, .needsPairing), .needsPairing: return .needsPairing
        case .closing, .backingOff: return .backingOff
        }
    }

    mutating func tell(_ event: ConnectorEvent) { output.append(.event(event)) }
}
