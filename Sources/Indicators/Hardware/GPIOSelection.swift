/// What one GPIO chip says of itself and of its lines.
struct GPIOChipDescription: Sendable, Hashable, CustomStringConvertible {
    struct Line: Sendable, Hashable {
        /// Empty for a line that has none.
        let name: String
        /// Who uses it; `nil` when nobody does, empty when the user gave no name.
        let consumer: String?
    }

    /// The kernel's name, e.g. `gpiochip0`. It changes from boot to boot.
    let name: String
    let label: String
    /// By offset.
    let lines: [Line]

    var description: String { "\(name) \"\(label)\"" }
}

/// Finds the one line that somebody means among everything that is there.
enum GPIOSelection {
    /// The place of the line: the index of its chip in `chips`, and the offset on it.
    ///
    /// - Throws: `IndicatorError` when no line or several are meant, with all that could have been.
    static func find(_ line: GPIOLine, among chips: [GPIOChipDescription]) throws(IndicatorError) -> (chip: Int, offset: Int) {
        guard !chips.isEmpty else {
            throw IndicatorError(.noGPIO, "\(line): this machine has no GPIO chip", advice: "see that its driver is loaded, or configure no LED")
        }
        let asked = chips.indices.filter { line.chip == nil || chips[$0].label == line.chip }
        guard !asked.isEmpty else {
            throw IndicatorError(.chipNotFound, "\(line): no GPIO chip has that label; there are \(list(chips.map(\.description)))",
                                 advice: "name the chip by its label, as gpiodetect shows it in brackets")
        }
        let found = places(asked, chips) { $0 == line.name }
        if let place = found.first, found.count == 1 { return place }
        guard found.isEmpty else { throw several(line, found, chips) }
        let similar = places(asked, chips) { $0.lowercased() == line.name.lowercased() }.map { chips[$0.chip].lines[$0.offset].name }
        let hint = similar.isEmpty ? "" : "; did you mean \(list(similar.map { "\"\($0)\"" }))?"
        throw IndicatorError(
            .lineNotFound, "\(line): no line has that name; looked on \(list(asked.map { "\(chips[$0]) (\(chips[$0].lines.count) lines)" }))\(hint)",
            advice: "name the line as gpioinfo shows it")
    }

    /// Somebody else has the line: who.
    static func busy(_ line: GPIOLine, chip: GPIOChipDescription, offset: Int) -> IndicatorError {
        let consumer = chip.lines.indices.contains(offset) ? chip.lines[offset].consumer ?? "" : ""
        return IndicatorError(
            .lineBusy, "\(line) (offset \(offset) of \(chip)) is in use by \(consumer.isEmpty ? "somebody who gave no name" : "\"\(consumer)\"")",
            advice: "free it or take another line; an LED of the kernel's is configured with led instead of line")
    }

    private static func several(_ line: GPIOLine, _ found: [(chip: Int, offset: Int)], _ chips: [GPIOChipDescription]) -> IndicatorError {
        let labels = Set(found.map { chips[$0.chip].label })
        return IndicatorError(
            .lineAmbiguous, "\(line): \(found.count) lines have that name: \(list(found.map { "offset \($0.offset) of \(chips[$0.chip])" }))",
            advice: labels.count > 1 ? "say on which chip, e.g. chip = \"\(chips[found[0].chip].label)\"" : "they cannot be told apart; take another line")
    }

    private static func places(_ asked: [Int], _ chips: [GPIOChipDescription], _ matches: (String) -> Bool) -> [(chip: Int, offset: Int)] {
        asked.flatMap { chip in
            chips[chip].lines.indices.filter { matches(chips[chip].lines[$0].name) }.map { (chip, $0) }
        }
    }

    /// A list for a message: a board can have a hundred of anything.
    private static func list(_ items: [String]) -> String {
        items.prefix(8).joined(separator: ", ") + (items.count > 8 ? " and \(items.count - 8) more" : "")
    }
}
