import Testing
@testable import Uplink

@Suite("The answer table")
struct AnswerTests {
    private let delivery = MemoryQueue.delivery("e")

    private func classify(_ status: Int, _ retryAfter: String? = nil, date: String? = nil) -> AnswerClass {
        Answer(HTTPResponse(status: status, contentType: "text/html", retryAfter: retryAfter, date: date), to: delivery, digest: "").meaning
    }

    private func classify(_ kind: TransportFailure.Kind, clockSynchronised: Bool = true) -> AnswerClass {
        Answer(TransportFailure(kind, "w"), clockSynchronised: clockSynchronised).meaning
    }

    @Test("says retry", arguments: [408, 409, 425, 429, 500, 501, 502, 503, 504, 507, 599])
    func retry(_ status: Int) { #expect(classify(status) == .retry(after: nil, answered: true, beforeRequest: false)) }

    @Test("says retry when the connection failed before the request mattered", arguments: [.dns, .refused, .tlsHandshake] as [TransportFailure.Kind])
    func retryBefore(_ kind: TransportFailure.Kind) { #expect(classify(kind) == .retry(after: nil, answered: false, beforeRequest: true)) }

    @Test("says retry when the answer did not come", arguments: [.timeout, .lowSpeed, .connectionLost, .other] as [TransportFailure.Kind])
    func retryWithout(_ kind: TransportFailure.Kind) { #expect(classify(kind) == .retry(after: nil, answered: false, beforeRequest: false)) }

    @Test("says clock for a certificate out of its time only while the clock is not synchronised", arguments: [.certificateNotYetValid, .certificateExpired] as [TransportFailure.Kind])
    func clock(_ kind: TransportFailure.Kind) {
        #expect(classify(kind, clockSynchronised: false) == .clock)
        #expect(classify(kind, clockSynchronised: true) == .interception)
    }

    @Test("says interception for other certificate errors and for what is not the backend's", arguments: [.certificateUntrusted, .pinMismatch, .notHTTP, .answerTooLarge] as [TransportFailure.Kind])
    func interceptionFailure(_ kind: TransportFailure.Kind) {
        #expect(classify(kind, clockSynchronised: false) == .interception)
        #expect(classify(kind) == .interception)
    }

    @Test("says interception", arguments: [200, 201, 202, 204, 299, 301, 302, 303, 304, 307, 308, 511, 600, 999])
    func interception(_ status: Int) { #expect(classify(status) == .interception) }

    @Test("says authorisation", arguments: [401, 403])
    func authorisation(_ status: Int) { #expect(classify(status) == .authorisation) }

    @Test("says conflict for 422 and too large for 413")
    func conflict() {
        #expect(classify(422) == .conflict)
        #expect(classify(413) == .tooLarge)
    }

    @Test("says refused", arguments: [400, 402, 404, 405, 406, 407, 410, 411, 414, 415, 418, 421, 428, 431, 451, 499])
    func refused(_ status: Int) { #expect(classify(status) == .refused) }

    @Test("says refused for a URL that cannot be used")
    func unusable() { #expect(classify(.unusableURL) == .refused) }

    @Test("names the field that keeps a 2xx from being a receipt")
    func code() {
        let answer = Answer(HTTPResponse(status: 200, contentType: "text/html", body: Array("<html>".utf8)), to: delivery, digest: "")
        #expect(answer.error?.code == "receipt-content-type")
    }

    @Test("reads Retry-After", arguments: [
        ("7", nil, 7), (" 120 ", nil, 120), ("0", nil, 0), ("99999999999999999999", nil, 1_000_000_000),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", 30), ("Thu, 29 Feb 2024 00:00:00 GMT", "Wed, 28 Feb 2024 23:59:00 GMT", 60),
        ("Fri, 01 Mar 2024 00:00:00 GMT", "Wed, 28 Feb 2024 00:00:00 GMT", 172_800), ("Sun, 06 Nov 1994 08:49:07 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", nil, nil), ("-7", nil, nil), ("7.5", nil, nil), ("", nil, nil), ("soon", "Sun, 06 Nov 1994 08:49:07 GMT", nil),
        ("Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", nil), ("Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", nil),
    ] as [(String, String?, Int64?)])
    func retryAfter(_ value: String, _ date: String?, _ seconds: Int64?) {
        #expect(RetryAfter.delay(value, date: date) == seconds.map { .seconds($0) })
        #expect(classify(503, value, date: date) == .retry(after: seconds.map { .seconds($0) }, answered: true, beforeRequest: false))
    }

    @Test("knows 1970 and the year 2100, which is no leap year")
    func dates() {
        #expect(RetryAfter.seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
        #expect(RetryAfter.seconds("Mon, 01 Mar 2100 00:00:00 GMT") == 4_107_542_400)
        #expect(RetryAfter.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    }
}
