import Outbox
import Platform

/// Does what an operator asks with what the outbox has set aside, and leaves their name in the audit.
struct OperatorDesk: Sendable {
    let store: StoreKeeper
    let places: PlaceBroker
    /// The owners that are configured.
    let owners: Set<String>
    let wallClock: WallClock
    let log: Log
    /// Told on the loop which device's range was settled, so that its clear can be sent.
    let onSettled: @Sendable (_ device: String) -> Void
    /// Told on the loop that something can be sent that could not before.
    let onSendable: @Sendable () -> Void

    /// - Parameter user: who asks, as the kernel vouches for them.
    func perform(_ request: OperatorRequest, by user: UInt32) async -> Result<OperatorAnswer, ControlError> {
        do {
            switch await store.state {
            case .opening: throw ControlError.starting
            case .faulted(let error): throw error
            case .open: break
            }
            switch request {
            case .quarantine: return .success(.setAside(try await report()))
            case .audit: return .success(.audit(try await store.auditTrail()))
            case .release(let id): return .success(.done(try await release(id, user)))
            case .give(let id, let owner): return .success(.done(try await give(id, to: owner, user)))
            case .settle(let id): return .success(.done(try await settle(id, user)))
            case .purgeSealed(let owner): return .success(.done(try await purge(owner, user)))
            case .discardEvidence(let number): return .success(.done(try await discard(number, user)))
            }
        } catch let error as ControlError {
            return .failure(error)
        } catch let error as ChangeRefused {
            return .failure(.refused(code: error.refusal.code.rawValue, error.refusal.what))
        } catch let error as OutboxError {
            return .failure(.refused(code: error.code.rawValue, "\(error.what); \(error.advice)"))
        } catch {
            return .failure(.refused(code: OutboxError.Code.inconsistent.rawValue, "\(error)"))
        }
    }

    private func report() async throws -> SetAsideReport {
        let evidence = try await store.evidence()
        let snapshot = try await snapshot()
        var readings: [EntryID: StoredReadings] = [:]
        for head in snapshot.quarantined where head.kind == .cuff {
            // One whose bytes are wrong is shown by its head.
            do {
                readings[head.id] = try await store.loadReadings(head.id)
            } catch let error as OutboxError where error.code == .damagedEntry || error.code == .unknownEntry {}
        }
        return SetAsideReport(snapshot, readings: readings, evidence: evidence, owners: owners, settings: OutboxSettings())
    }

    private func give(_ id: EntryID, to owner: String, _ user: UInt32) async throws -> AuditLine {
        let head = try await quarantined(id)
        guard head.kind == .cuff else {
            throw ControlError.refused(code: Refusal.Code.malformed.rawValue, "entry \(id) has windows of a collar; only readings of cuffs can be given")
        }
        guard owners.contains(owner) else {
            let known = owners.sorted().joined(separator: ", ")
            throw ControlError.refused(code: Refusal.Code.ownerNotConfigured.rawValue, "\(owner) is not a configured owner; configured: \(known)")
        }
        for record in try await store.loadReadings(id).readings {
            do throws(StoredReadingError) {
                guard case .reading = try StoredContent(parsing: record.octets) else {
                    throw StoredReadingError(code: .member, what: "what the cuff sent is no reading")
                }
            } catch {
                throw ControlError.refused(code: Refusal.Code.malformed.rawValue, "entry \(id) has something that cannot be read, so nothing could be sent of it: \(error.what)")
            }
        }
        guard let place = await places.reserve(device: "operator", owner: owner, kind: .cuff, waiting: false) else { throw noPlace(owner) }
        defer { place.giveBack() }
        let line = try await make(.giveReadings(id, owner: owner, by: name(user), at: wallClock.read().seconds), user)
        onSendable()
        return line
    }

    private func noPlace(_ owner: String) -> ControlError {
        .refused(code: Refusal.Code.noPlace.rawValue,
                 "every place that \(owner) may have in the queue is taken or promised; try again when entries have been delivered")
    }

