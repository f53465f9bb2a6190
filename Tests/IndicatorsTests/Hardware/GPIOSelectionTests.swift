import Glibc
import Platform
import Testing

@testable import Indicators

@Suite("Finding a GPIO line by its name")
struct GPIOSelectionTests {
    private static func chip(_ name: String, _ label: String, _ lines: [String], used: [Int: String] = [:]) -> GPIOChipDescription {
        GPIOChipDescription(name: name, label: label, lines: lines.enumerated().map { .init(name: $1, consumer: used[$0]) })
    }

    private let chips = [
        chip("gpiochip0", "pinctrl", ["ID_SD", "GPIO17", "", "led0"], used: [1: "other", 3: ""]),
        chip("gpiochip1", "expander", ["led0", "led1", ""])
    ]

    private func failure(_ line: GPIOLine, _ chips: [GPIOChipDescription]) -> IndicatorError? {
        do throws(IndicatorError) {
            _ = try GPIOSelection.find(line, among: chips)
            return nil
        } catch {
            return error
        }
    }

    @Test("a line is found on whatever chip has it, and a label narrows it to one chip")
    func found() throws {
        let first = try GPIOSelection.find(GPIOLine(name: "GPIO17"), among: chips)
        #expect(first == (0, 1))
        let second = try GPIOSelection.find(GPIOLine(name: "led0", chip: "expander"), among: chips)
        #expect(second == (1, 0))
        let third = try GPIOSelection.find(GPIOLine(name: "led1", chip: "expander"), among: chips.reversed())
        #expect(third == (0, 1))
    }

    @Test("a name that no line has is an error that says where it was looked for, and what is spelt like it")
    func none() {
        let error = failure(GPIOLine(name: "gpio17"), chips)
        #expect(error?.code == .lineNotFound)
        #expect(error?.what == "line \"gpio17\": no line has that name; looked on gpiochip0 \"pinctrl\" (4 lines), gpiochip1 \"expander\" (3 lines); "
            + "did you mean \"GPIO17\"?")
        let elsewhere = failure(GPIOLine(name: "GPIO17", chip: "expander"), chips)
        #expect(elsewhere?.what == "line \"GPIO17\" on chip \"expander\": no line has that name; looked on gpiochip1 \"expander\" (3 lines)")
    }

    @Test("a name that two lines have is an error that names both, and how to tell them apart if they can be")
    func several() {
        let error = failure(GPIOLine(name: "led0"), chips)
        #expect(error?.code == .lineAmbiguous)
        #expect(error?.what == "line \"led0\": 2 lines have that name: offset 3 of gpiochip0 \"pinctrl\", offset 0 of gpiochip1 \"expander\"")
        #expect(error?.advice == "say on which chip, e.g. chip = \"pinctrl\"")
        let twins = [Self.chip("gpiochip0", "same", ["a"]), Self.chip("gpiochip1", "same", ["a"])]
        #expect(failure(GPIOLine(name: "a", chip: "same"), twins)?.advice == "they cannot be told apart; take another line")
        #expect(failure(GPIOLine(name: "a"), [Self.chip("gpiochip0", "one", ["a", "a"])])?.code == .lineAmbiguous)
    }

    @Test("lines without a name are nobody's, whatever is asked for")
    func unnamed() {
        #expect(failure(GPIOLine(name: "led"), chips)?.code == .lineNotFound)
    }

    @Test("a label that no chip has is an error that names the labels there are; without chips that is said")
    func labels() {
        let error = failure(GPIOLine(name: "led0", chip: "gpiochip1"), chips)
        #expect(error?.code == .chipNotFound)
        #expect(error?.what == "line \"led0\" on chip \"gpiochip1\": no GPIO chip has that label; there are gpiochip0 \"pinctrl\", gpiochip1 \"expander\"")
        #expect(failure(GPIOLine(name: "led0"), [])?.code == .noGPIO)
    }

    @Test("a line in use names who uses it")
    func busy() {
        let named = GPIOSelection.busy(GPIOLine(name: "GPIO17"), chip: chips[0], offset: 1)
        #expect(named.code == .lineBusy)
        #expect(named.what == "line \"GPIO17\" (offset 1 of gpiochip0 \"pinctrl\") is in use by \"other\"")
        #expect(GPIOSelection.busy(GPIOLine(name: "led0"), chip: chips[0], offset: 3).what.hasSuffix("is in use by somebody who gave no name"))
    }

    @Test("a board with many chips makes no endless message")
    func many() {
        let error = failure(GPIOLine(name: "x"), (0..<40).map { Self.chip("gpiochip\($0)", "c\($0)", []) })
        #expect(error?.what.hasSuffix("gpiochip7 \"c7\" (0 lines) and 32 more") == true)
    }

    @Test("codes are stable, and each error says what to do")
    func codes() {
        #expect(IndicatorError.Code.allCases.map(\.rawValue) == [
            "line-not-found", "line-ambiguous", "line-busy", "chip-not-found", "no-gpio", "led-not-found", "not-permitted", "hardware-gone", "hardware-failed"
        ])
        let refused = IndicatorError(SystemError("open", code: EACCES, subject: "/dev/gpiochip0"), on: "GPIO line \"a\"")
        #expect(refused.description == "GPIO line \"a\": open /dev/gpiochip0: Permission denied; give the gateway's user the right to it, e.g. by the group of its file "
            + "[not-permitted]")
        #expect(IndicatorError(SystemError("set", code: ENODEV), on: "x").code == .gone)
        #expect(IndicatorError(SystemError("set", code: EIO), on: "x").code == .failed)
    }

    @Test("a machine without GPIO chips, or with something else of their name, has none")
    func machine() throws {
        let folder = try TemporaryFolder()
        try folder.write("not a device", to: "gpiochip0")
        for devices in [folder.path, "\(folder.path)/nowhere"] {
            let hardware = SystemHardware(devices: devices)
            var code: IndicatorError.Code?
            do throws(IndicatorError) { _ = try hardware.lamp(at: .line(GPIOLine(name: "a")), lit: false) } catch { code = error.code }
            #expect(code == .noGPIO)
        }
        // A character device that is no GPIO chip.
        #expect(symlink("/dev/null", "\(folder.path)/gpiochip1") == 0)
        var code: IndicatorError.Code?
        do throws(IndicatorError) { _ = try SystemHardware(devices: folder.path).button(on: GPIOLine(name: "a"), debounce: .zero) } catch { code = error.code }
        #expect(code == .noGPIO)
    }
}
