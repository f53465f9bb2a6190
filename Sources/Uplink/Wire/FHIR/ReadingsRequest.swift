import Platform

/// `POST` of one `transaction` Bundle for one delivery of readings: to the FHIR base, or without one to `{base}/v1/readings`.
///
/// Everything but the authorisation and `Hub-Sent` depends on the delivery alone: a second attempt is the same request.
public struct ReadingsRequest: Sendable, Hashable {
    /// The media type of the content (FHIR R4, "RESTful API", 3.1.0.1.11).
    public static let contentType = "application/fhir+json"

    /// The value of `Content-Digest` (RFC 9530).
    public let digest: String
    /// Whose resource each entry of the Bundle is: the place of a reading, or `nil` for a device.
    public let readingOfEntry: [Int?]
    private let fixed: [HTTPHeader]
    private let body: [UInt8]

    /// - Throws: `UplinkError.unsendable` when the delivery contradicts itself or has no form in the contract.
    public init(_ delivery: ReadingsDelivery) throws(UplinkError) {
        guard (1...ReadingsDelivery.limit).contains(delivery.readings.count) else { throw .unsendable("\(delivery.readings.count) readings in one request") }
        guard Set(delivery.readings.map(\.id)).count == delivery.readings.count else { throw .unsendable("a reading twice in one request") }
        guard Self.isReference(delivery.patient) else { throw .unsendable("the owner's patient is no reference: write it like Patient/123") }
        var entries: [JSONValue] = []
        var readingOfEntry: [Int?] = []
        var devices: [BloodPressureReading.Cuff: String] = [:]
        for reading in delivery.readings where devices[reading.cuff] == nil {
            try Self.check(reading.cuff)
            let device = ObservationForm.device(reading.cuff)
            // What else the cuff says of itself may have changed between two readings; it is one device.
            if !devices.values.contains(BundleIdentity.fullURL(device.identifier)) {
                entries.append(Self.entry(device.identifier, device.resource))
                readingOfEntry.append(nil)
            }
            devices[reading.cuff] = BundleIdentity.fullURL(device.identifier)
        }
        for (place, reading) in delivery.readings.enumerated() {
            guard BundleIdentity.isPlain(reading.id) else { throw .unsendable("the name of a reading is not letters, digits and hyphens") }
            guard let device = devices[reading.cuff] else { throw .unsendable("a reading without cuff") }
            for (identifier, resource) in try ObservationForm(reading: reading, patient: delivery.patient, device: device).resources() {
                entries.append(Self.entry(identifier, resource))
                readingOfEntry.append(place)
            }
        }
        let bundle: JSONValue = .object(["resourceType": .string("Bundle"), "type": .string("transaction"), "entry": .array(entries)])
        body = Array(bundle.encoded().utf8)
        digest = RawWindowsRequest.digest(of: body)
        self.readingOfEntry = readingOfEntry
        fixed = [
            HTTPHeader("Content-Type", Self.contentType),
            HTTPHeader("Accept", Self.contentType),
            HTTPHeader("Prefer", "return=minimal"),
            HTTPHeader("Idempotency-Key", try Self.string("Idempotency-Key", delivery.key)),
            HTTPHeader("Content-Digest", digest),
            HTTPHeader("Hub-Owner", try Self.string("Hub-Owner", delivery.owner))
        ]
    }

    /// Where Bundles go.
    ///
    /// - Parameters:
    ///   - base: the backend's base URL without a slash at its end.
    ///   - fhirBase: the FHIR server's, when it is another one.
    public static func url(base: String, fhirBase: String?) -> String { fhirBase ?? "\(base)/v1/readings" }

    /// The request of one attempt.
    ///
    /// - Parameters:
    ///   - url: see `url(base:fhirBase:)`.
    ///   - token: the owner's token, visible ASCII (RFC 6750, section 2.1).
    ///   - sent: Unix seconds of this attempt.
    public func request(url: String, token: String, sent: Int64) -> HTTPRequest {
        let headers = [HTTPHeader("Authorization", "Bearer \(token)")] + fixed + [HTTPHeader("Hub-Sent", StructuredField.integer(sent) ?? "0")]
        return HTTPRequest(method: "POST", url: url, headers: headers, body: body)
    }

    /// A conditional create: nothing is stored when something of that identifier is (FHIR R4, "Conditional create").
    private static func entry(_ identifier: String, _ resource: JSONObject) -> JSONValue {
        let type = resource["resourceType"]?.string ?? ""
        return .object([
            "fullUrl": .string(BundleIdentity.fullURL(identifier)),
            "resource": .object(resource),
            "request": .object(["method": .string("POST"), "url": .string(type), "ifNoneExist": .string("identifier=\(identifier)")])
        ])
    }

    private static func check(_ cuff: BloodPressureReading.Cuff) throws(UplinkError) {
        for text in [cuff.serial, cuff.manufacturer, cuff.model].compactMap({ $0 }) {
            // A FHIR string has a character that is no blank, and no control characters.
            guard (1...256).contains(text.utf8.count), text.utf8.contains(where: { $0 > 0x20 }), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw .unsendable("what a cuff says of itself is no text")
            }
        }
    }

    /// `Patient/id`, or a URL that ends so.
    static func isReference(_ text: String) -> Bool {
        guard text.utf8.count <= 512, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return false }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[parts.count - 2] == "Patient", let id = parts.last, (1...64).contains(id.utf8.count) else { return false }
        guard id.utf8.allSatisfy({ BundleIdentity.isPlain(String(UnicodeScalar($0))) || $0 == 0x2E }) else { return false }
        return parts.count == 2 || text.hasPrefix("https://") || text.hasPrefix("http://")
    }

    private static func string(_ field: String, _ text: String) throws(UplinkError) -> String {
        guard !text.isEmpty, let serialised = StructuredField.string(text) else { throw .unsendable("\(field) must be printable ASCII and not empty") }
        return serialised
    }
}
