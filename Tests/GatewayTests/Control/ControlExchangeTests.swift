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
            var line = [ControlRequest.status, .flush, .operate(.quarantine), .operate(.audit)][Int.random(in: 0...3, using: &random)].line.dropLast() + []
            line[Int.random(in: 0..<line.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            #expect(throws: ControlError.self) { try ControlRequest(parsing: Array(line)) }
        }
    }
}
