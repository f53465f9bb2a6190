import Glibc
import Testing

@testable import Indicators

/// A folder of ordinary files stands for `/sys/class/leds`; the real one is gone through on a test kernel.
@Suite("LEDs of the kernel")
struct KernelLEDTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.makeFolder("ACT")
        try folder.write("none [mmc0] heartbeat\n", to: "ACT/trigger")
        try folder.write("255\n", to: "ACT/max_brightness")
        try folder.write("7", to: "ACT/brightness")
    }

    private func failure(_ name: String) -> IndicatorError? {
        do throws(IndicatorError) {
            _ = try KernelLED(name, in: folder.path, lit: false)
            return nil
        } catch {
            return error
        }
    }

    @Test("its trigger is taken away, and it is as bright as it can be or dark")
    func lit() throws {
        let led = try KernelLED("ACT", in: folder.path, lit: true)
        #expect(try folder.text(of: "ACT/trigger").hasPrefix("none"))
        #expect(try folder.text(of: "ACT/brightness") == "255")
        // A file of sysfs takes each write whole; an ordinary one keeps what was longer before.
        #expect(truncate("\(folder.path)/ACT/brightness", 0) == 0)
        try led.set(false)
        #expect(try folder.text(of: "ACT/brightness") == "0")
        try led.check()
    }

    @Test("a kernel without triggers has none to take away")
    func withoutTrigger() throws {
        #expect(unlink("\(folder.path)/ACT/trigger") == 0)
        _ = try KernelLED("ACT", in: folder.path, lit: false)
    }

    @Test("a name that is none is an error that lists the names there are", arguments: ["PWR", "", "..", "../ACT", "ACT/trigger"])
    func missing(_ name: String) throws {
        try folder.makeFolder("green:lan")
        let error = failure(name)
        #expect(error?.code == .ledNotFound)
        #expect(error?.what == "the kernel has no LED \"\(name)\"; there are \"ACT\", \"green:lan\"")
    }

    @Test("what is not as the kernel has it is an error of that LED")
    func broken() throws {
        #expect(unlink("\(folder.path)/ACT/brightness") == 0)
        #expect(failure("ACT")?.code == .failed)
    }
}
