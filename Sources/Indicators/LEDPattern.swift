/// What an LED does for as long as a state lasts.
///
/// No pattern turns an LED on more than three times a second, and none lies at the rates that medical alarms flash at (0.4-0.8 Hz and
/// 1.4-2.8 Hz, IEC 60601-1-8): those rates would claim an urgency that a hub has not.
public enum LEDPattern: Sendable, Hashable {
    /// On.
    case on
    /// On, off for 0.2 s at the end of every 10 s: an LED that stays the same for longer belongs to a daemon that hangs.
    case onWithDip
    /// On; `IndicatorEvent.batchRead` dips it.
    case onDippingWithBatches
    /// 0.5 s on, 0.5 s off.
    case even
    /// So many flashes of 0.15 s with 0.2 s between them, then 2.5 s off. A count below one is taken as one.
    case flashes(Int)

    /// The pattern in words, for `gateway status`.
    public var name: String {
        switch self {
        case .on: "on"
        case .onWithDip: "on, a dip every 10 s"
        case .onDippingWithBatches: "on, a dip with each batch"
        case .even: "even blinking"
        case .flashes(let count) where count > 1: "\(count) flashes"
        case .flashes: "1 flash"
        }
    }

    /// Whether the LED is on but for dips.
    public var isMostlyOn: Bool {
        switch self {
        case .on, .onWithDip, .onDippingWithBatches: true
        case .even, .flashes: false
        }
    }

    /// One round of the pattern, repeated for ever.
    var round: [LEDSegment] {
        switch self {
        case .on, .onDippingWithBatches: [.forever(lit: true)]
        case .onWithDip: [.lit(.milliseconds(9_800)), .dark(.milliseconds(200))]
        case .even: [.lit(.milliseconds(500)), .dark(.milliseconds(500))]
        case .flashes(let count): LEDSegment.flashes(max(1, count), last: .milliseconds(2_500))
        }
    }

    /// How long the LED must have been dark before the pattern starts. A first flash that ran into light from before could not be counted.
    var darkBefore: Duration {
        switch self {
        case .flashes: .milliseconds(500)
        case .on, .onWithDip, .onDippingWithBatches, .even: .zero
        }
    }
}

/// A stretch of time in which an LED does not change.
struct LEDSegment: Sendable, Hashable {
    let lit: Bool
    /// `nil`: until something else is to be shown.
    let duration: Duration?

    static func lit(_ duration: Duration) -> LEDSegment { LEDSegment(lit: true, duration: duration) }
    static func dark(_ duration: Duration) -> LEDSegment { LEDSegment(lit: false, duration: duration) }
    static func forever(lit: Bool) -> LEDSegment { LEDSegment(lit: lit, duration: nil) }

    /// Flashes of 0.15 s with 0.2 s between them, and `last` in the dark after them.
    static func flashes(_ count: Int, last: Duration) -> [LEDSegment] {
        (1...count).flatMap { flash in
            [.lit(.milliseconds(150)), .dark(flash < count ? .milliseconds(200) : last)]
        }
    }

    /// The least time an LED is left as it is, lit or dark, when something else is to be shown: with it no sequence of changes, however
    /// fast, turns the LED on more often than every 0.35 s.
    static func leastTime(lit: Bool) -> Duration { .milliseconds(lit ? 150 : 200) }
}

extension IndicatorEvent {
    /// What the LED does once, before it goes back to its pattern.
    ///
    /// Flickers stand between two dark half seconds, so that they are seen as something else both on an LED that is on and on one that flashes.
    /// A dip ends with light, so that dips that follow each other stay apart and slower than the alarm rates.
    var sequence: [LEDSegment] {
        switch self {
        case .batchRead: [.dark(.milliseconds(200)), .lit(.milliseconds(800))]
        case .readingStored: [.dark(.milliseconds(500))] + LEDSegment.flashes(2, last: .milliseconds(500))
        case .readingAccepted: [.dark(.milliseconds(500))] + LEDSegment.flashes(3, last: .milliseconds(500))
        case .measurementFailed: [.dark(.milliseconds(2_000))]
        }
    }
}
