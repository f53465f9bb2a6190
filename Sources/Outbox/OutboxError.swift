/// What the outbox could not do: a stable code, what failed, and what the reader can do about it.
public struct OutboxError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The stable name of a kind of failure. It appears in the log and in `gateway status` and does not change between releases.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The file system has no room for what had to be written.
        case diskFull = "disk-full"
        /// The disk answered a read, write or sync with an error.
        case diskFailed = "disk-failed"
        /// The file or its directory cannot be written.
        case readOnly = "read-only"
        /// The directory is not there, as when the data partition is not mounted.
        case directoryMissing = "directory-missing"
        /// Another process has the outbox open.
        case inUse = "in-use"
        /// The file broke while it was in use.
        case corrupt
        /// The file is somebody else's database.
        case foreignFile = "foreign-file"
        /// The file was written by a newer release.
        case newerFile = "newer-file"
        /// An entry's bytes are not those that were stored.
        case damagedEntry = "damaged-entry"
        /// No entry has this identifier.
        case unknownEntry = "unknown-entry"
        /// The sealed store has no room for the entries of the owners that are to go.
        case sealedFull = "sealed-full"
        /// One commit was asked to hold more changes than `OutboxSettings.changeLimit`.
        case tooManyChanges = "too-many-changes"
        /// The outbox was closed.
        case closed
        /// SQLite reported a fault that is ours: a statement or a constraint that should have held.
        case inconsistent
    }

    /// The kind of failure.
    public let code: Code
    /// What failed, in words, with the system's own reason where there is one.
    public let what: String

    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - what: what failed.
    public init(_ code: Code, _ what: String) {
        self.code = code
        self.what = what
    }

    /// What the reader can do.
    public var advice: String {
        switch code {
        case .diskFull: "free space on the data partition; what is stored can still be sent, and reading goes on by itself"
        case .diskFailed: "check the card or disk (dmesg); the gateway opens the outbox again by itself"
        case .readOnly: "make the data directory writable for the gateway's user; a partition that the kernel turned read-only needs a check"
        case .directoryMissing: "mount the data partition or create the directory with mode 0700"
        case .inUse: "stop the other gateway process"
        case .corrupt: "the gateway opens the outbox again, moves the broken file aside and saves what can be read"
        case .foreignFile: "move the file away if it does not belong here; the gateway does not touch it"
        case .newerFile: "install the release that wrote the file, or a later one; the gateway does not touch it"
        case .damagedEntry: "the entry is set aside in quarantine; check the card or disk"
        case .unknownEntry: "look at the identifiers in gateway status"
        case .sealedFull: "bring the former owner back until its entries are sent, or purge them explicitly"
        case .tooManyChanges, .inconsistent: "report this with the log around it; nothing was changed"
        case .closed: "open the outbox again"
        }
    }

    /// Whether opening the outbox again later may succeed without anybody touching the file.
    public var isRecoverable: Bool {
        switch code {
        case .diskFull, .diskFailed, .readOnly, .directoryMissing, .inUse, .corrupt: true
        case .foreignFile, .newerFile, .damagedEntry, .unknownEntry, .sealedFull, .tooManyChanges, .closed, .inconsistent: false
        }
    }

    public var description: String { "\(code.rawValue): \(what) (\(advice))" }
}
