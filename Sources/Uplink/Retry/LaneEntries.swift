import Platform

/// One owner's entries in the order of the queue, each with what the lane remembers about it and the queue does not.
struct LaneEntries: Sendable {
    struct Entry: Sendable {
        var queued: QueuedEntry
        /// Not to be tried by itself before this moment. Never stored: after a restart it is simply tried.
        var due: BootInstant?
        /// Set aside: the backend will never take it, or the endpoint is wrong.
        var refusal: DeliveryError?
        /// The endpoint was held since the refusal, so that the refusal may have been the endpoint's fault.
        var heldSinceRefusal = false
        /// It was tried again because of that. It gets no third chance.
        var hadSecondChance = false
        /// Parts that cannot be delivered, by index. The others go first; then the entry makes way.
        var condemned: [Int: DeliveryError] = [:]
        /// Whether it was sent, or tried to be, since the start or before.
        var wasTried = false

        var id: String { queued.id }
        /// The part to send next; nil for an entry that is sent whole.
        var nextPart: QueuedEntry.Part? { queued.parts.first { !$0.settled && condemned[$0.index] == nil } }
        /// Whether it may be sent without a flush.
        var isPending: Bool { !queued.exhausted && refusal == nil }
    }

    private(set) var list: [Entry] = []

    var isEmpty: Bool { list.isEmpty }

    subscript(id: String) -> Entry? { list.first { $0.id == id } }

    /// Takes over the queue's new state and keeps what is remembered. The queue's word may be older than the last outcome, so nothing goes backwards.
    mutating func replace(with queued: [QueuedEntry], attempts limit: Int) {
        var known: [String: Entry] = [:]
        for entry in list { known[entry.id] = entry }
        var seen: Set<String> = []
        list = []
        for new in queued where seen.insert(new.id).inserted {
            // With all its parts settled an entry has nothing left to send.
            guard new.parts.isEmpty || new.parts.contains(where: { !$0.settled }) else { continue }
            var entry = known[new.id] ?? Entry(queued: new, wasTried: new.attempts > 0)
            let old = entry.queued
            entry.queued = new
            entry.queued.attempts = max(new.attempts, old.attempts)
            entry.queued.keyGeneration = max(new.keyGeneration, old.keyGeneration)
            entry.queued.exhausted = new.exhausted || old.exhausted || entry.queued.attempts >= limit
            entry.queued.parts = Self.later(new.parts, old.parts)
            list.append(entry)
        }
    }

    mutating func change(_ id: String, _ body: (inout Entry) -> Void) {
        guard let index = list.firstIndex(where: { $0.id == id }) else { return }
        body(&list[index])
    }

    mutating func changeAll(_ body: (inout Entry) -> Void) {
        for index in list.indices { body(&list[index]) }
    }

    mutating func remove(_ id: String) { list.removeAll { $0.id == id } }

    /// Marks a part as settled; an entry with nothing left to send is no longer one of the lane's.
    mutating func settlePart(_ index: Int, of id: String) {
        change(id) { entry in
            for position in entry.queued.parts.indices where entry.queued.parts[position].index == index {
                entry.queued.parts[position].settled = true
            }
        }
        if let entry = self[id], entry.queued.parts.allSatisfy(\.settled) { remove(id) }
    }

    /// Puts parts in the place of everything of the entry that is not settled.
    mutating func split(_ id: String, into parts: [QueuedEntry.Part]) {
        change(id) { entry in
            let kept = entry.queued.parts.filter(\.settled)
            entry.queued.parts = (kept + parts).sorted { $0.offset < $1.offset }
            entry.condemned = [:]
        }
    }

    /// The first entry that may be sent by itself at `now`.
    func firstSendable(_ now: BootInstant, where mayGo: (Entry) -> Bool) -> Entry? {
        list.first { $0.isPending && ($0.due ?? now) <= now && mayGo($0) }
    }

    /// The first entry that is not among `tried`, beginning after `start` and running round.
    func firstUntried(_ tried: Set<String>, after start: String?, where mayGo: (Entry) -> Bool = { _ in true }) -> Entry? {
        let turn = start.flatMap { start in list.firstIndex { $0.id == start } }.map { $0 + 1 } ?? 0
        return (list[turn...] + list[..<turn]).first { !tried.contains($0.id) && mayGo($0) }
    }

    /// What an acceptance says about the entries that were refused before it.
    ///
    /// - Returns: those whose own fault the refusal was.
    mutating func judgeRefused(afterAccepting accepted: String) -> [Entry] {
        if self[accepted]?.refusal != nil {
            // What was refused is taken now: the endpoint was wrong, not its entries.
            changeAll { entry in
                entry.refusal = nil
                entry.heldSinceRefusal = false
                entry.hadSecondChance = false
            }
            return []
        }
        var condemned: [Entry] = []
        changeAll { entry in
            guard entry.id != accepted, entry.refusal != nil else { return }
            if entry.heldSinceRefusal, !entry.hadSecondChance {
                entry.refusal = nil
                entry.heldSinceRefusal = false
                entry.hadSecondChance = true
            } else {
                condemned.append(entry)
            }
        }
        return condemned
    }

    /// The list with the larger indices was written later; what either calls settled is settled.
    private static func later(_ new: [QueuedEntry.Part], _ old: [QueuedEntry.Part]) -> [QueuedEntry.Part] {
        let settled = Set((new + old).filter(\.settled).map(\.index))
        let newest = new.map(\.index).max() ?? -1, oldest = old.map(\.index).max() ?? -1
        return (newest >= oldest ? new : old).map { part in
            var part = part
            part.settled = settled.contains(part.index)
            return part
        }
    }
}
