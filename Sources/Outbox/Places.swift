/// Who may fill the next free place of the queue.
///
/// A value without I/O: it counts queued entries and reservations, keeps the line of the devices that wait, and hands out places in
/// turn. A place is reserved before anything is read from a device, so that what was read always has somewhere to go. At most
/// `total` places are used, at most `collars` of them by collars; no owner holds more collar places than their
/// equal share while a collar of another owner waits (invariant I3), nor the last one that an owner without any may come to need.
public struct Places: Sendable {
    /// The right to enqueue one entry of one device.
    public struct Reservation: Sendable, Hashable {
        let number: UInt64
        /// The serial number of the device.
        public let device: String
        /// The owner that the place counts for.
        public let owner: String
        /// The kind of device.
        public let kind: DeviceKind
    }

    private struct Waiting: Sendable {
        let device: String
        let owner: String
        let kind: DeviceKind
    }

    private struct Holder: Hashable, Sendable {
        let owner: String
        let kind: DeviceKind
    }

    private let total: Int
    private let collars: Int
    private var owners: Int
    private var expected: Set<String> = []
    private var entries: [Holder: Int] = [:]
    private var reservations: Set<Reservation> = []
    private var line: [Waiting] = []
    private var lastNumber: UInt64 = 0

    /// - Parameters:
    ///   - settings: the bounds, those of the outbox.
    ///   - owners: the number of configured owners, who share the collar places.
    public init(_ settings: OutboxSettings = OutboxSettings(), owners: Int) {
        total = settings.places
        collars = settings.collarPlaces
        self.owners = owners
    }

    /// Owners who have a collar: for each of them who holds no collar place one is kept, where others have their share already.
    ///
    /// An entry cannot be taken back: without this, one owner whose entries are not delivered could have filled all places before another's
    /// collar came.
    public mutating func keepOne(for owners: Set<String>) { expected = owners }

    /// The number of configured owners has changed.
    public mutating func setOwners(_ count: Int) { owners = count }

    /// Takes the queue as it is; reservations stand.
    public mutating func update(queued: [EntryHead]) {
        entries = [:]
        for head in queued { entries[Holder(owner: head.owner, kind: head.kind), default: 0] += 1 }
    }

    /// An entry left the queue.
    public mutating func entryLeft(owner: String, kind: DeviceKind) {
        let holder = Holder(owner: owner, kind: kind)
        if let count = entries[holder] { entries[holder] = count > 1 ? count - 1 : nil }
    }

    /// The device has something to store. It joins the end of the line, unless it stands in it already; then only its owner is taken anew.
    public mutating func wait(device: String, owner: String, kind: DeviceKind) {
        let waiting = Waiting(device: device, owner: owner, kind: kind)
        if let position = line.firstIndex(where: { $0.device == device }) {
            line[position] = waiting
        } else {
            line.append(waiting)
        }
    }

    /// The device has nothing to store any more, or is gone.
    public mutating func leave(device: String) { line.removeAll { $0.device == device } }

    /// Whether the device stands in the line.
    public func waits(device: String) -> Bool { line.contains { $0.device == device } }

    /// Hands out the places that are free, one to a device, in the order of the line. Who was given one has left the line and may
    /// join its end again.
    public mutating func grant() -> [Reservation] {
        var granted: [Reservation] = []
        while let position = line.firstIndex(where: mayHave) {
            let waiting = line.remove(at: position)
            lastNumber += 1
            let reservation = Reservation(number: lastNumber, device: waiting.device, owner: waiting.owner, kind: waiting.kind)
            reservations.insert(reservation)
            granted.append(reservation)
        }
        return granted
    }

    /// The reservation ends without an entry: its place is free.
    public mutating func release(_ reservation: Reservation) { reservations.remove(reservation) }

    /// The reservation became an entry of the queue. Does nothing for one that has ended.
    public mutating func fill(_ reservation: Reservation) {
        guard reservations.remove(reservation) != nil else { return }
        entries[Holder(owner: reservation.owner, kind: reservation.kind), default: 0] += 1
    }

    /// Queued entries and reservations together.
    public var used: Int { entries.values.reduce(0, +) + reservations.count }

    /// Those of them that are collars'.
    public var usedByCollars: Int { held { $0.kind == .collar } }

    /// Reservations that stand.
    public var reserved: Int { reservations.count }

    private func held(_ matches: (Holder) -> Bool) -> Int {
        let stored = entries.reduce(0) { $0 + (matches($1.key) ? $1.value : 0) }
        return stored + reservations.count { matches(Holder(owner: $0.owner, kind: $0.kind)) }
    }

    private func mayHave(_ waiting: Waiting) -> Bool {
        guard used < total else { return false }
        guard waiting.kind == .collar else { return true }
        guard usedByCollars < collars else { return false }
        let share = max(1, collars / max(1, owners))
        if held({ $0.kind == .collar && $0.owner == waiting.owner }) < share { return true }
        // Beyond the share, counted over owners who wait, not over those who are configured: what nobody asks for need not stay empty, but for one.
        if line.contains(where: { $0.kind == .collar && $0.owner != waiting.owner }) { return false }
        let without = expected.count { owner in owner != waiting.owner && held { $0.kind == .collar && $0.owner == owner } == 0 }
        return usedByCollars + without < collars
    }
}
