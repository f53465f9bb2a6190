import Platform

/// Readings as FHIR R4 resources, after the HL7 Personal Health Device guide (profiles PhdCompoundNumericObservation, PhdNumericObservation and
/// PhdBitsEnumerationObservation).
struct ObservationForm {
    /// A code with its display, in LOINC and in IEEE 11073-10101 (MDC).
    struct Term {
        let loinc: (code: String, display: String)?
        let mdc: (code: String, display: String)

        static let bloodPressure = Term(loinc: ("85354-9", "Blood pressure panel with all children optional"), mdc: ("150020", "MDC_PRESS_BLD_NONINV"))
        static let systolic = Term(loinc: ("8480-6", "Systolic blood pressure"), mdc: ("150021", "MDC_PRESS_BLD_NONINV_SYS"))
        static let diastolic = Term(loinc: ("8462-4", "Diastolic blood pressure"), mdc: ("150022", "MDC_PRESS_BLD_NONINV_DIA"))
        static let mean = Term(loinc: ("8478-0", "Mean blood pressure"), mdc: ("150023", "MDC_PRESS_BLD_NONINV_MEAN"))
        static let pulse = Term(loinc: ("8867-4", "Heart rate"), mdc: ("149546", "MDC_PULS_RATE_NON_INV"))
        static let status = Term(loinc: nil, mdc: ("8410608", "MDC_BLOOD_PRESSURE_MEASUREMENT_STATUS"))
    }

    let reading: BloodPressureReading
    let patient: String
    /// The `fullUrl` of the cuff's Device in the same Bundle.
    let device: String

    /// The identifiers of the reading's Observations, each with the way to make it; the first one is the reading itself, from which the others are derived.
    func resources() throws(UplinkError) -> [(identifier: String, resource: JSONObject)] {
        let main = reading.id
        var resources = [(main, try bloodPressure())]
        let source = BundleIdentity.fullURL(main)
        if let pulse = reading.pulse {
            let identifier = "\(main)-\(Term.pulse.mdc.code)"
            var resource = try observation(identifier, .pulse, profile: "PhdNumericObservation", isVitalSign: true, source: source)
            Self.set(try Self.value(pulse, unit: ("beats/minute", "/min")), on: &resource)
            resources.append((identifier, resource))
        }
        if !reading.findings.isEmpty {
            let identifier = "\(main)-\(Term.status.mdc.code)"
            var resource = try observation(identifier, .status, profile: "PhdBitsEnumerationObservation", isVitalSign: false, source: source)
            resource["component"] = .array(reading.findings.sorted { $0.rawValue < $1.rawValue }.map(Self.component))
            resources.append((identifier, resource))
        }
        return resources
    }

    /// The cuff as a Device.
    static func device(_ cuff: BloodPressureReading.Cuff) -> (identifier: String, resource: JSONObject) {
        let identifier = BundleIdentity.device(cuff)
        let serialNumber: JSONObject = ["coding": .array([coding("http://terminology.hl7.org/CodeSystem/v2-0203", "SNO", "Serial Number")])]
        var resource: JSONObject = [
            "resourceType": .string("Device"),
            "identifier": .array([.object(["value": .string(identifier)]), .object(["type": .object(serialNumber), "value": .string(cuff.serial)])])
        ]
        if let manufacturer = cuff.manufacturer { resource["manufacturer"] = .string(manufacturer) }
        resource["serialNumber"] = .string(cuff.serial)
        if let model = cuff.model { resource["modelNumber"] = .string(model) }
        resource["type"] = .object(["coding": .array([coding(mdc, "65573", "MDC_MOC_VMS_MDS_SIMP")])])
        return (identifier, resource)
    }

    // MARK: Observations

    private func bloodPressure() throws(UplinkError) -> JSONObject {
        var resource = try observation(reading.id, .bloodPressure, profile: "PhdCompoundNumericObservation", isVitalSign: true, source: nil)
        var components: [JSONValue] = []
        for (term, value) in [(Term.systolic, reading.systolic), (.diastolic, reading.diastolic), (.mean, reading.mean)] {
            var component: JSONObject = ["code": Self.concept(term)]
            Self.set(try Self.value(pressure(value), unit: ("mmHg", "mm[Hg]")), on: &component)
            components.append(.object(component))
        }
        resource["component"] = .array(components)
        return resource
    }

    private func pressure(_ value: BloodPressureReading.Value) throws(UplinkError) -> BloodPressureReading.Value {
        guard case .number(let number) = value, reading.unit == .kPa else { return value }
        guard let converted = number.millimetresOfMercury else { throw .unsendable("a pressure that is none") }
        return .number(converted)
    }

