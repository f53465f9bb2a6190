import CLinux
import Glibc
import Platform

/// An LED that belongs to the kernel (Documentation/leds/leds-class.rst): its trigger is taken from it, then its brightness is written.
final class KernelLED: Lamp, @unchecked Sendable {
    // Unchecked: used on the loop's thread alone.
    private let name: String
    private let full: String
    private let brightness: Descriptor

    /// - Parameters:
    ///   - folder: `/sys/class/leds`, or a test's.
    init(_ name: String, in folder: String, lit: Bool) throws(IndicatorError) {
        let place = "\(folder)/\(name)", subject = "kernel LED \"\(name)\""
        self.name = subject
        guard !name.isEmpty, !name.contains("/"), name != ".", name != "..", access(place, F_OK) == 0 else { throw Self.missing(name, in: folder) }
        do throws(SystemError) {
            do throws(SystemError) {
                try Self.write("none", to: "\(place)/trigger")
            } catch {
                // A kernel without triggers has none to take away.
                guard error.code == ENOENT else { throw error }
            }
            full = try Self.read("\(place)/max_brightness")
            let raw = clinux_open("\(place)/brightness", O_RDWR | O_CLOEXEC, 0)
            guard raw >= 0 else { throw .last("open", subject: "\(place)/brightness") }
            brightness = Descriptor(owning: raw)
        } catch {
            throw IndicatorError(error, on: subject)
        }
        try set(lit)
    }

    func set(_ lit: Bool) throws(IndicatorError) {
        let bytes = Array((lit ? full : "0").utf8)
        guard retryOnInterrupt({ pwrite(brightness.raw, bytes, bytes.count, 0) }) == bytes.count else { throw IndicatorError(.last("write"), on: name) }
    }

    func check() throws(IndicatorError) {
        // After the LED is gone its open files answer ENODEV (kernfs), also when another of the same name has come.
        var byte: UInt8 = 0
        guard retryOnInterrupt({ pread(brightness.raw, &byte, 1, 0) }) >= 0 else { throw IndicatorError(.last("read"), on: name) }
    }

    func release() {
        // The descriptor goes with its owner; the trigger is left at "none", as the LED is to stay as it is.
    }

    private static func write(_ text: String, to path: String) throws(SystemError) {
        let raw = clinux_open(path, O_WRONLY | O_CLOEXEC, 0)
        guard raw >= 0 else { throw .last("open", subject: path) }
        let file = Descriptor(owning: raw)
        let bytes = Array(text.utf8)
        guard retryOnInterrupt({ Glibc.write(file.raw, bytes, bytes.count) }) == bytes.count else { throw .last("write", subject: path) }
    }

    private static func read(_ path: String) throws(SystemError) -> String {
        let raw = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard raw >= 0 else { throw .last("open", subject: path) }
        let file = Descriptor(owning: raw)
        let bytes = try file.read(upTo: 32) ?? []
        let digits = bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? "1" : String(decoding: digits, as: UTF8.self)
    }

    private static func missing(_ name: String, in folder: String) -> IndicatorError {
        var names: [String] = []
        if let directory = opendir(folder) {
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
                if !name.hasPrefix(".") { names.append("\"\(name)\"") }
            }
        }
        names.sort()
        let there = names.isEmpty ? "it has none" : "there are \(names.prefix(8).joined(separator: ", "))\(names.count > 8 ? " and \(names.count - 8) more" : "")"
        return IndicatorError(.ledNotFound, "the kernel has no LED \"\(name)\"; \(there)", advice: "name it as ls \(folder) does")
    }
}
