import Platform
import Testing
@testable import Radio

@Suite("Blood pressure records")
struct RecordTests {
    private static let value = CuffForge.measurement(time: CuffForge.time(), pulse: 72)

    private static func record(_ sequence: UInt16 = 7, uuid: UInt16 = 0x2A35, value: [UInt8] = value, crc: Bool = false) -> [UInt8] {
        let octets = CuffForge.u16(sequence) + CuffForge.u16(uuid) + value
        return crc ? octets + CuffForge.u16(ReflectedCRC16.checksum(octets)) : octets
    }

    /// Cut into segments of at most so many octets, counted from `counter` on.
    private static func segments(_ octets: [UInt8], of size: Int, counter: UInt8 = 0) -> [[UInt8]] {
        let starts = Array(stride(from: 0, to: octets.count, by: size))
        return starts.enumerated().map { place, start in
            let header: UInt8 = (place == 0 ? 1 : 0) | (place == starts.count - 1 ? 2 : 0) | (counter &+ UInt8(place)) << 2
            return [header] + octets[start..<min(start + size, octets.count)]
        }
    }

    @Test("the checksum is the one of the health services")
    func checksum() {
        #expect(ReflectedCRC16.checksum(Array("123456789".utf8)) == 0x6F91)
    }

    @Test("records come whole and in segments, with and without checksum", arguments: [false, true])
    func assembled(crc: Bool) throws {
        for size in 1...30 {
            var assembler = BloodPressureRecordAssembler(hasCRC: crc)
            for (number, counter) in [(UInt16(65_535), UInt8(60)), (0, 3)] {
                let segments = Self.segments(Self.record(number, crc: crc), of: size, counter: counter)
                for segment in segments.dropLast() { #expect(try assembler.take(segment) == nil) }
                let record = try #require(try assembler.take(segments[segments.count - 1]))
                #expect(record.sequence == number && record.value == Self.value)
                #expect(try record.measurement().pulse == .number(DecimalNumber(72)))
            }
        }
    }

    @Test("an enhanced measurement is read from its record, and another characteristic is not")
    func contents() throws {
        let enhanced = BloodPressureRecord.self
        let record = try enhanced.init(parsing: Self.record(uuid: 0x2B34, value: [0, 120, 0, 80, 0, 93, 0]), hasCRC: false)
        #expect(try record.measurement().systolic == .number(DecimalNumber(120)))
        let other = try enhanced.init(parsing: Self.record(uuid: 0x2A36), hasCRC: false)
        #expect(cuffCode { () throws(CuffError) in _ = try other.measurement() } == .malformedRecord)
    }

    @Test("a missing, repeated or wrong segment costs its record and not the next one")
    func losses() throws {
        let first = Self.segments(Self.record(1), of: 8), second = Self.segments(Self.record(2), of: 8, counter: UInt8(first.count))
        let streams: [[[UInt8]]] = [
            [first[0]] + first[2...] + second,
            [first[0], first[0]] + first[1...].dropLast() + second,
            Array(first.dropFirst()) + second,
            Array(first.dropLast()) + second,
            [[]] + second,
            [first[0], []] + first.dropFirst() + second
        ]
        for (place, stream) in streams.enumerated() {
            var assembler = BloodPressureRecordAssembler(hasCRC: false)
            var records: [UInt16] = []
            var failures = 0
            for segment in stream {
                do throws(CuffError) {
                    if let record = try assembler.take(segment) { records.append(record.sequence) }
                } catch {
                    #expect(error.code == .malformedRecord)
                    failures += 1
                }
            }
            #expect(records == [2], "stream \(place)")
            #expect(failures > 0, "stream \(place)")
        }
    }

    @Test("a checksum that is wrong, or a record without room for one, is an error")
    func wrongChecksum() {
        var octets = Self.record(crc: true)
        octets[6] ^= 1
        for wrong in [octets, [1, 0, 0x35, 0x2A], [1], []] {
            #expect(cuffCode { () throws(CuffError) in _ = try BloodPressureRecord(parsing: wrong, hasCRC: true) } == .malformedRecord)
        }
    }

    @Test("a record without end is given up at its bound")
    func endless() throws {
        var assembler = BloodPressureRecordAssembler(hasCRC: false)
        var failures = 0
        for counter: UInt8 in 0..<64 {
            let segment = [(counter == 0 ? 1 : 0) | counter << 2] + [UInt8](repeating: 0, count: 100)
            do throws(CuffError) { #expect(try assembler.take(segment) == nil) } catch { failures += 1 }
        }
        #expect(failures == 64 - 5)
    }
}
