import Platform
import Uplink

/// Writes what the uplink tells as log lines: one for each change of state.
struct UplinkJournal {
    let log: Log

    func write(_ event: UplinkEvent) {
        switch event {
        case .sending: break
        case .settled(let owner, let entry, let receipt):
            log(.info, .entrySettled, "entry \(entry) is settled: \(receipt.accepted) windows accepted, \(receipt.gaps) gaps",
                LogField("OWNER", owner), LogField("ENTRY", entry), LogField("RECEIPT", receipt.id))
            rejected(receipt, owner, entry)
        case .partSettled(let owner, let entry, let part, let receipt):
            log(.info, .entrySettled, "part \(part) of entry \(entry) is settled: \(receipt.accepted) windows accepted",
                LogField("OWNER", owner), LogField("ENTRY", entry), LogField("RECEIPT", receipt.id))
            rejected(receipt, owner, entry)
        case .failed(let failure):
            let then = failure.exhausted ? "it waits for a flush" : failure.willRetry ? "it will be tried again" : "it is held"
            log(.warning, .deliveryFailed, "entry \(failure.entry) was not delivered (attempt \(failure.attempt)): \(failure.error); \(then)",
                LogField("OWNER", failure.owner), LogField("ENTRY", failure.entry), LogField("CODE", failure.error.code),
                LogField("ATTEMPT", failure.attempt), LogField("WILL_RETRY", failure.willRetry), LogField("EXHAUSTED", failure.exhausted))
        case .rekeyed(let owner, let entry):
            log(.warning, .deliveryFailed, "entry \(entry) goes on under a new key: the backend knows its key with another content",
                LogField("OWNER", owner), LogField("ENTRY", entry))
        case .split(let owner, let entry, let counts):
            log(.notice, .deliveryFailed, "entry \(entry) is too large for the backend and goes on in \(counts.count) parts",
                LogField("OWNER", owner), LogField("ENTRY", entry))
        case .quarantined(let owner, let entry, let part, let error):
            log(.error, .entryQuarantined, "entry \(entry)\(part.map { ", part \($0)" } ?? "") is in quarantine: \(error)",
                LogField("OWNER", owner), LogField("ENTRY", entry), LogField("CODE", error.code))
        case .limitLearned(let owner, let windows):
            log(.notice, .deliveryFailed, "the backend takes at most \(windows) windows at a time", LogField("OWNER", owner))
        case .holdBegan(let owner, let reason, let error):
            log(.error, .deliveryHeld, "deliveries of \(owner) are held (\(reason.rawValue)): \(error)", LogField("OWNER", owner), LogField("CODE", error.code))
        case .holdEnded(let owner, let reason):
            log(.notice, .deliveryResumed, "deliveries of \(owner) go on (\(reason.rawValue) is over)", LogField("OWNER", owner))
        case .storageFailed(let owner, let entry, let receipt, let error):
            let what = receipt.map { "the receipt \($0) of entry \(entry) could not be written" } ?? "entry \(entry) could not be read or written"
            log(.error, .storageFault, "\(what): \(error); it goes again under the same key",
                LogField("OWNER", owner), LogField("ENTRY", entry), LogField("CODE", error.code))
        }
    }

    private func rejected(_ receipt: Receipt, _ owner: String, _ entry: String) {
        guard !receipt.rejected.isEmpty else { return }
        let codes = Set(receipt.rejected.map(\.code)).sorted().joined(separator: ", ")
        log(.warning, .windowsRejected, "\(receipt.rejected.count) windows of entry \(entry) were rejected (\(codes)); they are kept here as evidence",
            LogField("OWNER", owner), LogField("ENTRY", entry))
    }
}
