import Platform
import Testing

@testable import gateway

@Suite("One exchange over the control socket")
struct ControlExchangeTests {
    @Test("goes from the request over the answer to the end")
    func whole() {
        var exchange = ControlExchange()
        #expect(exchange.received(Array("{\"command\":".utf8)) == .read)
        #expect(exchange.received(Array("\"status\"}\n".utf8)) == .handle(.status))
        #expect(exchange.answered([1, 2, 3]) == .send([1, 2, 3]))
        #expect(exchange.sent(0) == .send([1, 2, 3]))
        #expect(exchange.sent(2) == .send([3]))
        #expect(exchange.sent(1) == .close)
        #expect(exchange.end() == .none)
    }

    @Test("does one request only: what follows it in the same read is not looked at")
    func one() {
        var exchange = ControlExchange()
        #expect(exchange.received(ControlRequest.flush.line + ControlRequest.status.line) == .handle(.flush))
        #expect(exchange.received(ControlRequest.status.line) == .none)
    }

    @Test("an answer that comes after the end is dropped")
    func late() {
        var exchange = ControlExchange()
        #expect(exchange.received(ControlRequest.status.line) == .handle(.status))
        #expect(exchange.end() == .close)
        #expect(exchange.answered([1]) == .none)
        #expect(exchange.sent(1) == .none)
        #expect(exchange.received([]) == .none)
    }

    @Test("random bytes never crash it, never pass for a request, and never make it keep more than the limit", arguments: 0..<4 as Range<UInt64>)
    func random(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            var exchange = ControlExchange()
            var given = 0
            var action = ControlExchange.Action.read
            while action == .read {
                let bytes = (0..<Int.random(in: 1...600, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
                given += bytes.count
                action = exchange.received(bytes)
            }
            guard case .send(let line) = action else {
                Issue.record("\(action)")
                continue
            }
            #expect(line.last == UInt8(ascii: "\n"))
            #expect((try? JSONValue(parsing: line))?["error"] != nil)
            #expect(given <= ControlRequest.limit + 600)
        }
    }

    @Test("a request with one flipped bit is refused", arguments: 0..<4 as Range<UInt64>)
    func flipped(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<500 {
            var line = ControlRequest.allCases[Int.random(in: 0...1, using: &random)].line.dropLast() + []
            line[Int.random(in: 0..<line.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            #expect(throws: ControlError.self) { try ControlRequest(parsing: Array(line)) }
        }
    }
}

@Suite("JSON by jansson")
struct JSONValueTests {
    @Test("reads as it was written", arguments: [
        .null, .boolean(true), .boolean(false), .integer(.max), .integer(.min), .real(0.5), .string(""), .string("ä\"\\\n\u{7f}🦮"),
        .array([.integer(1), .array([]), .null]), .object([.init("b", .integer(1)), .init("a", .object([]))])
    ] as [JSONValue])
    func roundTrip(value: JSONValue) throws {
        #expect(try JSONValue(parsing: Array(value.encoded().utf8)) == value)
    }

    @Test("what is not JSON is refused with jansson's words", arguments: ["", "{", "[1,]", "{\"a\":1,\"a\":2}", "nul", "\"\u{1}\"", "1 2", "1e999", "\"\\ud800\""])
    func malformed(text: String) {
        #expect(throws: JSONValue.Malformed.self) { try JSONValue(parsing: Array(text.utf8)) }
    }

    @Test("NUL in a string is written, and refused when it is read")
    func nul() {
        #expect(JSONValue.string("a\u{0}b").encoded() == "\"a\\u0000b\"")
        #expect(throws: JSONValue.Malformed.self) { try JSONValue(parsing: Array("\"\\u0000\"".utf8)) }
    }

    @Test("what is not UTF-8 is refused, and so is what nests without end")
    func hostile() {
        #expect(throws: JSONValue.Malformed.self) { try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
        #expect(throws: JSONValue.Malformed.self) { try JSONValue(parsing: [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)) }
    }
}
