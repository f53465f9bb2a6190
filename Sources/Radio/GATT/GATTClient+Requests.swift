import Platform

/// What is done once for all requests that wait for it.
enum Errand: Hashable {
    case raisingSecurity(SecurityRequirement)
    case rediscovery
}

/// A request was taken back before it was sent.
private struct Withdrawal: Error {}

extension GATTClient {
    // MARK: Requests

    /// Sends one request and waits for its response, an Error Response included. Every procedure asks through here, so what must happen for all of them
    /// on certain answers has one place: more security and one more try where the peer wants it, and the database discovered again and one more
    /// try where it has changed, if the handle still means the same.
    ///
    /// - Parameter discovering: the request is part of a discovery, and neither waits for one nor starts one.
    func request(_ pdu: ATTPDU, discovering: Bool = false) async throws -> ATTPDU {
        let known = database
        var raised = false
        var rediscovered = false
        while true {
            if !discovering, isAffected(pdu) {
                try await wait(for: .rediscovery)
                try check(pdu, against: known)
            }
            let response: ATTPDU
            do { response = try await ask(pdu) } catch is Withdrawal { continue }
            guard case .errorResponse(_, _, let code) = response else { return response }
            if let requirement = SecurityRequirement(code), let raiseSecurity, !raised {
                raised = true
                try await raise(requirement, by: raiseSecurity, for: pdu, code)
            } else if code == .databaseOutOfSync, known != nil, !discovering, !rediscovered {
                rediscovered = true
                try await rediscover()
                try check(pdu, against: known)
            } else {
                return response
            }
        }
    }

    /// Sends a request once.
    private func ask(_ pdu: ATTPDU) async throws -> ATTPDU {
        try Task.checkCancellation()
        guard started else { throw GATTError(.notStarted) }
        let token = try bearer.submit(pdu)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                waiting[token] = (pdu, continuation)
                flush()
            }
        } onCancel: {
            // Runs on whatever thread cancels, at times within a call of this very actor: the loop brings it back in order.
            Task(executorPreference: loop) { await self.abandon(token) }
        }
    }

    private func abandon(_ token: ATTBearer.Token) {
        guard let call = waiting.removeValue(forKey: token) else { return }
        bearer.abandon(token)
        call.continuation.resume(throwing: CancellationError())
    }

    /// Takes requests back that wait for their turn and whose handles may mean something else now: they wait for the database first.
    func withdrawAffected() {
        for (token, call) in waiting where isAffected(call.request) && bearer.isQueued(token) {
            waiting[token] = nil
            bearer.abandon(token)
            call.continuation.resume(throwing: Withdrawal())
        }
    }

    /// Sends a command, for which no response comes.
    func command(_ pdu: ATTPDU) throws {
        guard started else { throw GATTError(.notStarted) }
        if isAffected(pdu) { throw GATTError(.databaseChanged(pdu.subject)) }
        try bearer.command(pdu)
        flush()
    }

    var needsMTUExchange: Bool { bearer.needsMTUExchange }

    var receiveMTU: UInt16 { bearer.receiveMTU }

    // MARK: Security

    private func raise(_ requirement: SecurityRequirement, by raiseSecurity: @escaping RaiseSecurity, for pdu: ATTPDU, _ code: ATTErrorCode) async throws {
        begin(.raisingSecurity(requirement)) { try await raiseSecurity(requirement) }
        do {
            try await wait(for: .raisingSecurity(requirement))
        } catch {
            if Task.isCancelled { throw CancellationError() }
            if let closure = bearer.closure { throw GATTError(.closed(closure)) }
            throw GATTError(.securityNotRaised(code, request: pdu.opcode, handle: pdu.subject, "\(error)"))
        }
    }

    // MARK: Errands

    /// Starts an errand, unless it is under way.
    func begin(_ errand: Errand, _ work: @escaping @Sendable () async throws -> Void) {
        guard errands[errand] == nil else { return }
        errands[errand] = [:]
        loop.spawn {
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
            await self.finish(errand, outcome)
        }
    }

    /// Waits for the end of an errand that has begun; at once when none has.
    ///
    /// - Throws: what the errand threw; `CancellationError` as soon as the caller is cancelled, and the errand goes on for the others.
    func wait(for errand: Errand) async throws {
        try Task.checkCancellation()
        guard errands[errand] != nil else { return }
        lastWaiter += 1
        let waiter = lastWaiter
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { errands[errand]?[waiter] = $0 }
        } onCancel: {
            Task(executorPreference: loop) { await self.leave(errand, waiter) }
        }
    }

    private func leave(_ errand: Errand, _ waiter: UInt64) {
        errands[errand]?.removeValue(forKey: waiter)?.resume(throwing: CancellationError())
    }

    private func finish(_ errand: Errand, _ outcome: Result<Void, any Error>) {
        for waiter in (errands.removeValue(forKey: errand) ?? [:]).sorted(by: { $0.key < $1.key }) { waiter.value.resume(with: outcome) }
    }

    /// Lets all go who wait for an errand; it may still be under way.
    func releaseErrands(_ error: GATTError) {
        for (errand, waiters) in errands {
            errands[errand] = [:]
            for waiter in waiters.values { waiter.resume(throwing: error) }
        }
    }
}
