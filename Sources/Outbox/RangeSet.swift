/// A set of sequences as ascending, disjoint ranges that do not touch; each keeps a tag of its last element (the CRC of that window).
struct RangeSet: Sendable, Equatable {
    struct Span: Sendable, Equatable {
        var first: UInt64
        /// The sequence behind the last.
        var end: UInt64
        /// Belongs to the sequence `end - 1`.
        var tag: UInt16?
    }

    private(set) var spans: [Span] = []

    init() {}

    /// Takes spans in any order, touching or overlapping too.
    init(_ spans: [Span]) {
        for span in spans { insert(span) }
    }

    /// Adds a range; an empty one adds nothing. Where two ranges end at the same sequence, a tag that is there stays.
    mutating func insert(_ new: Span) {
        guard new.first < new.end else { return }
        var merged = new
        let low = spans.firstIndex { $0.end >= new.first } ?? spans.count
        var high = low
        while high < spans.count, spans[high].first <= new.end {
            let old = spans[high]
            merged.first = min(merged.first, old.first)
            if old.end > merged.end {
                merged.end = old.end
                merged.tag = old.tag
            } else if old.end == merged.end {
                merged.tag = old.tag ?? merged.tag
            }
            high += 1
        }
        spans.replaceSubrange(low..<high, with: [merged])
    }

    /// The contiguous part that begins at `base`: its end (`base` when there is none) and the tag of its last element.
    func prefix(from base: UInt64) -> (end: UInt64, tag: UInt16?) {
        guard let span = spans.first(where: { $0.first <= base && base < $0.end }) else { return (base, nil) }
        return (span.end, span.tag)
    }

    func contains(_ sequence: UInt64) -> Bool {
        spans.contains { $0.first <= sequence && sequence < $0.end }
    }
}
