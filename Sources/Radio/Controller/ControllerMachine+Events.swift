/// What the management channel tells.
extension ControllerMachine {
    /// An event has come.
    public mutating func received(_ event: ManagementEvent, from index: ControllerIndex) -> [ControllerAction] {
        switch event {
        case .indexAdded:
            known.remove(index)
            return indexAdded(index)
        case .indexRemoved:
            known.remove(index)
            return indexRemoved(index)
        default: break
        }
        guard case .active(let active) = phase, active.index == index else { return [] }
        switch event {
        case .newSettings(let settings):
            return settingsChanged(settings)
        case .deviceConnected(let address, _, _):
            linkWasMade()
            return [.event(.connected(address))]
        case .deviceDisconnected(let address, let reason):
            channels.remove(address)
            let back = unpaired.remove(address) == nil ? [] : putBack(address)
            return [.event(.disconnected(address, reason))] + back
        case .connectFailed(let address, let status):
            return [.event(.connectFailed(address, status))] + (status == .busy ? connectionWasBusy() : [])
        case .deviceFound(let advertisement):
            return heard(advertisement)
        case .discovering(let on):
            return discovering(on)
        case .newLongTermKey(let key, let store):
            guard store else { return [] }
            bonds.add(key)
            return [.event(.newLongTermKey(key))]
        case .newIdentityResolvingKey(let key, let randomAddress, let store):
            guard store else { return [] }
            bonds.add(key)
            return [.event(.newIdentityResolvingKey(key, randomAddress: randomAddress))]
        case .newConnectionParameters(let address, let parameters, let store):
            return store ? [.event(.newConnectionParameters(address, parameters))] : []
        case .userConfirmationRequest(let address, let justWorks, let value):
            // Nobody here can compare numbers.
            let accept = pairingAnswer(justWorks ? .justWorks : .comparison(value), to: address) == .accept
            return answer(address, .userConfirmationReply(address, accept: accept), accepted: accept)
        case .userPasskeyRequest(let address):
            guard case .enter(let passkey) = pairingAnswer(.passkey, to: address) else {
                return answer(address, .userPasskeyReply(address, nil), accepted: false)
            }
            return answer(address, .userPasskeyReply(address, passkey), accepted: true)
        case .passkeyNotify(let address, let passkey, _):
            return [.event(.passkeyToShow(address, passkey))]
        case .authenticationFailed(let address, let status):
            return [.event(.authenticationFailed(address, status))]
        case .deviceUnpaired(let address):
            bonds.remove(address)
            return [.event(.unpaired(address, .success))]
        case .deviceRemoved(let address):
            // Somebody else took it off the list.
            return putBack(address)
        case .indexAdded, .indexRemoved, .controllerError, .deviceAdded, .other:
            return []
        }
    }

    private mutating func answer(_ address: BluetoothAddress, _ reply: ManagementCommand, accepted: Bool) -> [ControllerAction] {
        guard case .active(let active) = phase else { return [] }
        return command(reply, as: .reply(address), active.index) + (accepted ? [] : [.event(.pairingRefused(address))])
    }

    private mutating func heard(_ advertisement: Advertisement) -> [ControllerAction] {
        guard case .active(var active) = phase else { return [] }
        active.scan?.heard += 1
        phase = .active(active)
        somethingWasHeard()
        return [.event(.found(advertisement))]
    }

    private mutating func discovering(_ on: Bool) -> [ControllerAction] {
        guard case .active(var active) = phase, var scan = active.scan else { return [] }
        if on {
            scan.isRunning = true
            active.scan = scan
            phase = .active(active)
            return []
        }
        // The end of an earlier scan may be told after a new one was asked for.
        return scan.isRunning ? scanEnded(nil) : []
    }

    // MARK: Controllers that come and go

    private mutating func indexAdded(_ index: ControllerIndex) -> [ControllerAction] {
        switch phase {
        case .waiting:
            return search()
        case .searching(let search, _):
            phase = .searching(search, again: true)
            return []
        case .active(let active):
            return active.index == index ? replaced(index) : []
        case .cycling(let cycled, _):
            return cycled == index ? replaced(index) : []
        case .stopped, .exiting:
            return []
        }
    }

    /// Under its number is another controller now, or the same after a reset: nothing of what was set holds.
    private mutating func replaced(_ index: ControllerIndex) -> [ControllerAction] {
        channels = []
        return unavailable(.reset(index)) + search()
    }

    private mutating func indexRemoved(_ index: ControllerIndex) -> [ControllerAction] {
        switch phase {
        case .active(let active) where active.index == index:
            channels = []
            return unavailable(.removed(index)) + search()
        case .cycling(index, _), .waiting(for: .some(index)):
            channels = []
            return unavailable(.removed(index)) + search()
        case .searching(.information(_, index, let rest), let again):
            return found(.information(tag: 0, of: index, rest: rest), .refused(.invalidIndex), again: again)
        default:
            return []
        }
    }

    // MARK: Settings

    /// What must be off while the hub works, and what on.
    private static let unwanted: ManagementSettings = [.brEDR, .advertising, .connectable, .discoverable]
    private static let wanted: ManagementSettings = [.powered, .lowEnergy]

    mutating func settingsChanged(_ settings: ManagementSettings) -> [ControllerAction] {
        guard case .active(var active) = phase else { return [] }
        active.information.current = settings
        phase = .active(active)
        // While the set-up is under way they change by its own steps.
        guard active.isReady, !settings.isSuperset(of: Self.wanted) || !settings.isDisjoint(with: Self.unwanted) else { return [] }
        // Without power there are no links; with it they stay.
        if !settings.contains(.powered) { channels = [] }
        return wasReset(active.index)
    }
}
