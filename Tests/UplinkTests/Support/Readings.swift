import Glibc
import Platform
import Testing
@testable import Uplink

/// Readings to send.
enum Readings {
    static let cuff = BloodPressureReading.Cuff(serial: "BP-1 07", manufacturer: "Example", model: "B1")

    static func reading(
        _ id: String = "BP107-20240615T171727-00", unit: BloodPressureReading.Unit = .mmHg, systolic: BloodPressureReading.Value = .number(DecimalNumber(124)),
        diastolic: BloodPressureReading.Value = .number(DecimalNumber(86)), mean: BloodPressureReading.Value = .number(DecimalNumber(97)),
        pulse: BloodPressureReading.Value? = nil, findings: Set<BloodPressureReading.Finding> = [], moment: Int64 = 1_718_464_647, zoneOffset: Int = 7_200,
        remark: String? = nil, cuff: BloodPressureReading.Cuff = cuff
    ) -> BloodPressureReading {
        BloodPressureReading(
            id: id, unit: unit, systolic: systolic, diastolic: diastolic, mean: mean, pulse: pulse, findings: findings, moment: moment,
            zoneOffset: zoneOffset, timeRemark: remark, cuff: cuff
        )
    }

    static func delivery(_ readings: [BloodPressureReading] = [reading()], patient: String = "Patient/anna", key: String = "k-1", owner: String = "anna") -> ReadingsDelivery {
        ReadingsDelivery(id: "e-1", key: key, owner: owner, patient: patient, readings: readings)
    }

    /// One of each kind that there is: every absent reason, every finding, both units, pulses, remarks, two cuffs, zones of both signs.
    static let allKinds: [BloodPressureReading] = {
        var readings = [
            reading("r-plain"), reading("r-pulse", pulse: .number(DecimalNumber(51))),
            reading("r-all", pulse: .absent(.notANumber), findings: Set(BloodPressureReading.Finding.allCases), remark: "The cuff's clock was 3 days behind."),
            reading("r-kpa", unit: .kPa, systolic: .number(DecimalNumber(189, exponent: -1)), diastolic: .number(DecimalNumber(11)), mean: .number(DecimalNumber(1_590, exponent: -2))),
            reading("r-zeros", systolic: .number(DecimalNumber(1_200, exponent: -1)), diastolic: .number(DecimalNumber(8, exponent: 1)), moment: 0, zoneOffset: -12_600),
            reading("r-other", zoneOffset: 0, cuff: BloodPressureReading.Cuff(serial: "ünï \"7\"", model: nil))
        ]
        for reason in BloodPressureReading.AbsentReason.allCases { readings.append(reading("r-\(reason.rawValue)", mean: .absent(reason), pulse: .absent(reason))) }
        for finding in BloodPressureReading.Finding.allCases { readings.append(reading("r-finding-\(finding.rawValue)", findings: [finding])) }
        return readings
    }()

    /// A transaction-response with a status for each entry.
    static func response(_ statuses: [String], status: Int = 200, contentType: String? = "application/fhir+json; charset=utf-8") -> HTTPResponse {
        let entries = statuses.map { JSONValue.object(["response": .object(["status": .string($0)])]) }
        let bundle: JSONValue = .object(["resourceType": .string("Bundle"), "type": .string("transaction-response"), "entry": .array(entries)])
        return HTTPResponse(status: status, contentType: contentType, body: Array(bundle.encoded().utf8))
    }
}

/// The judge of Bundles: fhirkit and the rules of the Personal Health Device guide, in a process of their own.
enum BundleJudge {
    static var python: String? { getenv("HUB_TEST_PYTHON").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }
    /// On the build server nothing is skipped.
    static var isHere: Bool { python != nil || getenv("CI").map { String(cString: $0) } == "true" }

    /// What is wrong with each of these texts.
    static func problems(_ texts: [String]) throws -> [[String]] {
        let python = try #require(Self.python, "HUB_TEST_PYTHON names no interpreter with Tests/Peers/requirements.txt")
        let tests = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let scratch = Scratch()
        let files = texts.enumerated().map { scratch.write("\($0).json", $1) }
        let child = try Child([python, "\(tests)/Peers/fhir_rules.py"] + files, environment: ["PYTHONDONTWRITEBYTECODE=1"])
        return try texts.map { _ in
            let answer = try JSONValue(parsing: Array(child.line().utf8))
            return answer["problems"]?.elements?.compactMap(\.string) ?? ["no answer"]
        }
    }
}
