import Platform
import Testing
@testable import Radio

/// Octets as a cuff of the BP2 family would send them.
enum BP2Forge {
    static func frame(_ command: UInt8, type: UInt8 = 1, sequence: UInt8 = 1, _ payload: [UInt8] = []) -> [UInt8] {
        let head = [0xA5, command, ~command, type, sequence, UInt8(payload.count & 0xFF), UInt8(payload.count >> 8)] + payload
        var crc: UInt8 = 0
        for octet in head {
            crc ^= octet
            for _ in 0..<8 { crc = crc & 0x80 != 0 ? crc << 1 ^ 7 : crc << 1 }
        }
        return head + [crc]
    }

    /// A file of one reading.
    static func file(type: UInt8 = 1, time: UInt32 = 1_718_471_847, systolic: UInt16 = 124, diastolic: UInt16 = 86, mean: UInt16 = 97, pulse: UInt8 = 51, flags: UInt8 = 0) -> [UInt8] {
        let head = [1, type] + LittleEndian.bytes(time) + [0, 0, 0, 0, 0]
        let values = CuffForge.u16(systolic) + CuffForge.u16(diastolic) + CuffForge.u16(mean) + [pulse, flags]
        return head + values + [UInt8](repeating: 0, count: 19)
    }

    /// A record of a W model's list.
    static func record(time: UInt32 = 1_718_471_847, user: UInt32 = 218_071, systolic: UInt16 = 124, pulse: UInt8 = 51, flags: UInt8 = 0) -> [UInt8] {
        let head = LittleEndian.bytes(time) + LittleEndian.bytes(user) + [0, 0, 0, 0, 0]
        return head + CuffForge.u16(systolic) + CuffForge.u16(86) + CuffForge.u16(97) + [pulse, flags] + [UInt8](repeating: 0, count: 16)
    }

    static let listHeader: [UInt8] = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]

    /// The answer to the info request, as a device sent it (its serial number changed).
    static let info = hex("42 00 01 01 01 00 00 01 00 33 32 31 32 30 30 31 31 05 00 00 22 86 03 01 E8 07 06 0F 11 11 1B 01 00 00 00 00 00 0A")
        + Array("2523C00000".utf8) + [UInt8](repeating: 0, count: 12)

    static func name(_ text: String) -> BP2FileName {
        guard let name = BP2FileName(text) else { preconditionFailure("no name: \(text)") }
        return name
    }
}

@Suite("Frames of the BP2 family")
struct BP2FrameTests {
    @Test("requests are the octets that are known from the air")
    func requests() {
        #expect(hexText(BP2Request.info.encoded(sequence: 1)) == "A5 E1 1E 00 01 00 00 02")
        #expect(hexText(BP2Request.state.encoded(sequence: 2)) == "A5 06 F9 00 02 00 00 D3")
        #expect(hexText(BP2Request.fileList.encoded(sequence: 3)) == "A5 F1 0E 00 03 00 00 78")
        #expect(CRC8.checksum(Array("123456789".utf8)) == 0xF4)
    }

    @Test("requests carry their parameters, and every one is a frame with a right checksum")
    func parameters() throws {
        let time = try #require(CivilTime(year: 2024, month: 6, day: 15, hour: 17, minute: 17, second: 27))
        let name = BP2Forge.name("20240615171727")
        let expected: [(BP2Request, UInt8, [UInt8])] = [
            (.setTime(time), 0xEC, hex("E8 07 06 0F 11 11 1B")), (.openFile(name), 0xF2, Array("20240615171727".utf8) + [0, 0, 0, 0, 0, 0]),
            (.readFile(offset: 0x0102_0304), 0xF3, [4, 3, 2, 1]), (.closeFile, 0xF4, []), (.battery, 0xE4, [])
        ]
        for (request, command, payload) in expected {
            #expect(request.encoded(sequence: 9) == BP2Forge.frame(command, type: 0, sequence: 9, payload))
        }
    }

