/// Reads a range of windows, one request after the other, until each is there or the reason why not is known.
///
/// A window is taken only if its checksum fits and its sequence is the next one expected; everything else is discarded. The answer to a request shows what is
/// missing, and the first missing window decides the next request: one that lies before others that were taken is read alone, otherwise the rest of
/// the range is read again from there.
///
/// A window with a wrong checksum has no sequence to be trusted. It holds the place of one window, and if the good one behind it shows
/// that it was just that, the place is read alone later. A checksum counts against a sequence only if it is sure whose it was: the bad window
/// claimed that sequence, or it came when that one alone was asked for. The second time, the window is stored as it came and listed as damaged.
///
/// Every loop is bounded: three requests in a row that bring nothing new end the read, and so does a budget in all.
struct RangeReadMachine {
    /// What the shell has to do next.
    enum Step: Equatable {
        case request(first: UInt32, count: UInt32)
        case finish(RangeRead)
    }

    /// After this many requests in a row that brought nothing new, the windows count as missing.
    static let patience = 3

    /// The windows that were asked for, by their distance from the first one. Positions not in here yet lie beyond everything received.
    private enum Slot {
        case empty(failures: Int)
        case whole([UInt8])
        case damaged([UInt8])
    }

    /// The request that the collar is answering.
    private struct Request {
        let start: Int
        let end: Int
        /// The position expected next.
        var next: Int
        /// Sequences that windows with a wrong checksum claimed since the last good one.
        var unplaced: [UInt32] = []
        /// The window expected next was missed; what comes now comes out of turn.
        var isBehindGap = false
        /// The bytes with a wrong checksum that came when a single window was asked for.
        var bad: [UInt8]?
        /// Complete windows that came, good or not.
        var arrived = 0
        /// The last window taken was put together from fragments. See `suspectLast`.
        var lastWasFragmented = false
        /// Something was learned that was not known before.
        var learned = false

        var isSingle: Bool { end - start == 1 }
    }

    private let first: UInt32
    private let total: Int
    private var slots: [Slot] = []
    private var request: Request?
    /// Flash errors by position.
    private var flashErrors: [Int: Int] = [:]
    /// The position that is unreadable; nothing behind it is wanted.
    private var limit: Int?
    private var fruitless = 0
    private var requests = 0
    private var discarded = 0
    private var stopping = false

    /// - Parameters:
    ///   - first: the sequence of the first window.
    ///   - count: how many windows; 0 asks the collar all the same, for its answer.
    init(first: UInt32, count: UInt32) {
        self.first = first
        total = Int(count)
    }

    /// Begins.
    mutating func start() -> Step { ask(from: 0, to: total) }

    /// No further request: the read ends with the answer to the present one.
    mutating func stop() { stopping = true }

    // MARK: Windows

    /// A complete window came.
    ///
    /// - Returns: whether it is a sign of life: what the collar sends beyond the number asked for is none, so that a babbling one stalls in the end.
    mutating func take(_ window: CollarWindow, fragmented: Bool) -> Bool {
        guard var request else {
            discarded += 1
            return false
        }
        request.arrived += 1
        if window.isIntact {
            takeIntact(window, fragmented: fragmented, in: &request)
        } else {
            takeBad(window, in: &request)
        }
        let arrived = request.arrived
        self.request = request
        return arrived <= request.end - request.start
    }

    private mutating func takeIntact(_ window: CollarWindow, fragmented: Bool, in request: inout Request) {
        let ahead = SerialNumber.distance(from: sequence(of: request.next), to: window.sequence)
        guard ahead >= 0, ahead < request.end - request.next else {
            discarded += 1
            return
        }
        guard ahead <= request.unplaced.count else {
            discarded += 1
            suspectLast(in: &request)
            request.isBehindGap = true
            request.unplaced = []
            return
        }
        place(ahead, in: &request)
        fill(request.next, with: .whole(window.bytes))
        request.next += 1
        request.isBehindGap = false
        request.lastWasFragmented = fragmented
        request.learned = true
    }

    private mutating func takeBad(_ window: CollarWindow, in request: inout Request) {
        discarded += 1
        if request.isSingle {
            if request.next < request.end, request.bad == nil { request.bad = window.bytes }
        } else if !request.isBehindGap, request.unplaced.count < request.end - request.next {
            request.unplaced.append(window.sequence)
        }
    }

    /// Gives the next positions to the windows with a wrong checksum that came, up to `count` of them.
    private mutating func place(_ count: Int, in request: inout Request) {
        for claimed in request.unplaced.prefix(count) where request.next < request.end {
            fill(request.next, with: .empty(failures: claimed == sequence(of: request.next) ? 1 : 0))
            request.next += 1
            request.lastWasFragmented = false
            request.learned = true
        }
        request.unplaced = []
    }

    /// Windows were lost right behind the last one taken. If that came in fragments, it may be the head of one window and the tail of another: when just as many
    /// fragments are lost as a window has, the offsets fit, and one such mixture in 65,536 passes the checksum. It is read again alone, where nothing can be mixed.
    private mutating func suspectLast(in request: inout Request) {
        guard request.lastWasFragmented, !request.isSingle else { return }
        request.lastWasFragmented = false
        fill(request.next - 1, with: .empty(failures: 0))
        discarded += 1
    }

