import Platform

/// Decides when a collar's unread windows are worth a pass.
///
/// A pass starts at a full batch, or when the oldest unread window was announced a batch age ago; at a full batch only while
/// nothing drains, so that a queue that cannot be emptied is filled with full entries. There is no timer: the
/// heartbeat, every 5 s, asks.
struct PassTrigger: Sendable {
    /// Windows that make a pass due at once.
    private(set) var batchWindows: UInt64
    /// How long an unread window may wait.
    private(set) var batchAge: Duration

    private var unread: UInt64 = 0
    private var unreadSince: BootInstant?
    /// How many of the unread windows, from the oldest on, somebody wants now: those that were there when they asked.
    private var demanded: UInt64 = 0

    init(batchWindows: Int, batchAge: Duration) {
        self.batchWindows = UInt64(batchWindows)
        self.batchAge = batchAge
    }

    /// Decides by other thresholds from now on; what was announced and demanded stays.
    mutating func adopt(batchWindows: Int, batchAge: Duration) {
        self.batchWindows = UInt64(batchWindows)
        self.batchAge = batchAge
    }

    /// The collar announced how many windows it holds beyond the checkpoint.
    mutating func announced(unread: UInt64, now: BootInstant) {
        self.unread = unread
        if unread == 0 {
            unreadSince = nil
            demanded = 0
        } else {
            if unreadSince == nil { unreadSince = now }
            if demanded == .max { demanded = unread }
        }
    }

    /// Somebody wants what is there now, however little it is (a flush).
    mutating func demand() {
        // Before anything was announced it is not known how much there is.
        demanded = unread == 0 ? .max : unread
    }

    /// A pass begins. If it does so for the age of the windows, it reads all that there are, in however many batches the backend wants them.
    mutating func begin(draining: Bool, now: BootInstant) {
        guard draining, let since = unreadSince, now - since >= batchAge else { return }
        demanded = max(demanded, unread)
    }

    /// A pass stored `count` windows, everything up to a point; what the collar holds beyond it counts as announced now.
    mutating func stored(_ count: UInt64, leaving unread: UInt64, now: BootInstant) {
        self.unread = unread
        unreadSince = unread > 0 ? now : nil
        demanded = unread == 0 ? 0 : demanded - min(count, demanded)
    }

    /// Whether a pass should start.
    ///
    /// - Parameter draining: whether entries leave the queue, or none is there.
    func isDue(draining: Bool, now: BootInstant) -> Bool {
        guard unread > 0, let since = unreadSince else { return false }
        if demanded > 0 || unread >= batchWindows { return true }
        return draining && now - since >= batchAge
    }
}
