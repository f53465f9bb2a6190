import Outbox
import Platform
import Radio
import Uplink

/// Why octets of the outbox are no reading. It never quotes them.
struct StoredReadingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The stable name of a reason.
    enum Code: String, Sendable, Hashable, CaseIterable {
        /// Not JSON, or not an object.
        case notJSON = "stored-reading-not-json"
        /// A later release wrote it.
        case version = "stored-reading-version"
        /// A member is missing, or is not what it should be.
        case member = "stored-reading-member"
    }

    let code: Code
    /// What was wrong.
    let what: String

    var description: String { "\(code.rawValue): \(what); what this release cannot read stays as it is until one does that can" }
}

/// A reading in the hub's own form, as it lies in the outbox: at most 768 octets, fixed when it is stored. All that is sent about it is made from this.
///
/// A JSON object with short names. Numbers are pairs of coefficient and exponent, as the cuff sent them; there is no binary floating point in it.
struct StoredReading: Sendable, Hashable {
    /// The form of the object.
    static let version: Int64 = 1

    var reading: BloodPressureReading
    /// Which of the cuff's users, for whoever has to find out whose it is; `nil` when the cuff does not say.
    var user: UInt32?

    /// A reading as a cuff sent it, in the words of the record: special values become reasons, status bits become findings, and the moment says how it is known.
    ///
    /// Texts of the cuff are made fit for the record, and cut where they are too long.
    /// - Parameter cuff: what the cuff says of itself. Its serial number is the one that it is known by here.
    init(_ reading: CuffReading, cuff: CuffIdentity?) {
        let measurement = reading.measurement
        self.reading = BloodPressureReading(
            id: reading.id, unit: measurement.unit == .kPa ? .kPa : .mmHg, systolic: Self.value(measurement.systolic), diastolic: Self.value(measurement.diastolic),
            mean: Self.value(measurement.mean), pulse: measurement.pulse.map(Self.value), findings: Self.findings(measurement.status ?? []),
            moment: reading.time.moment, zoneOffset: Self.zoneOffset(reading.time.zoneOffset), timeRemark: reading.time.remark,
            cuff: BloodPressureReading.Cuff(
                serial: BoundedText.fit(reading.device, to: BoundedText.serialLimit) ?? "unknown",
                manufacturer: cuff?.manufacturer.flatMap { BoundedText.fit($0, to: BoundedText.textLimit) },
                model: cuff?.model.flatMap { BoundedText.fit($0, to: BoundedText.textLimit) }))
        user = measurement.user
    }

    /// What is stored of it in the outbox.
    ///
    /// - Parameters:
    ///   - owner: the owner's key; empty for one that is set aside because nobody knows.
    ///   - received: when the hub received it, Unix seconds.
    func record(owner: String, received: Int64) -> ReadingRecord {
        ReadingRecord(name: reading.id, owner: owner, device: reading.cuff.serial, received: received, octets: encoded)
    }

    private static func value(_ value: SFLOAT) -> BloodPressureReading.Value {
        switch value {
        // A cuff's numbers have 16 bits; one that has not is none.
        case .number(let number): CuffNumber.isOne(number) ? .number(number) : .absent(.error)
        case .nan: .absent(.notANumber)
        case .positiveInfinity: .absent(.positiveInfinity)
        case .negativeInfinity: .absent(.negativeInfinity)
        case .notAtThisResolution, .reserved: .absent(.error)
        }
    }

    private static func findings(_ status: MeasurementStatus) -> Set<BloodPressureReading.Finding> {
        var findings: Set<BloodPressureReading.Finding> = []
        if status.contains(.bodyMovement) { findings.insert(.bodyMovement) }
        if status.contains(.cuffTooLoose) { findings.insert(.cuffTooLoose) }
        if status.contains(.irregularPulse) { findings.insert(.irregularPulse) }
        if status.pulseRateRange == .aboveUpperLimit { findings.insert(.pulseAboveRange) }
        if status.pulseRateRange == .belowLowerLimit { findings.insert(.pulseBelowRange) }
        if status.contains(.improperPosition) { findings.insert(.improperPosition) }
        return findings
    }

    /// Whole minutes within 14 hours: a record has no place for others, and the moment does not depend on it.
    private static func zoneOffset(_ seconds: Int) -> Int {
        let limit = 14 * 3_600
        return max(-limit, min(limit, seconds)) / 60 * 60
    }
}

// MARK: The form

extension StoredReading {
    /// The octets for the outbox.
    var encoded: [UInt8] {
        var members: JSONObject = [
            "v": .integer(Self.version), "id": .string(reading.id), "unit": .string(reading.unit == .kPa ? "kPa" : "mmHg"),
            "sys": Self.json(reading.systolic), "dia": Self.json(reading.diastolic), "mean": Self.json(reading.mean)
        ]
        if let pulse = reading.pulse { members["pulse"] = Self.json(pulse) }
        if !reading.findings.isEmpty { members["found"] = .array(reading.findings.map(\.rawValue).sorted().map { .number($0) }) }
        members["at"] = .integer(reading.moment)
        members["zone"] = .number(reading.zoneOffset)
        if let remark = reading.timeRemark { members["remark"] = .string(remark) }
        members["serial"] = .string(reading.cuff.serial)
        if let manufacturer = reading.cuff.manufacturer { members["maker"] = .string(manufacturer) }
        if let model = reading.cuff.model { members["model"] = .string(model) }
        if let user { members["user"] = .number(user) }
        return Array(JSONValue.object(members).encoded().utf8)
    }

