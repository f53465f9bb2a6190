import Platform

/// What can be asked of a collar and told to it from outside, as JSON objects: see `docs/simulated-collar.md`.
struct CollarControl {
    /// The most windows that one request may ask for.
    static let windowLimit = 2_000

    let collar: SimulatedCollar

    /// Carries out one request; called on the collar's loop.
    ///
    /// - Returns: the answer, and the hold that was armed by it.
    func answer(_ line: [UInt8]) -> (JSONValue, armed: HoldPoint?) {
        do throws(SimulationError) {
            let request = try parse(line)
            if let query = request["query"]?.string { return (try self.query(query, request), nil) }
            guard let order = request["do"]?.string else { throw invalid("neither \"query\" nor \"do\" is a string") }
            return (.object(["ok": .bool(true)]), armed: try carryOut(order, request))
        } catch {
            return (.object(["error": .string("\(error)")]), nil)
        }
    }

    private func parse(_ line: [UInt8]) throws(SimulationError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: line, size: CollarControlServer.lineLimit)
        } catch {
            throw SimulationError(.controlInvalid, "\(error)", advice: "Send one JSON object a line.")
        }
    }

    private func query(_ query: String, _ request: JSONValue) throws(SimulationError) -> JSONValue {
        switch query {
        case "books":
            return collar.assumeIsolated { $0.books().json(linked: $0.isLinked, at: $0.loop.now) }
        case "windows":
            let log = try number("log", request)
            let from = try number("from", request)
            let count = try number("count", request)
            guard count <= Self.windowLimit else { throw invalid("\"count\" is \(count), and at most \(Self.windowLimit) are given at once") }
            let windows = collar.assumeIsolated { collar in
                (0..<count).compactMap { index -> JSONValue? in
                    let sequence = from &+ index
                    guard let bytes = collar.window(log: log, sequence: sequence) else { return nil }
                    return .object(["sequence": .integer(Int64(sequence)), "sha256": .string(SHA256.digest(bytes).hexadecimal)])
                }
            }
            return .object(["windows": .array(windows)])
        default:
            throw invalid("there is no query \"\(query)\"")
        }
    }

    private func carryOut(_ order: String, _ request: JSONValue) throws(SimulationError) -> HoldPoint? {
        switch order {
        case "drop-link": collar.assumeIsolated { $0.dropLink() }
        case "silence": collar.assumeIsolated { $0.silence() }
        case "format": collar.assumeIsolated { $0.format() }
        case "battery-change": collar.assumeIsolated { $0.changeBattery() }
        case "stop-producing": collar.assumeIsolated { $0.stopProducing() }
        case "hold":
            let point = try holdPoint(request)
            collar.assumeIsolated { $0.arm(point) }
            return point
        case "disarm":
            let point = try holdPoint(request)
            collar.assumeIsolated { $0.disarm(point) }
        case "release":
            guard collar.assumeIsolated({ $0.release() }) else { throw invalid("the collar is not held") }
        default:
            throw invalid("there is nothing to do called \"\(order)\"")
        }
        return nil
    }

    private func holdPoint(_ request: JSONValue) throws(SimulationError) -> HoldPoint {
        guard let point = request["at"]?.string.flatMap({ HoldPoint(rawValue: $0) }) else {
            throw invalid("\"at\" is none of " + HoldPoint.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return point
    }

    private func number(_ key: String, _ request: JSONValue) throws(SimulationError) -> UInt32 {
        guard let number = request[key]?.integer.flatMap({ UInt32(exactly: $0) }) else { throw invalid("\"\(key)\" is not a number of 32 bits") }
        return number
    }

    private func invalid(_ what: String) -> SimulationError {
        SimulationError(.controlInvalid, what, advice: "docs/simulated-collar.md lists what there is.")
    }
}

extension CollarBooks {
    /// The books as they are given outside.
    func json(linked: Bool, at now: BootInstant) -> JSONValue {
        func number(_ value: some BinaryInteger) -> JSONValue { .number(value) }
        func ranges(_ ranges: [WindowRange]) -> JSONValue {
            .array(ranges.map { .object(["log": number($0.log), "first": number($0.first), "count": number($0.count)]) })
        }
        func total(_ ranges: [WindowRange]) -> JSONValue { number(ranges.reduce(0) { $0 + $1.count }) }
        return .object([
            "serial": .string(serial), "address": .string(address), "linked": .bool(linked), "at_boottime_ns": number(now.nanoseconds),
            "log": number(log), "oldest": number(oldest), "next": number(next), "held": number(next &- oldest),
            "produced": number(produced), "logs": ranges(logs),
            "overwritten": total(overwritten), "overwritten_ranges": ranges(overwritten),
            "formatted_away": total(formattedAway), "formatted_away_ranges": ranges(formattedAway),
            "clears": .array(
                clears.map { .object(["log": number($0.log), "through": number($0.through), "at_boottime_ns": number($0.at.nanoseconds)]) }),
            "clears_refused": number(clearsRefused), "reads": number(reads), "windows_sent": number(windowsSent), "links": number(links),
            "faults": .object(JSONObject(faults.mapValues { number($0) }))
        ])
    }
}
