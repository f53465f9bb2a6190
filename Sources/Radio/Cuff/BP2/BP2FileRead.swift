/// Reads one file: opens it, fetches it part by part, closes it.
///
/// States: opening → reading → closing → over. A refusal or an answer that cannot be ends the read with an error; a file that was opened is closed all
/// the same, so that the cuff's screen is its owner's again.
struct BP2FileRead {
    enum Step: Equatable {
        case request(BP2Request)
        case finished([UInt8])
        /// The file has another length than the one that was looked for: it is something else, and was not read.
        case skipped(size: Int)
        case failed(CuffError)
    }

    private enum State {
        case opening
        case reading(size: Int, octets: [UInt8])
        case closing(Step)
        case over
    }

    /// The longest file that is read: room for a list of 1,700 readings.
    static let sizeLimit = 65_536

    private let name: BP2FileName
    private let length: Int?
    private var state = State.opening

    /// - Parameter length: how long the file must be to be of interest; any length when `nil`.
    init(_ name: BP2FileName, length: Int? = nil) {
        self.name = name
        self.length = length
    }

    /// The first request.
    var start: BP2Request { .openFile(name) }

    /// The cuff's answer to the last request.
    mutating func answered(_ frame: BP2Frame) -> Step {
        switch state {
        case .opening: return opened(frame)
        case .reading(let size, let octets): return read(frame, size, octets)
        case .closing(let outcome):
            state = .over
            return outcome
        case .over: return .failed(CuffError(.malformedAnswer, "an answer after the end of a file"))
        }
    }

    private mutating func opened(_ frame: BP2Frame) -> Step {
        guard frame.type == 1 else {
            state = .over
            return .failed(CuffError(.refused, "the cuff does not open the file \(name): \(frame.type)"))
        }
        guard frame.payload.count >= 4 else { return close(.failed(CuffError(.malformedAnswer, "a file length of \(frame.payload.count) octets"))) }
        let size = Int(LittleEndian.u32(frame.payload, at: 0))
        if let length, size != length { return close(.skipped(size: size)) }
        guard size <= Self.sizeLimit else { return close(.failed(CuffError(.malformedFile, "a file of \(size) octets"))) }
        guard size > 0 else { return close(.finished([])) }
        state = .reading(size: size, octets: [])
        return .request(.readFile(offset: 0))
    }

    private mutating func read(_ frame: BP2Frame, _ size: Int, _ octets: [UInt8]) -> Step {
        guard frame.type == 1 else { return close(.failed(CuffError(.refused, "the cuff breaks off the file \(name): \(frame.type)"))) }
        // A part without octets would be asked for without end.
        guard !frame.payload.isEmpty, octets.count + frame.payload.count <= size else {
            return close(.failed(CuffError(.malformedFile, "\(frame.payload.count) octets at \(octets.count) of a file of \(size)")))
        }
        let octets = octets + frame.payload
        guard octets.count < size else { return close(.finished(octets)) }
        state = .reading(size: size, octets: octets)
        return .request(.readFile(offset: UInt32(octets.count)))
    }

    private mutating func close(_ outcome: Step) -> Step {
        state = .closing(outcome)
        return .request(.closeFile)
    }
}
