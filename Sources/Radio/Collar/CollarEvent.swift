/// What a collar's connection tells on its own.
public enum CollarEvent: Sendable, Hashable {
    /// A heartbeat: there may be work.
    case heartbeat(BetaMetrics)
    /// A heartbeat that could not be read. It is a sign of life all the same. Told when it begins, not every 5 s.
    case malformedHeartbeat(CollarError)
    /// The collar sent what the profile does not have it send. It was ignored; each kind is told once per connection.
    case irregular(CollarError)
    /// No heartbeat came for three times 5 s on a link that is up: the link is dead. `closed` follows.
    case silent
    /// The connection has ended, for whatever reason; the last event. Told once.
    case closed(CollarError)
}

/// The collar's answer to a clear.
public enum ClearAnswer: Sendable, Hashable {
    /// Every window up to and including the one named is forgotten, or was before; what the collar holds now.
    case cleared(oldest: UInt32, next: UInt32)
    /// Result 3: the log named is not the collar's any more.
    case wrongLog
    /// Result 7: `through` is not before `next`, or beyond the highest sequence ever sent in this log.
    case refused
    /// Result 5: to be sent again at the next heartbeat.
    case busy
    /// Result 6: the flash could not do it.
    case flashError
    /// Results 1 and 2: the firmware has no such request, or of another length.
    case unsupported(CollarError)
}

/// The collar's answer to a set time.
public enum SetTimeAnswer: Sendable, Hashable {
    /// The clock is set.
    case set
    /// Result 5: to be sent again at the next heartbeat.
    case busy
    /// Results 1 and 2: the firmware has no such request, or of another length.
    case unsupported(CollarError)
}
