import Platform

/// The cuff's memory, where it has the optional parts of the service for it; and the pressure while it measures.
extension CuffConnection {
    /// A request to the record access control point that waits for its answer.
    struct Access {
        let request: RecordAccessRequest
        let done: (Result<RecordAccessAnswer, CuffError>) -> Void
        var timer: TimerID
    }

    /// Subscribes what a cuff may have beside its measurements. One that refuses is a cuff without it; a broken link is thrown.
    func subscribeOptional(_ characteristics: [BluetoothUUID: GATTCharacteristic]) async throws {
        if let pressure = characteristics[CuffUUID.intermediatePressure] {
            try await subscribeIfAllowed(pressure, as: .notifications) { [weak self] update in
                self?.assumeIsolated { $0.inflated(update.value) }
            }
        }
        guard let record = characteristics[CuffUUID.record], let access = characteristics[CuffUUID.recordAccess] else { return }
        assembler = BloodPressureRecordAssembler(hasCRC: attributes.feature.contains(.endToEndCRC))
        let hasRecords = try await subscribeIfAllowed(record, as: .notifications) { [weak self] update in
            self?.assumeIsolated { $0.recordNotified(update.value) }
        }
        let hasAccess = try await subscribeIfAllowed(access, as: .indications) { [weak self] update in
            self?.assumeIsolated { $0.accessIndicated(update) }
        }
        if hasRecords, hasAccess {
            attributes.record = record
            attributes.access = access
        }
    }

    @discardableResult
    private func subscribeIfAllowed(
        _ characteristic: GATTCharacteristic, as kind: SubscriptionKind, _ handler: @escaping @Sendable (ValueUpdate) -> Void
    ) async throws -> Bool {
        do {
            try await client.subscribe(to: characteristic, as: kind, handler: handler)
            return true
        } catch let error as GATTError {
            switch error.reason {
            case .closed, .timeout: throw error
            default: return false
            }
        }
    }

    /// Has the cuff send what it has stored; each record is an event before this returns, and the cuff keeps them all.
    ///
    /// - Parameter sequence: the first record of interest; all of them without it.
    /// - Returns: `.success`, `.noRecordsFound`, or why it was not done.
    /// - Throws: `CuffError`: `.notOpen` also when the cuff has no records or answers another request; no answer ends the connection.
    public func fetchRecords(from sequence: UInt16? = nil) async throws(CuffError) -> RecordAccessResult {
        let answer = try await perform(.report(sequence.map { .from(sequence: $0) } ?? .all))
        guard case .response(let opcode, let result) = answer, opcode == RecordAccessOpcode.reportStoredRecords.rawValue else {
            throw CuffError(.malformedAnswer, "an answer to another request than that for records")
        }
        return result
    }

    /// How many records the cuff has stored.
    ///
    /// - Throws: `CuffError` as `fetchRecords(from:)`, and `.refused`.
    public func countRecords() async throws(CuffError) -> Int {
        switch try await perform(.count(.all)) {
        case .count(let count): return Int(count)
        case .response(_, .noRecordsFound): return 0
        case .response(_, let result): throw CuffError(.refused, "the cuff does not count its records: \(result.rawValue)")
        }
    }

    private func perform(_ request: RecordAccessRequest) async throws(CuffError) -> RecordAccessAnswer {
        if case .closed(let error) = phase { throw error }
        guard case .open = phase, let control = attributes.access, access == nil else {
            throw CuffError(.notOpen, "the cuff has no records, or answers another request")
        }
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Result<RecordAccessAnswer, CuffError>, Never>) in
            access = Access(request: request, done: { continuation.resume(returning: $0) }, timer: expectAnswer())
            loop.spawn { [client, weak self] in
                do { try await client.write(request.encoded, to: control.valueHandle) } catch { await self?.writeFailed(CuffError(cause: error)) }
            }
        }
        return try outcome.get()
    }

    private func writeFailed(_ error: CuffError) { finishAccess(.failure(error)) }

    /// The request that waits has its outcome; does nothing when none does.
    func finishAccess(_ outcome: Result<RecordAccessAnswer, CuffError>) {
        guard let access else { return }
        self.access = nil
        loop.cancel(access.timer)
        access.done(outcome)
    }

    private func expectAnswer() -> TimerID {
        loop.schedule(after: timing.answer) { [weak self] in
            self?.assumeIsolated { $0.end(CuffError(.answerTimeout, "neither a record nor an answer for \($0.timing.answer)")) }
        }
    }

    private func accessIndicated(_ update: ValueUpdate) {
        // Nothing of an answer needs to be stored before it is confirmed. A link that has just ended takes no confirmation, and needs none.
        if update.isIndication { try? client.assumeIsolated { try $0.confirmIndication() } }
        do throws(CuffError) {
            let answer = try RecordAccessAnswer(parsing: update.value)
            guard access != nil else { throw CuffError(.malformedAnswer, "an answer of the record access control point that nothing asked for") }
            finishAccess(.success(answer))
        } catch {
            report(error)
        }
    }

    private func recordNotified(_ value: [UInt8]) {
        if var access {
            loop.cancel(access.timer)
            access.timer = expectAnswer()
            self.access = access
        }
        do throws(CuffError) {
            guard let record = try assembler.take(value) else { return }
            onEvent(.record(record, try record.measurement(quirks: model.quirks)))
        } catch {
            report(error)
        }
    }

    private func inflated(_ value: [UInt8]) {
        do throws(CuffError) { onEvent(.pressure(try IntermediateCuffPressure(parsing: value))) } catch { report(error) }
    }
}
