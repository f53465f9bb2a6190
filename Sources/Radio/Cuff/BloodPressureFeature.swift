/// Blood Pressure Feature (0x2A49; Blood Pressure Service 1.1, 3.3): what a cuff can notice, and which optional parts of the service it has.
public struct BloodPressureFeature: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let bodyMovementDetection = BloodPressureFeature(rawValue: 1 << 0)
    public static let cuffFitDetection = BloodPressureFeature(rawValue: 1 << 1)
    public static let irregularPulseDetection = BloodPressureFeature(rawValue: 1 << 2)
    public static let pulseRateRangeDetection = BloodPressureFeature(rawValue: 1 << 3)
    public static let measurementPositionDetection = BloodPressureFeature(rawValue: 1 << 4)
    public static let multipleBonds = BloodPressureFeature(rawValue: 1 << 5)
    /// Records end with a checksum.
    public static let endToEndCRC = BloodPressureFeature(rawValue: 1 << 6)
    public static let userDataService = BloodPressureFeature(rawValue: 1 << 7)
    public static let userFacingTime = BloodPressureFeature(rawValue: 1 << 8)

    /// Reads the value. Of a later form that is longer the first two octets are taken.
    ///
    /// - Throws: `CuffError` with `.malformedFeature`.
    public init(parsing octets: [UInt8]) throws(CuffError) {
        guard octets.count >= 2 else { throw CuffError(.malformedFeature, "Blood Pressure Feature of \(octets.count) octets") }
        self.init(rawValue: LittleEndian.u16(octets, at: 0))
    }
}
