import Outbox
import Platform
import Radio

/// The collar's side of the books: what it announced, what it may forget, what its clock says.
extension CollarAgent {
    /// Lets the collar forget what is settled.
    func clearSettled(_ connection: CollarConnection, _ status: BetaMetrics) async throws {
        guard let clear = report.pendingClear, clear != givenUp?.clear else { return }
        // Where numbers went back they name other windows now than those that were settled.
        if let books, SyncPlanner.wentBack(status, books) { return }
        switch try await ClearProcedure(clear: clear).run(connection) {
        case .cleared:
            services.log(.debug, .collarCleared, "\(device.name): cleared through \(clear.through)", LogField("DEVICE", device.serial))
            try await make([.cleared(device: device.serial, log: clear.log, through: clear.through)])
        case .logGone:
            try await make([.logEnded(device: device.serial, log: clear.log)])
        case .later: break
        case .refused(let why):
            services.log(.error, .clearRefused, "\(device.name): the clear through \(clear.through) was refused: \(why)", LogField("DEVICE", device.serial))
            try await make([.clearRefused(device: device.serial, log: clear.log, through: clear.through)])
            try checkUp(connection)
            if let refused = report.pendingClear { givenUp = (refused, why) }
            report.lastError = refusedClear
        }
    }

    func loadBooks() async throws {
        let record = try await services.store.device(device.serial)
        ownersLost = record?.assignmentsLost ?? false
        books = record.flatMap(CollarBooks.init)
        report.checkpoint = books?.checkpoint
        report.settledEnd = record?.current?.settledEnd
        report.pendingClear = record?.pendingClear
        if let status = report.status { heard(status) }
        services.onEvent(.changed)
    }

    /// Takes in what the collar says it holds.
    func heard(_ status: BetaMetrics) {
        report.status = status
        guard let books, books.log == status.log else {
            report.unread = UInt64(status.held)
            trigger.announced(unread: report.unread, now: services.loop.now)
            return
        }
        let next = SequenceNumber.unwrap(status.next, near: books.checkpoint)
        let start = max(books.checkpoint, next - min(UInt64(status.held), next))
        report.unread = next > start ? next - start : 0
        if announced.map({ $0.log != status.log || $0.next < next }) ?? true { announced = (status.log, next) }
        trigger.announced(unread: report.unread, now: services.loop.now)
    }

    func lookAtClock(_ connection: CollarConnection, _ status: BetaMetrics) async throws {
        let hub = services.wallClock.read()
        let isSet = status.flags.contains(.clockIsSet)
        clock.compared(device: isSet ? status.time : nil, hub: hub)
        guard !clockChecked else { return }
        try checkUp(connection)
        clockChecked = true
        guard hub.synchronised, let seconds = UInt32(exactly: hub.seconds), !isSet || abs(Int64(status.time) - hub.seconds) > 2 else { return }
        switch try await connection.setTime(seconds) {
        case .set: break
        case .busy:
            clockChecked = false
            return
        case .unsupported(let error):
            note(error)
            return
        }
        clock.wasSet(at: SequenceNumber.unwrap(status.next, near: books?.checkpoint ?? UInt64(status.oldest)))
        services.log(.info, .deviceClockSet, "\(device.name): its clock was \(isSet ? "wrong" : "not set") and has been set", LogField("DEVICE", device.serial))
    }

    func label(_ status: BetaMetrics, part: BatchCutter.ClockKind?, at sequence: UInt64) -> ClockLabel {
        ClockLabel(status: status, kind: part, offset: clock.offset(at: sequence), hub: services.wallClock.read())
    }

    /// Makes changes durable; one that the outbox refuses is a fault of the books or of the collar and ends the pass.
    func make(_ changes: [Change]) async throws {
        for outcome in try await services.store.commit(changes) {
            if case .refused(let refusal) = outcome {
                throw ChangeRefused(refusal: refusal)
            }
        }
        try await loadBooks()
    }
}
