import Indicators

/// What the configuration says of LEDs and button: a word at the top, or a table.
struct IndicatorsDraft {
    /// What was read; what is wrong of it is reported and left out.
    let indicators: Configuration.Indicators

    init(_ layers: ConfigurationLayers, findings: Findings) {
        let top = SectionReader(.top, layers.top, fileStart: layers.start, findings: findings)
        guard let table = layers.tables(of: .indicators).first else {
            switch top.read(Keys.Top.indicators) {
            case .none: indicators = .none
            case .terminal: indicators = .terminal
            }
            return
        }
        let reader = SectionReader(.indicators, table, fileStart: layers.start, findings: findings)
        // Only in another file: in one, TOML itself refuses it.
        top.refuse(top.gives(Keys.Top.indicators.row), Keys.Top.indicators.row, "stands beside the table [indicators] (\(reader.position)); keep one of them")
        let placed: [(led: LED, row: KeyRow, place: Placed<LEDPlace>?)] = [
            (.status, Keys.Indicators.status.row, reader.read(Keys.Indicators.status)),
            (.radio, Keys.Indicators.radio.row, reader.read(Keys.Indicators.radio)),
            (.uplink, Keys.Indicators.uplink.row, reader.read(Keys.Indicators.uplink))
        ]
        let button = reader.read(Keys.Indicators.pairButton)
        Self.refuseRepeats(placed.map { ($0.row, $0.place?.value) } + [(Keys.Indicators.pairButton.row, button.map { .line($0.value.line) })], reader)
        let leds = Dictionary(uniqueKeysWithValues: placed.compactMap { entry in entry.place.map { (entry.led, $0.value) } })
        indicators = leds.isEmpty && button == nil ? .none : .hardware(.init(leds: leds, button: button?.value))
    }

    /// One line cannot be two things.
    private static func refuseRepeats(_ places: [(row: KeyRow, place: LEDPlace?)], _ reader: SectionReader) {
        for (index, entry) in places.enumerated() {
            guard let place = entry.place else { continue }
            let former = places[..<index].first { $0.place.map { overlap($0, place) } ?? false }
            reader.refuse(former != nil, entry.row, "is where \(former?.row.name ?? "") is; each has a line of its own")
        }
    }

    /// A line without a chip is on whichever has it.
    private static func overlap(_ one: LEDPlace, _ other: LEDPlace) -> Bool {
        switch (one, other) {
        case (.kernel(let one), .kernel(let other)): one == other
        case (.line(let one), .line(let other)): one.name == other.name && (one.chip == nil || other.chip == nil || one.chip == other.chip)
        case (.kernel, .line), (.line, .kernel): false
        }
    }
}
