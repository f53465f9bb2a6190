import Platform

/// The Control Point of one link: requests in, answers and windows out. No I/O, no clock.
public struct CollarControlPoint: Sendable {
    /// Opcodes of the profile.
    public enum Opcode: UInt8, Sendable {
        case readRange = 0x01
        case stop = 0x02
        case clear = 0x03
        case setTime = 0x04
        case status = 0x05

        fileprivate var parameterLength: Int {
            switch self {
            case .readRange: 12
            case .clear: 8
            case .setTime: 4
            case .stop, .status: 0
            }
        }
    }

    /// Results of the profile.
    public enum Result: UInt8, Sendable {
        case ok = 0
        case opcodeNotSupported = 1
        case badLength = 2
        case wrongLog = 3
        case notHeld = 4
        case busy = 5
        case flashError = 6
        case clearRefused = 7
    }

    /// What is to be done about a request, in order.
    public enum Action: Sendable, Equatable {
        /// A value to indicate.
        case answer([UInt8])
        /// The flash has forgotten everything up to `through`.
        case cleared(log: UInt32, through: UInt32)
    }

    /// What a running read does next.
    public enum Step: Sendable, Equatable {
        /// No read is running.
        case idle
        /// A window to notify.
        case window(sequence: UInt32, bytes: [UInt8])
        /// The read has ended; a value to indicate.
        case answer([UInt8])
    }

    private enum State: Sendable {
        /// → reading
        case idle
        /// → idle: at the end of the range, at a stop, at an error, when the log is formatted
        case reading(log: UInt32, next: UInt32, left: UInt32, sent: UInt32)
    }

    private var state = State.idle

    public init() {}

    /// Whether a read is running: b3 of Beta Metrics.
    public var isReading: Bool {
        if case .reading = state { return true }
        return false
    }

    /// Whether the running read has windows to send before its answer.
    public var hasWindowsLeft: Bool {
        if case .reading(_, _, let left, _) = state { return left > 0 }
        return false
    }

    /// Takes one request of at least one byte.
    ///
    /// - Parameter mtu: ATT_MTU of the link.
    public mutating func receive(_ request: [UInt8], collar: inout CollarState, mtu: Int, now: BootInstant) -> [Action] {
        guard let first = request.first else { return [] }
        guard let opcode = Opcode(rawValue: first) else { return [.answer(Self.answer(first, .opcodeNotSupported))] }
        guard request.count == 1 + opcode.parameterLength else { return [.answer(Self.answer(first, .badLength))] }
        var fields = FieldReader(Array(request.dropFirst()))
        func field() -> UInt32 { fields.integer() ?? 0 }
        switch opcode {
        case .readRange: return read(log: field(), first: field(), count: field(), collar.flash)
        case .stop: return stop()
        case .clear: return clear(log: field(), through: field(), &collar.flash)
        case .setTime:
            collar.clock.set(field(), at: now)
            return [.answer(Self.answer(first, .ok))]
        case .status:
            // Three bytes of the indication and three of the answer come before the 20: less than this would be cut off.
            guard mtu >= 26 else { return [.answer(Self.answer(first, .opcodeNotSupported))] }
            return [.answer(Self.answer(first, .ok, collar.betaMetrics(transferRunning: isReading, at: now)))]
        }
    }

    /// Goes one step on with the read that is running. A window counts as sent from here on.
    public mutating func step(_ flash: inout CollarFlash) -> Step {
        guard case .reading(let log, let next, let left, let sent) = state else { return .idle }
        guard log == flash.log else { return end(.wrongLog) }
        guard left > 0 else { return end(.ok, Self.bytes(sent)) }
        switch flash.read(next) {
        case .window(let bytes):
            state = .reading(log: log, next: next &+ 1, left: left - 1, sent: sent + 1)
            return .window(sequence: next, bytes: bytes)
        case .notHeld:
            return end(.notHeld, Self.range(flash))
        case .error:
            return end(.flashError, Self.bytes(next))
        }
    }

    /// The answer that says busy, for a collar that is busy with something of its own.
    public static func busy(_ opcode: UInt8) -> [UInt8] { answer(opcode, .busy) }

    private mutating func read(log: UInt32, first: UInt32, count: UInt32, _ flash: CollarFlash) -> [Action] {
        let opcode = Opcode.readRange.rawValue
        if isReading { return [.answer(Self.answer(opcode, .busy))] }
        guard log == flash.log else { return [.answer(Self.answer(opcode, .wrongLog))] }
        guard count > 0 else { return [.answer(Self.answer(opcode, .ok, Self.bytes(0)))] }
        guard flash.holds(first: first, count: count) else { return [.answer(Self.answer(opcode, .notHeld, Self.range(flash)))] }
        state = .reading(log: log, next: first, left: count, sent: 0)
        return []
    }

    private mutating func stop() -> [Action] {
        let stopped = Action.answer(Self.answer(Opcode.stop.rawValue, .ok))
        guard case .reading(_, _, _, let sent) = state else { return [stopped] }
        state = .idle
        return [.answer(Self.answer(Opcode.readRange.rawValue, .ok, Self.bytes(sent))), stopped]
    }

    private func clear(log: UInt32, through: UInt32, _ flash: inout CollarFlash) -> [Action] {
        let opcode = Opcode.clear.rawValue
        switch flash.clear(log: log, through: through) {
        case .ok: return [.cleared(log: log, through: through), .answer(Self.answer(opcode, .ok, Self.range(flash)))]
        case .wrongLog: return [.answer(Self.answer(opcode, .wrongLog))]
        case .refused: return [.answer(Self.answer(opcode, .clearRefused))]
        }
    }

    private mutating func end(_ result: Result, _ payload: [UInt8] = []) -> Step {
        state = .idle
        return .answer(Self.answer(Opcode.readRange.rawValue, result, payload))
    }

    private static func answer(_ opcode: UInt8, _ result: Result, _ payload: [UInt8] = []) -> [UInt8] {
        [0x80, opcode, result.rawValue] + payload
    }

    private static func range(_ flash: CollarFlash) -> [UInt8] { bytes(flash.oldest) + bytes(flash.next) }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: value)
        return bytes
    }
}
