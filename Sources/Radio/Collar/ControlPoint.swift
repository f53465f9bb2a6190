/// A request to the collar's control point.
enum ControlRequest: Equatable {
    case readRange(log: UInt32, first: UInt32, count: UInt32)
    case stop
    case clear(log: UInt32, through: UInt32)
    case setTime(seconds: UInt32)
    case status

    var opcode: ControlOpcode {
        switch self {
        case .readRange: .readRange
        case .stop: .stop
        case .clear: .clear
        case .setTime: .setTime
        case .status: .status
        }
    }

    /// The bytes to write.
    var encoded: [UInt8] {
        let parameters: [UInt32] =
            switch self {
            case .readRange(let log, let first, let count): [log, first, count]
            case .clear(let log, let through): [log, through]
            case .setTime(let seconds): [seconds]
            case .stop, .status: []
            }
        return [opcode.rawValue] + parameters.flatMap(LittleEndian.bytes)
    }
}

/// The first byte of a request, and the second one of its answer.
enum ControlOpcode: UInt8, Sendable {
    case readRange = 0x01
    case stop = 0x02
    case clear = 0x03
    case setTime = 0x04
    case status = 0x05
}

/// The third byte of an answer: an open set, as firmware may have results that this profile does not know.
struct ControlResult: RawRepresentable, Sendable, Hashable {
    let rawValue: UInt8

    static let ok = ControlResult(rawValue: 0)
    static let unsupported = ControlResult(rawValue: 1)
    static let badLength = ControlResult(rawValue: 2)
    static let wrongLog = ControlResult(rawValue: 3)
    static let notHeld = ControlResult(rawValue: 4)
    static let busy = ControlResult(rawValue: 5)
    static let flashError = ControlResult(rawValue: 6)
    static let clearRefused = ControlResult(rawValue: 7)
}

/// An indication of the control point: `0x80, opcode, result, payload`.
struct ControlAnswer: Sendable, Equatable {
    /// The byte that marks an answer.
    static let marker: UInt8 = 0x80

    let opcode: UInt8
    let result: ControlResult
    let payload: [UInt8]

    init(opcode: UInt8, result: ControlResult, payload: [UInt8]) {
        self.opcode = opcode
        self.result = result
        self.payload = payload
    }

    /// - Throws: `.malformedAnswer` when it is too short or not marked as an answer.
    init(parsing bytes: [UInt8]) throws(CollarError) {
        guard bytes.count >= 3 else { throw CollarError(.malformedAnswer, "an answer of \(bytes.count) bytes") }
        guard bytes[0] == Self.marker else { throw CollarError(.malformedAnswer, "an answer that begins with \(bytes[0]) instead of 128") }
        self.init(opcode: bytes[1], result: ControlResult(rawValue: bytes[2]), payload: Array(bytes[3...]))
    }

    /// The payload as one u32.
    func number() throws(CollarError) -> UInt32 {
        try expect(4)
        return LittleEndian.u32(payload, at: 0)
    }

    /// The payload as the range that the collar holds.
    func range() throws(CollarError) -> (oldest: UInt32, next: UInt32) {
        try expect(8)
        return (LittleEndian.u32(payload, at: 0), LittleEndian.u32(payload, at: 4))
    }

    /// The error that stands for a result which the asked request cannot have, or which says that firmware and hub do not fit.
    var failure: CollarError {
        switch result {
        case .unsupported: CollarError(.unsupportedOpcode, "the firmware does not support opcode \(opcode)")
        case .badLength: CollarError(.badLength, "the firmware does not take the length of opcode \(opcode)")
        case .busy: CollarError(.busy, "the collar is busy, asked for opcode \(opcode)")
        default: CollarError(.unexpectedResult, "result \(result.rawValue) for opcode \(opcode)")
        }
    }

    private func expect(_ length: Int) throws(CollarError) {
        guard payload.count == length else {
            throw CollarError(.malformedAnswer, "result \(result.rawValue) of opcode \(opcode) with \(payload.count) bytes instead of \(length)")
        }
    }
}
