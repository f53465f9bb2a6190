import Platform
import Synchronization
import Uplink

/// A queue in memory that obeys as the outbox does, and can fail.
final class MemoryQueue: DeliveryQueue {
    struct DiskFull: Error, CustomStringConvertible { var description: String { "the disk is full" } }

    private struct State {
        var entries: [QueuedEntry] = []
        var outcomes: [DeliveryOutcome] = []
        var damaged: Set<UInt32> = []
        var unreadable = false
        var unwritable = false
        var quarantine: [String] = []
        var contents: [String: [BloodPressureReading]] = [:]
        var frozen: Set<String> = []
        var rekeyed: [String: Int] = [:]
        var spoilt: Set<String> = []
        var setAside: [String: String] = [:]
        var accepted: [String: Int] = [:]
        var changed: (@Sendable ([QueuedEntry]) async -> Void)?
    }

    private let state = Mutex(State())

    var entries: [QueuedEntry] { state.withLock { $0.entries } }
    var ids: [String] { entries.map(\.id) }
    var outcomes: [DeliveryOutcome] { state.withLock { $0.outcomes } }
    var quarantine: [String] { state.withLock { $0.quarantine } }
    var settled: [String] {
        outcomes.compactMap { if case .settled(let id, _) = $0 { id } else { nil } }
    }

    func set(_ entries: [QueuedEntry]) { state.withLock { $0.entries = entries } }
    func onChange(_ body: @escaping @Sendable ([QueuedEntry]) async -> Void) { state.withLock { $0.changed = body } }
    func cannotRead(_ fails: Bool) { state.withLock { $0.unreadable = fails } }
    func cannotWrite(_ fails: Bool) { state.withLock { $0.unwritable = fails } }

    func load(_ id: String, part: Int?) async throws -> Shipment? {
        if state.withLock({ $0.unreadable }) { throw DiskFull() }
        guard let entry = entries.first(where: { $0.id == id }) else { return nil }
        if entry.endpoint == .readings { return try await readings(entry, part) }
        let base = entry.keyGeneration == 0 ? id : "\(id)-new"
        guard let part else { return .windows(Self.delivery(id, key: base, owner: entry.owner, offset: 0, count: entry.count)) }
        guard let range = entry.parts.first(where: { $0.index == part }) else { return nil }
        return .windows(Self.delivery(id, key: "\(base).\(part)", owner: entry.owner, offset: range.offset, count: range.count))
    }

    // MARK: Readings

    /// Lets a reading join the entry, as long as it was not loaded.
    func join(_ id: String, _ reading: BloodPressureReading) -> Bool {
        state.withLock { state in
            guard !state.frozen.contains(id), let index = state.entries.firstIndex(where: { $0.id == id }) else { return false }
            state.contents[id, default: Self.readings(id, state.entries[index].count)].append(reading)
            state.entries[index].count += 1
            return true
        }
    }

    /// Gives an entry these readings.
    func fill(_ id: String, _ readings: [BloodPressureReading]) { state.withLock { $0.contents[id] = readings } }

    /// A reading that cannot be read any more, by its name.
    func spoil(_ name: String) { state.withLock { _ = $0.spoilt.insert(name) } }

    /// What is left of an entry, by names.
    func names(_ id: String) -> [String] { state.withLock { state in state.contents[id]?.map(\.id) ?? [] } }

    /// The names of readings that were set aside, with the code of each.
    var setAside: [String: String] { state.withLock { $0.setAside } }

    /// How often each name was told to be accepted.
    var accepted: [String: Int] { state.withLock { $0.accepted } }
    var frozen: Set<String> { state.withLock { $0.frozen } }

