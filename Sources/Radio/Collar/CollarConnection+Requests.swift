/// What the hub asks of a collar.
extension CollarConnection {
    /// Asks the collar for its Beta Metrics: opcode 0x05, or the characteristic when the ATT_MTU is under 26 or the firmware has no such opcode.
    ///
    /// - Throws: `CollarError`.
    public func status() async throws(CollarError) -> BetaMetrics {
        let handles = try openHandles()
        if await client.mtu >= 26, !statusIsUnsupported {
            let answer = try await perform(.status)
            switch answer.result {
            case .ok: return try BetaMetrics(parsing: answer.payload)
            case .unsupported: statusIsUnsupported = true
            default: throw answer.failure
            }
        }
        do {
            return try BetaMetrics(parsing: try await client.read(handles.heartbeat))
        } catch {
            throw CollarError(cause: error)
        }
    }

    /// Reads `count` windows of `log` from `first` on (opcode 0x01), as often and in as many parts as `RangeReadMachine` finds necessary. The caller
    /// bounds `count`: the windows are held in memory. One read at a time; a second one is answered with `.busy`.
    ///
    /// - Returns: what came in order, and how it ended; a lost link is such an end.
    /// - Throws: `CollarError` when the connection is not open, and nothing was read.
    public func read(log: UInt32, first: UInt32, count: UInt32) async throws(CollarError) -> RangeRead {
        _ = try openHandles()
        guard reading == nil else { return RangeRead(end: .busy) }
        return await withCheckedContinuation { (continuation: CheckedContinuation<RangeRead, Never>) in
            beginReading(log, RangeReadMachine(first: first, count: count)) { continuation.resume(returning: $0) }
        }
    }

    /// Lets the collar forget every window of `log` up to and including `through` (opcode 0x03).
    ///
    /// - Throws: `CollarError`: no answer, or one that the profile does not have.
    public func clear(log: UInt32, through: UInt32) async throws(CollarError) -> ClearAnswer {
        _ = try openHandles()
        let answer = try await perform(.clear(log: log, through: through))
        switch answer.result {
        case .ok:
            let range = try answer.range()
            return .cleared(oldest: range.oldest, next: range.next)
        case .wrongLog: return .wrongLog
        case .clearRefused: return .refused
        case .busy: return .busy
        case .flashError: return .flashError
        case .unsupported, .badLength: return .unsupported(answer.failure)
        default: throw answer.failure
        }
    }

    /// Sets the collar's clock (opcode 0x04).
    ///
    /// - Parameter seconds: since 1970.
    /// - Throws: `CollarError`: no answer, or one that the profile does not have.
    public func setTime(_ seconds: UInt32) async throws(CollarError) -> SetTimeAnswer {
        _ = try openHandles()
        let answer = try await perform(.setTime(seconds: seconds))
        switch answer.result {
        case .ok: return .set
        case .busy: return .busy
        case .unsupported, .badLength: return .unsupported(answer.failure)
        default: throw answer.failure
        }
    }

    /// Ends a running read (opcode 0x02): it returns what it has, with `.stopped` unless that is all. Without one it changes nothing.
    ///
    /// - Throws: `CollarError`: no answer, or one that is not `ok`.
    public func stop() async throws(CollarError) {
        _ = try openHandles()
        reading?.machine.stop()
        let answer = try await perform(.stop)
        guard answer.result == .ok else { throw answer.failure }
    }
}
