/// One segment of a Blood Pressure Record (0x2B36; GATT Specification Supplement, "Blood Pressure Record").
struct BloodPressureRecordSegment: Sendable, Hashable {
    /// Bit 0: the first segment of a record.
    let isFirst: Bool
    /// Bit 1: the last one.
    let isLast: Bool
    /// Bits 2 to 7: counts segments and rolls over at 64.
    let counter: UInt8
    /// What is behind the header octet.
    let content: ArraySlice<UInt8>

    /// - Returns: `nil` when there is not even a header.
    init?(parsing octets: [UInt8]) {
        guard let header = octets.first else { return nil }
        isFirst = header & 1 != 0
        isLast = header & 2 != 0
        counter = header >> 2
        content = octets.dropFirst()
    }
}

/// A stored measurement with its number in the cuff's memory.
public struct BloodPressureRecord: Sendable, Hashable {
    /// Counts the cuff's records; it rolls over at 65,536.
    public let sequence: UInt16
    /// The characteristic that the record holds a value of.
    public let uuid: UInt16
    /// That value.
    public let value: [UInt8]

    /// Reads the segments of one record, put together, without their headers.
    ///
    /// - Parameter hasCRC: whether the cuff's feature says that records end with a checksum.
    /// - Throws: `CuffError` with `.malformedRecord`.
    init(parsing octets: [UInt8], hasCRC: Bool) throws(CuffError) {
        let checked = hasCRC ? Array(octets.dropLast(2)) : octets
        guard checked.count >= 4, octets.count - checked.count == (hasCRC ? 2 : 0) else {
            throw CuffError(.malformedRecord, "a record of \(octets.count) octets")
        }
        if hasCRC, LittleEndian.u16(octets, at: checked.count) != ReflectedCRC16.checksum(checked) {
            throw CuffError(.malformedRecord, "a record with a wrong checksum")
        }
        sequence = LittleEndian.u16(checked, at: 0)
        uuid = LittleEndian.u16(checked, at: 2)
        value = Array(checked[4...])
    }

    /// The measurement in the record.
    ///
    /// - Throws: `CuffError`: `.malformedRecord` for a characteristic that holds none, `.malformedMeasurement` for one that cannot be read.
    public func measurement(quirks: MeasurementQuirks = []) throws(CuffError) -> CuffMeasurement {
        switch uuid {
        case 0x2A35: try CuffMeasurement(bloodPressureMeasurement: value, quirks: quirks)
        case 0x2B34: try CuffMeasurement(enhancedBloodPressureMeasurement: value, quirks: quirks)
        default: throw CuffError(.malformedRecord, "a record of another characteristic")
        }
    }
}

/// Puts segments together into records.
///
/// Segments come in order, counted without a gap. What does not fit costs the record it belongs to and no other one.
struct BloodPressureRecordAssembler {
    /// The longest record: a value of an attribute, with sequence, UUID and checksum.
    private static let limit = ATTLimit.maximumValueLength + 6

    private let hasCRC: Bool
    private var partial: [UInt8]?
    private var expected: UInt8?

    init(hasCRC: Bool) { self.hasCRC = hasCRC }

    /// Takes the next segment.
    ///
    /// - Returns: the record that it completes; `nil` while more must come.
    /// - Throws: `CuffError` with `.malformedRecord`; the record that was begun is given up.
    mutating func take(_ octets: [UInt8]) throws(CuffError) -> BloodPressureRecord? {
        guard let segment = BloodPressureRecordSegment(parsing: octets) else {
            partial = nil
            throw CuffError(.malformedRecord, "an empty segment")
        }
        let abandoned = partial != nil && segment.isFirst
        let skipped = !segment.isFirst && expected != segment.counter
        expected = (segment.counter + 1) & 0x3F
        guard segment.isFirst || (partial != nil && !skipped) else {
            partial = nil
            throw CuffError(.malformedRecord, "a segment is missing")
        }
        let content = (segment.isFirst ? [] : partial ?? []) + segment.content
        guard content.count <= Self.limit else {
            partial = nil
            throw CuffError(.malformedRecord, "a record of more than \(Self.limit) octets")
        }
        guard segment.isLast else {
            partial = content
            if abandoned { throw CuffError(.malformedRecord, "a record without its end") }
            return nil
        }
        partial = nil
        return try BloodPressureRecord(parsing: content, hasCRC: hasCRC)
    }
}

/// The E2E-CRC of the health services: polynomial x^16 + x^12 + x^5 + 1, initial value 0xFFFF, low bits first. `123456789` gives 0x6F91.
enum ReflectedCRC16 {
    static func checksum(_ octets: some Sequence<UInt8>) -> UInt16 {
        var value: UInt16 = 0xFFFF
        for octet in octets {
            value ^= UInt16(octet)
            for _ in 0..<8 { value = value & 1 != 0 ? value >> 1 ^ 0x8408 : value >> 1 }
        }
        return value
    }
}
