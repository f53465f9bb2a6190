/// What the air does to windows: from each window that the collar sends to the notification values that arrive.
struct WindowChannel: Sendable {
    /// The values to notify for one step, and whether the link drops behind them.
    struct Delivery: Sendable, Equatable {
        var values: [[UInt8]] = []
        var drops = false
        /// The faults that happened, by name.
        var faults: [String] = []
    }

    private let faults: CollarFaults
    private var held: [[UInt8]] = []
    private var flipped: Set<UInt32> = []

    init(faults: CollarFaults) { self.faults = faults }

    /// Sends one window.
    ///
    /// - Parameter isIntact: whether its bytes are right in the flash.
    mutating func send(_ window: [UInt8], sequence: UInt32, isIntact: Bool, mtu: Int, _ dice: inout FaultDice) -> Delivery {
        var bytes = window
        // Every window rolls every die, so that one fault does not move the others.
        let flips = dice.roll(faults.bitFlipPerWindow, .window)
        let loses = dice.roll(faults.lossPerWindow, .window)
        let repeats = dice.roll(faults.duplicatePerWindow, .window)
        let comesLate = dice.roll(faults.latePerWindow, .window)
        let drops = dice.roll(faults.linkDropPerWindow, .window)
        var faults: [String] = []
        if flips, isIntact, flipped.insert(sequence).inserted {
            faults.append("bit-flip")
            let bit = dice.pick(below: 8 * bytes.count, .window)
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        } else {
            flipped.remove(sequence)
        }
        var values = WindowFragments.values(bytes, mtu: mtu)
        if loses {
            values.remove(at: dice.pick(below: values.count, .window))
            faults.append("loss")
        }
        if drops { return Delivery(values: flush() + values.prefix(values.count / 2), drops: true, faults: faults + ["link-drop-in-read"]) }
        if comesLate, held.isEmpty {
            held = values
            return Delivery(faults: faults + ["late"])
        }
        return Delivery(values: values + flush() + (repeats ? values : []), faults: faults + (repeats ? ["duplicate"] : []))
    }

    /// What was held back. Nothing may come after the answer to its read.
    mutating func flush() -> [[UInt8]] {
        defer { held = [] }
        return held
    }

    /// A new link: what was under way is gone, but which windows were disturbed is still known.
    mutating func reset() { held = [] }
}
