import Glibc
import Platform
@testable import Radio

/// Measurements as a cuff would send them.
enum CuffForge {
    static func u16(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }

    /// A Blood Pressure Measurement with the fields that are given.
    static func measurement(
        systolic: UInt16 = 120, diastolic: UInt16 = 80, mean: UInt16 = 93, kPa: Bool = false, time: DateTimeValue? = nil, pulse: UInt16? = nil,
        user: UInt8? = nil, status: UInt16? = nil
    ) -> [UInt8] {
        var flags: UInt8 = kPa ? 1 : 0
        var octets = [systolic, diastolic, mean].flatMap(u16)
        if let time { flags |= 2; octets += time.encoded }
        if let pulse { flags |= 4; octets += u16(pulse) }
        if let user { flags |= 8; octets.append(user) }
        if let status { flags |= 16; octets += u16(status) }
        return [flags] + octets
    }

    /// Midnight of a day in 2024 and so many minutes.
    static func time(day: UInt8 = 1, minute: Int = 0) -> DateTimeValue {
        DateTimeValue(year: 2024, month: 6, day: day, hours: UInt8(minute / 60), minutes: UInt8(minute % 60), seconds: 0)
    }
}

/// The code of the error that `body` throws.
func cuffCode(_ body: () throws(CuffError) -> Void) -> CuffError.Code? {
    do throws(CuffError) { try body() } catch { return error.code }
    return nil
}

/// The text of a file of the tests.
func contentsOfFile(_ path: String) -> String? {
    guard let file = fopen(path, "rb") else { return nil }
    defer { fclose(file) }
    var octets: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        guard count > 0 else { return String(decoding: octets, as: UTF8.self) }
        octets += buffer.prefix(count)
    }
}
