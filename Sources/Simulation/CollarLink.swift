import Platform

/// One link of the collar, from its descriptor to the PDUs that wait for room.
final class CollarLink {
    /// A PDU on its way out.
    struct Outgoing {
        let pdu: [UInt8]
        /// The window that has been sent once this PDU is.
        var completes: UInt32?
    }

    let descriptor: Descriptor
    var server: ATTServer
    var control = CollarControlPoint()
    /// In the order in which they go out.
    var outgoing: [Outgoing] = []
    /// The link drops when everything before is out.
    var dropsWhenOut = false
    var watchesWritable = false
    var heartbeat: TimerID?
    var silent = false
    /// Stands while nothing passes any more: the link is lost when it fires.
    var supervision: TimerID?
    var confirmationTimer: TimerID?
    /// When the next window of a read with a bounded rate may go.
    var nextWindowAt: BootInstant?
    var rateTimer: TimerID?
    /// The rate of the running read.
    var windowsPerSecond: Int?

    init(_ descriptor: consuming Descriptor, server: ATTServer) {
        self.descriptor = descriptor
        self.server = server
    }
}
