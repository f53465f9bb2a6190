import Platform

extension SimulatedCollar {
    /// Makes the collar wait the next time it comes to this moment.
    public func arm(_ point: HoldPoint) { armed.insert(point) }

    /// Forgets a hold that has not come into effect.
    public func disarm(_ point: HoldPoint) { armed.remove(point) }

    /// Lets the collar go on.
    ///
    /// - Returns: whether it was waiting.
    @discardableResult
    public func release() -> Bool {
        guard let point = held else { return false }
        held = nil
        var requests = heldRequests
        heldRequests = []
        // The request that was held itself has had its hold; those that came behind it may meet another.
        if point != .clearAnswered, !requests.isEmpty { serve(requests.removeFirst()) }
        for waiting in requests { request(waiting) }
        pump()
        return true
    }

    /// Whether the collar waits from here on.
    func hold(at point: HoldPoint) -> Bool {
        guard armed.remove(point) != nil else { return false }
        held = point
        emit(.held(point))
        return true
    }

    /// What may happen in each second.
    func misbehave() {
        let faults = configuration.faults
        // Every second rolls every die, so that a fault that had no link to happen to does not move the others.
        let drops = dice.roll(faults.linkDropPerSecond, .second)
        let fades = dice.roll(faults.supervisionTimeoutPerSecond, .second)
        let falls = dice.roll(faults.silencePerSecond, .second)
        let changes = dice.roll(faults.batteryChangePerSecond, .second)
        let formats = dice.roll(faults.formatPerSecond, .second)
        if falls, link != nil {
            count("silence")
            silence()
        }
        if fades, let link, link.supervision == nil {
            count("supervision-timeout")
            fade()
        }
        if drops, link != nil {
            count("link-drop")
            dropLink()
        }
        if changes {
            count("battery-change")
            changeBattery()
        }
        if formats {
            count("format")
            format()
        }
    }

    /// Rolls for a fault of a request, and counts it.
    func misbehaves(_ probability: Double, _ name: String) -> Bool {
        guard dice.roll(probability, .request) else { return false }
        count(name)
        return true
    }

    func count(_ fault: String) { faultCounts[fault, default: 0] += 1 }
}
