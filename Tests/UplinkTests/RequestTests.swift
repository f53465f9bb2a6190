import Platform
import Testing
@testable import Uplink

@Suite("A raw-windows request")
struct RequestTests {
    @Test("has every header of the contract, and nothing else")
    func headers() throws {
        var delivery = MemoryQueue.delivery("01J-4", count: 2)
        delivery.device = "C\"1\\"
        delivery.gaps = [DeliveryGap(log: 7, first: 4_000, count: 12, reason: .overwritten), DeliveryGap(log: 6, first: 4_294_967_295, count: 1, reason: .clearedElsewhere)]
        let request = try RawWindowsRequest(delivery).request(base: "https://b.example/x", token: "abc", sent: 1_700_000_600)
        #expect(request.method == "POST")
        #expect(request.url == "https://b.example/x/v1/raw-windows")
        #expect(request.body == delivery.body)
        let expected = [
            HTTPHeader("Authorization", "Bearer abc"), HTTPHeader("Content-Type", "application/vnd.hub.raw-windows"), HTTPHeader("Idempotency-Key", "\"01J-4\""),
            HTTPHeader("Content-Digest", "sha-256=:\(SHA256.digest(delivery.body).base64):"), HTTPHeader("Hub-Owner", "\"anna\""),
            HTTPHeader("Hub-Device", "\"C\\\"1\\\\\""), HTTPHeader("Hub-Log", "7"), HTTPHeader("Hub-First", "4711"), HTTPHeader("Hub-Count", "2"),
            HTTPHeader("Hub-Gaps", "(7 4000 12);reason=\"overwritten\", (6 4294967295 1);reason=\"cleared-elsewhere\""), HTTPHeader("Hub-Received", "1700000000"),
            HTTPHeader("Hub-Clock", "synced;device=set;offset=-3"), HTTPHeader("Hub-Sent", "1700000600"),
        ]
        #expect(request.headers == expected)
    }

    @Test("without gaps has no Hub-Gaps")
    func noGaps() throws {
        let request = try RawWindowsRequest(MemoryQueue.delivery("a")).request(base: "https://b", token: "t", sent: 0)
        #expect(request.header("Hub-Gaps") == nil)
    }

    @Test("can report gaps alone")
    func gapsAlone() throws {
        let delivery = MemoryQueue.delivery("a", count: 0, gaps: [DeliveryGap(log: 7, first: 1, count: 2, reason: .unreadable)])
        let request = try RawWindowsRequest(delivery).request(base: "https://b", token: "t", sent: 0)
        #expect(request.header("Hub-Count") == "0")
        #expect(request.body.isEmpty)
        #expect(request.header("Content-Digest") == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
    }

    @Test("of a second attempt differs in Hub-Sent alone")
    func secondAttempt() throws {
        let request = try RawWindowsRequest(MemoryQueue.delivery("a"))
        let first = request.request(base: "https://b", token: "t", sent: 1)
        let second = request.request(base: "https://b", token: "t", sent: 2)
        #expect(first.body == second.body)
        #expect(zip(first.headers, second.headers).filter { $0 != $1 }.map(\.0.name) == ["Hub-Sent"])
    }

    /// Ways in which an entry can be beyond the contract.
    enum Spoiling: CaseIterable, Sendable {
        case bodyTooShort, negativeCount, nothing, noKey, forgedKey, foreignOwner, noDevice, longTime, halfClock, vagueClock, signedOffset, forgedClock, otherClock, emptyGap

        func spoil(_ delivery: inout Delivery) {
            switch self {
            case .bodyTooShort: delivery.body.removeLast()
            case .negativeCount: delivery.count = -1
            case .nothing: (delivery.count, delivery.body) = (0, [])
            case .noKey: delivery.key = ""
            case .forgedKey: delivery.key = "a\r\nHub-Owner: \"ben\""
            case .foreignOwner: delivery.owner = "bärbel"
            case .noDevice: delivery.device = ""
            case .longTime: delivery.received = 1_000_000_000_000_000
            case .halfClock: delivery.clock = "synced"
            case .vagueClock: delivery.clock = "synced;device=maybe"
            case .signedOffset: delivery.clock = "synced;device=set;offset=+3"
            case .forgedClock: delivery.clock = "synced;device=set;offset=3\r\nx: y"
            case .otherClock: delivery.clock = "about;device=set"
            case .emptyGap: delivery.gaps = [DeliveryGap(log: 1, first: 1, count: 0, reason: .damaged)]
            }
        }
    }

    @Test("is not made of an entry that contradicts itself or would forge a header", arguments: Spoiling.allCases)
    func unsendable(_ spoiling: Spoiling) throws {
        var delivery = MemoryQueue.delivery("a")
        spoiling.spoil(&delivery)
        let spoiled = delivery
        #expect { try RawWindowsRequest(spoiled) } throws: { ($0 as? UplinkError)?.code == "entry-unsendable" }
    }

    @Test("says each reason for a gap in the contract's words")
    func reasons() {
        #expect(DeliveryGap.Reason.allCases.map(\.rawValue) == ["overwritten", "cleared-elsewhere", "reformatted", "unreadable", "withheld", "damaged"])
    }

    @Test("takes the clock in each of its forms", arguments: ["synced;device=set;offset=-3", "unsynced;device=unset", "synced;device=unset", "unsynced;device=set"])
    func clocks(_ clock: String) throws {
        var delivery = MemoryQueue.delivery("a")
        delivery.clock = clock
        #expect(try RawWindowsRequest(delivery).request(base: "https://b", token: "t", sent: 0).header("Hub-Clock") == clock)
    }

    @Test("goes to an https base only", arguments: ["http://b.example", "https://", "https:///x", "https://user@b.example", "https://b.example/?a", "https://b.example/#a", "ftp://b", "https://b b", ""])
    func bases(_ base: String) {
        #expect(throws: UplinkError.unusableBase(base)) { try UplinkSettings(base: base, tokenFiles: [:]) }
    }

    @Test("takes a base with or without a slash at its end")
    func slash() throws {
        #expect(try UplinkSettings(base: "https://b.example/hub/", tokenFiles: [:]).base == "https://b.example/hub")
        #expect(try UplinkSettings(base: "HTTPS://b.example", tokenFiles: [:]).base == "HTTPS://b.example")
    }
}

@Suite("Structured fields")
struct StructuredFieldTests {
    @Test("quote strings, escape quotes and backslashes, and refuse what is not printable ASCII")
    func strings() {
        #expect(StructuredField.string("a\"b\\c") == "\"a\\\"b\\\\c\"")
        #expect(StructuredField.string("") == "\"\"")
        #expect(StructuredField.string("a\u{7F}") == nil)
        #expect(StructuredField.string("ä") == nil)
        #expect(StructuredField.string("a\n") == nil)
    }

    @Test("have integers of at most 15 digits")
    func integers() {
        #expect(StructuredField.integer(-999_999_999_999_999) == "-999999999999999")
        #expect(StructuredField.integer(1_000_000_000_000_000) == nil)
        #expect(StructuredField.integer(.min) == nil)
    }
}
