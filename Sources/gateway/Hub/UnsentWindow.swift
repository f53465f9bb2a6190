import Outbox
import Radio

/// Watches for a window that the collar says it holds and never sends.
///
/// The read of one link has asked for it several times already. Passes on several links are needed before it is given up as unreadable: giving it up lets
/// the collar forget it.
struct UnsentWindow: Sendable {
    /// Passes in which it must not have come.
    static let limit = 3

    private var window: (log: UInt32, sequence: UInt64)?
    private var passes = 0

    /// Takes in how a read ended.
    ///
    /// - Returns: whether the window behind those that came is to be reported as unreadable.
    mutating func isGivenUp(after read: RangeRead, of order: ReadOrder) -> Bool {
        guard case .interrupted(let error) = read.end, error.code == .windowsMissing, read.unreadable == nil, read.count < order.count else {
            // A link that went down says nothing about the window.
            if read.end == .complete || read.count > 0 { self = UnsentWindow() }
            return false
        }
        let sequence = order.first + UInt64(read.count)
        if let window, window == (order.log, sequence) {
            passes += 1
        } else {
            window = (order.log, sequence)
            passes = 1
        }
        guard passes >= Self.limit else { return false }
        self = UnsentWindow()
        return true
    }
}
