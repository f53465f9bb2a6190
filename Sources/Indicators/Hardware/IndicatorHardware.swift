/// Where LEDs and buttons are got from: the machine, or a test's.
protocol IndicatorHardware: Sendable {
    /// Takes the LED at `place`, lit or not from the start.
    func lamp(at place: LEDPlace, lit: Bool) throws(IndicatorError) -> any Lamp
    /// Takes the button on `line`.
    ///
    /// - Parameter debounce: how long a level must last to count, where the kernel can see to it.
    func button(on line: GPIOLine, debounce: Duration) throws(IndicatorError) -> any ButtonLine
}

/// An LED that is held. Whoever lets go of it releases it first.
protocol Lamp: AnyObject, Sendable {
    func set(_ lit: Bool) throws(IndicatorError)
    /// Throws when it is no longer there.
    func check() throws(IndicatorError)
    /// Gives it back. It keeps the level it has.
    func release()
}

/// One change of a button's level.
struct ButtonEdge: Sendable, Hashable {
    /// How long ago it was.
    let age: Duration
    /// Whether the button is pressed since then.
    let pressed: Bool
}

/// A button's line that is held.
protocol ButtonLine: AnyObject, Sendable {
    /// Readable when there are edges.
    var descriptor: CInt { get }
    /// Whether the kernel keeps bounces away.
    var debounced: Bool { get }
    /// Whether the button is pressed now.
    func pressed() throws(IndicatorError) -> Bool
    /// The edges since the last call, in order. The kernel keeps a few; of more the earliest are lost.
    func edges() throws(IndicatorError) -> [ButtonEdge]
    func release()
}
