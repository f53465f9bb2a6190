import Platform
@testable import Radio

/// libFuzzer's loop, in the runtime that `-sanitize=fuzzer` links.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// Gives the parsers octets that libFuzzer makes up. A trap or a read beyond the end ends the run; scripts/fuzz-cuffs builds and starts it.
@main
enum CuffFuzz {
    static func main() {
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        _ = runDriver(&count, &arguments) { testOneInput($0, $1) }
    }
}

/// One input: the first octet chooses the parser, the others are what a cuff sent. The runtime asks for a function of this name, although it is also given one.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
    guard let choice = input.first else { return 0 }
    let octets = Array(input.dropFirst())
    let quirks: MeasurementQuirks = choice & 0x80 == 0 ? [] : .bigEndianPulseAndStatus
    switch choice & 0x0F {
    case 0:
        if let measurement = try? CuffMeasurement(bloodPressureMeasurement: octets, quirks: quirks) { use(measurement) }
    case 1:
        if let measurement = try? CuffMeasurement(enhancedBloodPressureMeasurement: octets, quirks: quirks) { use(measurement) }
    case 2: _ = try? IntermediateCuffPressure(parsing: octets)
    case 3: _ = try? BloodPressureFeature(parsing: octets)
    case 4: _ = (try? CurrentTimeValue(parsing: octets))?.time.civil?.description
    case 5: _ = try? RecordAccessAnswer(parsing: octets)
    case 6:
        // Segments with a length before each.
        var assembler = BloodPressureRecordAssembler(hasCRC: !quirks.isEmpty)
        for segment in cut(octets) {
            if let record = try? assembler.take(segment), let measurement = try? record.measurement(quirks: quirks) { use(measurement) }
        }
    case 7:
        var reassembler = BP2Reassembler()
        var read = BP2FileRead(.readings)
        for notification in cut(octets) {
            for case .frame(let frame) in reassembler.take(notification) { _ = read.answered(frame) }
            if notification.isEmpty { _ = reassembler.abandon() }
        }
    case 8: _ = try? BP2Info(parsing: octets)
    case 9: _ = try? BP2State(parsing: octets)
    case 10: _ = try? BP2FileList(parsing: octets)
    case 11:
        if case .reading(let measurement)? = try? BP2File(parsing: octets) { use(measurement) }
    case 12: (try? BP2ReadingList(parsing: octets))?.readings.forEach(use)
    default:
        // Frames with right checksums, which chance would hardly find.
        var reassembler = BP2Reassembler()
        for command in BP2Command.allCases { _ = reassembler.take(BP2Frame.request(command, sequence: choice, payload: octets)) }
    }
    return 0
}

/// What the hub does with a measurement: places it, names it, writes its numbers.
private func use(_ measurement: CuffMeasurement) {
    let received = WallTime(seconds: 1_718_464_647, synchronised: true)
    for clock in [CuffClock.unset, .ahead(.min), .ahead(.max), .ahead(-7_200)] {
        _ = ReadingTime(placing: measurement.time, clock: clock, received: received, zone: .fixed(7_200))
    }
    _ = ReadingIdentity.name(device: "BP-1", measurement: measurement, replaysMemory: false, nonce: [])
    _ = [measurement.systolic, measurement.diastolic, measurement.mean].map { $0.number?.description }
}

private func cut(_ octets: [UInt8]) -> [[UInt8]] {
    var rest = octets[...]
    var pieces: [[UInt8]] = []
    while let length = rest.popFirst() {
        pieces.append(Array(rest.prefix(Int(length))))
        rest = rest.dropFirst(Int(length))
    }
    return pieces
}
