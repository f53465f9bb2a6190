import Platform

extension LogEvent {
    /// An entry has its receipt and is settled.
    public static let entrySettled = LogEvent("entry-settled", id: "0c8f4f0c6f0e4b7f9f7f2f4b1d3a5e61")
    /// A delivery failed.
    public static let deliveryFailed = LogEvent("delivery-failed", id: "5a2e7d1be0c94c55a3d15e0f8b7a9c12")
    /// An entry, or what was left of it, went into quarantine.
    public static let entryQuarantined = LogEvent("entry-quarantined", id: "c1d9b85f2a7e4f0bb6a4d3e29f105c73")
    /// An entry goes on under a new key or in parts.
    public static let entryChanged = LogEvent("entry-changed", id: "7e41c3a96d5b4d28810f9b6ce2a4f384")
    /// Readings were accepted by the backend.
    public static let readingsAccepted = LogEvent("readings-accepted", id: "b86e1f0d2c7a4935a1d4e97305bc62f8")
    /// A reading of an entry was set aside.
    public static let readingSetAside = LogEvent("reading-set-aside", id: "e5307c9a41db4f6c8f12b6d09a73e814")
    /// Deliveries of an owner are held.
    public static let holdBegan = LogEvent("delivery-hold-began", id: "92b07f6de3c14a5d8e2f61a0c5d7b495")
    /// Deliveries of an owner go on.
    public static let holdEnded = LogEvent("delivery-hold-ended", id: "d3f5a1870b6e4c9295a8e4170c2b6da6")
    /// The queue could not be read or written by the uplink.
    public static let deliveryStorageFailed = LogEvent("delivery-storage-failed", id: "4f6c02d8a91b47e3bd50a37f18e9c2b7")
}

extension Log {
    /// Writes the line for an event. A failure that repeats the last one is only for debugging.
    func note(_ event: UplinkEvent, of endpoint: Endpoint, repeated: Bool) {
        switch event {
        case .sending, .partSettled: break
        case .settled(let owner, let entry, let receipt):
            self(.info, .entrySettled, "entry \(entry) is settled by receipt \(receipt.id)", LogField("OWNER", owner), LogField("ENTRY", entry),
                 LogField("RECEIPT", receipt.id), LogField("ACCEPTED", receipt.accepted), LogField("REJECTED", receipt.rejected.count), LogField("GAPS", receipt.gaps))
        case .readingsAccepted(let owner, let entry, let readings):
            let words = readings.count == 1 ? "a blood-pressure reading of \(owner) was" : "\(readings.count) blood-pressure readings of \(owner) were"
            self(.notice, .readingsAccepted, "\(words) accepted by the backend", LogField("OWNER", owner), LogField("ENTRY", entry), LogField("READINGS", readings.count))
        case .readingsConflicted(let owner, let entry, let readings):
            let words = readings.count == 1 ? "a blood-pressure reading of \(owner) conflicts" : "\(readings.count) blood-pressure readings of \(owner) conflict"
            self(.error, .readingSetAside, "\(words) with what the backend has, and \(readings.count == 1 ? "is" : "are") in quarantine", LogField("OWNER", owner),
                 LogField("ENTRY", entry), LogField("READINGS", readings.count), LogField("CODE", RetryMachine.conflictCode))
        case .readingSetAside(let owner, let entry, _, let error):
            self(.error, .readingSetAside, "a blood-pressure reading of \(owner) is in quarantine: \(error)", LogField("OWNER", owner), LogField("ENTRY", entry),
                 LogField("CODE", error.code))
        case .failed(let failure):
            self(repeated ? .debug : .warning, .deliveryFailed, "entry \(failure.entry) was not delivered: \(failure.error)", LogField("OWNER", failure.owner),
                 LogField("ENDPOINT", endpoint.rawValue), LogField("ENTRY", failure.entry), LogField("CODE", failure.error.code), LogField("ATTEMPT", failure.attempt),
                 LogField("WILL_RETRY", failure.willRetry), LogField("EXHAUSTED", failure.exhausted))
        case .rekeyed(let owner, let entry):
            self(.notice, .entryChanged, "entry \(entry) goes on under a new key", LogField("OWNER", owner), LogField("ENTRY", entry))
        case .split(let owner, let entry, let parts):
            self(.notice, .entryChanged, "entry \(entry) goes on in parts of \(parts.map { String($0.count) }.joined(separator: " and ")) \(Self.content(endpoint))",
                 LogField("OWNER", owner), LogField("ENTRY", entry))
        case .quarantined(let owner, let entry, let error):
            self(.error, .entryQuarantined, "entry \(entry) is in quarantine: \(error)", LogField("OWNER", owner),
                 LogField("ENTRY", entry), LogField("CODE", error.code))
        case .limitLearned(let owner, let windows):
            self(.notice, .entryChanged, "the backend takes at most \(windows) windows at a time", LogField("OWNER", owner), LogField("WINDOWS", windows))
        case .readingsLimitLearned(let owner, let readings):
            self(.notice, .entryChanged, "the backend takes at most \(readings) readings at a time", LogField("OWNER", owner), LogField("READINGS", readings))
        case .holdBegan(let owner, let reason, let error):
            self(.error, .holdBegan, "deliveries of \(owner) (\(Self.content(endpoint))) are held (\(reason.rawValue)): \(error)", LogField("OWNER", owner),
                 LogField("ENDPOINT", endpoint.rawValue), LogField("REASON", reason.rawValue), LogField("CODE", error.code))
        case .holdEnded(let owner, let reason):
            self(.notice, .holdEnded, "deliveries of \(owner) (\(Self.content(endpoint))) go on", LogField("OWNER", owner), LogField("ENDPOINT", endpoint.rawValue),
                 LogField("REASON", reason.rawValue))
        case .storageFailed(let owner, let entry, let receipt, let error):
            self(.error, .deliveryStorageFailed, "entry \(entry)\(receipt.map { " has receipt \($0), which" } ?? "") could not be written down or read: \(error)",
                 LogField("OWNER", owner), LogField("ENTRY", entry), LogField("CODE", error.code))
        }
    }

    private static func content(_ endpoint: Endpoint) -> String {
        switch endpoint {
        case .rawWindows: "windows"
        case .readings: "readings"
        }
    }
}
