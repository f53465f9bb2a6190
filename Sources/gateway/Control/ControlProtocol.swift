import Outbox
import Platform

/// What goes over the control socket: one request in one line, one answer in one line, both JSON, and the connection ends.
///
/// A request is an object with the member `command` and what that command takes (`ControlCommand.arguments`), and nothing else.
enum ControlRequest: Sendable, Hashable {
    /// Answered by `{"status":{…},"text":"…"}`.
    case status
    /// Answered by `{"flush":{…},"text":"…"}`.
    case flush
    /// Answered by `{"quarantine":{…},"text":"…"}`, `{"audit":[…],"text":"…"}` or, when something was done, `{"done":{…},"text":"…"}`.
    case operate(OperatorRequest)
    /// Answered by `{"pair":{…},"text":"…"}`, and so on with `forget`, `scan` and `probe`.
    case radio(RadioRequest)

    /// How long the daemon may work on it, beside the patience that both ends have.
    var allowance: Duration {
        if case .radio(let request) = self { request.allowance } else { .zero }
    }

    /// The most bytes that a request may have, its line feed included.
    static let limit = 4_096

    /// Reads a line, without its line feed.
    init(parsing line: [UInt8]) throws(ControlError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: line, size: Self.limit, depth: 4)
        } catch {
            throw .malformed("the request is not JSON: \(error)")
        }
        guard case .object(let members) = value, let name = value["command"]?.string else {
            throw .malformed("the request must be an object with the member \"command\", a string")
        }
        guard let command = ControlCommand(rawValue: name) else {
            throw .unknownCommand("\(quoted(name)) is not a command; known: \(ControlCommand.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        if let stray = members.members.first(where: { $0.name != "command" && !command.arguments.contains($0.name) }) {
            let allowed = command.arguments.isEmpty ? "nothing" : command.arguments.map { "\"\($0)\"" }.joined(separator: " and ")
            throw .malformed("\(command.rawValue) does not take \(quoted(stray.name)); it takes \(allowed)")
        }
        do throws(ArgumentError) {
            self = try Self.request(command, value)
        } catch {
            throw .malformed(error.words)
        }
    }

    private static func request(_ command: ControlCommand, _ value: JSONValue) throws(ArgumentError) -> ControlRequest {
        func text(_ name: String) throws(ArgumentError) -> String {
            guard let text = value[name]?.string else { throw ArgumentError(words: "\(command.rawValue) needs \"\(name)\", a string") }
            return text
        }
        func confirmed() throws(ArgumentError) {
            guard value["yes"] == .bool(true) else { throw ArgumentError(words: "\(command.rawValue) cannot be taken back: it needs \"yes\": true") }
        }
        switch command {
        case .status: return .status
        case .flush: return .flush
        case .quarantine: return .operate(.quarantine)
        case .audit: return .operate(.audit)
        case .release: return .operate(.release(try OperatorRequest.entry(try text("entry"))))
        case .give:
            let entry = try OperatorRequest.entry(try text("entry")), owner = try OperatorRequest.owner(try text("owner"))
            try confirmed()
            return .operate(.give(entry, owner: owner))
        case .settle:
            let entry = try OperatorRequest.entry(try text("entry"))
            try confirmed()
            return .operate(.settle(entry))
        case .purgeSealed:
            let owner = try OperatorRequest.owner(try text("owner"))
            try confirmed()
            return .operate(.purgeSealed(owner: owner))
        case .discardEvidence:
            guard let number = value["through"]?.integer else { throw ArgumentError(words: "\(command.rawValue) needs \"through\", a whole number") }
            let through = try OperatorRequest.number(number)
            try confirmed()
            return .operate(.discardEvidence(through: through))
        case .pair: return .radio(.pair(device: value["device"] == nil ? nil : try RadioRequest.device(try text("device"))))
        case .forget: return .radio(.forget(device: try RadioRequest.device(try text("device"))))
        case .probe: return .radio(.probe(device: try RadioRequest.device(try text("device"))))
        case .scan:
            guard let seconds = value["seconds"]?.integer else { throw ArgumentError(words: "\(command.rawValue) needs \"seconds\", a whole number") }
            return .radio(.scan(seconds: try RadioRequest.seconds(seconds)))
        }
    }

    /// The line that asks for this.
    var line: [UInt8] {
        let members: JSONObject =
            switch self {
            case .status: ["command": .string(ControlCommand.status.rawValue)]
            case .flush: ["command": .string(ControlCommand.flush.rawValue)]
            case .operate(.quarantine): ["command": .string(ControlCommand.quarantine.rawValue)]
            case .operate(.audit): ["command": .string(ControlCommand.audit.rawValue)]
            case .operate(.release(let entry)): ["command": .string(ControlCommand.release.rawValue), "entry": .string(entry.text)]
            case .operate(.give(let entry, let owner)):
                ["command": .string(ControlCommand.give.rawValue), "entry": .string(entry.text), "owner": .string(owner), "yes": .bool(true)]
            case .operate(.settle(let entry)):
                ["command": .string(ControlCommand.settle.rawValue), "entry": .string(entry.text), "yes": .bool(true)]
            case .operate(.purgeSealed(let owner)):
                ["command": .string(ControlCommand.purgeSealed.rawValue), "owner": .string(owner), "yes": .bool(true)]
            case .operate(.discardEvidence(let through)):
                ["command": .string(ControlCommand.discardEvidence.rawValue), "through": .integer(through), "yes": .bool(true)]
            case .radio(.pair(nil)): ["command": .string(ControlCommand.pair.rawValue)]
            case .radio(.pair(let device?)): ["command": .string(ControlCommand.pair.rawValue), "device": .string(device)]
            case .radio(.forget(let device)): ["command": .string(ControlCommand.forget.rawValue), "device": .string(device)]
            case .radio(.scan(let seconds)): ["command": .string(ControlCommand.scan.rawValue), "seconds": .number(seconds)]
            case .radio(.probe(let device)): ["command": .string(ControlCommand.probe.rawValue), "device": .string(device)]
            }
        return Array(JSONValue.object(members).encoded().utf8) + [UInt8(ascii: "\n")]
    }

    /// The member of the answer that says what was asked for.
    var answerMember: String {
        switch self {
        case .status: "status"
        case .flush: "flush"
        case .operate(.quarantine): "quarantine"
        case .operate(.audit): "audit"
        case .operate: "done"
        case .radio(.pair): "pair"
        case .radio(.forget): "forget"
        case .radio(.scan): "scan"
        case .radio(.probe): "probe"
        }
    }
}