    /// Reads octets of the outbox.
    init(parsing octets: [UInt8]) throws(StoredReadingError) {
        let members = try StoredMembers(octets)
        let unit: BloodPressureReading.Unit =
            switch try members.text("unit") {
            case "mmHg": .mmHg
            case "kPa": .kPa
            default: throw StoredReadingError(code: .member, what: "unit is neither mmHg nor kPa")
            }
        var findings: Set<BloodPressureReading.Finding> = []
        for item in try members.optionalArray("found") ?? [] {
            guard let number = item.integer.flatMap(Int.init(exactly:)), let finding = BloodPressureReading.Finding(rawValue: number) else {
                throw StoredReadingError(code: .member, what: "found has something unknown")
            }
            findings.insert(finding)
        }
        guard let zone = Int(exactly: try members.integer("zone")), zone % 60 == 0, zone.magnitude <= 14 * 3_600 else {
            throw StoredReadingError(code: .member, what: "zone is no offset")
        }
        reading = BloodPressureReading(
            id: try members.text("id"), unit: unit, systolic: try members.value("sys"), diastolic: try members.value("dia"), mean: try members.value("mean"),
            pulse: try members.has("pulse") ? members.value("pulse") : nil, findings: findings, moment: try members.integer("at"), zoneOffset: zone,
            timeRemark: try members.optionalText("remark"),
            cuff: BloodPressureReading.Cuff(
                serial: try members.text("serial"), manufacturer: try members.optionalText("maker"), model: try members.optionalText("model")))
        if members.has("user") {
            guard let number = UInt32(exactly: try members.integer("user")) else { throw StoredReadingError(code: .member, what: "user is no number of a user") }
            user = number
        } else {
            user = nil
        }
    }

    private static func json(_ value: BloodPressureReading.Value) -> JSONValue {
        switch value {
        case .number(let number): .array([.integer(number.coefficient), .number(number.exponent)])
        case .absent(let reason): .string(reason.rawValue)
        }
    }
}

/// What a number of a cuff can be: 16 bits with sign or without, and an exponent of four.
enum CuffNumber {
    static func isOne(_ number: DecimalNumber) -> Bool { (-65_535...65_535).contains(number.coefficient) && (-8...7).contains(number.exponent) }
}

/// The members of a stored object, each fetched with its type.
struct StoredMembers {
    private let members: JSONObject

    /// - Throws: `StoredReadingError` also for an object of a later release.
    init(_ octets: [UInt8]) throws(StoredReadingError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: octets, size: OutboxSettings.readingSize, depth: 4)
        } catch {
            throw StoredReadingError(code: .notJSON, what: "\(error)")
        }
        guard case .object(let members) = value else { throw StoredReadingError(code: .notJSON, what: "not an object") }
        self.members = members
        let version = try integer("v")
        guard version == StoredReading.version else { throw StoredReadingError(code: .version, what: "form \(version); this release knows \(StoredReading.version)") }
    }

    func has(_ name: String) -> Bool { members[name] != nil }

    func integer(_ name: String) throws(StoredReadingError) -> Int64 {
        guard let number = members[name]?.integer else { throw StoredReadingError(code: .member, what: "\(name) is no whole number") }
        return number
    }

    func text(_ name: String) throws(StoredReadingError) -> String {
        guard let text = members[name]?.string else { throw StoredReadingError(code: .member, what: "\(name) is no text") }
        return text
    }

    func optionalText(_ name: String) throws(StoredReadingError) -> String? { has(name) ? try text(name) : nil }

    func optionalArray(_ name: String) throws(StoredReadingError) -> [JSONValue]? {
        guard has(name) else { return nil }
        guard let elements = members[name]?.elements else { throw StoredReadingError(code: .member, what: "\(name) is no array") }
        return elements
    }

    /// A measured value, or why there is none.
    func value(_ name: String) throws(StoredReadingError) -> BloodPressureReading.Value {
        switch members[name] {
        case .string(let text)?:
            if let reason = BloodPressureReading.AbsentReason(rawValue: text) { return .absent(reason) }
        case .array(let parts)?:
            if parts.count == 2, let coefficient = parts[0].integer, let exponent = parts[1].integer.flatMap(Int8.init(exactly:)) {
                let number = DecimalNumber(coefficient, exponent: exponent)
                if CuffNumber.isOne(number) { return .number(number) }
            }
        default: break
        }
        throw StoredReadingError(code: .member, what: "\(name) is neither a number nor a reason")
    }
}
