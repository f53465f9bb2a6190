import Platform
import Radio

/// What came from a cuff and is not durably stored, in the order in which it came. A value without I/O.
struct CuffLine: Sendable {
    /// Something that a cuff sent.
    enum Content: Sendable, Hashable {
        case measurement(CuffMeasurement)
        /// Octets that should have been a measurement.
        case unreadable([UInt8], CuffError)
        /// A file that is no reading: only noted, so that it is not opened again.
        case nothing
    }

    /// What the cuff waits for, or what is to be remembered of it.
    enum Origin: Sendable, Hashable {
        /// The cuff keeps it, and sends nothing else, until it is confirmed.
        case indication(CuffConfirmation)
        /// A stored record; the cuff keeps it.
        case record
        /// A file of the BP2 family; the cuff keeps it.
        case file(File)
    }

    /// A file by its name and its octets.
    struct File: Sendable, Hashable {
        let name: BP2FileName
        let octets: [UInt8]
    }

    struct Item: Sendable, Hashable {
        /// Counts what came.
        let number: UInt64
        let content: Content
        let origin: Origin
        /// The link that it came on.
        let link: UInt64
        /// The hub's clock when it came.
        let received: WallTime
        /// What makes the name of a reading without time.
        var nonce: [UInt8]
    }

    /// Records that wait at the most; one that finds no room is asked for again.
    static let limit = 512

    private var items: [Item] = []
    private var last: UInt64 = 0
    /// An indication that went unconfirmed with its link: the cuff sends it again first.
    private var unconfirmed: Item?
    /// Whether all that came on the last link was stored.
    private(set) var isWhole = true
    /// Records came that had no room.
    private(set) var isMissingRecords = false

    var isEmpty: Bool { items.isEmpty }

    /// The items at the front.
    func first(_ count: Int) -> [Item] { Array(items.prefix(count)) }

    /// Takes what came.
    ///
    /// - Parameter nonce: 16 octets of the injected randomness.
    mutating func append(_ content: Content, _ origin: Origin, link: UInt64, received: WallTime, nonce: [UInt8]) {
        guard items.count < Self.limit else {
            isMissingRecords = true
            return
        }
        last += 1
        var item = Item(number: last, content: content, origin: origin, link: link, received: received, nonce: nonce)
        if case .indication = origin {
            // The same octets right after a link that ended before they were confirmed are the same reading, also without a time in them.
            if let unconfirmed, unconfirmed.content == content { item.nonce = unconfirmed.nonce }
            unconfirmed = nil
        }
        items.append(item)
    }

    mutating func remove(_ numbers: Set<UInt64>) { items.removeAll { numbers.contains($0.number) } }

    /// It is stored, and the cuff was not told so.
    mutating func remember(_ item: Item) { unconfirmed = item }

    /// Records that had no room are asked for again.
    mutating func recordsWanted() { isMissingRecords = false }

    /// The cuff's indication and its files come again on another link; they need not wait here.
    mutating func linkEnded() {
        unconfirmed = items.last { if case .indication = $0.origin { true } else { false } } ?? unconfirmed
        isWhole = items.isEmpty && !isMissingRecords
        items = []
        isMissingRecords = false
    }
}