/// The commands by their names on the socket.
enum ControlCommand: String, Sendable, CaseIterable {
    case status
    case flush
    case quarantine
    case release
    case give
    case settle
    case purgeSealed = "purge-sealed"
    case discardEvidence = "discard-evidence"
    case audit
    case pair
    case forget
    case scan
    case probe

    /// The members that a request has besides `command`, every one of them; only that of `pair` may be missing.
    var arguments: [String] {
        switch self {
        case .status, .flush, .quarantine, .audit: []
        case .release: ["entry"]
        case .give: ["entry", "owner", "yes"]
        case .settle: ["entry", "yes"]
        case .purgeSealed: ["owner", "yes"]
        case .discardEvidence: ["through", "yes"]
        case .pair, .forget, .probe: ["device"]
        case .scan: ["seconds"]
        }
    }
}

/// Why a request was not done. The codes do not change between releases.
enum ControlError: Error, Sendable, Hashable {
    case malformed(String)
    case tooLong
    case unknownCommand(String)
    case notAllowed(uid: UInt32)
    case busy
    /// The outbox or the radio cannot do it, or did not: their own code and words.
    case refused(code: String, String)

    var code: String {
        switch self {
        case .malformed: "malformed"
        case .tooLong: "too-long"
        case .unknownCommand: "unknown-command"
        case .notAllowed: Self.notAllowedCode
        case .busy: "busy"
        case .refused(let code, _): code
        }
    }

    static let notAllowedCode = "not-allowed"

    var text: String {
        switch self {
        case .malformed(let words), .unknownCommand(let words), .refused(_, let words): words
        case .tooLong: "the request is longer than \(ControlRequest.limit) bytes"
        case .notAllowed(let uid): "user \(uid) may not control the gateway; run the command as root or as the gateway's user"
        case .busy: "too many commands at once; try again"
        }
    }

    /// The line that says so.
    var line: [UInt8] {
        ControlAnswer.line(.object(["error": .object(["code": .string(code), "text": .string(text)])]))
    }
}

/// The lines that answer.
enum ControlAnswer {
    static func status(_ report: StatusReport) -> [UInt8] { line(.object(["status": report.json, "text": .string(report.text)])) }

    static func flush(_ report: FlushReport) -> [UInt8] { line(.object(["flush": report.json, "text": .string(report.text)])) }

    static func operate(_ answer: Result<OperatorAnswer, ControlError>) -> [UInt8] {
        switch answer {
        case .success(.setAside(let report)): line(.object(["quarantine": report.json, "text": .string(report.text)]))
        case .success(.audit(let lines)): line(.object(["audit": .array(lines.map(\.json)), "text": .string(lines.text)]))
        case .success(.done(let act)): line(.object(["done": act.json, "text": .string("\(act.act)\n")]))
        case .failure(let error): error.line
        }
    }

    static func radio(_ answer: Result<RadioAnswer, ControlError>, to request: ControlRequest) -> [UInt8] {
        switch answer {
        case .success(let report): line(.object([request.answerMember: report.json, "text": .string(report.text)]))
        case .failure(let error): error.line
        }
    }

    fileprivate static func line(_ value: JSONValue) -> [UInt8] { Array(value.encoded().utf8) + [UInt8(ascii: "\n")] }
}
