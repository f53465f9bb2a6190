import Outbox
import Platform
import Radio

/// One pass over a collar: what it holds beyond the checkpoint is brought into the outbox, step by step as the planner says.
extension CollarAgent {
    func pass(_ connection: CollarConnection) async throws {
        waitsForPlace = false
        var status = try await connection.status()
        heard(status)
        try await loadBooks()
        try await lookAtClock(connection, status)
        try await clearSettled(connection, status)
        let draining = await services.isDraining()
        guard needsReading(draining: draining) else { return }
        trigger.begin(draining: draining, now: services.loop.now)
        var stored = 0
        var fruitless = 0
        while stored < Self.passLimit {
            switch planner.step(status: status, books: books, ownersLost: ownersLost, formerNext: formerNext) {
            case .rest:
                setHold(nil)
                trigger.stored(0, leaving: 0, now: services.loop.now)
                return
            case .hold(let reason):
                setHold(reason)
                return
            case .begin(let beginning):
                guard try await begin(beginning, status: status) else { return }
            case .assign(let log, let assignment):
                try await make([.assign(device: device.serial, log: log, from: assignment.first, owner: assignment.owner)])
            case .report(let gaps):
                guard try await store(gaps, status: status) else { return }
            case .read(let order):
                setHold(nil)
                guard trigger.isDue(draining: draining, now: services.loop.now) || stored > 0 && report.unread >= trigger.batchWindows else { return }
                guard let outcome = try await read(order, connection, status: status) else { return }
                stored += 1
                let reached = books.map { max($0.checkpoint, order.first) - order.first } ?? 0
                trigger.stored(reached, leaving: report.unread, now: services.loop.now)
                fruitless = outcome == .nothing ? fruitless + 1 : 0
                guard fruitless < Self.fruitlessLimit else {
                    throw CollarError(.unexpectedResult, "it says that it holds window \(order.first) of log \(order.log), and does not when it is read")
                }
                if outcome != .whole {
                    status = try await connection.status()
                    heard(status)
                }
            }
            try await loadBooks()
            try await clearSettled(connection, status)
        }
        // More than one pass may do: the next wake-up goes on.
        wanted = true
    }

    /// The highest `next` that the collar announced in the log of the books.
    var formerNext: UInt64? { announced.flatMap { $0.log == books?.log ? $0.next : nil } }

    func needsReading(draining: Bool) -> Bool {
        guard let books, let status = report.status, status.log == books.log, books.unreported.isEmpty, books.owner == device.owner else { return true }
        let next = SequenceNumber.unwrap(status.next, near: books.checkpoint)
        if next < books.checkpoint || next - min(UInt64(status.held), next) > books.checkpoint { return true }
        return trigger.isDue(draining: draining, now: services.loop.now)
    }

    /// Opens the books of a log.
    ///
    /// - Returns: false when a report goes with it and has no place.
    private func begin(_ beginning: LogBeginning, status: BetaMetrics) async throws -> Bool {
        var changes: [Change] = [
            beginning.wentBack
                ? .restartLog(device: device.serial, log: beginning.log, base: beginning.base)
                : .beginLog(device: device.serial, log: beginning.log, base: beginning.base, formerEnd: beginning.formerEnd)
        ]
        changes += beginning.assignments.map { .assign(device: device.serial, log: beginning.log, from: $0.first, owner: $0.owner) }
        clock.logChanged()
        if let withheld = beginning.withheld {
            guard try await store(withheld, status: status, after: changes) else { return false }
        } else {
            try await make(changes)
        }
        // Not before: until the books are written, what was announced of the former log is all that tells how far it went.
        announced = (beginning.log, beginning.base + UInt64(status.held))
        if beginning.wentBack {
            services.log(.error, .logBegun, "\(device.name): the numbers of log \(beginning.log) went back; it is treated as a new log", LogField("DEVICE", device.serial))
        } else {
            services.log(.info, .logBegun, "\(device.name) writes log \(beginning.log)", LogField("DEVICE", device.serial))
        }
        return true
    }

    /// Stores a report of gaps.
    ///
    /// - Returns: false when no place is free; the pass ends and goes on when one is.
    private func store(_ gaps: GapReport, status: BetaMetrics, after changes: [Change] = []) async throws -> Bool {
        guard let place = await reserve(for: gaps.owner) else { return false }
        var changes = changes
        if let assignment = gaps.assignment {
            changes.append(.assign(device: device.serial, log: gaps.log, from: assignment.first, owner: assignment.owner))
        }
        let label = label(status, part: nil, at: gaps.next)
        changes.append(.enqueue(WindowBatch(
            device: device.serial, owner: gaps.owner, log: gaps.log, first: gaps.next, body: [], gaps: gaps.gaps,
            received: services.wallClock.read().seconds, clock: label.text, next: gaps.next)))
        defer { place.giveBack() }
        try await make(changes)
        logGaps(gaps.gaps)
        return true
    }

    /// How a read ended that may be followed by another.
    private enum ReadOutcome {
        case whole
        /// The collar stopped on the way: it has to say anew what it holds.
        case cut
        /// The same, and nothing came.
        case nothing
    }

    /// Reads one range and stores what came of it.
    ///
    /// - Returns: `nil` when no place is free; the pass ends and goes on when one is.
    private func read(_ order: ReadOrder, _ connection: CollarConnection, status: BetaMetrics) async throws -> ReadOutcome? {
        // The place comes before the request: what is read can always be stored.
        guard let place = await reserve(for: order.owner) else { return nil }
        defer { place.giveBack() }
        try checkUp(connection)
        enter(.reading)
        await stream(true)
        let count = min(order.count, await services.batchLimit(order.owner))
        var read = try await connection.read(log: order.log, first: SequenceNumber.wire(order.first), count: UInt32(count))
        if unsent.isGivenUp(after: read, of: order) {
            // The ones behind it would wait for ever, until the ring overwrites them all.
            read.unreadable = SequenceNumber.wire(order.first + UInt64(read.count))
            read.end = .unreadable
        }
        let batches = BatchWriter(device: device.serial, order: order, clock: clock, status: status, hub: services.wallClock.read()).batches(read)
        var places: [PlaceBroker.Place] = []
        defer { for place in places { place.giveBack() } }
        for _ in batches.dropFirst() {
            // Further parts are stored if there is room; otherwise they are read again.
            guard let further = await services.places.reserve(device: device.serial, owner: order.owner, waiting: false) else { break }
            places.append(further)
        }
        let kept = batches.prefix(1 + places.count)
        if !kept.isEmpty {
            try await make(kept.map { .enqueue($0) })
            for batch in kept { logGaps(batch.gaps) }
            failedLinks = 0
            services.onEvent(.stored)
        }
        switch read.end {
        case .complete, .unreadable: return .whole
        case .notHeld, .wrongLog: return kept.isEmpty ? .nothing : .cut
        case .busy: throw CollarError(.busy, "the collar reads for itself, or believes to be read")
        case .interrupted(let error): throw error
        }
    }

    /// A pass outlives its link while the disk is slow. What it finds afterwards says nothing about the link that came next.
    func checkUp(_ connection: CollarConnection) throws(CollarError) {
        guard self.connection === connection else { throw CollarError(.linkClosed, "the link ended during a pass") }
    }

    private func reserve(for owner: String) async -> PlaceBroker.Place? {
        let place = await services.places.reserve(device: device.serial, owner: owner)
        waitsForPlace = place == nil
        return place
    }
}
