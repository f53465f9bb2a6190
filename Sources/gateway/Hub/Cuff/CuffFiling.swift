import Outbox
import Platform
import Radio

/// Where what a cuff sent goes: under whose name, at which moment, or aside. A value without I/O, made anew for each link.
struct CuffFiling: Sendable {
    /// What becomes of one thing that a cuff sent.
    enum Place: Sendable {
        /// Nothing was measured: nothing is kept.
        case failedMeasurement
        case stored(ReadingRecord, CuffReading)
        /// Nobody knows whose it is.
        case doubted(ReadingRecord, CuffReading, CuffOwners.Doubt, reason: String)
        /// Its octets are kept for somebody who can read them.
        case unreadable(ReadingRecord, CuffError)

        /// The change that makes it durable.
        var change: Change? {
            switch self {
            case .failedMeasurement: nil
            case .stored(let record, _): .storeReading(record)
            case .doubted(let record, _, _, let reason): .setReadingAside(record, reason: reason)
            case .unreadable(let record, let error): .setReadingAside(record, reason: error.code.rawValue)
            }
        }
    }

    let serial: String
    let identity: CuffIdentity
    let replaysMemory: Bool
    /// The cuff's clock on this link.
    let clock: CuffClockCheck
    let owners: CuffOwners
    let zone: TimeZoneRules

    /// Files a measurement.
    ///
    /// - Parameters:
    ///   - received: the hub's clock when it came.
    ///   - nonce: 16 octets of the injected randomness.
    func place(_ measurement: CuffMeasurement, received: WallTime, nonce: [UInt8]) -> Place {
        guard !measurement.isFailed else { return .failedMeasurement }
        let time = ReadingTime(placing: measurement.time, clock: clock.found, setTo: clock.setTo, received: received, zone: zone)
        let name = ReadingIdentity.name(device: serial, measurement: measurement, replaysMemory: replaysMemory, nonce: nonce)
        let reading = CuffReading(device: serial, measurement: measurement, time: time, id: name)
        func record(_ owner: String) -> ReadingRecord {
            ReadingRecord(
                name: name, owner: owner, device: serial, received: received.seconds, octets: StoredReading(reading, cuff: identity).encoded)
        }
        switch owners.owner(ofUser: measurement.user, at: time) {
        case .owner(let owner): return .stored(record(owner), reading)
        case .doubt(let doubt): return .doubted(record(""), reading, doubt, reason: owners.reason(for: doubt, user: measurement.user))
        }
    }

    /// Files octets that are no measurement.
    func place(unreadable octets: [UInt8], _ error: CuffError, received: WallTime) -> Place {
        let content = UnreadableReading(octets, serial: serial, received: received.seconds, code: error.code.rawValue)
        // The same octets, sent again, are the same thing.
        let digest = Array(SHA256.digest(Array(serial.utf8) + [0xFF] + octets).prefix(16)).hexadecimal
        return .unreadable(
            ReadingRecord(name: "unreadable-\(digest)", owner: "", device: serial, received: received.seconds, octets: content.encoded), error)
    }
}
