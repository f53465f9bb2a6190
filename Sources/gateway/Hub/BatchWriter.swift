import Outbox
import Platform
import Radio

/// Makes batches for the outbox out of what a read brought: cut where the clock says so, damaged windows listed, the gap behind them appended.
struct BatchWriter {
    let device: String
    let order: ReadOrder
    let clock: CollarClock
    let status: BetaMetrics
    let hub: WallTime

    /// The batches in order. The first carries the gaps before the range, the last the unreadable window behind it; empty when the read brought nothing.
    func batches(_ read: RangeRead) -> [WindowBatch] {
        let size = OutboxSettings.windowSize
        let end = order.first + UInt64(read.count)
        let damaged = Set(read.damaged.map { SequenceNumber.unwrap($0, near: order.first) })
        let indices = Set(damaged.compactMap { $0 >= order.first ? Int(exactly: $0 - order.first) : nil })
        let forced = clock.boundary(in: order.first..<end).map { Int($0 - order.first) }
        let parts = BatchCutter.cut(read.windows, damaged: indices, forced: forced)
        var batches = parts.map { part in
            let first = order.first + UInt64(part.start)
            let next = first + UInt64(part.count)
            return WindowBatch(
                device: device, owner: order.owner, log: order.log, first: first,
                body: Array(read.windows[part.start * size..<(part.start + part.count) * size]),
                gaps: (part.start == 0 ? order.gaps : []) + damagedRanges(damaged, first: first, next: next),
                received: hub.seconds,
                clock: ClockLabel(status: status, kind: part.clock, offset: clock.offset(at: first), hub: hub).text,
                next: next)
        }
        guard let unreadable = read.unreadable, SequenceNumber.unwrap(unreadable, near: end) == end else { return batches }
        let gap = SequenceGap(log: order.log, first: end, count: 1, reason: .unreadable)
        if batches.isEmpty {
            let label = ClockLabel(status: status, kind: nil, offset: clock.offset(at: end), hub: hub)
            return [WindowBatch(device: device, owner: order.owner, log: order.log, first: end + 1, body: [], gaps: order.gaps + [gap],
                                received: hub.seconds, clock: label.text, next: end + 1)]
        }
        batches[batches.count - 1].gaps.append(gap)
        batches[batches.count - 1].next = end + 1
        return batches
    }

    /// The damaged windows of one batch as ranges.
    private func damagedRanges(_ damaged: Set<UInt64>, first: UInt64, next: UInt64) -> [SequenceGap] {
        var ranges: [SequenceGap] = []
        for sequence in damaged.filter({ $0 >= first && $0 < next }).sorted() {
            if let last = ranges.last, last.first + last.count == sequence {
                ranges[ranges.count - 1].count += 1
            } else {
                ranges.append(SequenceGap(log: order.log, first: sequence, count: 1, reason: .damaged))
            }
        }
        return ranges
    }
}

extension ClockLabel {
    /// The label of windows that one clock stamped.
    ///
    /// - Parameters:
    ///   - kind: what the windows' own times say; `nil` when there are none to believe, and the collar's word now counts.
    ///   - offset: of the clock that stamped them.
    init(status: BetaMetrics, kind: BatchCutter.ClockKind?, offset: Int64?, hub: WallTime) {
        let isSet = kind.map { $0 == .calendar } ?? status.flags.contains(.clockIsSet)
        self.init(synchronised: hub.synchronised, deviceIsSet: isSet, offset: offset)
    }
}

extension CollarBooks {
    /// The books as the outbox keeps them; `nil` before the first contact.
    init?(_ record: DeviceRecord) {
        guard let current = record.current else { return nil }
        let assignments = record.assignments.filter { $0.log == current.log }.map { Assignment(first: $0.first, owner: $0.owner) }
        guard !assignments.isEmpty else { return nil }
        self.init(log: current.log, checkpoint: current.next, assignments: assignments, unreported: record.unreported)
    }
}
