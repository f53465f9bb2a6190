import Platform

/// The shell around `ControlPointMachine`.
extension CollarConnection {
    /// Sends a request and waits for its answer.
    func perform(_ request: ControlRequest) async throws(CollarError) -> ControlAnswer {
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
            submit(request) { continuation.resume(returning: $0) }
        }
        return try outcome.get()
    }

    /// Sends a request; the waiter is called once, on the loop's thread.
    func submit(_ request: ControlRequest, _ waiter: @escaping (Outcome) -> Void) {
        lastRequest += 1
        waiters[lastRequest] = waiter
        apply(control.submit(request, id: lastRequest))
    }

    /// Carries out what the machine has decided.
    func apply(_ actions: [ControlPointMachine.Action]) {
        for action in actions {
            switch action {
            case .write(let id, let request): write(request, id)
            case .answer(let id, let answer): resolve(id, .success(answer))
            case .fail(let id, let error): resolve(id, .failure(error))
            case .report(let error): report(error)
            }
        }
    }

    private func write(_ request: ControlRequest, _ id: ControlPointMachine.ID) {
        guard case .open(let handles) = phase else { return }
        if request.opcode == .readRange {
            expect(.window, within: timing.stall)
        } else {
            let timer = loop.schedule(after: timing.answer) { [weak self] in
                self?.assumeIsolated { $0.answerTimedOut(request.opcode) }
            }
            answerTimer = (id, timer)
        }
        loop.spawn { [client, weak self] in
            var failure: CollarError?
            do { try await client.write(request.encoded, to: handles.control) } catch { failure = CollarError(cause: error) }
            await self?.wrote(id, failure)
        }
    }

    private func wrote(_ id: ControlPointMachine.ID, _ failure: CollarError?) {
        if let failure { apply(control.writeFailed(id, failure)) } else { apply(control.written(id)) }
    }

    private func resolve(_ id: ControlPointMachine.ID, _ outcome: Outcome) {
        if let timer = answerTimer, timer.request == id {
            loop.cancel(timer.timer)
            answerTimer = nil
        }
        waiters.removeValue(forKey: id)?(outcome)
    }

    private func answerTimedOut(_ opcode: ControlOpcode) {
        end(CollarError(.answerTimeout, "no answer to opcode \(opcode.rawValue) within \(timing.answer)"))
    }

    /// An indication of the control point.
    func controlIndicated(_ update: ValueUpdate) {
        // Nothing of an answer needs to be stored before it is confirmed, and the next request may depend on it. A link that has just ended takes
        // no confirmation, and needs none.
        if update.isIndication { try? client.assumeIsolated { try $0.confirmIndication() } }
        apply(control.indication(update.value))
    }
}
