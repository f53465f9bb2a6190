import Platform

/// One reading of one cuff: what it measured, when, and the name that stays with it for ever.
public struct CuffReading: Sendable, Hashable {
    /// The cuff's serial number.
    public let device: String
    public let measurement: CuffMeasurement
    public let time: ReadingTime
    /// The reading's stable name; see `ReadingIdentity`.
    public let id: String

    public init(device: String, measurement: CuffMeasurement, time: ReadingTime, id: String) {
        self.device = device
        self.measurement = measurement
        self.time = time
        self.id = id
    }
}

/// Names readings: the same reading of the same cuff, sent again, has the same name; any other one has another.
public enum ReadingIdentity {
    /// The name of a reading: the serial number as far as it is letters and digits, the cuff's time, and 32 hexadecimal digits of a SHA-256 over serial
    /// number, time and the octets that came. It has letters, digits and hyphens alone, and at most 86 of them.
    ///
    /// A cuff whose clock was reset may give one time to two readings; their octets differ. Two measurements that agree in every octet, time included,
    /// are one that was sent twice. Without a time they need not be, so such a reading gets a name of its own each time, from `nonce`, unless
    /// the model is known to send its memory again.
    ///
    /// - Parameters:
    ///   - replaysMemory: whether the model sends the readings of its memory again on every link.
    ///   - nonce: 16 octets of the injected randomness; used only where a reading has no identity of its own.
    public static func name(device: String, measurement: CuffMeasurement, replaysMemory: Bool, nonce: [UInt8]) -> String {
        var octets = field(Array(device.utf8)) + field(measurement.raw)
        let time: String
        switch measurement.time {
        case .civil(let civil):
            time = String(civil.description.filter { $0.isASCII && $0 != "-" && $0 != ":" })
            octets += field(Array(time.utf8))
        case .incomplete(let value):
            time = "undated"
            octets += field(value.encoded)
            if !replaysMemory, !isDated(value) { octets += field(nonce) }
        case .none:
            time = "undated"
            octets += field([])
            if !replaysMemory { octets += field(nonce) }
        }
        let serial = String(device.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(32))
        return [serial, time, Array(SHA256.digest(octets).prefix(16)).hexadecimal].filter { !$0.isEmpty }.joined(separator: "-")
    }

    /// Whether an incomplete time tells two readings apart: a clock that only lacks its year does, one that stands at nothing does not.
    private static func isDated(_ value: DateTimeValue) -> Bool { value.month != 0 && value.day != 0 }

    /// Octets with their length, so that no two lists of fields run into the same octets.
    private static func field(_ octets: [UInt8]) -> [UInt8] { LittleEndian.bytes(UInt32(truncatingIfNeeded: octets.count)) + octets }
}
