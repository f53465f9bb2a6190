import Platform

/// Why an answer confirms nothing.
public struct ReceiptRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was wrong. Raw values are parts of stable codes.
    public enum Field: String, Sendable, Hashable, CaseIterable {
        case status
        case contentType = "content-type"
        case size
        case json
        case receipt
        case key
        case digest
        case log
        case first
        case accepted
        case gaps
        case rejected
        case count
    }

    public var field: Field
    public var words: String

    public init(_ field: Field, _ words: String) {
        self.field = field
        self.words = words
    }

    /// The stable code, e.g. `receipt-digest`.
    public var code: String { "receipt-\(field.rawValue)" }

    public var description: String { "\(code): \(words)" }
}

extension Receipt {
    /// The most bytes of a receipt.
    public static let sizeLimit = 65_536
    /// The most bytes of the backend's name for a receipt, and of a code: they are stored.
    public static let nameLimit = 256

    /// Reads an answer as the receipt for what was sent, and checks every field of it against that.
    ///
    /// - Parameter digest: the `Content-Digest` of the request.
    /// - Throws: `ReceiptRefusal`, which names the first field that is wrong. The answer then confirms nothing.
    public init(verifying response: HTTPResponse, for delivery: Delivery, digest: String) throws(ReceiptRefusal) {
        guard response.status == 200 || response.status == 201 else { throw ReceiptRefusal(.status, "HTTP \(response.status)") }
        guard MediaType.isJSON(response.contentType) else { throw ReceiptRefusal(.contentType, "not application/json") }
        guard response.isComplete, response.body.count <= Self.sizeLimit else { throw ReceiptRefusal(.size, "more than \(Self.sizeLimit) bytes") }
        let fields = try Fields(response.body)

        id = try fields.name("receipt", .receipt)
        key = try fields.string("key", .key)
        guard key == delivery.key else { throw ReceiptRefusal(.key, "a receipt for another key") }
        self.digest = try fields.string("digest", .digest)
        guard self.digest == digest else { throw ReceiptRefusal(.digest, "a receipt for another content") }
        log = try fields.sequence("log", .log)
        guard log == delivery.log else { throw ReceiptRefusal(.log, "log \(log) instead of \(delivery.log)") }
        first = try fields.sequence("first", .first)
        guard first == delivery.first else { throw ReceiptRefusal(.first, "first \(first) instead of \(delivery.first)") }
        accepted = try fields.number("accepted", .accepted)
        gaps = try fields.number("gaps", .gaps)
        guard gaps == delivery.gaps.count else { throw ReceiptRefusal(.gaps, "\(gaps) gaps instead of \(delivery.gaps.count)") }
        rejected = try fields.rejections()
        try Self.check(rejected, delivery)
        // Counted last: by now `rejected` is known to be distinct and in range, so that it cannot make up for windows that are missing.
        let (sum, overflow) = accepted.addingReportingOverflow(rejected.count)
        guard !overflow, sum == delivery.count else {
            throw ReceiptRefusal(.count, "\(accepted) accepted and \(rejected.count) rejected are not \(delivery.count)")
        }
    }

    private static func check(_ rejected: [Rejection], _ delivery: Delivery) throws(ReceiptRefusal) {
        var seen: Set<UInt32> = []
        for rejection in rejected {
            // Distance on the ring of 32-bit numbers: a range may run over its end.
            guard Int(rejection.sequence &- delivery.first) < delivery.count else {
                throw ReceiptRefusal(.rejected, "sequence \(rejection.sequence) was not sent")
            }
            guard seen.insert(rejection.sequence).inserted else { throw ReceiptRefusal(.rejected, "sequence \(rejection.sequence) twice") }
            guard delivery.damaged.contains(rejection.sequence) || rejection.code == "conflict" else {
                throw ReceiptRefusal(.rejected, "sequence \(rejection.sequence) was neither sent as damaged nor is it a conflict")
            }
        }
    }
}

/// The members of a receipt, each fetched with its type.
private struct Fields {
    private let members: JSONObject

    init(_ body: [UInt8]) throws(ReceiptRefusal) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: body, size: Receipt.sizeLimit, depth: 8)
        } catch {
            throw ReceiptRefusal(.json, "\(error)")
        }
        guard case .object(let members) = value else { throw ReceiptRefusal(.json, "not an object") }
        self.members = members
    }

    private init(members: JSONObject) { self.members = members }

    func string(_ name: String, _ field: ReceiptRefusal.Field) throws(ReceiptRefusal) -> String {
        guard case .string(let text)? = members[name] else { throw ReceiptRefusal(field, "\(name) is no string") }
        return text
    }

    func name(_ name: String, _ field: ReceiptRefusal.Field) throws(ReceiptRefusal) -> String {
        let text = try string(name, field)
        // It goes into the log and into `status`.
        guard (1...Receipt.nameLimit).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ReceiptRefusal(field, "\(name) is not 1 to \(Receipt.nameLimit) visible ASCII characters")
        }
        return text
    }

    func number(_ name: String, _ field: ReceiptRefusal.Field) throws(ReceiptRefusal) -> Int {
        guard case .integer(let number)? = members[name], number >= 0, let narrow = Int(exactly: number) else {
            throw ReceiptRefusal(field, "\(name) is no whole number from 0")
        }
        return narrow
    }

    func sequence(_ name: String, _ field: ReceiptRefusal.Field) throws(ReceiptRefusal) -> UInt32 {
        guard let narrow = UInt32(exactly: try number(name, field)) else { throw ReceiptRefusal(field, "\(name) does not fit 32 bits") }
        return narrow
    }

    func rejections() throws(ReceiptRefusal) -> [Receipt.Rejection] {
        guard case .array(let items)? = members["rejected"] else { throw ReceiptRefusal(.rejected, "rejected is no array") }
        var rejections: [Receipt.Rejection] = []
        for item in items {
            guard case .object(let members) = item else { throw ReceiptRefusal(.rejected, "an item of rejected is no object") }
            let fields = Fields(members: members)
            rejections.append(Receipt.Rejection(sequence: try fields.sequence("sequence", .rejected), code: try fields.name("code", .rejected)))
        }
        return rejections
    }
}
