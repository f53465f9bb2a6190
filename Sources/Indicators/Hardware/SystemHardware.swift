import CGPIOD
import Glibc
import Platform

/// The LEDs and buttons of this machine.
struct SystemHardware: IndicatorHardware {
    /// Where the character devices of the GPIO chips are.
    var devices = "/dev"
    /// Where the kernel's LEDs are.
    var leds = "/sys/class/leds"

    /// The name under which lines are requested; others see it in `gpioinfo`.
    static let consumer = "gateway"

    func lamp(at place: LEDPlace, lit: Bool) throws(IndicatorError) -> any Lamp {
        switch place {
        case .kernel(let name): return try KernelLED(name, in: leds, lit: lit)
        case .line(let line):
            let held = try take(line) { chip, offset in
                cgpiod_line_request_output(chip, offset, Self.consumer, line.activeLow, lit)
            }
            return GPIOLamp(held, "GPIO \(line)")
        }
    }

    func button(on line: GPIOLine, debounce: Duration) throws(IndicatorError) -> any ButtonLine {
        var debounced = false
        // Towards the level at rest: an open contact would read as anything. Chips that have no such resistors are let be by the kernel.
        let bias = line.activeLow ? CGPIOD_BIAS_PULL_UP : CGPIOD_BIAS_PULL_DOWN
        let held = try take(line) { chip, offset in
            cgpiod_line_request_edges(chip, offset, Self.consumer, line.activeLow, bias, UInt32(debounce.milliseconds * 1_000), &debounced)
        }
        return GPIOButton(held, "GPIO \(line)", debounced: debounced)
    }

    private func take(_ line: GPIOLine, _ request: (OpaquePointer, UInt32) -> OpaquePointer?) throws(IndicatorError) -> OpaquePointer {
        let chips = try GPIOChip.all(in: devices)
        let place = try GPIOSelection.find(line, among: chips.map(\.description))
        let chip = chips[place.chip]
        if let held = request(chip.take(), UInt32(place.offset)) { return held }
        let failure = SystemError.last("request", subject: chip.path)
        switch failure.code {
        case EBUSY: throw GPIOSelection.busy(line, chip: chip.description, offset: place.offset)
        case ENODEV where access(chip.path, F_OK) == 0, ENXIO where access(chip.path, F_OK) == 0:
            // The chip is there: what is missing is an interrupt for the line (gpiod_to_irq).
            throw IndicatorError(.failed, "GPIO \(line): \(failure): the chip tells no edges of it", advice: "take a line of a chip with interrupts")
        default: throw IndicatorError(failure, on: "GPIO \(line)")
        }
    }
}

/// A GPIO chip that is open. Used on one thread.
private final class GPIOChip {
    let path: String
    let description: GPIOChipDescription
    private var handle: OpaquePointer?

    /// Every chip there is, once: a chip may have several names below `/dev` (a Raspberry Pi 5 keeps the one of older models). In the order of their names.
    static func all(in folder: String) throws(IndicatorError) -> [GPIOChip] {
        var seen: Set<dev_t> = []
        var chips: [GPIOChip] = []
        var refused: SystemError?
        for name in names(in: folder) {
            let path = "\(folder)/\(name)"
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFCHR, seen.insert(status.st_rdev).inserted else { continue }
            do throws(SystemError) {
                chips.append(try GPIOChip(path))
            } catch {
                // A chip that goes away meanwhile, or is none, is not there; one that may not be used is to be known of.
                if error.code == EACCES || error.code == EPERM { refused = error }
            }
        }
        guard chips.isEmpty, let refused else { return chips }
        throw IndicatorError(.notPermitted, "the GPIO chips cannot be opened: \(refused)", advice: "put the gateway's user into the group of that file, mostly gpio")
    }

    private init(_ path: String) throws(SystemError) {
        guard let handle = cgpiod_chip_open(path) else { throw .last("open", subject: path) }
        self.path = path
        self.handle = handle
        var facts = cgpiod_chip_facts()
        guard cgpiod_chip_describe(handle, &facts) == 0, let lines = Self.lines(of: handle, count: facts.lines) else {
            let error = SystemError.last("ioctl", subject: path)
            cgpiod_chip_close(handle)
            self.handle = nil
            throw error
        }
        description = GPIOChipDescription(name: text(&facts.name), label: text(&facts.label), lines: lines)
    }

    deinit {
        if let handle { cgpiod_chip_close(handle) }
    }

    /// Gives the open chip away.
    func take() -> OpaquePointer {
        guard let handle else { preconditionFailure("a chip is taken once") }
        self.handle = nil
        return handle
    }

    private static func lines(of handle: OpaquePointer, count: UInt32) -> [GPIOChipDescription.Line]? {
        var lines: [GPIOChipDescription.Line] = []
        for offset in 0..<count {
            var facts = cgpiod_line_facts()
            guard cgpiod_line_describe(handle, offset, &facts) == 0 else { return nil }
            lines.append(.init(name: text(&facts.name), consumer: facts.used ? text(&facts.consumer) : nil))
        }
        return lines
    }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = text(&entry.pointee.d_name)
            if name.hasPrefix("gpiochip") { names.append(name) }
        }
        return names.sorted()
    }
}

/// The text of an array of characters that ends with zero.
private func text<Characters>(_ characters: inout Characters) -> String {
    withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// An LED on a line of our own.
private final class GPIOLamp: Lamp, @unchecked Sendable {
    // Unchecked: used on the loop's thread alone, like the button below.
    private let handle: OpaquePointer
    private let name: String
    private var released = false

    init(_ handle: OpaquePointer, _ name: String) {
        self.handle = handle
        self.name = name
    }

    deinit { release() }

    func set(_ lit: Bool) throws(IndicatorError) {
        guard cgpiod_line_set(handle, lit) == 0 else { throw IndicatorError(.last("set"), on: name) }
    }

    func check() throws(IndicatorError) {
        guard cgpiod_line_get(handle) >= 0 else { throw IndicatorError(.last("get"), on: name) }
    }

    func release() {
        if !released { cgpiod_line_release(handle) }
        released = true
    }
}

/// A button on a line of our own.
private final class GPIOButton: ButtonLine, @unchecked Sendable {
    private let handle: OpaquePointer
    private let name: String
    let debounced: Bool
    private var released = false

    init(_ handle: OpaquePointer, _ name: String, debounced: Bool) {
        self.handle = handle
        self.name = name
        self.debounced = debounced
    }

    deinit { release() }

    var descriptor: CInt { cgpiod_line_descriptor(handle) }

    func pressed() throws(IndicatorError) -> Bool {
        let level = cgpiod_line_get(handle)
        guard level >= 0 else { throw IndicatorError(.last("get"), on: name) }
        return level == 1
    }

    func edges() throws(IndicatorError) -> [ButtonEdge] {
        var room = [cgpiod_edge](repeating: cgpiod_edge(), count: 16)
        let count = cgpiod_line_read_edges(handle, &room, UInt32(room.count))
        guard count >= 0 else { throw IndicatorError(.last("read"), on: name) }
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let nanoseconds = Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
        // Kernels before 5.7 stamp by the wall clock: what makes no sense was just now.
        return room.prefix(Int(count)).map { edge in
            let age = nanoseconds - edge.at
            return ButtonEdge(age: (0...60_000_000_000).contains(age) ? .nanoseconds(age) : .zero, pressed: edge.active)
        }
    }

    func release() {
        if !released { cgpiod_line_release(handle) }
        released = true
    }
}
