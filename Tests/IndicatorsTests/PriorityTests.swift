import Testing

@testable import Indicators

@Suite("What each LED shows")
struct PriorityTests {
    static let lists: [LEDPriority] = [.status, .radio, .uplink, .single]

    @Test("for every combination of conditions the first state that matches is shown, and no more urgent one was passed over")
    func firstMatch() {
        for conditions in everyCombination {
            for list in Self.lists {
                let shown = list.state(for: conditions)
                let position = list.order.firstIndex(of: shown)
                #expect(conditions.isSuperset(of: shown.condition))
                for passedOver in list.order.prefix(position ?? 0) {
                    #expect(conditions.isDisjoint(with: passedOver.condition), "\(passedOver) before \(shown)")
                }
            }
        }
    }

    @Test("each state is shown when it is the most urgent of its LED, with every less urgent one beside it", arguments: LED.allCases)
    func eachVisible(_ led: LED) {
        let order = LEDPriority.of(led).order
        for (position, state) in order.enumerated() {
            let lessUrgent = order.suffix(from: position).reduce(into: IndicatorConditions()) { $0.formUnion($1.condition) }
            #expect(LEDPriority.of(led).state(for: lessUrgent) == state)
            #expect(LEDPriority.of(led).state(for: state.condition) == state)
        }
    }

    @Test("an LED never looks at the conditions of another")
    func independent() {
        for conditions in everyCombination {
            for led in LED.allCases {
                let list = LEDPriority.of(led)
                let own = list.order.reduce(into: IndicatorConditions()) { $0.formUnion($1.condition) }
                #expect(list.state(for: conditions) == list.state(for: conditions.intersection(own)))
            }
        }
    }

    @Test("one LED alone shows each condition when it is the most urgent of all")
    func singleVisible() {
        let order = LEDPriority.single.order
        for (position, state) in order.enumerated() {
            let lessUrgent = order.suffix(from: position).reduce(into: IndicatorConditions()) { $0.formUnion($1.condition) }
            #expect(LEDPriority.single.state(for: lessUrgent) == state)
        }
        #expect(Set(order).isSuperset(of: LEDState.allCases.filter { !$0.condition.isEmpty }))
    }

    @Test("the order of one LED alone keeps the order of each of the three", arguments: LED.allCases)
    func singleKeepsOrder(_ led: LED) {
        let own = LEDPriority.of(led).order.filter { !$0.condition.isEmpty }
        #expect(LEDPriority.single.order.filter(own.contains) == own)
    }

    @Test("with one LED alone, more flashes never stand behind fewer")
    func singleCounts() {
        let counts = LEDPriority.single.order.compactMap { state -> Int? in
            if case .flashes(let count) = state.pattern { count } else { nil }
        }
        #expect(counts == counts.sorted(by: >))
    }

    @Test("within an LED, two states look the same only where the table has them in one row")
    func distinguishable() {
        for led in LED.allCases {
            let order = LEDPriority.of(led).order.filter { $0 != .configurationRefused }
            #expect(Set(order.map(\.pattern)).count == order.count)
        }
        #expect(LEDState.storageUnusable.pattern == LEDState.configurationRefused.pattern)
    }

    @Test("every state belongs to one LED, has words of its own, and its condition is its own")
    func complete() {
        #expect(LED.allCases.flatMap { LEDPriority.of($0).order }.map(\.rawValue).sorted() == LEDState.allCases.map(\.rawValue).sorted())
        #expect(Set(LEDState.allCases.map(\.words)).count == LEDState.allCases.count)
        let conditions = LEDState.allCases.map(\.condition).filter { !$0.isEmpty }
        #expect(conditions.reduce(0) { $0 + $1.rawValue.nonzeroBitCount } == 13)
        #expect(conditions.reduce(into: IndicatorConditions()) { $0.formUnion($1) }.rawValue == 1 << 13 - 1)
    }

    @Test("the patterns are those of the table")
    func table() {
        let rows: [(LED, [(IndicatorConditions, String)])] = [
            (.status, [(.storageFault, "5 flashes"), (.configurationRefused, "5 flashes"), (.clockUnset, "3 flashes"), (.starting, "1 flash"),
                       ([], "on, a dip every 10 s")]),
            (.radio, [(.noController, "4 flashes"), (.pairingOpen, "even blinking"), (.deviceAway, "2 flashes"), (.lookingForDevices, "1 flash"),
                      (.readingFromDevice, "on, a dip with each batch"), ([], "on")]),
            (.uplink, [(.authorisationRefused, "4 flashes"), (.queueFull, "3 flashes"), (.backendUnreachable, "2 flashes"),
                       (.waitingToSend, "1 flash"), ([], "on")])
        ]
        for (led, states) in rows {
            for (condition, name) in states { #expect(LEDPriority.of(led).state(for: condition).pattern.name == name) }
        }
    }
}