    private func release(_ id: EntryID, _ user: UInt32) async throws -> AuditLine {
        let head = try await quarantined(id)
        guard !head.owner.isEmpty else {
            throw ControlError.refused(code: Refusal.Code.ownerNotConfigured.rawValue, "the readings of entry \(id) are nobody's; see: gateway quarantine --help (give)")
        }
        // A place that was promised to a device is not taken from it.
        guard let place = await places.reserve(device: "operator", owner: head.owner, kind: head.kind, waiting: false) else { throw noPlace(head.owner) }
        defer { place.giveBack() }
        let line = try await make(.release(id, by: name(user), at: wallClock.read().seconds), user)
        onSendable()
        return line
    }

    private func settle(_ id: EntryID, _ user: UInt32) async throws -> AuditLine {
        let head = try await quarantined(id)
        let line = try await make(.settleQuarantined(id, by: name(user), at: wallClock.read().seconds), user)
        onSettled(head.device)
        return line
    }

    private func purge(_ owner: String, _ user: UInt32) async throws -> AuditLine {
        let sealed = try await snapshot().sealed
        let theirs = sealed.filter { $0.owner == owner }
        guard !theirs.isEmpty else {
            let known = Set(sealed.map(\.owner)).sorted().joined(separator: ", ")
            throw ControlError.refused(code: "nothing-sealed", "nothing is sealed for \(owner); " + (known.isEmpty ? "nothing is sealed at all" : "sealed: \(known)"))
        }
        guard !owners.contains(owner) else {
            throw ControlError.refused(code: "owner-configured", "\(owner) is configured: what is sealed comes back and is delivered as places become free")
        }
        let line = try await make(.purgeSealed(owner: owner, by: name(user), at: wallClock.read().seconds), user)
        for device in Set(theirs.map(\.device)).sorted() { onSettled(device) }
        return line
    }

    private func discard(_ number: Int64, _ user: UInt32) async throws -> AuditLine {
        let numbers = try await store.evidence().map(\.number)
        guard let first = numbers.first, let last = numbers.last, (first...last).contains(number) else {
            // A number beyond the last would also take what comes between the look at the list and this.
            let kept = numbers.first.flatMap { first in numbers.last.map { "kept are \(first) to \($0)" } } ?? "none is kept"
            throw ControlError.refused(code: "no-such-evidence", "no rejected window has the number \(number); \(kept)")
        }
        let line = try await make(.discardEvidence(through: number, by: name(user), at: wallClock.read().seconds), user)
        onSendable()
        return line
    }

    private func quarantined(_ id: EntryID) async throws -> EntryHead {
        guard let head = try await snapshot().quarantined.first(where: { $0.id == id }) else {
            throw ControlError.refused(code: Refusal.Code.notQuarantined.rawValue, "no entry in quarantine is called \(id); see: gateway quarantine")
        }
        return head
    }

    private func snapshot() async throws -> OutboxSnapshot {
        guard let snapshot = await store.snapshot else { throw ControlError.starting }
        return snapshot
    }

    private func make(_ change: Change, _ user: UInt32) async throws -> AuditLine {
        switch try await store.commit([change]).first {
        case .audited(let line):
            log(.notice, .operatorActed, "user \(user) \(line.act)", LogField("PEER_UID", user))
            return line
        case .refused(let refusal): throw ChangeRefused(refusal: refusal)
        case let other: throw OutboxError(.inconsistent, "an operator's act ended as \(other.map { "\($0)" } ?? "nothing")")
        }
    }

    private func name(_ user: UInt32) -> String { "uid \(user)" }
}

extension ControlError {
    /// The outbox is not open yet.
    static let starting = ControlError.refused(code: OutboxError.Code.closed.rawValue, "the outbox is being opened; try again")
    /// The hub does not run.
    static let notRunning = ControlError.refused(code: OutboxError.Code.closed.rawValue, "the gateway is starting or stopping; try again")
}
