import CLinux
import Glibc
import Platform
import Synchronization
import Testing

@testable import Indicators

/// Hardware that a test has in its hand: lines that are there, are not, go, and come back. Everything that is done to it is noted in order.
final class ScriptedHardware: IndicatorHardware {
    struct State: Sendable {
        var done: [String] = []
        var refusals: [String: IndicatorError] = [:]
        var gone: Set<String> = []
        var edges: [ButtonEdge] = []
        var down = false
        var debounced = false
    }

    let state = Mutex(State())
    /// What tells the loop that there are edges (an eventfd).
    let bell: CInt

    init() throws {
        bell = eventfd(0, CInt(O_NONBLOCK | O_CLOEXEC))
        try #require(bell >= 0)
    }

    deinit { close(bell) }

    var done: [String] { state.withLock { $0.done } }

    /// From now on the place cannot be taken; `nil`: it can.
    func refuse(_ place: String, _ error: IndicatorError?) {
        state.withLock { $0.refusals[place] = error }
    }

    /// What is held there is gone, and not there any more.
    func remove(_ place: String) {
        state.withLock {
            $0.gone.insert(place)
            $0.refusals[place] = .absent
        }
    }

    func restore(_ place: String) {
        state.withLock { $0.refusals[place] = nil }
    }

    /// The button's level changes, `age` before it is heard of.
    func button(down: Bool, ages: [(Bool, Duration)]) {
        state.withLock {
            $0.down = down
            $0.edges += ages.map { ButtonEdge(age: $0.1, pressed: $0.0) }
        }
        var one: UInt64 = 1
        _ = write(bell, &one, 8)
    }

    func lamp(at place: LEDPlace, lit: Bool) throws(IndicatorError) -> any Lamp {
        let name = Self.name(place)
        if let refusal = note("take \(name) \(lit ? "lit" : "dark")", unless: name) { throw refusal }
        return ScriptedLamp(self, name)
    }

    func button(on line: GPIOLine, debounce: Duration) throws(IndicatorError) -> any ButtonLine {
        if let refusal = note("take \(line.name)", unless: line.name) { throw refusal }
        return ScriptedButton(self, line.name, debounced: state.withLock { $0.debounced })
    }

    /// Notes an attempt, and gives the reason why it fails.
    private func note(_ words: String, unless place: String) -> IndicatorError? {
        state.withLock {
            if let refusal = $0.refusals[place] {
                $0.done.append("refuse \(place)")
                return refusal
            }
            $0.gone.remove(place)
            $0.done.append(words)
            return nil
        }
    }

    fileprivate func act(_ words: String, on place: String) throws(IndicatorError) {
        let isGone = state.withLock {
            let isGone = $0.gone.contains(place)
            if !isGone { $0.done.append(words) }
            return isGone
        }
        if isGone { throw .gone }
    }

    private static func name(_ place: LEDPlace) -> String {
        switch place {
        case .line(let line): line.name
        case .kernel(let name): name
        }
    }
}

extension IndicatorError {
    static let absent = IndicatorError(.lineNotFound, "not there", advice: "look")
    static let gone = IndicatorError(.gone, "it is gone", advice: "wait")
    static let busy = IndicatorError(.lineBusy, "in use by \"other\"", advice: "free it")
}

private final class ScriptedLamp: Lamp {
    let hardware: ScriptedHardware
    let name: String

    init(_ hardware: ScriptedHardware, _ name: String) {
        self.hardware = hardware
        self.name = name
    }

    func set(_ lit: Bool) throws(IndicatorError) { try hardware.act("\(name) \(lit ? "on" : "off")", on: name) }

    func check() throws(IndicatorError) { if hardware.state.withLock({ $0.gone.contains(name) }) { throw .gone } }

    func release() { hardware.state.withLock { $0.done.append("release \(name)") } }
}

private final class ScriptedButton: ButtonLine {
    let hardware: ScriptedHardware
    let name: String
    let debounced: Bool

    init(_ hardware: ScriptedHardware, _ name: String, debounced: Bool) {
        self.hardware = hardware
        self.name = name
        self.debounced = debounced
    }

    var descriptor: CInt { hardware.bell }

    func pressed() throws(IndicatorError) -> Bool {
        let (isGone, down) = hardware.state.withLock { ($0.gone.contains(name), $0.down) }
        if isGone { throw .gone }
        return down
    }

    func edges() throws(IndicatorError) -> [ButtonEdge] {
        var count: UInt64 = 0
        _ = read(hardware.bell, &count, 8)
        if hardware.state.withLock({ $0.gone.contains(name) }) { throw .gone }
        return hardware.state.withLock { state in
            defer { state.edges = [] }
            return state.edges
        }
    }

    func release() { hardware.state.withLock { $0.done.append("release \(name)") } }
}
