import Indicators

extension ValueForm where Value == LEDPlace {
    /// Where an LED is: a table of its own.
    static let ledPlace = ValueForm(
        allowed: "a table with line (and chip, active), or with led alone", example: "{ line = \"GPIO17\", active = \"low\" }",
        read: { value in
            PlaceTable.read(value, keys: ["line", "chip", "active", "led"]) { table throws(ValueRefusal) in
                guard let led = try table.text("led") else { return .line(try table.gpioLine(orElse: "has neither line nor led")) }
                for name in ["line", "chip", "active"] where table.gives(name) {
                    throw table.refusal(name, "has \(name) beside led; an LED of the kernel's is known by its name alone")
                }
                // It becomes a part of a path.
                guard !led.contains("/"), led != ".", led != ".." else { throw table.refusal("led", "has led = \(quoted(led)), which is no name") }
                return .kernel(led)
            }
        },
        write: { place in
            switch place {
            case .line(let line): "{ \(line.tomlKeys) }"
            case .kernel(let name): "{ led = \(tomlString(name)) }"
            }
        })
}

extension ValueForm where Value == Configuration.Button {
    /// Where the button is, and what it may do.
    static let button = ValueForm(
        allowed: "a table with line (and chip, active, reset)", example: "{ line = \"GPIO27\", active = \"low\" }",
        read: { value in
            PlaceTable.read(value, keys: ["line", "chip", "active", "reset"]) { table throws(ValueRefusal) in
                Configuration.Button(line: try table.gpioLine(orElse: "has no line"), resets: try table.flag("reset") ?? false)
            }
        },
        write: { "{ \($0.line.tomlKeys)\($0.resets ? ", reset = true" : "") }" })
}

extension GPIOLine {
    fileprivate var tomlKeys: String {
        "line = \(tomlString(name))" + (chip.map { ", chip = \(tomlString($0))" } ?? "") + (activeLow ? ", active = \"low\"" : "")
    }
}

/// A table that is one value: what is wrong with it is told at the key that is wrong.
private struct PlaceTable {
    private let table: TOMLTable

    static func read<Value>(
        _ value: TOMLValue, keys: [String], _ body: (PlaceTable) throws(ValueRefusal) -> Value
    ) -> Result<Value, ValueRefusal> {
        guard case .table(let table) = value.content else { return .failure(ValueRefusal(code: .wrongType, words: "is \(value.kind)")) }
        for entry in table.entries where !keys.contains(entry.key) {
            let advice = NearestName.of(entry.key, among: keys).map { "did you mean \(tomlString($0))?" } ?? "known here: \(keys.joined(separator: ", "))"
            return .failure(ValueRefusal(code: .unknownKey, words: "has \(quoted(entry.key)), which is not a known key; \(advice)", position: entry.keyPosition))
        }
        do throws(ValueRefusal) {
            return .success(try body(PlaceTable(table: table)))
        } catch {
            return .failure(error)
        }
    }

    func gives(_ key: String) -> Bool { table[key] != nil }

    func refusal(_ key: String, _ words: String) -> ValueRefusal {
        ValueRefusal(code: .notAllowed, words: words, position: table[key]?.keyPosition)
    }

    /// The line, chip and active level.
    func gpioLine(orElse words: String) throws(ValueRefusal) -> GPIOLine {
        guard let name = try text("line") else { throw ValueRefusal(code: .missingKey, words: words) }
        let active = try text("active") ?? "high"
        guard active == "high" || active == "low" else { throw refusal("active", "has active = \(quoted(active)); it is \"high\" or \"low\"") }
        return GPIOLine(name: name, chip: try text("chip"), activeLow: active == "low")
    }

    /// A name as the kernel keeps it; `nil` when it is left out.
    func text(_ key: String) throws(ValueRefusal) -> String? {
        guard let value = table[key]?.value else { return nil }
        guard case .string(let text) = value.content else { throw wrongType(key, value) }
        let bytes = Array(text.utf8)
        // GPIO_MAX_NAME_SIZE is 32 with the zero; names of LEDs are held to 63 (LED_MAX_NAME_SIZE).
        guard (1...(key == "led" ? 63 : 31)).contains(bytes.count), bytes.allSatisfy({ (0x20...0x7E).contains($0) }), bytes.first != 0x20, bytes.last != 0x20
        else { throw ValueRefusal(code: .notAllowed, words: "has \(key) = \(quoted(text)), which no \(key) can be", position: value.position) }
        return text
    }

    func flag(_ key: String) throws(ValueRefusal) -> Bool? {
        guard let value = table[key]?.value else { return nil }
        guard case .boolean(let flag) = value.content else { throw wrongType(key, value) }
        return flag
    }

    private func wrongType(_ key: String, _ value: TOMLValue) -> ValueRefusal {
        ValueRefusal(code: .wrongType, words: "has \(key), which is \(value.kind)", position: value.position)
    }
}
