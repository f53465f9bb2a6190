extension ControllerMachine.Search {
    var tag: UInt64 {
        switch self {
        case .version(let tag), .commands(let tag), .list(let tag), .information(let tag, _, _): tag
        }
    }
}

/// Which controller is used: the configured one, or the first that speaks LE.
extension ControllerMachine {
    /// Begins to look, from wherever the machine is.
    mutating func search() -> [ControllerAction] {
        let left = leave()
        let tag = newTag()
        phase = .searching(.version(tag: tag), again: false)
        return left + [.command(.readVersion, .none, tag: tag)]
    }

    /// What every state leaves behind when it ends: its timers, and a scan whose end somebody waits for.
    mutating func leave() -> [ControllerAction] {
        let timers: [ControllerAction] = ControllerTimer.allCases.map { .cancelTimer($0) }
        guard case .active(var active) = phase, let scan = active.scan else { return timers }
        active.scan = nil
        phase = .active(active)
        return timers + [.event(.scanEnded(heard: scan.heard, failure: .notPowered))]
    }

    /// The controller lost what was set, without being to blame. The more often that happens the longer it is left alone.
    mutating func wasReset(_ index: ControllerIndex) -> [ControllerAction] {
        resets += 1
        let pause = min(policy.settlePause * (1 << min(resets - 1, 10)), policy.absencePause)
        return wait(.reset(index), for: pause)
    }

    mutating func found(_ search: Search, _ outcome: ManagementMachine.Outcome, again: Bool) -> [ControllerAction] {
        switch (search, outcome) {
        case (_, .unanswered):
            return troubled(.silent(.readVersion))
        case (.version, _):
            if case .done(.version(let version)) = outcome { self.version = version }
            return ask(again) { .commands(tag: $0) }
        case (.commands, _):
            if case .done(.supportedCommands(let commands)) = outcome { supported = commands }
            return ask(again) { .list(tag: $0) }
        case (.list, .done(.controllers(let indices))):
            return consider(indices.sorted(), again: again)
        case (.list, _):
            return consider([], again: again)
        case (.information(_, let index, _), .done(.information(let information))) where isUsable(information):
            return setUp(index, information)
        case (.information(_, _, let rest), _):
            return consider(rest, again: again)
        }
    }

    private mutating func ask(_ again: Bool, _ next: (UInt64) -> Search) -> [ControllerAction] {
        let tag = newTag()
        let search = next(tag)
        phase = .searching(search, again: again)
        switch search {
        case .version: return [.command(.readVersion, .none, tag: tag)]
        case .commands: return [.command(.readSupportedCommands, .none, tag: tag)]
        case .list:
            let extended = supported.contains(.readExtendedIndexList)
            return [.command(extended ? .readExtendedIndexList : .readIndexList, .none, tag: tag)]
        case .information(_, let index, _): return [.command(.readControllerInformation, index, tag: tag)]
        }
    }

    private mutating func consider(_ candidates: [ControllerIndex], again: Bool) -> [ControllerAction] {
        if let index = candidates.first {
            return ask(again) { .information(tag: $0, of: index, rest: Array(candidates.dropFirst())) }
        }
        if again { return ask(false) { .list(tag: $0) } }
        return wait(policy.controller.map { .notFound($0) } ?? .none, for: policy.absencePause)
    }

    private func isUsable(_ information: ControllerInformation) -> Bool {
        guard information.supported.isSuperset(of: [.powered, .lowEnergy]) else { return false }
        return policy.controller == nil || information.publicAddress == policy.controller
    }

    /// Nothing can be done at the moment.
    mutating func wait(_ absence: ControllerAbsence, for pause: Duration) -> [ControllerAction] {
        let left = leave()
        let index: ControllerIndex? = switch absence {
        case .none, .notFound, .removed: nil
        case .blocked(let index), .notPermitted(let index), .reset(let index), .recovering(let index, _): index
        }
        phase = .waiting(for: index)
        return left + unavailable(absence) + [.startTimer(.retry, pause)]
    }

    /// Tells why nothing can be done, unless that is known.
    mutating func unavailable(_ absence: ControllerAbsence) -> [ControllerAction] {
        guard self.absence != absence else { return [] }
        self.absence = absence
        return [.event(.unavailable(absence))]
    }
}
