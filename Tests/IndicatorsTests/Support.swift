import Platform
import Synchronization
import Testing

@testable import Indicators

/// One edge, at its time since the recorder was made.
struct Edge: Equatable, CustomStringConvertible {
    let led: LED
    let at: Int64
    let lit: Bool
    var description: String { "\(led) \(lit ? "on" : "off") \(at) ms" }
}

/// An output that writes down what it is told and when.
final class Recorder: Sendable {
    struct Output: LEDOutput {
        let recorder: Recorder
        mutating func set(_ led: LED, lit: Bool) { recorder.note(led, lit) }
        mutating func stateChanged(_ shown: [LEDShown]) { recorder.shownLog.withLock { $0.append(shown) } }
        mutating func close() { recorder.closings.withLock { $0 += 1 } }
    }

    private let loop: VirtualLoop
    private let start: BootInstant
    private let log = Mutex<[Edge]>([])
    fileprivate let shownLog = Mutex<[[LEDShown]]>([])
    fileprivate let closings = Mutex(0)

    init(_ loop: VirtualLoop) {
        self.loop = loop
        start = loop.now
    }

    var output: Output { Output(recorder: self) }
    var edges: [Edge] { log.withLock { $0 } }
    var states: [[LEDState]] { shownLog.withLock { $0.map { $0.map(\.state) } } }
    var closed: Int { closings.withLock { $0 } }

    /// The edges of one LED as the times of on and off, in turn.
    func times(_ led: LED) -> [Int64] { edges.filter { $0.led == led }.map(\.at) }

    private func note(_ led: LED, _ lit: Bool) {
        let edge = Edge(led: led, at: (loop.now - start).milliseconds, lit: lit)
        log.withLock { $0.append(edge) }
    }
}

/// A board under virtual time.
struct Bench {
    let loop = VirtualLoop()
    let recorder: Recorder
    let board: IndicatorBoard

    init(_ layout: LEDLayout = .full) {
        recorder = Recorder(loop)
        board = IndicatorBoard(loop: loop, output: recorder.output, layout: layout)
    }

    func set(_ conditions: IndicatorConditions) {
        perform { await $0.set(conditions) }
    }

    func show(_ event: IndicatorEvent) {
        perform { await $0.show(event) }
    }

    func stop() {
        perform { await $0.stop() }
    }

    func perform(_ body: @escaping @Sendable (IndicatorBoard) async -> Void) {
        let board = self.board
        loop.spawn { await body(board) }
        loop.advance(by: .zero)
    }

    func pass(milliseconds: Int) {
        loop.advance(by: .milliseconds(milliseconds))
    }
}

/// Every combination of conditions: 2 to the power of 13.
let everyCombination = (0..<UInt16(1 << 13)).map(IndicatorConditions.init(rawValue:))
