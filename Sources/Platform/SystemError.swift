import Glibc

/// A system call that failed: which one, on what, and its `errno`.
public struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the call, as in section 2 of the manual.
    public let call: String
    /// The `errno` that the call left.
    public let code: CInt
    /// What the call was about (a path, an address), empty when there is nothing to name.
    public let subject: String

    public init(_ call: String, code: CInt, subject: String = "") {
        self.call = call
        self.code = code
        self.subject = subject
    }

    /// The error of the call that has just failed on this thread.
    public static func last(_ call: String, subject: String = "") -> SystemError {
        SystemError(call, code: errno, subject: subject)
    }

    /// The system's own words for the code, e.g. `No such file or directory`.
    public var reason: String { String(cString: strerror(code)) }

    public var description: String {
        subject.isEmpty ? "\(call): \(reason)" : "\(call) \(subject): \(reason)"
    }
}

/// Repeats a call that a signal interrupted (`EINTR`).
///
/// - Returns: what the call answered; negative when it failed for another reason, with `errno` set.
@inlinable
public func retryOnInterrupt<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
