import Platform

/// What was read of one file of a cuff of the BP2 family, to be stored before its checkpoint moves.
public struct BP2Item: Sendable, Hashable {
    public enum Content: Sendable, Hashable {
        case reading(CuffMeasurement)
        /// Something that is no reading: an electrocardiogram, or of a kind that this project does not know. It was left alone.
        case other
        /// A reading that cannot be read; its octets are to be kept aside.
        case unreadable(CuffError)
    }

    /// The file.
    public let name: BP2FileName
    /// The octets: of the file, or of the one record in it.
    public let octets: [UInt8]
    public let content: Content
}

/// What one look at a cuff of the BP2 family brought. The cuff keeps everything.
public struct BP2Harvest: Sendable, Hashable {
    /// What is new, the oldest name first. Each is to be given to `BP2Checkpoint.stored(_:_:)` once it is durably stored.
    public var items: [BP2Item] = []
    /// What stopped it; `nil` when everything new is in `items`. The rest is read on the next link.
    public var stopped: CuffError?
}

/// What a cuff of the BP2 family does at the moment.
public struct BP2Look: Sendable, Hashable {
    /// Whether it is measuring: it answers no request for a file then.
    public let isMeasuring: Bool
    /// Whether the cuff asks for its battery to be charged.
    public let isBatteryLow: Bool
    /// Percent, 0...100; `nil` when the cuff says something else.
    public let battery: UInt8?

    init(_ state: BP2State) {
        isMeasuring = state.activity.isMeasuring
        isBatteryLow = state.battery.isLow
        battery = state.battery.percent
    }
}

/// Who a cuff of the BP2 family is, once its link is open.
public struct BP2Opening: Sendable, Hashable {
    public let identity: CuffIdentity
    public let clock: CuffClockCheck
    /// What it does.
    public let look: BP2Look
}

