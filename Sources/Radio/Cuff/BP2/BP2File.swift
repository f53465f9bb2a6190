import Platform

/// What a file of the BP2 family holds.
enum BP2File: Sendable, Equatable {
    /// A reading.
    case reading(CuffMeasurement)
    /// An electrocardiogram, which is left alone.
    case electrocardiogram
    /// Something that this project does not know.
    case unknown(type: UInt8)

    /// The length of a file that holds one reading.
    static let readingLength = 38

    /// Reads a file of its own. Times are local time as a count of seconds.
    ///
    /// - Throws: `CuffError` with `.malformedFile`.
    init(parsing octets: [UInt8]) throws(CuffError) {
        guard octets.count >= 2 else { throw CuffError(.malformedFile, "a file of \(octets.count) octets") }
        switch octets[1] {
        case 1:
            guard octets.count == Self.readingLength else { throw CuffError(.malformedFile, "a reading of \(octets.count) octets") }
            self = .reading(CuffMeasurement(bp2: octets, at: 11, time: LittleEndian.u32(octets, at: 2), user: nil))
        case 2: self = .electrocardiogram
        case let type: self = .unknown(type: type)
        }
    }
}

/// The file in which the W models keep all readings: 10 octets, then 37 for each.
struct BP2ReadingList: Sendable, Equatable {
    static let headerLength = 10
    static let recordLength = 37

    /// In the order of the ring, which is none in time. Places that were never written are left out.
    let readings: [CuffMeasurement]

    /// - Throws: `CuffError` with `.malformedFile` when there is not even a header, or octets are left behind the last record: the file was then read
    ///   while it was written.
    init(parsing octets: [UInt8]) throws(CuffError) {
        guard octets.count >= Self.headerLength, (octets.count - Self.headerLength) % Self.recordLength == 0 else {
            throw CuffError(.malformedFile, "a list of readings of \(octets.count) octets")
        }
        readings = stride(from: Self.headerLength, to: octets.count, by: Self.recordLength).compactMap { start in
            let record = Array(octets[start..<(start + Self.recordLength)])
            guard record.contains(where: { $0 != 0 }) else { return nil }
            let user = LittleEndian.u32(record, at: 4)
            return CuffMeasurement(bp2: record, at: 13, time: LittleEndian.u32(record, at: 0), user: user == 0 ? nil : user)
        }
    }
}

extension CuffMeasurement {
    /// The fields that both forms share, from the systolic pressure on: u16 systolic, diastolic and mean, u8 pulse, u8 flags.
    ///
    /// A field of 0 is a value that the cuff did not find.
    fileprivate init(bp2 octets: [UInt8], at start: Int, time seconds: UInt32, user: UInt32?) {
        func value(_ number: UInt16) -> SFLOAT { number == 0 ? .nan : .number(DecimalNumber(Int64(number))) }
        // Bit 0 of the flags; the others differ between models.
        let isIrregular = octets[start + 7] & 1 != 0
        self.init(
            unit: .mmHg, systolic: value(LittleEndian.u16(octets, at: start)), diastolic: value(LittleEndian.u16(octets, at: start + 2)),
            mean: value(LittleEndian.u16(octets, at: start + 4)),
            time: seconds == 0 ? .none : CivilTime(secondsSince1970: Int64(seconds)).map { .civil($0) } ?? .none,
            pulse: value(UInt16(octets[start + 6])), user: user, status: isIrregular ? .irregularPulse : [], raw: octets
        )
    }
}
