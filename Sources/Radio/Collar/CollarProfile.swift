/// What a read at rest, a silence and an answer may take.
public struct CollarTiming: Sendable, Hashable {
    /// Without any heartbeat for this long, a link counts as dead: three heartbeats of 5 s.
    public var silence: Duration
    /// Without a window or an answer for this long, a read counts as stalled.
    public var stall: Duration
    /// Without an answer for this long, a request other than a read counts as lost.
    public var answer: Duration

    /// The profile's figures.
    public init(silence: Duration = .seconds(15), stall: Duration = .seconds(10), answer: Duration = .seconds(30)) {
        self.silence = silence
        self.stall = stall
        self.answer = answer
    }
}

/// What is known of a collar once it is connected.
public struct CollarIdentity: Sendable, Hashable {
    /// The serial number, which stays when the address changes.
    public let serial: String
    /// The firmware revision, when the collar tells it.
    public let firmware: String?
    /// Percent, 0...100, from the Battery service; `nil` when the collar has none or does not know it.
    public let battery: UInt8?

    /// Puts an identity together.
    public init(serial: String, firmware: String? = nil, battery: UInt8? = nil) {
        self.serial = serial
        self.firmware = firmware
        self.battery = battery
    }
}
