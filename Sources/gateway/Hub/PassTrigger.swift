import Platform

/// Decides when a collar's unread windows are worth a pass.
///
/// A pass starts at a full batch, or when the oldest unread window was announced a batch age ago; at a full batch only while
/// nothing drains, so that a queue that cannot be emptied is filled with full entries. There is no timer: the
/// heartbeat, every 5 s, asks.
struct PassTrigger: Sendable {
    /// Windows that make a pass due at once.
    let batchWindows: UInt64
    /// How long an unread window may wait.
    let batchAge: Duration

    private var unread: UInt64 = 0
    private var unreadSince: BootInstant?
    private var demanded = false

    init(batchWindows: Int, batchAge: Duration) {
        self.batchWindows = UInt64(batchWindows)
        self.batchAge = batchAge
    }

    /// The collar announced how many windows it holds beyond the checkpoint.
    mutating func announced(unread: UInt64, now: BootInstant) {
        self.unread = unread
        if unread == 0 {
            unreadSince = nil
            demanded = false
        } else if unreadSince == nil {
            unreadSince = now
        }
    }

    /// Somebody wants what is there now, however little it is (a flush).
    mutating func demand() {
        demanded = true
    }

    /// A pass stored everything up to a point; what the collar holds beyond it counts as announced now.
    mutating func stored(leaving unread: UInt64, now: BootInstant) {
        self.unread = unread
        unreadSince = unread > 0 ? now : nil
        demanded = demanded && unread >= batchWindows
    }

    /// Whether a pass should start.
    ///
    /// - Parameter draining: whether entries leave the queue, or none is there.
    func isDue(draining: Bool, now: BootInstant) -> Bool {
        guard unread > 0, let since = unreadSince else { return false }
        if demanded || unread >= batchWindows { return true }
        return draining && now - since >= batchAge
    }
}
