/// The timers of a loop, earliest first: a binary heap, with cancelled ones dropped when they come to the top.
struct TimerQueue {
    private struct Entry {
        let deadline: BootInstant
        let id: TimerID
    }

    private var heap: [Entry] = []
    private var bodies: [TimerID: @Sendable () -> Void] = [:]
    /// Timers that may come before their deadline, and from when on. There are few of them.
    private var lenient: [TimerID: BootInstant] = [:]
    private var lastNumber: UInt64 = 0

    /// The deadline of the earliest timer that still stands.
    var next: BootInstant? {
        mutating get {
            while let first = heap.first, bodies[first.id] == nil { removeFirst() }
            return heap.first?.deadline
        }
    }

    mutating func add(_ deadline: BootInstant, _ body: @escaping @Sendable () -> Void) -> TimerID {
        lastNumber += 1
        let id = TimerID(number: lastNumber)
        bodies[id] = body
        heap.append(Entry(deadline: deadline, id: id))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if !before(heap[child], heap[parent]) { break }
            heap.swapAt(child, parent)
            child = parent
        }
        return id
    }

    /// A timer that comes at any moment from `earliest` on at which timers are asked for anyway, and at `deadline` at the latest.
    mutating func add(_ deadline: BootInstant, notBefore earliest: BootInstant, _ body: @escaping @Sendable () -> Void) -> TimerID {
        let id = add(deadline, body)
        lenient[id] = earliest
        return id
    }

    /// Whether a timer is due at `now`, or may be taken then.
    mutating func hasDue(at now: @autoclosure () -> BootInstant) -> Bool {
        guard let next else { return false }
        let now = now()
        return next <= now || lenient.values.contains { $0 <= now }
    }

    mutating func cancel(_ id: TimerID) {
        guard bodies.removeValue(forKey: id) != nil else { return }
        lenient[id] = nil
        // Many timers are set and cancelled without ever coming due (transaction timeouts): the heap must not keep them all.
        if heap.count > 64, heap.count > 4 * bodies.count { rebuild() }
    }

    /// Takes the timers that are due at `now` off the queue, earliest first. Each still stands until `take` and can be cancelled by those before it.
    ///
    /// Timers made while these fire wait for the loop's next turn: one that is always due anew must not keep everything else waiting.
    mutating func due(at now: BootInstant) -> [TimerID] {
        var due: [TimerID] = []
        while let deadline = next, deadline <= now {
            due.append(heap[0].id)
            lenient[heap[0].id] = nil
            removeFirst()
        }
        let early = lenient.filter { $0.value <= now }.keys.sorted { $0.number < $1.number }
        for id in early { lenient[id] = nil }
        return due + early
    }

    /// What a timer was to do, once; `nil` when it was cancelled.
    mutating func take(_ id: TimerID) -> (@Sendable () -> Void)? {
        bodies.removeValue(forKey: id)
    }

    private func before(_ left: Entry, _ right: Entry) -> Bool {
        left.deadline != right.deadline ? left.deadline < right.deadline : left.id.number < right.id.number
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown(from: 0)
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { return }
            let right = left + 1
            let child = right < heap.count && before(heap[right], heap[left]) ? right : left
            if !before(heap[child], heap[parent]) { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }

    private mutating func rebuild() {
        heap.removeAll { bodies[$0.id] == nil }
        for start in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(from: start) }
    }
}
