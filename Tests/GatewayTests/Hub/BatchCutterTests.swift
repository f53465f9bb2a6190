import Testing
@testable import gateway

@Suite("Where a run of windows is cut")
struct BatchCutterTests {
    /// Whole windows with nothing in them but their times.
    private func windows(_ times: [UInt32]) -> [UInt8] {
        times.flatMap { time -> [UInt8] in
            var window = [UInt8](repeating: 0, count: 322)
            for byte in 0..<4 { window[4 + byte] = UInt8(truncatingIfNeeded: time >> UInt32(8 * byte)) }
            return window
        }
    }

    private let day: UInt32 = 1_790_000_000

    @Test("seconds that follow each other stay one batch")
    func steady() {
        #expect(BatchCutter.cut(windows([day, day + 1, day + 2]), damaged: []) == [.init(start: 0, count: 3, clock: .calendar)])
    }

    @Test("a step of sixty seconds stays, one of sixty-one is cut, forwards and backwards")
    func step() {
        #expect(BatchCutter.cut(windows([day, day + 60]), damaged: []).count == 1)
        #expect(BatchCutter.cut(windows([day, day + 61]), damaged: []).map(\.count) == [1, 1])
        #expect(BatchCutter.cut(windows([day, day - 61]), damaged: []).map(\.count) == [1, 1])
    }

    @Test("a clock that is set between two windows cuts between them")
    func kind() {
        let parts = BatchCutter.cut(windows([90, 91, day, day + 1]), damaged: [])
        #expect(parts == [.init(start: 0, count: 2, clock: .sinceStart), .init(start: 2, count: 2, clock: .calendar)])
    }

    @Test("the time of a damaged window cuts nowhere")
    func damaged() {
        #expect(BatchCutter.cut(windows([day, 7, day + 2]), damaged: [1]) == [.init(start: 0, count: 3, clock: .calendar)])
        #expect(BatchCutter.cut(windows([7]), damaged: [0]) == [.init(start: 0, count: 1, clock: nil)])
    }

    @Test("where the hub set the clock a batch ends, however small the step")
    func forced() {
        let parts = BatchCutter.cut(windows([day, day + 1, day + 5]), damaged: [], forced: 2)
        #expect(parts.map(\.count) == [2, 1])
    }

    @Test("no window gives no part")
    func nothing() {
        #expect(BatchCutter.cut([], damaged: []).isEmpty)
    }

    @Test("every window is in exactly one part, in order, whatever the times are")
    func cover() {
        var state: UInt32 = 12_345
        for _ in 0..<200 {
            let times = (0..<40).map { _ -> UInt32 in
                state = state &* 1_664_525 &+ 1_013_904_223
                return state & 1 == 0 ? day + state >> 26 : state >> 20
            }
            let parts = BatchCutter.cut(windows(times), damaged: [3, 4, 39], forced: 20)
            var next = 0
            for part in parts {
                #expect(part.start == next)
                #expect(part.count > 0)
                next += part.count
            }
            #expect(next == 40)
        }
    }
}
