import Platform

/// The client's hands on the descriptor and on the clock: what came, what goes out, and how long each may take.
extension GATTClient {
    func watch() throws(SystemError) {
        guard let raw = socket?.raw else { return }
        try loop.watch(raw, for: watchesWritable ? [.readable, .writable] : .readable) { readiness in
            self.assumeIsolated { $0.ready(readiness) }
        }
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.readable) || readiness.contains(.hangup) { drain() }
        if readiness.contains(.writable) { flush() }
    }

    /// Reads what is there, in order, up to a number of PDUs after which others on the loop get their turn (the watch is level-triggered).
    private func drain() {
        for _ in 0..<128 {
            guard let received = socket?.receive() else { return }
            switch received {
            case .packet(let octets, let length):
                receive(octets, length: length)
            case .nothing:
                if let transportFailure { end(.transport(transportFailure)) }
                return
            case .end:
                return end(transportFailure.map { .transport($0) } ?? .hangup)
            case .failed(let error):
                if let transportFailure { return end(.transport(transportFailure)) }
                // The kernel tells of a broken link before it gives out what came over it: that is read first.
                transportFailure = error
            }
        }
    }

    private func receive(_ octets: ArraySlice<UInt8>, length: Int) {
        switch bearer.receive(octets, length: length) {
        case .nothing:
            flush()
        case .update(let update):
            deliver(update)
        case .updates(let updates):
            for update in updates { deliver(update) }
        case .response(let token, let pdu):
            // The next request may go before this one's caller runs.
            flush()
            waiting.removeValue(forKey: token)?.continuation.resume(returning: pdu)
        case .closed(let closure):
            ended(closure)
        }
    }

    private func deliver(_ update: ValueUpdate) {
        switch router.route(update) {
        case .handler(let handler): handler(update)
        case .kept: break
        case .unwanted: if update.isIndication { confirmUnwanted() }
        }
    }

    /// Writes what the bearer has to say, until the socket is full.
    func flush() {
        guard started, transportFailure == nil else { return }
        var full = false
        var progress = false
        while !full, let octets = bearer.nextPDU() {
            do {
                if try socket?.send(octets) == true {
                    bearer.written()
                    progress = true
                } else {
                    full = true
                }
            } catch {
                return sendFailed(error)
            }
        }
        if full != watchesWritable {
            watchesWritable = full
            do { try watch() } catch { return sendFailed(error) }
        }
        runTransactionTimer()
        runStallTimer(full: full, progress: progress)
    }

    private func sendFailed(_ error: SystemError) {
        transportFailure = error
        // What the peer sent before is still to be handed over, but not from within the caller's call.
        _ = loop.schedule(at: loop.now) { self.assumeIsolated { $0.drain() } }
    }

    /// Keeps the timer with the open transaction: none stands while none is open.
    private func runTransactionTimer() {
        let open = bearer.openTransaction
        guard open != transaction?.token else { return }
        if let timer = transaction?.timer { loop.cancel(timer) }
        transaction = open.map { token in
            let timer = loop.schedule(after: configuration.transactionTimeout) { self.assumeIsolated { $0.timedOut(token) } }
            return (token, timer)
        }
    }

    /// What waits behind a socket that stays full has no transaction yet, and must end all the same.
    private func runStallTimer(full: Bool, progress: Bool) {
        if let stall, progress || !full {
            loop.cancel(stall)
            self.stall = nil
        }
        guard full, stall == nil else { return }
        stall = loop.schedule(after: configuration.transactionTimeout) { self.assumeIsolated { $0.end(.stalled) } }
    }

    private func timedOut(_ token: ATTBearer.Token) {
        if let closure = bearer.timedOut(token) { ended(closure) }
    }
}
