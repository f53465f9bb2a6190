import Outbox
import Platform

/// Hands the queue's places to the agents that need them, in turn.
///
/// An agent asks for a place before it reads. When none is free it stands in line, ends its pass, and is woken when it has been given one.
actor PlaceBroker {
    /// The right to store one entry. Give it back when the entry is stored, or will not be.
    struct Place: Sendable {
        fileprivate let reservation: Places.Reservation
        fileprivate let broker: PlaceBroker

        /// Ends the reservation. Called on the loop.
        func giveBack() {
            broker.assumeIsolated { $0.release(reservation) }
        }
    }

    private let loop: any EventLoop
    private let onGranted: @Sendable (_ device: String) -> Void
    private let onLineChanged: @Sendable () -> Void
    private var places: Places
    /// Places given to devices that have not come for them yet.
    private var granted: [String: Places.Reservation] = [:]
    private var line: Set<String> = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - onGranted: a device that waited has a place now; called on the loop.
    ///   - onLineChanged: whether anybody waits has changed; called on the loop.
    init(loop: any EventLoop, places: Places, onGranted: @escaping @Sendable (String) -> Void, onLineChanged: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.places = places
        self.onGranted = onGranted
        self.onLineChanged = onLineChanged
    }

    /// Whether a device wants to store something and has no place: reading has stopped.
    var isFull: Bool { !line.isEmpty }

    /// Asks for a place.
    ///
    /// - Parameter waiting: whether the device joins the line when none is free.
    /// - Returns: `nil` when none is.
    func reserve(device: String, owner: String, kind: DeviceKind = .collar, waiting: Bool = true) -> Place? {
        if let kept = granted.removeValue(forKey: device) {
            if kept.owner == owner { return Place(reservation: kept, broker: self) }
            places.release(kept)
        }
        places.wait(device: device, owner: owner, kind: kind)
        distribute(except: device)
        if let reservation = granted.removeValue(forKey: device) {
            lineChanged(device, waits: false)
            return Place(reservation: reservation, broker: self)
        }
        if !waiting { places.leave(device: device) }
        lineChanged(device, waits: waiting)
        return nil
    }

    /// The device needs no place any more, or is gone.
    func leave(device: String) {
        places.leave(device: device)
        lineChanged(device, waits: false)
        guard let kept = granted.removeValue(forKey: device) else { return }
        release(kept)
    }

    /// The queue changed.
    func update(queued: [EntryHead]) {
        places.update(queued: queued)
        distribute(except: nil)
    }

    fileprivate func release(_ reservation: Places.Reservation) {
        places.release(reservation)
        distribute(except: nil)
    }

    private func distribute(except asking: String?) {
        for reservation in places.grant() {
            granted[reservation.device] = reservation
            lineChanged(reservation.device, waits: false)
            if reservation.device != asking { onGranted(reservation.device) }
        }
    }

    private func lineChanged(_ device: String, waits: Bool) {
        let before = line.isEmpty
        if waits { line.insert(device) } else { line.remove(device) }
        if before != line.isEmpty { onLineChanged() }
    }
}