    private mutating func fill(_ position: Int, with slot: Slot) {
        // Positions are filled in order from the first one missing, so that there is never a hole between the end and a new position.
        if position < slots.count { slots[position] = slot } else { slots.append(slot) }
    }

    // MARK: Answers

    /// The collar answered the request.
    mutating func answered(_ answer: ControlAnswer) -> Step {
        guard var request else { return finish(.interrupted(CollarError(.unsolicitedAnswer, "an answer to a read that was not asked"))) }
        self.request = nil
        do throws(CollarError) {
            switch answer.result {
            case .ok:
                settle(&request, sentEnd: request.start + Int(try answer.number()))
            case .flashError:
                let sequence = try answer.number()
                let position = Int(sequence &- first)
                guard position >= request.start, position < request.end else {
                    throw CollarError(.malformedAnswer, "a flash error at \(sequence), which was not asked for")
                }
                settle(&request, sentEnd: position)
                noteFlashError(at: position, in: &request)
            case .notHeld:
                let range = try answer.range()
                settle(&request, sentEnd: nil)
                return finish(.notHeld(oldest: range.oldest, next: range.next))
            case .wrongLog:
                settle(&request, sentEnd: nil)
                return finish(.wrongLog)
            case .busy:
                settle(&request, sentEnd: nil)
                return finish(.busy)
            default:
                throw answer.failure
            }
        } catch {
            return finish(.interrupted(error))
        }
        return proceed(after: request)
    }

    /// The read cannot go on.
    mutating func interrupt(_ error: CollarError) -> RangeRead {
        request = nil
        return result(.interrupted(error))
    }

    /// Counts what the request has shown, once nothing more of it can come.
    ///
    /// - Parameter sentEnd: the position up to which the collar sent windows; `nil` when it did not say.
    private mutating func settle(_ request: inout Request, sentEnd: Int?) {
        if request.isSingle, request.next < request.end, let bad = request.bad {
            settleSingle(bad, in: &request)
            return
        }
        guard let sentEnd else { return }
        let missing = min(sentEnd, request.end) - request.next
        guard missing > 0 else { return }
        if missing > request.unplaced.count { suspectLast(in: &request) }
        // A suspect lies before the next position and is not touched by what follows.
        place(missing, in: &request)
    }

    private mutating func settleSingle(_ bad: [UInt8], in request: inout Request) {
        var failures = 1
        if request.start < slots.count, case .empty(let before) = slots[request.start] { failures += before }
        fill(request.start, with: failures < 2 ? .empty(failures: failures) : .damaged(bad))
        request.learned = true
    }

    private mutating func noteFlashError(at position: Int, in request: inout Request) {
        // A window that came all the same needs no second look.
        if position < slots.count, isFilled(slots[position]) { return }
        flashErrors[position, default: 0] += 1
        request.learned = true
        if flashErrors[position, default: 0] >= 2 { limit = min(limit ?? total, position) }
    }

    private mutating func proceed(after request: Request) -> Step {
        fruitless = request.learned ? 0 : fruitless + 1
        let goal = limit ?? total
        let missing = slots.firstIndex { !isFilled($0) } ?? slots.count
        guard missing < goal else { return finish(limit == nil ? .complete : .unreadable) }
        if stopping { return finish(.interrupted(CollarError(.stopped, "the read was stopped before window \(sequence(of: missing))"))) }
        // The budget is what the worst honest collar needs: each window damaged, or read once with others and once alone.
        guard fruitless < Self.patience, requests < Self.patience * total + 8 else {
            return finish(.interrupted(CollarError(.windowsMissing, "window \(sequence(of: missing)) does not come, after \(requests) requests")))
        }
        return ask(from: missing, to: missing < slots.count ? missing + 1 : goal)
    }

    private mutating func ask(from start: Int, to end: Int) -> Step {
        request = Request(start: start, end: end, next: start)
        requests += 1
        return .request(first: sequence(of: start), count: UInt32(end - start))
    }

    // MARK: Results

    private func finish(_ end: RangeRead.End) -> Step { .finish(result(end)) }

    /// What came in order: everything before the first window that is missing.
    private func result(_ end: RangeRead.End) -> RangeRead {
        var read = RangeRead(end: end, requests: requests, discarded: discarded)
        read.windows.reserveCapacity(slots.count * CollarWindow.length)
        collecting: for (position, slot) in slots.prefix(limit ?? total).enumerated() {
            switch slot {
            case .empty: break collecting
            case .whole(let bytes): read.windows += bytes
            case .damaged(let bytes):
                read.windows += bytes
                read.damaged.append(sequence(of: position))
            }
        }
        if end == .unreadable, let limit { read.unreadable = sequence(of: limit) }
        return read
    }

    private func sequence(of position: Int) -> UInt32 { first &+ UInt32(truncatingIfNeeded: position) }

    private func isFilled(_ slot: Slot) -> Bool {
        if case .empty = slot { return false }
        return true
    }
}
