extension ControllerTrouble {
    /// What of a trouble is remembered until it is cured.
    var kind: String { code }

    /// Kinds that are cured when the controller has worked for a while; the others when a link was made or something was heard.
    static let kindsCuredByTime: Set<String> = ["controller-silent", "controller-set-up-failed"]
}

/// The ladder: a power cycle, and if the same trouble comes again before it was cured, the end of the process.
extension ControllerMachine {
    mutating func troubled(_ trouble: ControllerTrouble) -> [ControllerAction] {
        guard tried.insert(trouble.kind).inserted else { return exit(trouble) }
        busyCount = 0
        unheardScans = 0
        failures = 0
        guard case .active(let active) = phase else {
            // Not even the kernel answers; there is nothing to cycle.
            return wait(.none, for: policy.absencePause)
        }
        return unavailable(.recovering(active.index, trouble)) + cycle(active.index)
    }

    private mutating func cycle(_ index: ControllerIndex) -> [ControllerAction] {
        let left = leave()
        channels = []
        let tag = newTag()
        phase = .cycling(index, tag: tag)
        return left + [.command(.setPowered(false), index, tag: tag)]
    }

    mutating func exit(_ trouble: ControllerTrouble) -> [ControllerAction] {
        let left = leave()
        phase = .exiting(trouble)
        return left + [.exit(trouble), .startTimer(.retry, policy.absencePause)]
    }

    /// Switches the controller off and sets it up anew; it is no trouble, and leads to no exit.
    public mutating func powerCycle() -> [ControllerAction] {
        guard case .active(let active) = phase else { return [] }
        return unavailable(.reset(active.index)) + cycle(active.index)
    }

    /// A connection was refused as busy (EBUSY of connect, status Busy): the connector saw it, or a command here.
    public mutating func connectionWasBusy() -> [ControllerAction] {
        guard readyIndex != nil else { return [] }
        busyCount += 1
        return busyCount >= policy.busyLimit ? troubled(.busy) : []
    }

    /// A link was made.
    mutating func linkWasMade() {
        busyCount = 0
        failures = 0
        tried.remove(ControllerTrouble.busy.kind)
        somethingWasHeard()
    }

    mutating func somethingWasHeard() {
        unheardScans = 0
        tried.remove(ControllerTrouble.unheard(scans: 0).kind)
    }
}
