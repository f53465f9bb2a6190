/// Puts notifications of Raw Windows together into windows.
///
/// A value of 322 bytes is a whole window. Anything shorter is a fragment: u16 offset, then bytes; the fragments of a window are consecutive and
/// in order, and the last one ends at 322. What does not fit costs the window it belongs to and nothing else: the driver sees a gap and
/// reads again.
struct WindowAssembler {
    enum Outcome: Equatable {
        /// A window is complete. `fragmented` when it came in more than one notification.
        case window(CollarWindow, fragmented: Bool)
        /// The fragment was taken; the window goes on.
        case incomplete
        /// The bytes were dropped, with the window that had been begun, if any.
        case discarded(Fault)
    }

    enum Fault: Equatable {
        /// Too short for an offset and a byte, or longer than any fragment.
        case badLength
        /// The fragment does not go on where the one before it ended.
        case wrongOffset
        /// The fragment reaches beyond byte 322.
        case beyondTheEnd
    }

    private static let header = 2

    /// The bytes from 0 on of the window that is being put together; empty when none is.
    private var partial: [UInt8] = []
    /// How many windows were begun and given up.
    private(set) var abandoned = 0

    /// Takes the next notification.
    mutating func take(_ value: [UInt8]) -> Outcome {
        if let window = CollarWindow(value) {
            abandon()
            return .window(window, fragmented: false)
        }
        guard value.count > Self.header, value.count < CollarWindow.length else {
            abandon()
            return .discarded(.badLength)
        }
        let offset = Int(LittleEndian.u16(value, at: 0))
        // An offset of 0 begins a window; the one before it has lost its rest.
        if offset == 0 { abandon() }
        guard offset == partial.count else {
            abandon()
            return .discarded(.wrongOffset)
        }
        guard offset + value.count - Self.header <= CollarWindow.length else {
            abandon()
            return .discarded(.beyondTheEnd)
        }
        if partial.isEmpty { partial.reserveCapacity(CollarWindow.length) }
        partial += value[Self.header...]
        guard let window = CollarWindow(partial) else { return .incomplete }
        partial = []
        return .window(window, fragmented: true)
    }

    /// Gives up the window that was begun: the read it belonged to has ended.
    mutating func reset() { abandon() }

    private mutating func abandon() {
        if !partial.isEmpty { abandoned += 1 }
        partial = []
    }
}
