import Platform
import Testing
@testable import Radio

@Suite("SFLOAT")
struct SFLOATTests {
    @Test("all 65,536 values are what they were when they are written again")
    func everyValue() {
        for raw in UInt16.min...UInt16.max { #expect(SFLOAT(rawValue: raw).rawValue == raw) }
    }

    @Test("five values are no numbers, and only with exponent 0")
    func specials() {
        #expect(SFLOAT(rawValue: 0x07FF) == .nan)
        #expect(SFLOAT(rawValue: 0x0800) == .notAtThisResolution)
        #expect(SFLOAT(rawValue: 0x07FE) == .positiveInfinity)
        #expect(SFLOAT(rawValue: 0x0802) == .negativeInfinity)
        #expect(SFLOAT(rawValue: 0x0801) == .reserved)
        #expect((UInt16.min...UInt16.max).count { SFLOAT(rawValue: $0).number == nil } == 5)
        #expect(SFLOAT(rawValue: 0x17FF) == .number(DecimalNumber(2_047, exponent: 1)))
    }

    @Test("numbers keep their digits", arguments: [
        (UInt16(0x008A), "138"), (0xF0BD, "18.9"), (0xE76C, "19.00"), (0x10F3, "2430"), (0x0000, "0"), (0xF000, "0.0"), (0xFFFF, "-0.1"), (0x0FFF, "-1"),
        (0x8001, "0.00000001"), (0x7001, "10000000"), (0x0803, "-2045"), (0xF800, "-204.8")
    ])
    func digits(raw: UInt16, text: String) {
        #expect(SFLOAT(rawValue: raw).number?.description == text)
    }

    @Test("a number without form in 16 bits is not written")
    func unwritable() {
        let numbers = [DecimalNumber(2_048), DecimalNumber(-2_049), DecimalNumber(1, exponent: 8), DecimalNumber(1, exponent: -9), DecimalNumber(2_047)]
        for number in numbers { #expect(SFLOAT.number(number).rawValue == nil) }
    }
}
