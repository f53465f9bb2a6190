import Platform

/// `POST {base}/v1/raw-windows` for one delivery.
///
/// Everything but the authorisation and `Hub-Sent` depends on the delivery alone: a second attempt is the same request.
public struct RawWindowsRequest: Sendable, Hashable {
    /// The media type of the content.
    public static let contentType = "application/vnd.hub.raw-windows"

    /// The value of `Content-Digest` (RFC 9530), which the receipt must repeat.
    public let digest: String
    private let fixed: [HTTPHeader]
    private let body: [UInt8]

    /// - Throws: `UplinkError.unsendable` when the delivery contradicts itself or has no form in the contract.
    public init(_ delivery: Delivery) throws(UplinkError) {
        guard delivery.count >= 0, delivery.count <= Int(UInt32.max), delivery.body.count == delivery.count * Delivery.windowSize else {
            throw .unsendable("\(delivery.body.count) bytes are not \(delivery.count) windows of \(Delivery.windowSize) bytes")
        }
        guard delivery.count > 0 || !delivery.gaps.isEmpty else { throw .unsendable("neither windows nor gaps") }
        digest = Self.digest(of: delivery.body)
        body = delivery.body
        var headers = [
            HTTPHeader("Content-Type", Self.contentType),
            HTTPHeader("Idempotency-Key", try Self.string("Idempotency-Key", delivery.key)),
            HTTPHeader("Content-Digest", digest),
            HTTPHeader("Hub-Owner", try Self.string("Hub-Owner", delivery.owner)),
            HTTPHeader("Hub-Device", try Self.string("Hub-Device", delivery.device)),
            HTTPHeader("Hub-Log", String(delivery.log)),
            HTTPHeader("Hub-First", String(delivery.first)),
            HTTPHeader("Hub-Count", String(delivery.count)),
        ]
        if !delivery.gaps.isEmpty {
            var members: [String] = []
            for gap in delivery.gaps { members.append(try Self.member(gap)) }
            headers.append(HTTPHeader("Hub-Gaps", members.joined(separator: ", ")))
        }
        headers.append(HTTPHeader("Hub-Received", try Self.integer("Hub-Received", delivery.received)))
        headers.append(HTTPHeader("Hub-Clock", try Self.clock(delivery.clock)))
        fixed = headers
    }

    /// The request of one attempt.
    ///
    /// - Parameters:
    ///   - base: the backend's base URL without a slash at its end.
    ///   - token: the owner's token, visible ASCII (RFC 6750, section 2.1).
    ///   - sent: Unix seconds of this attempt.
    public func request(base: String, token: String, sent: Int64) -> HTTPRequest {
        let headers = [HTTPHeader("Authorization", "Bearer \(token)")] + fixed + [HTTPHeader("Hub-Sent", StructuredField.integer(sent) ?? "0")]
        return HTTPRequest(method: "POST", url: "\(base)/v1/raw-windows", headers: headers, body: body)
    }

    /// `sha-256=:…:` of a content.
    public static func digest(of body: [UInt8]) -> String { "sha-256=\(StructuredField.bytes(SHA256.digest(body)))" }

    private static func string(_ field: String, _ text: String) throws(UplinkError) -> String {
        guard !text.isEmpty, let serialised = StructuredField.string(text) else { throw .unsendable("\(field) must be printable ASCII and not empty") }
        return serialised
    }

    private static func integer(_ field: String, _ number: Int64) throws(UplinkError) -> String {
        guard let serialised = StructuredField.integer(number) else { throw .unsendable("\(field) has more than 15 digits: \(number)") }
        return serialised
    }

    /// An inner list with its parameter: `(log first count);reason="overwritten"`.
    private static func member(_ gap: DeliveryGap) throws(UplinkError) -> String {
        guard gap.count > 0 else { throw .unsendable("Hub-Gaps: a gap of \(gap.count) windows") }
        return "(\(gap.log) \(gap.first) \(try integer("Hub-Gaps", Int64(gap.count))));reason=\"\(gap.reason.rawValue)\""
    }

    /// Checks that the value is what the contract allows: `synced` or `unsynced`, then `device=set` or `device=unset`, then perhaps `offset`.
    private static func clock(_ value: String) throws(UplinkError) -> String {
        let parts = value.split(separator: ";", omittingEmptySubsequences: false)
        var valid = parts.count == 2 || parts.count == 3
        valid = valid && ["synced", "unsynced"].contains(parts[0]) && ["device=set", "device=unset"].contains(parts[1])
        if valid, parts.count == 3 {
            let number = parts[2].dropFirst("offset=".count)
            valid = parts[2].hasPrefix("offset=") && !number.hasPrefix("+") && Int64(number).flatMap(StructuredField.integer) != nil
        }
        guard valid else { throw .unsendable("Hub-Clock must be like synced;device=set;offset=-3") }
        return value
    }
}