/// One cuff of the BP2 family on one link: who it is, its clock, and what of its files is new.
///
/// A connection is used once and lives on the loop. One request is with the cuff at a time, and only the commands of `BP2Command` can be sent.
public actor BP2Connection {
    private enum Phase {
        /// Made. Goes on to opening, closed.
        case idle
        /// Discovery, subscription, identity, clock. Goes on to open, closed.
        case opening
        /// In use. Goes on to closed.
        case open
        /// Over.
        case closed(CuffError)
    }

    private struct Exchange {
        let command: BP2Command
        let done: (Result<BP2Frame, CuffError>) -> Void
        let timer: TimerID
    }

    static let service = uuid("14839ac4-7d7e-415c-9a42-167340cf2339")
    static let request = uuid("8b00ace7-eb0b-49b0-bbe9-9aee0a26e1a3")
    static let answer = uuid("0734594a-a8e7-4b1a-a6b1-cd5243059a57")

    nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let client: GATTClient
    private let loop: any EventLoop
    private let timing: CuffTiming
    private let setsClock: Bool
    private let wall: WallClock
    private let zone: TimeZoneRules
    private let onClose: @Sendable (CuffError) -> Void
    private var phase = Phase.idle
    private var writes: GATTCharacteristic?
    private var reassembler = BP2Reassembler()
    private var exchange: Exchange?
    private var sequence: UInt8 = 0
    private var clockWentBack = false
    private var isReading = false
    /// Octets that were part of no frame, since the start.
    public private(set) var discardedOctets = 0

    /// - Parameters:
    ///   - client: the attribute client of the link, not started yet, on the same loop.
    ///   - setsClock: whether a wrong clock is set.
    ///   - timing: without a word from the cuff for so long, a request is lost; it answers within a second as a rule.
    ///   - onClose: called once on the loop's thread when the connection has ended.
    public init(
        client: GATTClient, setsClock: Bool = true, wall: WallClock, zone: TimeZoneRules, loop: any EventLoop, timing: CuffTiming = CuffTiming(answer: .seconds(10)),
        onClose: @escaping @Sendable (CuffError) -> Void
    ) {
        self.client = client
        self.setsClock = setsClock
        self.wall = wall
        self.zone = zone
        self.loop = loop
        self.timing = timing
        self.onClose = onClose
    }

    // MARK: Opening and closing

    /// Starts the client, exchanges the MTU, subscribes the answers, asks who the cuff is and what it does, and sets its clock where that is due.
    ///
    /// - Throws: `CuffError`; the connection is closed then.
    public func open() async throws(CuffError) -> BP2Opening {
        guard case .idle = phase else { throw CuffError(.notOpen, "the connection was opened before") }
        phase = .opening
        do {
            return try await establish()
        } catch {
            let error = CuffError(cause: error)
            end(error)
            if case .closed(let first) = phase { throw first }
            throw error
        }
    }

    /// Ends the connection and the link.
    public func close() {
        end(CuffError(.linkClosed, "closed by the hub"))
    }

    private func establish() async throws -> BP2Opening {
        try await client.start { [weak self] closure in
            self?.assumeIsolated { $0.end(CuffError(closure: closure)) }
        }
        _ = try await client.exchangeMTU()
        guard let service = try await client.discoverPrimaryServices(Self.service).first else {
            throw CuffError(.notACuff, "no service \(Self.service)")
        }
        let characteristics = try await client.discoverCharacteristics(of: service)
        guard let writes = characteristics.first(where: { $0.uuid == Self.request }), let answers = characteristics.first(where: { $0.uuid == Self.answer }) else {
            throw CuffError(.notACuff, "a characteristic of the maker's protocol is missing")
        }
        self.writes = writes
        try await client.subscribe(to: answers, as: .notifications) { [weak self] update in
            self?.assumeIsolated { $0.notified(update.value) }
        }
        await client.subscriptionsComplete()
        let info = try await info()
        let state = try BP2State(parsing: try await accepted(.state).payload)
        let clock = try await checkClock(info)
        if case .closed(let error) = phase { throw error }
        phase = .open
        let identity = CuffIdentity(serial: info.serial, firmware: info.firmware, battery: state.battery.percent)
        return BP2Opening(identity: identity, clock: clock, look: BP2Look(state))
    }

    private func end(_ error: CuffError) {
        if case .closed = phase { return }
        phase = .closed(error)
        finish(.failure(error))
        client.assumeIsolated { $0.close() }
        onClose(error)
    }

    // MARK: Who it is

    private func info() async throws -> BP2Info { try BP2Info(parsing: try await accepted(.info).payload) }

    private func checkClock(_ info: BP2Info) async throws -> CuffClockCheck {
        let now = wall.read()
        let found = CuffClock(shown: info.clock, now: now, zone: zone)
        if case .ahead(let seconds) = found, seconds < -86_400 { clockWentBack = true }
        guard setsClock, found.shouldBeSet(now: now), let local = zone.civil(at: now.seconds) else { return CuffClockCheck(found: found, setting: .notNeeded) }
        guard try await ask(.setTime(local)).type == 1 else { return CuffClockCheck(found: found, setting: .refused) }
        guard case .ahead(let seconds) = CuffClock(shown: try await self.info().clock, now: wall.read(), zone: zone), seconds.magnitude <= CuffClock.tolerance.magnitude else {
            return CuffClockCheck(found: found, setting: .kept)
        }
        return CuffClockCheck(found: found, setting: .set(local))
    }

    /// Asks the cuff what it does.
    ///
    /// - Throws: `CuffError`.
    public func look() async throws(CuffError) -> BP2Look {
        do { return BP2Look(try BP2State(parsing: try await accepted(.state).payload)) } catch { throw CuffError(cause: error) }
    }

    // MARK: Files

    /// Lists the cuff's files and reads those that are not stored yet. Files that are no readings are closed unread.
    ///
    /// - Parameter checkpoint: what is stored already; that the names were listed is noted in it.
    /// - Returns: what is new so far; a cuff that refuses, measures or hangs up meanwhile stops it, and what came before that stands.
    /// - Throws: `CuffError` when not even the list came.
    public func readNew(_ checkpoint: BP2Checkpoint) async throws(CuffError) -> (harvest: BP2Harvest, checkpoint: BP2Checkpoint) {
        if case .closed(let error) = phase { throw error }
        guard case .open = phase, !isReading else { throw CuffError(.notOpen, "the connection is not open, or reads already") }
        isReading = true
        defer { isReading = false }
        do {
            let list = try BP2FileList(parsing: try await accepted(.fileList).payload)
            var checkpoint = checkpoint
            let unread = checkpoint.listed(list.names, clockWentBack: clockWentBack)
            var harvest = BP2Harvest()
            do {
                if list.names.contains(.readings) { try await readList(checkpoint, into: &harvest) }
                for name in unread { try await readFile(name, checkpoint, into: &harvest) }
            } catch {
                harvest.stopped = CuffError(cause: error)
            }
            return (harvest, checkpoint)
        } catch {
            throw CuffError(cause: error)
        }
    }

    private func readFile(_ name: BP2FileName, _ checkpoint: BP2Checkpoint, into harvest: inout BP2Harvest) async throws {
        guard let octets = try await read(BP2FileRead(name, length: BP2File.readingLength)) else {
            harvest.items.append(BP2Item(name: name, octets: [], content: .other))
            return
        }
        guard !checkpoint.holds(name, octets) else { return }
        let content: BP2Item.Content
        do throws(CuffError) {
            content = if case .reading(let measurement) = try BP2File(parsing: octets) { .reading(measurement) } else { .other }
        } catch {
            content = .unreadable(error)
        }
        harvest.items.append(BP2Item(name: name, octets: octets, content: content))
    }

    private func readList(_ checkpoint: BP2Checkpoint, into harvest: inout BP2Harvest) async throws {
        guard let octets = try await read(BP2FileRead(.readings)) else { return }
        let list = try BP2ReadingList(parsing: octets)
        for reading in list.readings where !checkpoint.holds(.readings, reading.raw) {
            harvest.items.append(BP2Item(name: .readings, octets: reading.raw, content: .reading(reading)))
        }
    }

    /// - Returns: `nil` for a file of another length than the read is for.
    private func read(_ read: BP2FileRead) async throws -> [UInt8]? {
        var read = read
        var request = read.start
        while true {
            switch read.answered(try await ask(request)) {
            case .request(let next): request = next
            case .finished(let octets): return octets
            case .skipped: return nil
            case .failed(let error): throw error
            }
        }
    }

    // MARK: Requests

    /// An answer that says that the cuff did what was asked.
    private func accepted(_ request: BP2Request) async throws -> BP2Frame {
        let frame = try await ask(request)
        guard frame.type == 1 else { throw CuffError(.refused, "the cuff refuses command \(request.command.rawValue): \(frame.type)") }
        return frame
    }

    private func ask(_ request: BP2Request) async throws(CuffError) -> BP2Frame {
        if case .closed(let error) = phase { throw error }
        guard let writes, exchange == nil else { throw CuffError(.notOpen, "the cuff answers another request") }
        sequence &+= 1
        let octets = request.encoded(sequence: sequence)
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Result<BP2Frame, CuffError>, Never>) in
            let timer = loop.schedule(after: timing.answer) { [weak self] in self?.assumeIsolated { $0.unanswered(request.command) } }
            exchange = Exchange(command: request.command, done: { continuation.resume(returning: $0) }, timer: timer)
            loop.spawn { [client, weak self] in
                do {
                    let room = Int(await client.mtu) - 3
                    for start in stride(from: 0, to: octets.count, by: room) {
                        let part = Array(octets[start..<min(start + room, octets.count)])
                        if writes.properties.contains(.write) {
                            try await client.write(part, to: writes.valueHandle)
                        } else {
                            try await client.writeWithoutResponse(part, to: writes.valueHandle)
                        }
                    }
                } catch {
                    await self?.writeFailed(CuffError(cause: error))
                }
            }
        }
        return try outcome.get()
    }

    private func writeFailed(_ error: CuffError) { finish(.failure(error)) }

    private func unanswered(_ command: BP2Command) {
        // The answer may stand behind octets that looked like the beginning of a long frame.
        take(reassembler.abandon())
        // A late answer must not be taken for that of a later request.
        guard exchange != nil else { return }
        end(CuffError(.answerTimeout, "no answer to command \(command.rawValue) within \(timing.answer)"))
    }

    private func notified(_ value: [UInt8]) { take(reassembler.take(value)) }

    private func take(_ outcomes: [BP2Reassembler.Outcome]) {
        for outcome in outcomes {
            switch outcome {
            case .discarded(let count): discardedOctets += count
            // A cuff sends other frames of itself while it measures; a late answer is for nobody.
            case .frame(let frame):
                guard let exchange, frame.command == exchange.command.rawValue, frame.type != 0 else { continue }
                finish(.success(frame))
            }
        }
    }

    private func finish(_ outcome: Result<BP2Frame, CuffError>) {
        guard let exchange else { return }
        self.exchange = nil
        loop.cancel(exchange.timer)
        exchange.done(outcome)
    }

    private static func uuid(_ text: String) -> BluetoothUUID {
        guard let uuid = BluetoothUUID(text) else { preconditionFailure("\(text) is a UUID") }
        return uuid
    }
}
