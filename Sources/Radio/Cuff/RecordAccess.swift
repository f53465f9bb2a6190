/// A request to the Record Access Control Point (0x2A52; Blood Pressure Service 1.1, 3.6).
///
/// There is none that deletes: what a cuff keeps is its owner's.
public enum RecordAccessRequest: Sendable, Hashable {
    /// Which records are meant.
    public enum Selection: Sendable, Hashable {
        case all
        /// Those whose sequence number is this one or a later one.
        case from(sequence: UInt16)
    }

    /// Send the records.
    case report(Selection)
    /// Say how many there are.
    case count(Selection)
    /// Stop what you are doing.
    case abort

    /// The octets to write: opcode, operator, operand.
    public var encoded: [UInt8] {
        switch self {
        case .report(let selection): [opcode.rawValue] + selection.encoded
        case .count(let selection): [opcode.rawValue] + selection.encoded
        case .abort: [opcode.rawValue, 0x00]
        }
    }

    var opcode: RecordAccessOpcode {
        switch self {
        case .report: .reportStoredRecords
        case .count: .reportNumberOfStoredRecords
        case .abort: .abort
        }
    }
}

extension RecordAccessRequest.Selection {
    /// Operator, and for a comparison the filter type (1: sequence number) with its operand.
    fileprivate var encoded: [UInt8] {
        switch self {
        case .all: [0x01]
        case .from(let sequence): [0x03, 0x01, UInt8(truncatingIfNeeded: sequence), UInt8(truncatingIfNeeded: sequence >> 8)]
        }
    }
}

/// The opcodes that are sent and answered.
enum RecordAccessOpcode: UInt8, Sendable {
    case reportStoredRecords = 0x01
    case abort = 0x03
    case reportNumberOfStoredRecords = 0x04
    case numberOfStoredRecordsResponse = 0x05
    case responseCode = 0x06
}

/// An indication of the Record Access Control Point.
public enum RecordAccessAnswer: Sendable, Hashable {
    /// How many records there are.
    case count(UInt16)
    /// How a request ended.
    case response(opcode: UInt8, result: RecordAccessResult)

    /// - Throws: `CuffError` with `.malformedAnswer`.
    public init(parsing octets: [UInt8]) throws(CuffError) {
        // The operator behind the opcode is null in both answers.
        guard octets.count == 4, octets[1] == 0 else { throw CuffError(.malformedAnswer, "an answer of \(octets.count) octets from the record access control point") }
        switch RecordAccessOpcode(rawValue: octets[0]) {
        case .numberOfStoredRecordsResponse: self = .count(LittleEndian.u16(octets, at: 2))
        case .responseCode: self = .response(opcode: octets[2], result: RecordAccessResult(rawValue: octets[3]))
        default: throw CuffError(.malformedAnswer, "opcode \(octets[0]) from the record access control point")
        }
    }
}

/// How a request to the Record Access Control Point ended: an open set.
public struct RecordAccessResult: RawRepresentable, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let success = RecordAccessResult(rawValue: 1)
    public static let opcodeNotSupported = RecordAccessResult(rawValue: 2)
    public static let invalidOperator = RecordAccessResult(rawValue: 3)
    public static let operatorNotSupported = RecordAccessResult(rawValue: 4)
    public static let invalidOperand = RecordAccessResult(rawValue: 5)
    public static let noRecordsFound = RecordAccessResult(rawValue: 6)
    public static let abortUnsuccessful = RecordAccessResult(rawValue: 7)
    public static let procedureNotCompleted = RecordAccessResult(rawValue: 8)
    public static let operandNotSupported = RecordAccessResult(rawValue: 9)
    /// The cuff waits for something else first (a user, a time).
    public static let serverBusy = RecordAccessResult(rawValue: 10)
}
