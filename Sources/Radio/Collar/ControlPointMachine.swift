/// Decides which request is written to the control point when, and whose answer an indication is.
///
/// One request at a time: the next one is written when the one before it was answered. A read leaves that place as soon as its write was
/// acknowledged and *runs*: others are served beside it, and its answer comes after the last window. Answers are told apart by opcode, which is
/// unambiguous as there is one request of each opcode at most. An answer that does not come in time ends the connection (the shell's timer), so that a late
/// one cannot be taken for that of a later request.
struct ControlPointMachine {
    typealias ID = UInt64

    enum Action: Equatable {
        case write(ID, ControlRequest)
        case answer(ID, ControlAnswer)
        case fail(ID, CollarError)
        /// Something came that nothing asked for, or that could not be read. It answers nothing.
        case report(CollarError)
    }

    private struct Exchange {
        let id: ID
        let opcode: ControlOpcode
    }

    /// Written or being written, and not answered; not a read that runs.
    private var current: Exchange?
    /// The read that runs.
    private var running: ID?
    private var queue: [(id: ID, request: ControlRequest)] = []
    private var closed: CollarError?

    /// Whether a request other than a running read waits for its answer.
    var isAwaitingAnswer: Bool { current != nil }

    /// A request of the hub. `id` must be new.
    mutating func submit(_ request: ControlRequest, id: ID) -> [Action] {
        if let closed { return [.fail(id, closed)] }
        if request.opcode == .readRange, hasRead { return [.fail(id, CollarError(.busy, "a read is running on this connection"))] }
        queue.append((id, request))
        return advance()
    }

    /// The peer has acknowledged the write.
    mutating func written(_ id: ID) -> [Action] {
        // The answer may have overtaken the acknowledgement; then there is nothing left to do.
        guard let current, current.id == id, current.opcode == .readRange else { return [] }
        running = id
        self.current = nil
        return advance()
    }

    /// The write failed; the collar has not taken the request.
    mutating func writeFailed(_ id: ID, _ error: CollarError) -> [Action] {
        guard let current, current.id == id else { return [] }
        self.current = nil
        return [.fail(id, error)] + advance()
    }

    /// An indication of the control point.
    mutating func indication(_ bytes: [UInt8]) -> [Action] {
        guard closed == nil else { return [] }
        let answer: ControlAnswer
        do throws(CollarError) { answer = try ControlAnswer(parsing: bytes) } catch { return [.report(error)] }
        if let id = running, answer.opcode == ControlOpcode.readRange.rawValue {
            running = nil
            return [.answer(id, answer)] + advance()
        }
        if let current, answer.opcode == current.opcode.rawValue {
            self.current = nil
            return [.answer(current.id, answer)] + advance()
        }
        return [.report(CollarError(.unsolicitedAnswer, "an answer for opcode \(answer.opcode) that was not asked"))]
    }

    /// The connection has ended: nothing is answered any more.
    mutating func close(_ error: CollarError) -> [Action] {
        guard closed == nil else { return [] }
        closed = error
        let pending = [running, current?.id].compactMap { $0 } + queue.map(\.id)
        running = nil
        current = nil
        queue = []
        return pending.map { .fail($0, error) }
    }

    private var hasRead: Bool {
        running != nil || current?.opcode == .readRange || queue.contains { $0.request.opcode == .readRange }
    }

    private mutating func advance() -> [Action] {
        guard closed == nil, current == nil, !queue.isEmpty else { return [] }
        let (id, request) = queue.removeFirst()
        current = Exchange(id: id, opcode: request.opcode)
        return [.write(id, request)]
    }
}
