import Glibc
import Platform

/// Why an LED or the button cannot be had: a stable code, what failed, and what the reader can do.
public struct IndicatorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure. Raw values do not change between releases.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// No line has the name.
        case lineNotFound = "line-not-found"
        /// Several lines have the name.
        case lineAmbiguous = "line-ambiguous"
        /// Somebody else uses the line.
        case lineBusy = "line-busy"
        /// No chip has the label.
        case chipNotFound = "chip-not-found"
        /// The machine has no GPIO chip at all.
        case noGPIO = "no-gpio"
        /// The kernel has no LED of the name.
        case ledNotFound = "led-not-found"
        /// The gateway's user may not use it.
        case notPermitted = "not-permitted"
        /// What was held is gone: its chip or driver was removed.
        case gone = "hardware-gone"
        /// The kernel refused for another reason.
        case failed = "hardware-failed"

        /// Whether it says no more than that something is not there.
        var isAbsence: Bool {
            switch self {
            case .lineNotFound, .chipNotFound, .noGPIO, .ledNotFound, .gone: true
            case .lineAmbiguous, .lineBusy, .notPermitted, .failed: false
            }
        }
    }

    public let code: Code
    /// What failed, in words: the line, the candidates, the consumer.
    public let what: String
    /// What the reader can do.
    public let advice: String

    init(_ code: Code, _ what: String, advice: String) {
        self.code = code
        self.what = what
        self.advice = advice
    }

    /// The error of a system call on something that is held or about to be.
    init(_ error: SystemError, on subject: String) {
        switch error.code {
        case ENODEV, ENXIO: self.init(.gone, "\(subject) is gone", advice: "it is taken up again as soon as it is back")
        case EACCES, EPERM:
            self.init(.notPermitted, "\(subject): \(error)", advice: "give the gateway's user the right to it, e.g. by the group of its file")
        default: self.init(.failed, "\(subject): \(error)", advice: "look into the kernel's log")
        }
    }

    public var description: String { "\(what); \(advice) [\(code.rawValue)]" }
}
