import Platform

/// What is particular to entries of readings: one of them may be at fault, and the others go on.
extension RetryMachine {
    /// The code under which a reading is set aside that conflicts with what the backend has.
    static let conflictCode = "reading-conflict"

    /// A reading of the request is at fault: it is set aside, and the rest goes on.
    ///
    /// - Parameters:
    ///   - place: which one; `nil` when nobody says: then the request is divided until one alone is found.
    ///   - why: the reason to set it aside for.
    mutating func faulty(_ attempt: Attempt, _ place: Int?, why: DeliveryError) -> [Action] {
        guard let entry = entries[attempt.id] else { return [] }
        let count = attempt.part?.count ?? attempt.sent
        let found = place.flatMap { (0..<count).contains($0) ? $0 : nil } ?? (count <= 1 ? 0 : nil)
        if let found, attempt.part == nil || count == 1 {
            let position = (attempt.part?.offset ?? 0) + found
            return record(attempt, [.readingSetAside(id: attempt.id, part: attempt.part?.index, position: position, code: why.code, words: why.words)])
        }
        // A part that others were delivered beside cannot be written anew without one reading; it is divided so that this one is a part of its own.
        let pieces = found.map { [$0, 1, count - $0 - 1].filter { $0 > 0 } } ?? [(count + 1) / 2, count / 2]
        return record(attempt, [.split(id: attempt.id, into: Self.parts(of: entry, dividing: attempt.part, into: pieces))])
    }

    /// The entry has more readings than the backend takes at a time: it goes in parts from the beginning.
    mutating func overLimit(_ attempt: Attempt) -> [Action] {
        guard let entry = entries[attempt.id], let limit = learnedLimit, attempt.part == nil, attempt.sent > limit else { return [] }
        return record(attempt, [.split(id: attempt.id, into: Self.parts(of: entry, limit: limit))])
    }

    /// Notes what was loaded: an entry may have grown between the queue's last word and the moment from which on nothing could join it.
    mutating func loaded(_ names: [String], _ sent: Int, by attempt: Attempt) -> Attempt {
        if attempt.part == nil { entries.change(attempt.id) { $0.queued.count = sent } }
        var attempt = attempt
        attempt.names = names
        attempt.sent = sent
        return attempt
    }

    /// What became of readings, once it is on the disk.
    mutating func applyReadings(_ receipt: ReadingsReceipt, _ id: String, part: Int?, of attempt: Attempt) -> [Action] {
        if let part { entries.settlePart(part, of: id) } else { entries.remove(id) }
        let names = attempt.names
        func named(_ places: [Int]) -> [String] { places.filter(names.indices.contains).map { names[$0] } }
        var actions: [Action] = []
        if !receipt.accepted.isEmpty { actions.append(.tell(.readingsAccepted(owner: owner, entry: id, readings: named(receipt.accepted)))) }
        if !receipt.conflicting.isEmpty { actions.append(.tell(.readingsConflicted(owner: owner, entry: id, readings: named(receipt.conflicting)))) }
        return actions
    }

    /// A reading was set aside, once that is on the disk.
    mutating func applySetAside(_ id: String, part: Int?, position: Int, _ error: DeliveryError, of attempt: Attempt) -> [Action] {
        if let part {
            entries.settlePart(part, of: id)
        } else {
            // Not one less than it has: the queue may have told of it already.
            entries.change(id) { $0.queued.count = attempt.sent - 1 }
            if attempt.sent <= 1 { entries.remove(id) }
        }
        let place = position - (attempt.part?.offset ?? 0)
        let name = attempt.names.indices.contains(place) ? attempt.names[place] : nil
        guard error.code == Self.conflictCode else { return [.tell(.readingSetAside(owner: owner, entry: id, reading: name, error))] }
        return [.tell(.readingsConflicted(owner: owner, entry: id, readings: name.map { [$0] } ?? []))]
    }

    /// Whether an entry may be sent while the backend is silent.
    ///
    /// What is sent takes no further readings. Where nothing answers, two entries are enough to find out when something does (one, and another in case that one is at
    /// fault); the others stay open, so that the readings of a long outage do not take a place each.
    func mayTry(_ entry: LaneEntries.Entry) -> Bool {
        guard endpoint == .readings, silent, !entry.wasTried else { return true }
        return entries.list.count(where: \.wasTried) < 2
    }

    /// Everything of the entry that is not settled: what was sent, in pieces of these sizes, and the rest as it is.
    private static func parts(of entry: LaneEntries.Entry, dividing sent: QueuedEntry.Part?, into pieces: [Int]) -> [QueuedEntry.Part] {
        let whole = QueuedEntry.Part(index: -1, offset: 0, count: pieces.reduce(0, +), settled: false)
        let open = entry.queued.parts.isEmpty ? [whole] : entry.queued.parts.filter { !$0.settled }
        var index = (entry.queued.parts.map(\.index).max() ?? -1) + 1
        var parts: [QueuedEntry.Part] = []
        for range in open {
            var offset = range.offset
            for count in range.index == sent?.index ?? -1 ? pieces : [range.count] {
                parts.append(QueuedEntry.Part(index: index, offset: offset, count: count, settled: false))
                index += 1
                offset += count
            }
        }
        return parts
    }
}
