import Outbox
import Platform

/// What a cuff sent as a reading and nobody can read: kept for whoever looks into it, never sent.
struct UnreadableReading: Sendable, Hashable {
    /// The most octets that are kept; every measurement that the formats know is shorter.
    static let octetLimit = 160

    /// The octets as they came, the first `octetLimit` of them.
    let octets: [UInt8]
    /// How many came.
    let count: Int
    /// The cuff's serial number.
    let serial: String
    /// When the hub received them, Unix seconds.
    let received: Int64
    /// The stable code of what is wrong with them.
    let code: String
    /// A name that these octets of this cuff always have: a cuff that repeats them sends nothing new.
    let name: String

    /// - Parameter code: the code of the error that reading them gave.
    init(_ octets: [UInt8], serial: String, received: Int64, code: String) {
        self.octets = Array(octets.prefix(Self.octetLimit))
        count = octets.count
        self.serial = BoundedText.fit(serial, to: BoundedText.serialLimit) ?? "unknown"
        self.received = received
        self.code = BoundedText.fit(code, to: 64) ?? "unknown"
        let plain = String(serial.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(32))
        let digest = Array(SHA256.digest(Array(serial.utf8) + [0xFF] + octets).prefix(16)).hexadecimal
        name = [plain, "unreadable", digest].filter { !$0.isEmpty }.joined(separator: "-")
    }

    /// What is stored of it in the outbox: it is nobody's.
    var record: ReadingRecord { ReadingRecord(name: name, owner: "", device: serial, received: received, octets: encoded) }

    /// The octets for the outbox.
    var encoded: [UInt8] {
        let members: JSONObject = [
            "v": .integer(StoredReading.version), "unreadable": .string(octets.hexadecimal), "count": .number(count), "id": .string(name), "serial": .string(serial),
            "received": .integer(received), "code": .string(code)
        ]
        return Array(JSONValue.object(members).encoded().utf8)
    }

    /// Reads octets of the outbox.
    init(parsing stored: [UInt8]) throws(StoredReadingError) {
        let members = try StoredMembers(stored)
        guard let octets = Self.octets(try members.text("unreadable")) else { throw StoredReadingError(code: .member, what: "unreadable is not hexadecimal") }
        guard let count = Int(exactly: try members.integer("count")), count >= octets.count else {
            throw StoredReadingError(code: .member, what: "count is no number of octets")
        }
        self.octets = octets
        self.count = count
        name = try members.text("id")
        serial = try members.text("serial")
        received = try members.integer("received")
        code = try members.text("code")
    }

    private static func octets(_ text: String) -> [UInt8]? {
        let digits = text.utf8.map { digit -> UInt8? in
            switch digit {
            case 0x30...0x39: digit - 0x30
            case 0x61...0x66: digit - 0x61 + 10
            default: nil
            }
        }
        guard digits.count % 2 == 0, digits.count <= 2 * octetLimit else { return nil }
        var octets: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[place], let low = digits[place + 1] else { return nil }
            octets.append(high << 4 | low)
        }
        return octets
    }
}

/// What lies in the octets of a stored reading.
enum StoredContent: Sendable, Hashable {
    case reading(StoredReading)
    case unreadable(UnreadableReading)

    /// - Throws: `StoredReadingError` for what is neither.
    init(parsing octets: [UInt8]) throws(StoredReadingError) {
        if try StoredMembers(octets).has("unreadable") {
            self = .unreadable(try UnreadableReading(parsing: octets))
        } else {
            self = .reading(try StoredReading(parsing: octets))
        }
    }
}

/// Texts that a cuff says of itself, made fit to be stored and recorded.
enum BoundedText {
    /// The most octets of a serial number in JSON: 64 characters, each of which may need a backslash.
    static let serialLimit = 128
    /// The most octets of any other text in JSON.
    static let textLimit = 64

    /// A text without control characters and of at most `limit` octets as JSON, whole characters.
    ///
    /// - Returns: `nil` when nothing is left that can be seen.
    static func fit(_ text: String, to limit: Int) -> String? {
        var fitting = ""
        var size = 0
        for character in text {
            var kept = ""
            for scalar in character.unicodeScalars where scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value) { kept.unicodeScalars.append(scalar) }
            // Beside its quotes.
            let octets = JSONValue.string(kept).encoded().utf8.count - 2
            guard size + octets <= limit else { break }
            size += octets
            fitting += kept
        }
        return fitting.unicodeScalars.contains { $0.value > 0x20 } ? fitting : nil
    }
}