    private func observation(
        _ identifier: String, _ term: Term, profile: String, isVitalSign: Bool, source: String?
    ) throws(UplinkError) -> JSONObject {
        let vitalSigns = Self.coding("http://terminology.hl7.org/CodeSystem/observation-category", "vital-signs", "Vital Signs")
        let phd = Self.coding("http://hl7.org/fhir/uv/phd/CodeSystem/PhdObservationCategories", "phd-observation", "PHD generated Observation")
        let categories = (isVitalSign ? [vitalSigns] : []) + [phd]
        var resource: JSONObject = [
            "resourceType": .string("Observation"),
            "meta": .object(["profile": .array([.string("http://hl7.org/fhir/uv/phd/StructureDefinition/\(profile)")])]),
            "identifier": .array([.object(["value": .string(identifier)])]),
            "status": .string("final"),
            "category": .array(categories.map { .object(["coding": .array([$0])]) }),
            "code": Self.concept(term),
            "subject": .object(["reference": .string(patient)]),
            "effectiveDateTime": .string(try effective())
        ]
        if let remark = reading.timeRemark { resource["note"] = .array([.object(["text": .string(remark)])]) }
        resource["device"] = .object(["reference": .string(device)])
        if let source { resource["derivedFrom"] = .array([.object(["reference": .string(source)])]) }
        return resource
    }

    /// The moment in the place's own time, with its offset (FHIR R4 dateTime).
    private func effective() throws(UplinkError) -> String {
        let offset = reading.zoneOffset
        // Offsets of old zones have seconds, which the form has no place for; what it has goes to 14 hours.
        guard offset % 60 == 0, abs(offset) <= 14 * 3_600, let local = TimeZoneRules.fixed(offset).civil(at: reading.moment) else {
            throw .unsendable("a time without form: \(reading.moment) at \(offset) s")
        }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
        return "\(local)\(offset < 0 ? "-" : "+")\(two(abs(offset) / 3_600)):\(two(abs(offset) / 60 % 60))"
    }

    // MARK: Parts

    private static let mdc = "urn:iso:std:iso:11073:10101"

    private static func value(_ value: BloodPressureReading.Value, unit: (unit: String, code: String)) throws(UplinkError) -> (name: String, value: JSONValue) {
        switch value {
        case .number(let number):
            // FHIR R4 keeps 18 digits of a decimal.
            guard number.description.utf8.count <= 18 else { throw .unsendable("a value of more than 18 digits") }
            return ("valueQuantity", .object([
                "value": .decimal(number), "unit": .string(unit.unit), "system": .string("http://unitsofmeasure.org"), "code": .string(unit.code)
            ]))
        case .absent(let reason):
            let coding = coding("http://terminology.hl7.org/CodeSystem/data-absent-reason", reason.rawValue, nil)
            return ("dataAbsentReason", .object(["coding": .array([coding])]))
        }
    }

    private static func set(_ member: (name: String, value: JSONValue), on object: inout JSONObject) { object[member.name] = member.value }

    private static func component(_ finding: BloodPressureReading.Finding) -> JSONValue {
        let bit = coding("http://hl7.org/fhir/uv/phd/CodeSystem/ASN1ToHL7", "\(Term.status.mdc.code).\(finding.rawValue)", name(of: finding))
        let yes = coding("http://terminology.hl7.org/CodeSystem/v2-0136", "Y", "Yes")
        return .object(["code": .object(["coding": .array([bit])]), "valueCodeableConcept": .object(["coding": .array([yes])])])
    }

    private static func name(of finding: BloodPressureReading.Finding) -> String {
        switch finding {
        case .bodyMovement: "body-movement"
        case .cuffTooLoose: "cuff-too-loose"
        case .irregularPulse: "irregular-pulse"
        case .pulseAboveRange: "pulse-over-range-limit"
        case .pulseBelowRange: "pulse-under-range-limit"
        case .improperPosition: "improper-body-position"
        }
    }

    private static func concept(_ term: Term) -> JSONValue {
        let loinc = term.loinc.map { [coding("http://loinc.org", $0.code, $0.display)] } ?? []
        return .object(["coding": .array(loinc + [coding(mdc, term.mdc.code, term.mdc.display)])])
    }

    private static func coding(_ system: String, _ code: String, _ display: String?) -> JSONValue {
        var coding: JSONObject = ["system": .string(system), "code": .string(code)]
        if let display { coding["display"] = .string(display) }
        return .object(coding)
    }
}
