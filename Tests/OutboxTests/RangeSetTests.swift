@testable import Outbox
import Platform
import Testing

@Suite("Settled ranges")
struct RangeSetTests {
    @Test("a set of ranges holds just what a set of numbers would", arguments: UInt64(1)...40)
    func model(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var ranges = RangeSet()
        var numbers: Set<UInt64> = []
        var tags: [UInt64: UInt16] = [:]
        for _ in 0..<60 {
            let first = UInt64.random(in: 0..<80, using: &random)
            let count = UInt64.random(in: 0...6, using: &random)
            let tag = Bool.random(using: &random) && count > 0 ? UInt16(first + count) : nil
            ranges.insert(RangeSet.Span(first: first, end: first + count, tag: tag))
            for number in first..<first + count { numbers.insert(number) }
            if let tag { tags[first + count - 1] = tag }

            #expect((0..<90).allSatisfy { ranges.contains($0) == numbers.contains($0) })
            #expect(zip(ranges.spans, ranges.spans.dropFirst()).allSatisfy { $0.end < $1.first })
            #expect(ranges.spans.allSatisfy { $0.first < $0.end })
            let base = UInt64.random(in: 0..<80, using: &random)
            var end = base
            while numbers.contains(end) { end += 1 }
            #expect(ranges.prefix(from: base).end == end)
            // A tag is that of the last element, or missing where it was covered from both sides.
            for span in ranges.spans { #expect(span.tag == nil || span.tag == tags[span.end - 1]) }
        }
    }

    @Test("the tag of a prefix is that of its last element, in whatever order the ranges come")
    func tags() {
        let spans = [RangeSet.Span(first: 0, end: 5, tag: 4), RangeSet.Span(first: 5, end: 9, tag: 8), RangeSet.Span(first: 9, end: 10, tag: nil)]
        var forward = RangeSet()
        for span in spans.prefix(2) { forward.insert(span) }
        let backward = RangeSet(spans.prefix(2).reversed())
        #expect(forward == backward)
        #expect(forward.prefix(from: 0).tag == 8 && forward.prefix(from: 7).tag == 8)
        forward.insert(spans[2])
        #expect(forward.prefix(from: 0).end == 10 && forward.prefix(from: 0).tag == nil)
        #expect(forward.prefix(from: 20).end == 20)
    }
}
