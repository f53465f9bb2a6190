import Platform

/// What goes over the control socket: one request in one line, one answer in one line, both JSON, and the connection ends.
enum ControlRequest: String, Sendable, CaseIterable {
    /// `{"command":"status"}`, answered by `{"status":{…},"text":"…"}`.
    case status
    /// `{"command":"flush"}`, answered by `{"flush":{…},"text":"…"}`.
    case flush

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
        guard case .object(let members) = value, members.count == 1, let command = value["command"]?.string else {
            throw .malformed("the request must be an object with the one member \"command\"")
        }
        guard let request = ControlRequest(rawValue: command) else {
            throw .unknownCommand("\(quoted(command)) is not a command; known: \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = request
    }

    /// The line that asks for this.
    var line: [UInt8] { Array(JSONValue.object(["command": .string(rawValue)]).encoded().utf8) + [UInt8(ascii: "\n")] }
}

/// Why a request was not done. The codes do not change between releases.
enum ControlError: Error, Sendable, Hashable {
    case malformed(String)
    case tooLong
    case unknownCommand(String)
    case notAllowed(uid: UInt32)
    case busy

    var code: String {
        switch self {
        case .malformed: "malformed"
        case .tooLong: "too-long"
        case .unknownCommand: "unknown-command"
        case .notAllowed: Self.notAllowedCode
        case .busy: "busy"
        }
    }

    static let notAllowedCode = "not-allowed"

    var text: String {
        switch self {
        case .malformed(let words), .unknownCommand(let words): words
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

    fileprivate static func line(_ value: JSONValue) -> [UInt8] { Array(value.encoded().utf8) + [UInt8(ascii: "\n")] }
}
