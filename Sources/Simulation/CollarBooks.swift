import Platform

/// A clear that the collar carried out.
public struct ClearRecord: Sendable, Hashable {
    public let log: UInt32
    public let through: UInt32
    /// When, on the boot clock.
    public let at: BootInstant
}

/// What the collar itself knows to have happened: the side of the account that the hub cannot have made up.
public struct CollarBooks: Sendable, Hashable {
    /// Serial number, as in Device Information.
    public var serial: String
    /// The static random address of now, in the usual text form.
    public var address: String
    /// Identity of the current log.
    public var log: UInt32
    public var oldest: UInt32
    public var next: UInt32
    /// Every window ever produced, log by log.
    public var logs: [WindowRange]
    /// Windows overwritten before they were cleared.
    public var overwritten: [WindowRange]
    /// Windows that went with their log when it was formatted.
    public var formattedAway: [WindowRange]
    /// Clears carried out, in order.
    public var clears: [ClearRecord] = []
    /// Clears refused (result 7).
    public var clearsRefused = 0
    /// Reads that were begun.
    public var reads = 0
    /// Windows handed to the link, repeats of a read included.
    public var windowsSent = 0
    /// Links that were accepted.
    public var links = 0
    /// How often each fault happened.
    public var faults: [String: Int] = [:]

    /// How many windows were ever produced.
    public var produced: Int { logs.reduce(0) { $0 + $1.count } }
}
