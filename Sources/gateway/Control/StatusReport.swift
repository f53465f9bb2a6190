import Platform

/// What the daemon says about itself when it is asked: no secrets and no health values, counts and states only.
/// Ages and times of waiting are whole seconds on the boot clock.
struct StatusReport: Sendable, Hashable {
    /// The gateway's version.
    var version: String
    var pid: Int32
    var uptimeSeconds: Int64
    var clock: Clock
    var configuration = Configuration()
    var outbox: Outbox
    var owners: [Owner]
    /// `nil` when no configured device is reached over the air.
    var radio: Radio?
    var collars: [Collar]
    var cuffs: [Cuff] = []
    var indicators: Indicators

    /// The wall clock.
    struct Clock: Sendable, Hashable {
        var synchronised: Bool
        /// Seconds since 1970, as far as the clock is right.
        var unixSeconds: Int64
    }

    /// What came of the configuration when it was last read.
    struct Configuration: Sendable, Hashable {
        /// It has errors, and the former one is in force.
        var isRefused = false
        /// What in it waits for the next start, in words.
        var restartNeeded: [String] = []
    }

    /// Something that went wrong, by its stable code.
    struct Fault: Sendable, Hashable {
        var code: String
        var text: String
    }

    /// The queue and what stands beside it.
    struct Outbox: Sendable, Hashable {
        /// Entries that wait for a receipt.
        var queued: Int
        /// Places in all.
        var places: Int
        var free: Int
        /// Queued entries whose attempts are spent until the next flush.
        var exhausted: Int
        var quarantined: Int
        /// Entries of owners who are no longer configured.
        var sealed: Int
        /// Windows that the backend rejected and that are kept.
        var evidence: Int
        /// Where a damaged file was put at this start, if one was found.
        var damagedFile: String?
        /// What keeps the storage from being used, if anything does.
        var fault: Fault?
    }

    /// The delivery of one owner's entries.
    struct Owner: Sendable, Hashable {
        /// What the lane does. The raw values are what JSON says.
        enum State: String, Sendable {
            case idle, sending, waiting, holding
        }

        var key: String
        var state: State
        /// Where that goes to, when something goes to more than one place.
        var endpoint: String?
        /// Why it holds.
        var holding: String?
        /// How long until the next attempt.
        var waitingSeconds: Int64?
        var queued: Int
        /// How long ago the last receipt came; `nil` since the start.
        var lastSuccessAge: Int64?
        var lastError: Fault?
    }

    /// The Bluetooth controller.
    struct Radio: Sendable, Hashable {
        /// The raw values are what JSON says.
        enum State: String, Sendable {
            case starting, ready, absent, recovering
        }

        var state: State
        /// Its address.
        var controller: String?
        /// Why none can be used.
        var why: String?
        /// For how long pairing stays open.
        var pairingSeconds: Int64?
    }

    /// One collar.
    struct Collar: Sendable, Hashable {
        /// What is going on with it. The raw values are what JSON says.
        enum State: String, Sendable {
            case away, linking, linked, reading, held
        }

        var name: String
        var serial: String
        var owner: String
        var state: State
        /// How long it has been in this state.
        var sinceSeconds: Int64
        /// Percent.
        var battery: Int?
        var firmware: String?
        /// The identity of its flash log.
        var log: UInt32?
        /// The oldest window it holds.
        var oldest: UInt32?
        /// The sequence that its next window will get.
        var next: UInt32?
        /// The first sequence that has not been stored here, unwrapped to 64 bits.
        var checkpoint: Int64?
        /// Windows it holds that have not been stored here.
        var unread: Int64?
        /// The last sequence up to which everything is settled, unwrapped.
        var settledThrough: Int64?
        /// Up to which sequence a clear waits for the collar, unwrapped.
        var pendingClear: Int64?
        var lastHeartbeatAge: Int64?
        /// What the radio does about it (`DeviceLinkState`), the address under which it is waited for, and whether its keys are stored.
        var link: String?
        var address: String?
        var bonded: Bool?
        /// Why nothing is read from it.
        var heldWhy: String?
        var lastError: Fault?
    }

    /// One blood-pressure cuff.
    struct Cuff: Sendable, Hashable {
        /// What is going on with it. The raw values are what JSON says.
        enum State: String, Sendable {
            case away, linking, linked, measuring, reading, held
        }

        var name: String
        var serial: String
        /// Its owner, or those of its users.
        var owner: String
        var state: State
        /// How long it has been in this state.
        var sinceSeconds: Int64
        /// Percent.
        var battery: Int?
        /// For how long it has been known that it asks for new batteries, or has little left in them; `nil` when it does not.
        var batteryLowSeconds: Int64?
        /// What is known of its kind.
        var model: String?
        var firmware: String?
        /// How long ago a reading was stored; `nil` since the start.
        var lastReadingAge: Int64?
        /// How many seconds its clock was ahead when it was last linked, before it was set.
        var clockAhead: Int64?
        /// What the radio does about it (`DeviceLinkState`), the address under which it is waited for, and whether its keys are stored.
        var link: String?
        var address: String?
        var bonded: Bool?
        /// Why its readings cannot be stored.
        var heldWhy: String?
        var lastError: Fault?
    }

    /// The pattern that each LED shows, by its name.
    struct Indicators: Sendable, Hashable {
        var status: String?
        var radio: String?
        var uplink: String?
    }
}

/// What a flush set going.
struct FlushReport: Sendable, Hashable {
    /// Owners whose queues are tried now.
    var owners: Int
    /// Entries that are tried now.
    var entries: Int

    var json: JSONValue { .object(["owners": .integer(Int64(owners)), "entries": .integer(Int64(entries))]) }

    /// One line for people.
    var text: String { "trying \(counted(entries, "entry", "entries")) of \(counted(owners, "owner", "owners"))\n" }
}

/// A number with its noun.
func counted(_ number: Int, _ one: String, _ many: String) -> String { "\(number) \(number == 1 ? one : many)" }
