import Outbox
import Platform
import Radio

/// Sends one clear and, when the collar refuses it (result 7), looks once more before it is reported: the window `through` is read again and
/// must be the one that was settled.
struct ClearProcedure {
    /// How it ended.
    enum Outcome: Equatable {
        case cleared
        /// The log is not the collar's any more.
        case logGone
        case refused(String)
        /// The collar is busy: the clear stays pending.
        case later
    }

    let clear: PendingClear

    /// - Throws: `CollarError`: the link went down; the clear stays pending.
    func run(_ connection: CollarConnection) async throws -> Outcome {
        let through = SequenceNumber.wire(clear.through)
        if let outcome = try await ask(connection, through) { return outcome }
        guard let crc = clear.crc else { return .refused("the collar never sent window \(through), which is reported as a gap") }
        let read = try await connection.read(log: clear.log, first: through, count: 1)
        switch read.end {
        case .complete: break
        case .wrongLog: return .logGone
        case .notHeld: return .refused("the collar does not hold window \(through)")
        case .busy: return .later
        case .unreadable: return .refused("window \(through) cannot be read again")
        case .interrupted(let error): throw error
        }
        guard let window = CollarWindow(read.windows), window.crc == crc else {
            return .refused("window \(through) is not the one that was delivered: its check sum differs")
        }
        return try await ask(connection, through) ?? .refused("twice, although window \(through) is the one that was delivered")
    }

    /// - Returns: `nil` when the collar refused.
    private func ask(_ connection: CollarConnection, _ through: UInt32) async throws -> Outcome? {
        switch try await connection.clear(log: clear.log, through: through) {
        case .cleared: .cleared
        case .wrongLog: .logGone
        case .refused: nil
        case .busy: .later
        case .flashError: .refused("the collar's flash could not do it")
        case .unsupported(let error): .refused("\(error)")
        }
    }
}
