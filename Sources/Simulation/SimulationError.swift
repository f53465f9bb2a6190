/// What went wrong with the simulation's own inputs: its files, options and control lines.
public struct SimulationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Stable names of the kinds of failure.
    public enum Code: String, Sendable {
        /// A recording cannot be read from its file.
        case recordingUnreadable = "recording-unreadable"
        /// A recording holds something other than lines of three whole numbers.
        case recordingMalformed = "recording-malformed"
        /// A command line option is unknown, incomplete or out of range.
        case optionInvalid = "option-invalid"
        /// A control line is not a JSON object, or asks for something that does not exist.
        case controlInvalid = "control-invalid"
        /// A socket cannot be opened or listened on.
        case socketFailed = "socket-failed"
    }

    /// The kind of failure.
    public let code: Code
    /// What failed, with the value that was wrong.
    public let what: String
    /// What the reader can do.
    public let advice: String

    public init(_ code: Code, _ what: String, advice: String) {
        self.code = code
        self.what = what
        self.advice = advice
    }

    public var description: String { "\(code.rawValue): \(what). \(advice)" }
}
