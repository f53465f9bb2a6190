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

    func load(_ id: String, part: Int?) async throws -> Delivery? {
        if state.withLock({ $0.unreadable }) { throw DiskFull() }
        guard let entry = entries.first(where: { $0.id == id }) else { return nil }
        let base = entry.keyGeneration == 0 ? id : "\(id)-new"
        guard let part else { return Self.delivery(id, key: base, owner: entry.owner, offset: 0, count: entry.count) }
        guard let range = entry.parts.first(where: { $0.index == part }) else { return nil }
        return Self.delivery(id, key: "\(base).\(part)", owner: entry.owner, offset: range.offset, count: range.count)
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
        case .rekey: state.entries[index].keyGeneration += 1
        case .split(_, let parts): state.entries[index].parts = state.entries[index].parts.filter(\.settled) + parts
        case .quarantine(let id, _, _):
            state.entries.remove(at: index)
            state.quarantine.append(id)
        }
    }

    static func delivery(_ id: String, key: String? = nil, owner: String = "anna", offset: Int = 0, count: Int = 3, gaps: [DeliveryGap] = [],
                         damaged: Set<UInt32> = []) -> Delivery {
        let body = (0..<count).flatMap { window in [UInt8](repeating: UInt8(truncatingIfNeeded: window + offset), count: Delivery.windowSize) }
        return Delivery(id: id, key: key ?? id, owner: owner, device: "C-1", log: 7, first: 4_711 &+ UInt32(offset), count: count, body: body, gaps: gaps,
                        damaged: damaged, received: 1_700_000_000, clock: "synced;device=set;offset=-3")
    }
}
