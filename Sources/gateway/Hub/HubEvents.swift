import Platform

/// The kinds of line that the hub logs. Ids never change.
extension LogEvent {
    static let daemonStarted = LogEvent("daemon-started", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0001")
    static let daemonStopping = LogEvent("daemon-stopping", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0002")
    static let outboxOpened = LogEvent("outbox-opened", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0003")
    static let storageFault = LogEvent("storage-fault", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0004")
    static let storageRecovered = LogEvent("storage-recovered", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0005")
    static let storageMovedAside = LogEvent("storage-moved-aside", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0006")
    static let ownersChanged = LogEvent("owners-changed", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0007")
    static let deviceLinked = LogEvent("device-linked", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0008")
    static let deviceAway = LogEvent("device-away", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0009")
    static let deviceRefused = LogEvent("device-refused", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e000a")
    static let deviceHeld = LogEvent("device-held", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e000b")
    static let deviceFault = LogEvent("device-fault", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e000c")
    static let logBegun = LogEvent("log-begun", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e000d")
    static let entryStored = LogEvent("entry-stored", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e000e")
    static let gapFound = LogEvent("gap-found", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e000f")
    static let entryDamaged = LogEvent("entry-damaged", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0011")
    static let collarCleared = LogEvent("collar-cleared", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0012")
    static let clearRefused = LogEvent("clear-refused", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0013")
    static let queueFull = LogEvent("queue-full", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0014")
    static let queueFree = LogEvent("queue-free", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0015")
    static let clockSet = LogEvent("clock-set", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0016")
    static let windowsRejected = LogEvent("windows-rejected", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e001a")
    static let operatorActed = LogEvent("operator-acted", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e001d")
    static let deviceClockSet = LogEvent("device-clock-set", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e001c")
}