    private func readings(_ entry: QueuedEntry, _ part: Int?) async throws -> Shipment? {
        let (readings, key, entries, changed, spoilt) = state.withLock { state in
            state.frozen.insert(entry.id)
            let readings = state.contents[entry.id] ?? Self.readings(entry.id, entry.count)
            state.contents[entry.id] = readings
            let key = entry.id + String(repeating: "-new", count: state.rekeyed[entry.id] ?? 0)
            return (readings, key, state.entries, state.changed, state.spoilt)
        }
        // Freezing is a change of the queue, and everybody is told.
        await changed?(entries)
        let range = part.flatMap { part in entry.parts.first { $0.index == part }.map { $0.offset..<$0.offset + $0.count } } ?? readings.indices
        if part != nil, !entry.parts.contains(where: { $0.index == part }) { return nil }
        for (place, reading) in readings[range].enumerated() where spoilt.contains(reading.id) { throw UplinkError.unsendableReading(place: place, "spoilt") }
        return .readings(ReadingsDelivery(
            id: entry.id, key: part.map { "\(key).\($0)" } ?? key, owner: entry.owner, patient: "", readings: Array(readings[range])))
    }

    static func readings(_ id: String, _ count: Int) -> [BloodPressureReading] {
        (0..<count).map { Readings.reading("\(id)-\($0)") }
    }

    func record(_ outcome: DeliveryOutcome) async throws {
        if state.withLock({ $0.unwritable }) { throw DiskFull() }
        let (entries, changed) = state.withLock { state in
            state.outcomes.append(outcome)
            Self.apply(outcome, &state)
            return (state.entries, state.changed)
        }
        await changed?(entries)
    }

    private static func apply(_ outcome: DeliveryOutcome, _ state: inout State) {
        guard let index = state.entries.firstIndex(where: { $0.id == outcome.id }) else { return }
        switch outcome {
        case .settled: state.entries.remove(at: index)
        case .partSettled(_, let part, _):
            for position in state.entries[index].parts.indices where state.entries[index].parts[position].index == part {
                state.entries[index].parts[position].settled = true
            }
            if state.entries[index].parts.allSatisfy(\.settled) { state.entries.remove(at: index) }
        case .attemptFailed(_, _, let exhausted):
            state.entries[index].attempts += 1
            state.entries[index].exhausted = exhausted
        case .readingsSettled(let id, _, let part, let receipt):
            let entry = state.entries[index]
            let offset = part.flatMap { part in entry.parts.first { $0.index == part }?.offset } ?? 0
            let names = (state.contents[id] ?? []).map(\.id)
            for place in receipt.accepted { state.accepted[names[offset + place], default: 0] += 1 }
            for place in receipt.conflicting { state.setAside[names[offset + place]] = "reading-conflict" }
            settle(part, at: index, &state)
        case .readingSetAside(let id, let part, let position, let code, _):
            state.setAside[(state.contents[id] ?? [])[position].id] = code
            guard part == nil else { return settle(part, at: index, &state) }
            state.contents[id]?.remove(at: position)
            state.rekeyed[id, default: 0] += 1
            state.entries[index].count -= 1
            if state.entries[index].count == 0 { state.entries.remove(at: index) }
        case .rekey(let id):
            state.entries[index].keyGeneration += 1
            state.rekeyed[id, default: 0] += 1
        case .split(_, let parts): state.entries[index].parts = state.entries[index].parts.filter(\.settled) + parts
        case .quarantine(let id, _, _):
            state.entries.remove(at: index)
            state.quarantine.append(id)
        }
    }

    private static func settle(_ part: Int?, at index: Int, _ state: inout State) {
        for position in state.entries[index].parts.indices where state.entries[index].parts[position].index == part {
            state.entries[index].parts[position].settled = true
        }
        if state.entries[index].parts.allSatisfy(\.settled) { state.entries.remove(at: index) }
    }

    static func delivery(_ id: String, key: String? = nil, owner: String = "anna", offset: Int = 0, count: Int = 3, gaps: [DeliveryGap] = [],
                         damaged: Set<UInt32> = []) -> Delivery {
        let body = (0..<count).flatMap { window in [UInt8](repeating: UInt8(truncatingIfNeeded: window + offset), count: Delivery.windowSize) }
        return Delivery(id: id, key: key ?? id, owner: owner, device: "C-1", log: 7, first: 4_711 &+ UInt32(offset), count: count, body: body, gaps: gaps,
                        damaged: damaged, received: 1_700_000_000, clock: "synced;device=set;offset=-3")
    }
}