    @Test("no frame can be made for a command outside the allow-list")
    func allowList() {
        #expect(Set(BP2Command.allCases.map(\.rawValue)) == [0x06, 0x08, 0x32, 0xE1, 0xE4, 0xEC, 0xC0, 0xF1, 0xF2, 0xF3, 0xF4])
        // What is known to inflate the cuff, switch it off, reset it or erase its memory.
        for dangerous: UInt8 in [0x04, 0x09, 0x0A, 0x24, 0x25, 0x39, 0xE2, 0xE3, 0xF8] { #expect(BP2Command(rawValue: dangerous) == nil) }
    }

    @Test("frames are found however they are cut and joined")
    func cut() {
        let frames = [BP2Forge.frame(0xE1, BP2Forge.info), BP2Forge.frame(0xF4), BP2Forge.frame(0xF3, [UInt8](repeating: 0xA5, count: 300))]
        let stream = frames.flatMap { $0 }
        for size in 1...stream.count {
            var reassembler = BP2Reassembler()
            var outcomes: [BP2Reassembler.Outcome] = []
            for start in stride(from: 0, to: stream.count, by: size) { outcomes += reassembler.take(Array(stream[start..<min(start + size, stream.count)])) }
            #expect(outcomes.count == 3 && reassembler.pending == 0)
            for (outcome, octets) in zip(outcomes, frames) {
                guard case .frame(let frame) = outcome else {
                    Issue.record("not a frame: \(outcome)")
                    continue
                }
                #expect(frame.payload == Array(octets[7...].dropLast()) && frame.command == octets[1] && frame.type == 1 && frame.sequence == 1)
            }
        }
    }

    @Test("octets between frames are dropped, and a frame with a wrong checksum costs itself alone")
    func damaged() {
        var wrong = BP2Forge.frame(0xF3, [1, 2, 3])
        wrong[8] ^= 1
        var reassembler = BP2Reassembler()
        let outcomes = reassembler.take([0, 0xA5, 0xA5, 7] + wrong + BP2Forge.frame(0xF4) + [1, 2])
        #expect(outcomes == [.discarded(4 + wrong.count), .frame(BP2Frame(command: 0xF4, type: 1, sequence: 1, payload: [])), .discarded(2)])
    }

    @Test("a frame whose rest never comes is given up, and those behind its beginning are found")
    func unfinished() {
        var reassembler = BP2Reassembler()
        let beginning: [UInt8] = [0xA5, 0xF3, 0x0C, 1, 1, 0x00, 0x08]
        #expect(reassembler.take(beginning + BP2Forge.frame(0xF4)).isEmpty)
        let outcomes = reassembler.abandon()
        #expect(outcomes.last == .frame(BP2Frame(command: 0xF4, type: 1, sequence: 1, payload: [])))
        #expect(reassembler.pending == 0)
        #expect(reassembler.abandon().isEmpty)
    }

    @Test("a length beyond any payload begins no frame")
    func tooLong() {
        var reassembler = BP2Reassembler()
        #expect(reassembler.take([0xA5, 0xF3, 0x0C, 1, 1, 0x01, 0x10]) == [.discarded(7)])
    }

    @Test("random octets never trap and never hold more than one frame back")
    func hostile() {
        var random = SplitMix64(seed: 8)
        var reassembler = BP2Reassembler()
        for _ in 0..<20_000 {
            var octets = (0..<Int(random.next() % 30)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            if random.next() % 4 == 0 { octets = [0xA5, 0xF3, 0x0C] + octets }
            for case .frame(let frame) in reassembler.take(octets) {
                var read = BP2FileRead(BP2FileName.readings)
                _ = read.answered(frame)
            }
            #expect(reassembler.pending <= BP2Frame.payloadLimit + BP2Frame.overhead + 1)
            if random.next() % 50 == 0 { _ = reassembler.abandon() }
            _ = try? BP2Info(parsing: octets)
            _ = try? BP2State(parsing: octets)
            _ = try? BP2FileList(parsing: octets)
            _ = try? BP2File(parsing: octets)
            _ = try? BP2ReadingList(parsing: octets)
        }
    }
}

@Suite("Answers and files of the BP2 family")
struct BP2FileTests {
    @Test("the info answer says who the cuff is and what its clock shows")
    func info() throws {
        let info = try BP2Info(parsing: BP2Forge.info)
        #expect(info.serial == "2523C00000" && info.firmware == "1.1.1.0")
        #expect(info.clock?.description == "2024-06-15T17:17:27")
        for length in 0..<48 { #expect(cuffCode { () throws(CuffError) in _ = try BP2Info(parsing: Array(BP2Forge.info.prefix(length))) } == .malformedAnswer) }
        for number: UInt8 in [0, 19, 255] {
            var wrong = BP2Forge.info
            wrong[37] = number
            #expect(cuffCode { () throws(CuffError) in _ = try BP2Info(parsing: wrong) } == .malformedAnswer)
        }
    }

    @Test("the state answer says what the cuff does and how its battery is")
    func state() throws {
        let state = try BP2State(parsing: [4, 3, 12, 0x83, 0x0E, 0, 0, 0, 0])
        #expect(state.activity.isMeasuring && state.battery.isLow && state.battery.percent == 12)
        #expect(try !BP2State(parsing: [3, 0, 101, 0, 0]).activity.isMeasuring)
        #expect(try BP2Battery(parsing: [0, 101, 0, 0]).percent == nil)
        #expect(cuffCode { () throws(CuffError) in _ = try BP2State(parsing: [3, 0, 1]) } == .malformedAnswer)
    }

    @Test("a file list gives its names, and says how many entries are none")
    func list() throws {
        func padded(_ text: String) -> [UInt8] { Array(text.utf8) + [UInt8](repeating: 0, count: 16 - text.utf8.count) }
        let octets = [4] + padded("20240615171727") + padded("") + padded("bp2nibp.list") + padded("20240615171727")
        let list = try BP2FileList(parsing: octets)
        #expect(list.names.map(\.text) == ["20240615171727", "bp2nibp.list"] && list.unreadable == 2)
        #expect(try BP2FileList(parsing: Array(octets.prefix(40))).names.map(\.text) == ["20240615171727"])
        #expect(try BP2FileList(parsing: [0]).names.isEmpty)
        #expect(cuffCode { () throws(CuffError) in _ = try BP2FileList(parsing: []) } == .malformedAnswer)
    }

    @Test("a file holds one reading")
    func file() throws {
        guard case .reading(let reading) = try BP2File(parsing: BP2Forge.file(flags: 1)) else {
            Issue.record("no reading")
            return
        }
        #expect([reading.systolic, reading.diastolic, reading.mean].map { $0.number?.description } == ["124", "86", "97"])
        #expect(reading.pulse?.number?.description == "51" && reading.status == .irregularPulse && reading.unit == .mmHg && reading.user == nil)
        #expect(reading.time.civil?.description == "2024-06-15T17:17:27")
        #expect(reading.raw.count == 38)
    }

    @Test("an electrocardiogram is left alone, and what is neither is said")
    func others() throws {
        #expect(try BP2File(parsing: [1, 2, 0]) == .electrocardiogram)
        #expect(try BP2File(parsing: [1, 9]) == .unknown(type: 9))
        for length in [0, 1, 37, 39] {
            let octets = Array((BP2Forge.file() + [0]).prefix(length))
            #expect(cuffCode { () throws(CuffError) in _ = try BP2File(parsing: octets) } == .malformedFile)
        }
    }

    @Test("a list holds readings of users in the order of a ring, with places never written left out")
    func readings() throws {
        let records = [BP2Forge.record(systolic: 130), [UInt8](repeating: 0, count: 37), BP2Forge.record(time: 1_718_471_000, user: 0, pulse: 0, flags: 3)]
        let list = try BP2ReadingList(parsing: BP2Forge.listHeader + records.flatMap { $0 })
        #expect(list.readings.map(\.user) == [218_071, nil])
        #expect(list.readings.map { $0.systolic.number?.description } == ["130", "124"])
        #expect(list.readings.map(\.pulse) == [.number(DecimalNumber(51)), .nan])
        #expect(list.readings.map(\.status) == [[], .irregularPulse])
        #expect(list.readings[0].raw == records[0])
        for length in [0, 9, 11, 46, 48] {
            let octets = Array((BP2Forge.listHeader + records[0] + [0]).prefix(length))
            #expect(cuffCode { () throws(CuffError) in _ = try BP2ReadingList(parsing: octets) } == .malformedFile)
        }
    }

    @Test("a measurement without any pressure is a failed one, and one without time says so")
    func failed() throws {
        guard case .reading(let reading) = try BP2File(parsing: BP2Forge.file(time: 0, systolic: 0, diastolic: 0, mean: 0, pulse: 0)) else {
            Issue.record("no reading")
            return
        }
        #expect(reading.isFailed && reading.time == .none)
    }

    @Test("a name is 1 to 16 printable characters, and says a time when it is one")
    func names() {
        for wrong in ["", "12345678901234567", "a b", "ä", "a\u{0}"] { #expect(BP2FileName(wrong) == nil) }
        #expect(BP2FileName("20240615171727")?.time?.description == "2024-06-15T17:17:27")
        for other in ["20240231000000", "bp2nibp.list", "2024061517172", "2024061517172x"] { #expect(BP2Forge.name(other).time == nil) }
    }
}

@Suite("Reading a file of the BP2 family")
struct BP2FileReadTests {
    private static let name = BP2Forge.name("20240615171727")

    private func answer(_ command: BP2Command, type: UInt8 = 1, _ payload: [UInt8] = []) -> BP2Frame {
        BP2Frame(command: command.rawValue, type: type, sequence: 0, payload: payload)
    }

    @Test("opens, fetches part by part, and closes")
    func whole() {
        var read = BP2FileRead(Self.name, length: 38)
        let file = BP2Forge.file()
        #expect(read.start == .openFile(Self.name))
        #expect(read.answered(answer(.readFileStart, [38, 0, 0, 0])) == .request(.readFile(offset: 0)))
        #expect(read.answered(answer(.readFileData, Array(file[..<20]))) == .request(.readFile(offset: 20)))
        #expect(read.answered(answer(.readFileData, Array(file[20...]))) == .request(.closeFile))
        #expect(read.answered(answer(.readFileEnd)) == .finished(file))
    }

    @Test("a file of another length is closed unread, an empty one is empty")
    func skipped() {
        var read = BP2FileRead(Self.name, length: 38)
        #expect(read.answered(answer(.readFileStart, [0x10, 0x27, 0, 0])) == .request(.closeFile))
        #expect(read.answered(answer(.readFileEnd)) == .skipped(size: 10_000))
        var empty = BP2FileRead(.readings)
        #expect(empty.answered(answer(.readFileStart, [0, 0, 0, 0])) == .request(.closeFile))
        #expect(empty.answered(answer(.readFileEnd, type: 9)) == .finished([]))
    }

    @Test("refusals and answers that cannot be end the read, and close what was opened")
    func failures() {
        func code(_ step: BP2FileRead.Step) -> CuffError.Code? {
            if case .failed(let error) = step { return error.code }
            return nil
        }
        var refused = BP2FileRead(Self.name)
        #expect(code(refused.answered(answer(.readFileStart, type: 0xE1))) == .refused)
        #expect(code(refused.answered(answer(.readFileStart))) == .malformedAnswer)
        let cases: [([BP2Frame], CuffError.Code)] = [
            ([answer(.readFileStart, [1])], .malformedAnswer), ([answer(.readFileStart, [0, 0, 0, 1])], .malformedFile),
            ([answer(.readFileStart, [2, 0, 0, 0]), answer(.readFileData, type: 3)], .refused),
            ([answer(.readFileStart, [2, 0, 0, 0]), answer(.readFileData, [])], .malformedFile),
            ([answer(.readFileStart, [2, 0, 0, 0]), answer(.readFileData, [1, 2, 3])], .malformedFile)
        ]
        for (answers, expected) in cases {
            var read = BP2FileRead(Self.name)
            let steps = answers.map { read.answered($0) }
            #expect(steps.last == .request(.closeFile))
            #expect(code(read.answered(answer(.readFileEnd))) == expected)
        }
    }
}

@Suite("What of a BP2 is stored already")
struct BP2CheckpointTests {
    private let names = ["20240615171727", "20240101000000", "bp2ecg.list", "20240301000000"].map(BP2Forge.name)

    @Test("unknown readings are read, the oldest first, and stored ones are left alone")
    func unread() {
        var checkpoint = BP2Checkpoint()
        #expect(checkpoint.listed(names).map(\.text) == ["20240101000000", "20240301000000", "20240615171727"])
        checkpoint.stored(names[1], [1])
        checkpoint.stored(names[0], [2])
        #expect(checkpoint.listed(names) == [names[3]])
        #expect(BP2Checkpoint(entries: checkpoint.entries) == checkpoint)
    }

    @Test("a name that was gone and is back is read again, and its digest tells whether it is another reading")
    func nameComesBack() {
        var checkpoint = BP2Checkpoint()
        checkpoint.stored(names[0], [2])
        #expect(checkpoint.listed([names[1]]) == [names[1]])
        #expect(checkpoint.listed([names[0]]) == [names[0]])
        #expect(checkpoint.holds(names[0], [2]) && !checkpoint.holds(names[0], [3]))
        checkpoint.stored(names[0], [3])
        #expect(checkpoint.listed([names[0]]).isEmpty)
        #expect(checkpoint.holds(names[0], [2]))
    }

    @Test("after the clock went back no name is known")
    func clockReset() {
        var checkpoint = BP2Checkpoint()
        checkpoint.stored(names[0], [2])
        #expect(checkpoint.listed([names[0]], clockWentBack: true) == [names[0]])
        checkpoint.stored(names[0], [2])
        #expect(checkpoint.listed([names[0]]).isEmpty && checkpoint.entries.count == 1)
    }

    @Test("what is remembered is bounded, and the oldest is forgotten first")
    func bounded() {
        var checkpoint = BP2Checkpoint()
        for number in 0..<2_000 { checkpoint.stored(names[0], LittleEndian.bytes(UInt32(number))) }
        #expect(checkpoint.entries.count == BP2Checkpoint.limit)
        #expect(checkpoint.holds(names[0], LittleEndian.bytes(1_999)) && !checkpoint.holds(names[0], LittleEndian.bytes(0)))
    }
}
