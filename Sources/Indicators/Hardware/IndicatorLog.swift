import Platform

extension LogEvent {
    /// An LED or the button cannot be had, or is gone.
    public static let indicatorMissing = LogEvent("indicator-missing", id: "8d1f3c5a90b24e67a2c47f0b6e9d1a01")
    /// An LED or the button that was missing is there.
    public static let indicatorFound = LogEvent("indicator-found", id: "8d1f3c5a90b24e67a2c47f0b6e9d1a02")
    /// The pairing button was pressed.
    public static let buttonPressed = LogEvent("button-pressed", id: "8d1f3c5a90b24e67a2c47f0b6e9d1a03")
    /// The pairing button was held for ten seconds.
    public static let buttonHeld = LogEvent("button-held", id: "8d1f3c5a90b24e67a2c47f0b6e9d1a04")
}

extension Log {
    /// Says what became of a fixture.
    func report(_ report: FixtureMachine.Report?, of fixture: String, at place: some CustomStringConvertible) {
        switch report {
        case .missing(let error):
            self(.error, .indicatorMissing, "\(fixture) cannot be used: \(error); the gateway runs on without it and looks again",
                 LogField("INDICATOR", fixture), LogField("CODE", error.code.rawValue))
        case .lost(let error):
            self(.warning, .indicatorMissing, "\(fixture) is lost: \(error)", LogField("INDICATOR", fixture), LogField("CODE", error.code.rawValue))
        case .back: self(.notice, .indicatorFound, "\(fixture) is there: \(place)", LogField("INDICATOR", fixture))
        case nil: break
        }
    }
}
